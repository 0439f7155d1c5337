"""The recorders: run in the foreground on the pretend machine, and what a tick costs them.

Starting is no part of a tick. So each runs once for a few ticks, and then some times for many: what
these call and write more is divided by the ticks that they have more, their CPU time is taken from
when they have warmed up, and the medians count.

Ours polls the driver every 5 s, or at each tick where these are closer together, and stores what it
has found at each tick. So a tick of 30 s has six polls; it is measured as well.
"""

import shutil
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from common import (
    CARDS,
    GUA,
    HOLDERS,
    NotMeasured,
    ended,
    of,
    process_seconds,
    say,
    tallied,
    tried,
    tried_on,
)
from measure.host import installed, one_worker_per_card
from table import Missing, Row, at_most, count_bytes, count_calls, megabytes, milliseconds, share

TITLE = f"Recording {CARDS} cards with {HOLDERS} holders"
FAST_INTERVAL_SECONDS, SHORT_INTERVAL_SECONDS, REAL_INTERVAL_SECONDS = 0.1, 1, 30
# Ours polls as often, or at each tick.
POLL_SECONDS = 5
REAL_TICKS = 10
SECONDS_OF_YEAR = 365 * 24 * 3600
STARTING_SECONDS = 60
# Where the peer locks up at its end (see Running.end), the run is made again.
ATTEMPTS = 3
DAY_MS, HOUR_MS, QUARTER_HOUR_MS = 86_400_000, 3_600_000, 900_000
TICKS_PER_DAY = 24 * 3600 // REAL_INTERVAL_SECONDS
# Calls per card and 30 s that the budgets allow: process samples are read every second on cards on
# which several work.
MOST_CALLS, MOST_CALLS_SEVERAL = 40, 70


