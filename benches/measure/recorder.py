"""The recorders: run in the foreground on the pretend machine, and what a tick costs them.

Starting is no part of a tick. So each runs twice, for a few ticks and for many: what the second
calls and writes more is divided by the ticks that it has more, and its CPU time is that of five
slices of it, of which the median counts.
"""

import signal
import sqlite3
import statistics
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from common import (
    CARDS,
    GUA,
    HOLDERS,
    NotMeasured,
    of,
    process_seconds,
    say,
    tallied,
    tried,
    tried_on,
)
from table import Missing, Row, at_most, count_bytes, count_calls, megabytes, milliseconds, share

TITLE = f"Recording {CARDS} cards with {HOLDERS} holders"
SHORT_INTERVAL_SECONDS, REAL_INTERVAL_SECONDS = 0.1, 30
REAL_TICKS = 10
SECONDS_OF_YEAR = 365 * 24 * 3600
STARTING_SECONDS = 60
GENTLY_SECONDS = 10
# Where the peer locks up at its end (see Running.end), the run is made again.
ATTEMPTS = 3
# Ours begins these rows anew at every full hour, of which a short run has none. One has five
# to seven small numbers; this is more than it takes, with its share of a page that is not full.
SPAN_TABLES = ("observed", "card_span", "owner_span", "holder_span", "unseen_span")
SPAN_ROW_BYTES = 50
TICKS_PER_HOUR = 3600 / REAL_INTERVAL_SECONDS


