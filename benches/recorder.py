"""The recorders: run in the foreground on the pretend machine, and what a tick costs them.

Starting is no part of a tick. So each runs twice, for a few ticks and for many, and what the
second costs more is divided by the ticks that it has more.
"""

import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from common import CARDS, GUA, NotMeasured, say, tallied, tried

SHORT_TICKS, LONG_TICKS, LEAST_TICKS = 20, 620, 200
SHORT_INTERVAL_SECONDS, REAL_INTERVAL_SECONDS = 0.1, 30
STARTING_SECONDS = 1
GENTLY_SECONDS = 10
# Where the peer locks up at its end (see Running.end), the run is made again.
ATTEMPTS = 3
# Ours begins these rows anew at every full hour, of which a short run has none. One has five
# to seven small numbers; this is more than it takes, with its share of a page that is not full.
SPAN_TABLES = ("observed", "card_span", "owner_span", "holder_span", "unseen_span")
SPAN_ROW_BYTES = 50
TICKS_PER_HOUR = 3600 / REAL_INTERVAL_SECONDS


class LockedUp(NotMeasured):
    """It had to be killed, and so did not write down its calls."""


@dataclass(frozen=True)
class Recorder:
    """A program that records ticks into a database, and how that is counted."""

    name: str
    program: Path
    ticks: str
    # The tables of rows that cover many ticks.
    span_tables: tuple = ()


OURS = Recorder("gua", GUA, "SELECT count(*) FROM tick", SPAN_TABLES)


def python_recorder(python_gua):
    return Recorder("python-gua", python_gua, "SELECT count(DISTINCT ts) FROM gpu_sample")


@dataclass(frozen=True)
class Run:
    """What one run came to."""

    ticks: int
    span_rows: int
    cpu_seconds: float
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
        raise NotMeasured(f"{path.name} has another layout than expected: {error}") from None


def database_size(path):
    """The bytes of a database, with nothing left in its log."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return path.stat().st_size


def on_this_host(env):
    """The holders are processes of this host, so both look at its own /proc."""
    return {name: value for name, value in env.items() if name != "GUA_HOST_ROOT"}


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
                env={**on_this_host(env), "NVML_SIM_CALLS": str(self.calls)},
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
        """User and system time of all its threads, also of those that have ended.

        Every process has such a clock, counted in nanoseconds where /proc/PID/stat has
        hundredths of a second; its number is that of clock_getcpuclockid(3).
        """
        self.check()
        return time.clock_gettime((~self.process.pid << 3) | 2)

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

    def finish(self):
        """Ends it and adds up."""
        cpu_seconds = self.cpu_seconds()
        resident, peak = self.memory_bytes("VmRSS"), self.memory_bytes("VmHWM")
        self.end()
        if not self.calls.exists():
            raise LockedUp(f"{self.recorder.name} did not end when it was told to")
        spans = (f"SELECT count(*) FROM {table}" for table in self.recorder.span_tables)
        return Run(
            ticks=counted(self.database, self.recorder.ticks),
            span_rows=counted(self.database, *spans),
            cpu_seconds=cpu_seconds,
            resident_bytes=resident,
            peak_bytes=peak,
            calls=tallied(self.calls),
            database_bytes=database_size(self.database),
        )


def record(recorder, folder, env, ticks):
    """A run of about so many ticks; how many they were is counted."""
    running = Running(recorder, folder, env, SHORT_INTERVAL_SECONDS)
    try:
        time.sleep(STARTING_SECONDS + ticks * SHORT_INTERVAL_SECONDS)
        return running.finish()
    finally:
        running.end()


def record_stubbornly(recorder, folder, env, ticks, attempts=ATTEMPTS):
    try:
        return record(recorder, folder, env, ticks)
    except LockedUp as why:
        if attempts == 1:
            raise
        say(f"{why}; once more")
        return record_stubbornly(recorder, folder, env, ticks, attempts - 1)


def cost(recorder, folder, env):
    """What a tick costs at a short interval."""
    say(f"recording with {recorder.name}")
    short = record_stubbornly(recorder, folder, env, SHORT_TICKS)
    long = record_stubbornly(recorder, folder, env, LONG_TICKS)
    more = long.ticks - short.ticks
    if more < LEAST_TICKS:
        raise NotMeasured(f"{recorder.name} made only {more} ticks more in the longer run")
    calls = (long.calls - short.calls) / more
    return Cost(
        cpu_seconds=(long.cpu_seconds - short.cpu_seconds) / more,
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


def real_cost(running, cpu_seconds_before, ticks, other_calls):
    cpu_seconds = running.cpu_seconds() - cpu_seconds_before
    run = running.finish()
    # One more came before the first reading of the clock, if it looks at once, and one when it
    # was told to end, if it takes a last look.
    if run.ticks - ticks not in (0, 1, 2):
        raise NotMeasured(f"{running.recorder.name} made {run.ticks} ticks where {ticks} were due")
    return RealCost(cpu_seconds / ticks, (run.calls - other_calls) / run.ticks / CARDS)


def real_costs(costs, ticks, folder, env):
    """What a tick costs at the real interval, of each recorder whose other costs are known.

    They run side by side: nearly all the time both sleep. The clocks are read half an
    interval after a tick, so that from one reading to the next there is exactly one tick,
    and all that a recorder does between two.
    """
    say(f"recording {ticks} ticks of {REAL_INTERVAL_SECONDS} s")
    running = {
        recorder: Running(recorder, folder, env, REAL_INTERVAL_SECONDS) for recorder in costs
    }
    try:
        time.sleep(REAL_INTERVAL_SECONDS / 2)
        before = {recorder: each.cpu_seconds() for recorder, each in running.items()}
        time.sleep(ticks * REAL_INTERVAL_SECONDS)
        return {
            recorder: tried(real_cost, each, before[recorder], ticks, costs[recorder].other_calls)
            for recorder, each in running.items()
        }
    finally:
        for each in running.values():
            each.end()