@dataclass(frozen=True)
class Length:
    """How long a recorder is watched: some ticks to warm up, then slices of so many."""

    warm_up: int
    slices: int
    ticks: int
    interval_seconds: float = FAST_INTERVAL_SECONDS

    def least(self):
        """Fewer ticks than that in a slice tell nothing."""
        return max(self.ticks // 3, 2)


LONG, QUICK = (Length(5, 1, ticks, SHORT_INTERVAL_SECONDS) for ticks in (20, 10))
RUNS, QUICK_RUNS = 5, 3


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
    # What a day adds to a database, where a short run does not show it.
    bytes_of_day: Callable[[Path], int] | None = None


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


@dataclass(frozen=True)
class DayRows:
    """Rows that ours adds in a day of the same load: one of each card or holder for every stretch
    of time, made of a row of a short run."""

    table: str
    # The row of each `key` that is taken: the one with the largest `fullest`.
    source: str
    key: str
    fullest: str
    covers_ms: int

    def add(self, database):
        query = f"SELECT *, max({self.fullest}) FROM {self.source} GROUP BY {self.key}"
        found = database.execute(query)
        columns = [name for name, *_ in found.description[:-1]]
        rows = [self.stretched(dict(zip(columns, row))) for row in found]
        time = columns[0]
        (newest,) = database.execute(f"SELECT max({time}) FROM {self.source}").fetchone()
        begin = (newest // DAY_MS + 1) * DAY_MS
        marks = ", ".join("?" for _ in columns)
        for at in range(begin, begin + DAY_MS, self.covers_ms):
            later = [tuple({**row, time: at}.values()) for row in rows]
            database.executemany(f"INSERT INTO {self.table} VALUES ({marks})", later)

    def stretched(self, row):
        """Returns a row of the same load that is as long as one of the table."""
        if "length_ms" not in row:
            return row
        times = self.covers_ms / row["length_ms"]
        return {
            name: value if name in UNSTRETCHED else round(value * times)
            for name, value in row.items()
        }


UNSTRETCHED = ("from_ms", "card", "holder", "reason", "peak_mib")
# No row lasts longer than a quarter hour, but those of hours.
ROWS_OF_DAY = (
    DayRows("card_span", "card_span", "card", "length_ms", QUARTER_HOUR_MS),
    DayRows("holder_span", "holder_span", "holder", "length_ms", QUARTER_HOUR_MS),
    DayRows("card_hour", "card_span", "card", "length_ms", HOUR_MS),
    DayRows("holder_hour", "holder_span", "holder", "length_ms", HOUR_MS),
    DayRows("sample", "sample", "card", "power_w", REAL_INTERVAL_SECONDS * 1000),
)


def bytes_of_day(path, all_rows=ROWS_OF_DAY):
    """Returns by how much a file of ours grows in a day: the rows of one are added to a copy."""
    copy = path.with_suffix(".day")
    shutil.copyfile(path, copy)
    before = database_size(copy)
    with closing(sqlite3.connect(copy)) as database, database:
        for rows in all_rows:
            rows.add(database)
    grown = database_size(copy) - before
    copy.unlink()
    return grown


OURS = Recorder(
    "gua",
    GUA,
    "SELECT count(DISTINCT at_ms) FROM sample",
    "SELECT count(*) FROM card",
    "SELECT count(*) FROM process",
    bytes_of_day,
)
# On the host on which one process works on each card.
ONE_WORKER = replace(OURS, name="gua-one-worker")


class Running:
    """A recorder that runs."""

    def __init__(self, recorder, folder, env, interval_seconds):
        self.recorder = recorder
        self.log = folder / f"{recorder.name}.log"
        self.calls = folder / f"{recorder.name}.calls"
        self.database = folder / f"{recorder.name}.db"
        for left in (self.calls, *folder.glob(f"{self.database.name}*")):
            left.unlink(missing_ok=True)
        # Of its own, as two of ours may record at once.
        home = folder / f"{recorder.name}.home"
        home.mkdir(exist_ok=True)
        interval = f"{interval_seconds * 1000:.0f}ms"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [recorder.program, "daemon", "--foreground"]
                + ["--db", self.database, "--interval", interval],
                env={
                    **env,
                    "NVML_SIM_CALLS": str(self.calls),
                    "GUA_HOME": str(home),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.started = time.monotonic()

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
        ended(self.process)

    def finish(self, cpu_seconds=()):
        """Ends it and adds up."""
        resident, peak = self.memory_bytes("VmRSS"), self.memory_bytes("VmHWM")
        self.end()
        if not self.calls.exists():
            raise LockedUp(f"{self.recorder.name} did not end when it was told to")
        return Run(
            ticks=counted(self.database, self.recorder.ticks),
            cards=counted(self.database, self.recorder.cards),
            holders=counted(self.database, self.recorder.holders),
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


def cost(recorder, folder, env, length=LONG, runs=RUNS, holders=HOLDERS):
    """What a tick costs at a short interval: the medians of some runs, less a brief one."""
    say(f"recording with {recorder.name}, {runs} runs")
    brief = Length(length.warm_up, 0, 0, length.interval_seconds)
    short = record_stubbornly(recorder, folder, env, brief)
    long = [record_stubbornly(recorder, folder, env, length) for _ in range(runs)]
    for run in long:
        check_seen(recorder, run, CARDS, holders)
    calls = by_tick(long, short, "calls")
    if recorder.bytes_of_day:
        # A file grows by whole pages, and a tick of ours adds a part of one.
        grown = recorder.bytes_of_day(folder / f"{recorder.name}.db") / TICKS_PER_DAY
    else:
        grown = by_tick(long, short, "database_bytes")
    return Cost(
        cpu_seconds=statistics.median(each for run in long for each in run.cpu_seconds),
        calls_per_card=calls / CARDS,
        database_bytes=grown,
        resident_bytes=statistics.median(run.resident_bytes for run in long),
        peak_bytes=statistics.median(run.peak_bytes for run in long),
        other_calls=short.calls - calls * short.ticks,
    )


def by_tick(long, short, name):
    """What the long runs have more than the short one, by tick: their median."""
    return statistics.median(
        (getattr(run, name) - getattr(short, name)) / (run.ticks - short.ticks) for run in long
    )


@dataclass(frozen=True)
class RealCost:
    """What one tick costs at the interval that the daemon really has, and how many calls per card
    it makes in the time of one."""

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
        intervals = (time.monotonic() - self.running.started) / REAL_INTERVAL_SECONDS
        run, ticks = self.running.finish(), len(each)
        # One more came before the first reading of the clock, if it looks at once, and one when
        # it was told to end, if it takes a last look.
        if run.ticks - ticks not in (0, 1, 2):
            name = self.running.recorder.name
            raise NotMeasured(f"{name} made {run.ticks} ticks where {ticks} were due")
        calls = (run.calls - other_calls) / intervals / CARDS
        return RealCost(statistics.median(each), calls)


def real_costs(other_calls, places, ticks):
    """What a tick costs at the real interval, of each recorder whose other calls are known, in a
    place of its own.

    They run side by side: nearly all the time all sleep. The clocks are read in the middle between
    two ticks and between two polls, so that from one reading to the next there is exactly one tick,
    and all that a recorder does between two.
    """
    say(f"recording {ticks} ticks of {REAL_INTERVAL_SECONDS} s")
    steps = {}
    try:
        for recorder in other_calls:
            place = places[recorder]
            steps[recorder] = Steps(Running(recorder, *place, REAL_INTERVAL_SECONDS))
        time.sleep(REAL_INTERVAL_SECONDS / 2 + POLL_SECONDS / 2)
        for _ in range(ticks):
            for each in steps.values():
                each.take()
            time.sleep(REAL_INTERVAL_SECONDS)
        for each in steps.values():
            each.take()
        return {
            recorder: tried(each.real_cost, other_calls[recorder])
            for recorder, each in steps.items()
        }
    finally:
        for each in steps.values():
            each.running.end()


def real_rows(setting, mine, peer, their):
    """At the interval that the daemon really has."""
    usual = setting.folder, setting.env
    alone = installed(setting, "one-worker", one_worker_per_card(setting.pids))
    costs, places = {OURS: mine, ONE_WORKER: mine}, {OURS: usual, ONE_WORKER: alone}
    if not isinstance(peer, Missing):
        costs[peer], places[peer] = their, usual
    known = {
        each: cost.other_calls for each, cost in costs.items() if not isinstance(cost, Missing)
    }
    # Nobody is waited for five minutes for nothing.
    real = tried(real_costs, known, places, REAL_TICKS) if known else {}

    def figure(recorder, name):
        if isinstance(recorder, Missing):
            return recorder
        return of(real if isinstance(real, Missing) else real.get(recorder, costs[recorder]), name)

    def compared(what, unit, name, budget, recorder, beside=None):
        theirs = beside and figure(beside, name)
        runs = (REAL_TICKS,) * (2 if beside else 1)
        headline = what.removeprefix("— ")
        ours = figure(recorder, name)
        return Row(what, unit, ours, theirs, budget, runs=runs, headline=headline)

    cpu, calls = "recorder at 30 s: CPU per tick", "— NVML calls per card and 30 s"
    several, one = f"{calls}, several at work on six of eight", f"{calls}, one at work on each"
    most, few = (at_most(calls, count_calls) for calls in (MOST_CALLS_SEVERAL, MOST_CALLS))
    yield compared(cpu, milliseconds, "cpu_seconds", share(3), OURS, peer)
    yield compared(several, count_calls, "calls_per_card", most, OURS, peer)
    yield compared(one, count_calls, "calls_per_card", few, ONE_WORKER)


def year_of(bytes_per_tick):
    """By extrapolation: what a year of ticks at the real interval would be."""
    return bytes_per_tick * SECONDS_OF_YEAR / REAL_INTERVAL_SECONDS


def rows(setting):
    """What a tick costs: time, memory, calls, bytes."""
    peer = tried(python_recorder, setting)
    runs = setting.runs(RUNS, QUICK_RUNS)
    length, place = setting.runs(LONG, QUICK), (setting.folder, setting.env)
    asked = [(each, cost, *place, length, runs) for each in (OURS, peer)]
    mine, their = setting.each(tried_on, asked)

    def compared(what, unit, name, budget=None, headline=None):
        figures = of(mine, name), of(their, name)
        return Row(what, unit, *figures, budget, runs=(runs, runs), headline=headline)

    cpu, calls = "recorder at 1 s: CPU per tick", "— NVML calls per card and tick"
    limit, resident = at_most(16e6, megabytes), "resident memory of the recorder"
    yield compared(cpu, milliseconds, "cpu_seconds", share(3), cpu)
    yield compared("— resident memory", megabytes, "resident_bytes", limit, resident)
    yield compared("— its peak", megabytes, "peak_bytes", limit)
    yield compared(calls, count_calls, "calls_per_card")
    yield from database_rows(mine, their, (1, runs))
    if not setting.is_quick:
        yield from real_rows(setting, mine, peer, their)


def database_rows(mine, their, runs):
    """Estimated, as neither recorder can be shown a day in less than one."""
    each = [of(cost, "database_bytes") for cost in (mine, their)]
    year = [tried_on(bytes_by_tick, year_of) for bytes_by_tick in each]
    what = "database per tick, estimated for a day at 30 s"
    yield Row(f"— {what}", count_bytes, *each, runs=runs, headline=what)
    yield Row("— a year of that, nothing pruned", megabytes, *year, runs=runs)