@dataclass(frozen=True)
class Length:
    """How long a recorder is watched: some ticks to warm up, then slices of so many."""

    warm_up: int
    slices: int
    ticks: int
    interval_seconds: float = SHORT_INTERVAL_SECONDS

    def least(self):
        """Fewer ticks than that in a slice tell nothing."""
        return max(self.ticks // 3, 2)


LONG, QUICK = Length(20, 5, 120), Length(20, 5, 30)


class TablesMissing(NotMeasured):
    """A database is not laid out as expected, or not yet."""


class LockedUp(NotMeasured):
    """It had to be killed, and so did not write down its calls."""


@dataclass(frozen=True)
class Recorder:
    """A program that records ticks into a database, and how that is counted."""

    name: str
    program: Path
    ticks: str
    # How many cards and how many processes on them it has in its database.
    cards: str
    holders: str
    # The tables of rows that cover many ticks.
    span_tables: tuple = ()


OURS = Recorder(
    "gua",
    GUA,
    "SELECT count(*) FROM tick",
    "SELECT count(*) FROM card",
    "SELECT count(*) FROM process",
    SPAN_TABLES,
)


def python_recorder(setting):
    return Recorder(
        "python-gua",
        setting.peer("gua", "gua"),
        "SELECT count(DISTINCT ts) FROM gpu_sample",
        "SELECT count(DISTINCT gpu_uuid) FROM gpu_sample",
        "SELECT count(DISTINCT pid) FROM proc_sample",
    )


@dataclass(frozen=True)
class Run:
    """What one run came to."""

    ticks: int
    cards: int
    holders: int
    span_rows: int
    # CPU time by tick, of each slice.
    cpu_seconds: list
    resident_bytes: int
    peak_bytes: int
    calls: int
    database_bytes: int


@dataclass(frozen=True)
class Cost:
    """What one tick costs, and what the recorder takes as long as it runs."""

    cpu_seconds: float
    calls_per_card: float
    database_bytes: float
    span_rows: int
    resident_bytes: int
    peak_bytes: int
    # Calls into the driver before and after all ticks, for runs that have only a few.
    other_calls: float


def counted(path, *queries):
    """The sum of what the queries count."""
    try:
        with closing(sqlite3.connect(path)) as database:
            return sum(database.execute(query).fetchone()[0] for query in queries)
    except sqlite3.OperationalError as error:
        raise TablesMissing(f"{path.name} has another layout than expected: {error}") from None


def database_size(path):
    """The bytes of a database, with nothing left in its log."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return path.stat().st_size


class Running:
    """A recorder that runs."""

    def __init__(self, recorder, folder, env, interval_seconds):
        self.recorder = recorder
        self.log = folder / f"{recorder.name}.log"
        self.calls = folder / f"{recorder.name}.calls"
        self.database = folder / f"{recorder.name}.db"
        for left in (self.calls, *folder.glob(f"{self.database.name}*")):
            left.unlink(missing_ok=True)
        interval = f"{interval_seconds * 1000:.0f}ms"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [recorder.program, "daemon", "--foreground"]
                + ["--db", self.database, "--interval", interval],
                env={**env, "NVML_SIM_CALLS": str(self.calls)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def check(self):
        """Nothing can be measured on one that has ended."""
        if self.process.poll() is not None:
            said = self.log.read_text().strip().splitlines() or ["nothing"]
            raise NotMeasured(
                f"{self.recorder.name} ended with {self.process.returncode} and said: {said[0]}"
            )

    def cpu_seconds(self):
        self.check()
        return process_seconds(self.process.pid)

    def ticks(self):
        """How many it has made so far."""
        self.check()
        return counted(self.database, self.recorder.ticks)

    def wait_for_first_tick(self):
        """Starting takes as long as it takes, and is no part of anything."""
        deadline = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < deadline:
            try:
                if self.database.exists() and self.ticks() > 0:
                    return
            except TablesMissing:
                pass  # They are about to be made.
            self.check()
            time.sleep(0.05)
        raise NotMeasured(f"{self.recorder.name} made no tick in {STARTING_SECONDS} s")

    def slice_cpu(self, length):
        """CPU time by tick over one slice."""
        cpu, ticks = self.cpu_seconds(), self.ticks()
        time.sleep(length.ticks * length.interval_seconds)
        cpu, ticks = self.cpu_seconds() - cpu, self.ticks() - ticks
        if ticks < length.least():
            raise NotMeasured(f"{self.recorder.name} made {ticks} of {length.ticks} ticks")
        return cpu / ticks

    def memory_bytes(self, field):
        """A field of /proc/PID/status."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (kib,) = (line.split()[1] for line in status.splitlines() if line.startswith(f"{field}:"))
        return int(kib) * 1024

    def end(self):
        """Ends it, gently at first.

        The Python gua sets a threading.Event in its signal handler, which locks up when the
        signal comes while it holds that event's lock. So it gets exactly one signal, and is
        not waited for any longer than that takes.
        """
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=GENTLY_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def finish(self, cpu_seconds=()):
        """Ends it and adds up."""
        resident, peak = self.memory_bytes("VmRSS"), self.memory_bytes("VmHWM")
        self.end()
        if not self.calls.exists():
            raise LockedUp(f"{self.recorder.name} did not end when it was told to")
        spans = (f"SELECT count(*) FROM {table}" for table in self.recorder.span_tables)
        return Run(
            ticks=counted(self.database, self.recorder.ticks),
            cards=counted(self.database, self.recorder.cards),
            holders=counted(self.database, self.recorder.holders),
            span_rows=counted(self.database, *spans),
            cpu_seconds=cpu_seconds,
            resident_bytes=resident,
            peak_bytes=peak,
            calls=tallied(self.calls),
            database_bytes=database_size(self.database),
        )


def record(recorder, folder, env, length):
    """A run of about so many ticks; how many they were is counted."""
    running = Running(recorder, folder, env, length.interval_seconds)
    try:
        running.wait_for_first_tick()
        time.sleep(length.warm_up * length.interval_seconds)
        cpu_seconds = [running.slice_cpu(length) for _ in range(length.slices)]
        return running.finish(cpu_seconds)
    finally:
        running.end()


def record_stubbornly(recorder, folder, env, length, attempts=ATTEMPTS):
    try:
        return record(recorder, folder, env, length)
    except LockedUp as why:
        if attempts == 1:
            raise
        say(f"{why}; once more")
        return record_stubbornly(recorder, folder, env, length, attempts - 1)


def check_seen(recorder, run, cards, holders):
    """Nobody is cheap by not looking."""
    if (run.cards, run.holders) != (cards, holders):
        raise NotMeasured(
            f"{recorder.name} saw {run.cards} of {cards} cards, {run.holders} of {holders} holders"
        )


def cost(recorder, folder, env, length=LONG, holders=HOLDERS):
    """What a tick costs at a short interval."""
    say(f"recording with {recorder.name}")
    brief = Length(length.warm_up, 0, 0, length.interval_seconds)
    short = record_stubbornly(recorder, folder, env, brief)
    long = record_stubbornly(recorder, folder, env, length)
    check_seen(recorder, long, CARDS, holders)
    more = long.ticks - short.ticks
    calls = (long.calls - short.calls) / more
    return Cost(
        cpu_seconds=statistics.median(long.cpu_seconds),
        calls_per_card=calls / CARDS,
        database_bytes=(long.database_bytes - short.database_bytes) / more,
        span_rows=short.span_rows,
        resident_bytes=long.resident_bytes,
        peak_bytes=long.peak_bytes,
        other_calls=short.calls - calls * short.ticks,
    )


def ours_bytes_per_tick(at_short_interval):
    """What a tick adds to our database, on the average of a day.

    For the time being: the growth between the short and the long run, and a bound for the
    rows that begin at every full hour, which under a constant load are as many as the first
    ticks began. To be replaced by the file of one simulated day under the same load as soon
    as there is a way to have one.
    """
    hourly_bytes = at_short_interval.span_rows * SPAN_ROW_BYTES
    return at_short_interval.database_bytes + hourly_bytes / TICKS_PER_HOUR


@dataclass(frozen=True)
class RealCost:
    """What one tick costs at the interval that the daemon really has."""

    cpu_seconds: float
    calls_per_card: float


class Steps:
    """The CPU time of a recorder from tick to tick, at the real interval."""

    def __init__(self, running):
        self.running, self.readings = running, []

    def take(self):
        self.readings.append(self.running.cpu_seconds())

    def real_cost(self, other_calls):
        each = [after - before for before, after in pairwise(self.readings)]
        run, ticks = self.running.finish(), len(each)
        # One more came before the first reading of the clock, if it looks at once, and one when
        # it was told to end, if it takes a last look.
        if run.ticks - ticks not in (0, 1, 2):
            name = self.running.recorder.name
            raise NotMeasured(f"{name} made {run.ticks} ticks where {ticks} were due")
        calls = (run.calls - other_calls) / run.ticks / CARDS
        return RealCost(statistics.median(each), calls)


def real_costs(costs, ticks, folder, env):
    """What a tick costs at the real interval, of each recorder whose other costs are known.

    They run side by side: nearly all the time both sleep. The clocks are read half an
    interval after a tick, so that from one reading to the next there is exactly one tick,
    and all that a recorder does between two.
    """
    say(f"recording {ticks} ticks of {REAL_INTERVAL_SECONDS} s")
    steps = {
        recorder: Steps(Running(recorder, folder, env, REAL_INTERVAL_SECONDS)) for recorder in costs
    }
    try:
        time.sleep(REAL_INTERVAL_SECONDS / 2)
        for _ in range(ticks):
            for each in steps.values():
                each.take()
            time.sleep(REAL_INTERVAL_SECONDS)
        for each in steps.values():
            each.take()
        return {
            recorder: tried(each.real_cost, costs[recorder].other_calls)
            for recorder, each in steps.items()
        }
    finally:
        for each in steps.values():
            each.running.end()


def real_rows(costs, setting, mine, their):
    """At the interval that the daemon really has."""
    known = {each: cost for each, cost in costs.items() if not isinstance(cost, Missing)}
    real = tried(real_costs, known, REAL_TICKS, setting.folder, setting.env)

    def found(recorder):
        if isinstance(real, Missing):
            return real
        return real.get(recorder, costs[recorder])

    def compared(what, unit, name, budget=None):
        figures = of(found(mine), name), of(found(their), name)
        return Row(what, unit, *figures, budget, runs=(REAL_TICKS, REAL_TICKS))

    return [
        compared("recorder at 30 s: CPU per tick", milliseconds, "cpu_seconds", share(20)),
        compared("— NVML calls per card and tick", count_calls, "calls_per_card"),
    ]


def year_of(bytes_per_tick):
    """By extrapolation: what a year of ticks at the real interval would be."""
    if isinstance(bytes_per_tick, Missing):
        return bytes_per_tick
    return bytes_per_tick * SECONDS_OF_YEAR / REAL_INTERVAL_SECONDS


def rows(setting):
    """What a tick costs: time, memory, calls, bytes."""
    peer = tried(python_recorder, setting)
    length = setting.runs(LONG, QUICK)
    place = setting.folder, setting.env, length
    mine, their = setting.each(tried_on, [(each, cost, *place) for each in (OURS, peer)])
    costs = {OURS: mine, peer: their}
    my_bytes = mine if isinstance(mine, Missing) else ours_bytes_per_tick(mine)
    their_bytes = of(their, "database_bytes")

    def compared(what, unit, name, budget=None, runs=(1, 1)):
        return Row(what, unit, of(mine, name), of(their, name), budget, runs=runs)

    slices = (length.slices, length.slices)
    limit = at_most(12e6, megabytes)
    yield compared("recorder: CPU per tick", milliseconds, "cpu_seconds", share(20), slices)
    yield compared("— resident memory", megabytes, "resident_bytes", limit)
    yield compared("— its peak", megabytes, "peak_bytes", limit)
    yield compared("— NVML calls per card and tick", count_calls, "calls_per_card")
    yield Row("— database per tick", count_bytes, my_bytes, their_bytes, share(20), runs=(1, 1))
    yield Row(
        "— a year of that, nothing pruned", megabytes, year_of(my_bytes), year_of(their_bytes)
    )
    if not setting.is_quick:
        yield from real_rows(costs, setting, OURS, peer)
