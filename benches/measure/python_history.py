"""Months of a lab in a database of the Python gua, made in a minute instead of recorded.

Its tables are made by the Python gua itself, its rows by a workload of six people. The
workload is a function of the day alone, so that a file made earlier the same day only needs
the ticks since then. Nobody holds a card with so little or such unknown memory that the
Python gua and ours would judge it differently.
"""

import random
import sqlite3
import subprocess
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache

from common import CARDS, TARGET, say

# To be raised with every change to the workload or to the rows.
VERSION = 1
FOLDER = TARGET / "benches"
TICK_SECONDS = 30
DAY_SECONDS = 24 * 60 * 60
MEMORY_TOTAL_MB = 81559
RESERVED_MB = 550
# Every so many days the host is started anew: a gap, and a new run of the daemon.
DAYS_BETWEEN_RESTARTS = 15
RESTART_TICKS = range(480, 504)


@dataclass(frozen=True)
class Session:
    """What one person runs on one card, in one or several processes."""

    user: str
    program: str
    begin: float
    end: float
    first_pid: int
    memory_mb: tuple
    # From chance, the ticks since the beginning and the hour of the day, the utilization.
    work: Callable[[random.Random, int, float], int]


def train(chance, age, _hour):
    """Busy, but for a checkpoint every twenty minutes."""
    return chance.randint(0, 6) if age % 40 < 2 else chance.randint(85, 99)


def type_and_try(chance, age, hour):
    """A notebook: bursts of a few ticks while its owner sits there, nothing at night."""
    if not 9 <= hour < 18:
        return 0
    return chance.randint(20, 70) if age // 4 % 3 == 0 else chance.randint(0, 4)


def experiment(chance, age, _hour):
    """Flips between work and thought every other tick."""
    return chance.randint(35, 80) if age // 2 % 2 == 0 else chance.randint(0, 8)


def serve(chance, _age, hour):
    """Requests by day, few at night, and in the evening now below 10 % and now above."""
    if 8 <= hour < 18:
        return chance.randint(15, 60)
    return chance.randint(4, 16) if 18 <= hour < 22 else chance.randint(0, 5)


def sweep(chance, age, _hour):
    """Loads its data, then works until it ends."""
    return chance.randint(0, 3) if age < 3 else chance.randint(60, 92)


def forget(_chance, _age, _hour):
    """Held and not used."""
    return 0


class Plan:
    """The sessions that begin on one day, by card. They may last into the next."""

    def __init__(self, day):
        self.day = day
        self.chance = random.Random(f"{VERSION}/{day.toordinal()}")
        self.midnight = datetime(day.year, day.month, day.day, tzinfo=timezone.utc).timestamp()
        self.sessions = [[] for _ in range(CARDS)]
        self.next_pid = 10_000 + day.toordinal() % 1000 * 1000
        self.alice()
        self.bob()
        self.carol()
        self.dora()
        self.erik()
        self.fay()

    def add(self, card, user, program, begin, hours, processes, work):
        """A session that begins at this hour, give or take ten minutes."""
        begin = self.midnight + begin * 3600 + self.chance.uniform(-600, 600)
        memory = tuple(self.chance.randint(2_000, 18_000) for _ in range(processes))
        session = Session(user, program, begin, begin + hours * 3600, self.next_pid, memory, work)
        self.sessions[card].append(session)
        self.next_pid += processes

    def is_weekend(self):
        return self.day.weekday() >= 5

    def alice(self):
        """Tries things by day on one card, with another one kept; trains on both at night."""
        if not self.is_weekend():
            self.add(0, "alice", "ipython", 9, 8, 2, type_and_try)
            self.add(1, "alice", "pdb", 9, 8, 2, forget)
        for card in (0, 1):
            self.add(card, "alice", "python", 17.5, self.chance.uniform(8, 14), 3, train)

    def bob(self):
        """Never closes a notebook."""
        work = forget if self.is_weekend() else type_and_try
        self.add(2, "bob", "jupyter-lab", 9, 23.5, 3, work)

    def carol(self):
        """Experiments all afternoon, and leaves the card held when she goes."""
        if self.is_weekend():
            return
        self.add(3, "carol", "python3.11", 13, 6, 3, experiment)
        self.add(3, "carol", "python3.11", 19.2, self.chance.uniform(3, 8), 2, forget)

    def dora(self):
        """A service around the clock, renewed every morning."""
        self.add(4, "dora", "serve", 4.3, 23.9, 4, serve)

    def erik(self):
        """One short job after the other, on two cards."""
        for card in (5, 6):
            hour = 8.0
            while hour < 22:
                hours = self.chance.uniform(0.3, 0.9)
                self.add(card, "erik", "sweep.py", hour, hours, 3, sweep)
                hour += hours + self.chance.uniform(0.1, 0.4)

    def fay(self):
        """Comes in a container, so that nobody has logged in; trains at weekends."""
        if self.is_weekend():
            self.add(7, "fay", "torchrun", 8, 20, 3, train)
        else:
            self.add(7, "fay", "python", 9, 3, 3, type_and_try)
            self.add(7, "fay", "python", 12.5, self.chance.uniform(8, 12), 3, forget)


@cache
def card_uuids():
    chance = random.Random(VERSION)
    return [f"GPU-{uuid.UUID(int=chance.getrandbits(128), version=4)}" for _ in range(CARDS)]


def timestamp(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="microseconds")


def is_down(day, tick):
    return day.toordinal() % DAYS_BETWEEN_RESTARTS == 0 and tick in RESTART_TICKS


def ticks(day, sessions):
    """All ticks of a day: which, when, and of each card its sessions and utilization."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=timezone.utc).timestamp()
    chance = random.Random(f"ticks/{VERSION}/{day.toordinal()}")
    for tick in range(DAY_SECONDS // TICK_SECONDS):
        # The Python gua comes a moment late to each tick, but does not drift.
        at = midnight + tick * TICK_SECONDS + chance.uniform(0.0001, 0.003)
        hour = tick * TICK_SECONDS / 3600
        cards = []
        for planned in sessions:
            there = [session for session in planned if session.begin <= at < session.end]
            work = (s.work(chance, int(at - s.begin) // TICK_SECONDS, hour) for s in there)
            cards.append((there, max(work, default=0)))
        yield tick, at, cards


def card_row(ts, run, index, there, utilization):
    held = sum(sum(session.memory_mb) for session in there)
    # The daemon's own state, which no report reads; it also waits for a streak of low ticks.
    state = "idle" if not there else "active" if utilization > 5 else "idle_held"
    temperature, power = 32 + utilization * 2 // 5, 70 + utilization * 6
    name = card_uuids()[index]
    return ts, name, utilization, run, state, index, RESERVED_MB + held, temperature, power


def process_rows(ts, run, index, there):
    name = card_uuids()[index]
    for session in there:
        login = None if session.user == "fay" else session.user
        for nth, memory in enumerate(session.memory_mb):
            pid = session.first_pid + nth
            yield ts, name, pid, memory, login, session.user, run, index, session.program, "compute"


CARD_COLUMNS = """ts, gpu_uuid, util_pct, run_id, usage_state, gpu_index, memory_used_mb,
    temperature_c, power_w"""
PROCESS_COLUMNS = """ts, gpu_uuid, pid, mem_used_mb, loginuid_user, owner_user, run_id,
    gpu_index, process_name, process_type"""


def insert(database, table, columns, rows):
    marks = ", ".join("?" for _ in columns.split(","))
    database.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)


def begin_run(database, at):
    run = "INSERT INTO daemon_run (started_at, interval_seconds) VALUES (?, ?)"
    return database.execute(run, (timestamp(at), TICK_SECONDS)).lastrowid


def write_day(database, day, begin, end):
    """The ticks of a day after `begin` and up to `end`."""
    plans = [Plan(day - timedelta(days=1)), Plan(day)]
    sessions = [[s for plan in plans for s in plan.sessions[card]] for card in range(CARDS)]
    (run,) = database.execute("SELECT max(id) FROM daemon_run").fetchone()
    cards, processes = [], []
    for tick, at, seen in ticks(day, sessions):
        if is_down(day, tick) or not begin < at <= end:
            continue
        if run is None or is_down(day, tick - 1):
            run = begin_run(database, at)
        ts = timestamp(at)
        for index, (there, utilization) in enumerate(seen):
            cards.append(card_row(ts, run, index, there, utilization))
            processes.extend(process_rows(ts, run, index, there))
    with database:
        insert(database, "gpu_sample", CARD_COLUMNS, cards)
        insert(database, "proc_sample", PROCESS_COLUMNS, processes)


def write_days(database, begin, end):
    day = datetime.fromtimestamp(begin, timezone.utc).date()
    while day <= datetime.fromtimestamp(end, timezone.utc).date():
        write_day(database, day, begin, end)
        day += timedelta(days=1)
    with database:
        for table in ("host", "gpu_device"):
            database.execute(f"UPDATE {table} SET last_seen = ?", (timestamp(end),))


def write_inventory(database, begin):
    since = (timestamp(begin), timestamp(begin))
    with database:
        host = "hostname, env_kind, driver_version, first_seen, last_seen"
        insert(database, "host", host, [("lab", "bare-metal", "560.35.05", *since)])
        card = "gpu_uuid, name, memory_total_mb, first_seen, last_seen"
        model = ("NVIDIA H100 80GB HBM3", MEMORY_TOTAL_MB, *since)
        insert(database, "gpu_device", card, [(name, *model) for name in card_uuids()])


def layout(python_gua, folder, env):
    """The statements with which the Python gua itself makes its tables."""
    demo = folder / "demo.db"
    command = [python_gua, "demo", "--ticks", "1", "--interval", "1ms", "--db", demo]
    subprocess.run(command, env=env, check=True, capture_output=True)
    with closing(sqlite3.connect(demo)) as database:
        return [
            sql
            for name, sql in database.execute("SELECT name, sql FROM sqlite_master")
            if sql is not None and not name.startswith("sqlite_")
        ]


def open_history(path):
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    # Losing it in a crash costs no more than making it again.
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA cache_size = -200000")
    return database


def make(path, days, end, statements):
    path.parent.mkdir(parents=True, exist_ok=True)
    # A little more than the window, which moves on between the making and the measuring.
    begin = end - days * DAY_SECONDS - 3600
    with closing(open_history(path)) as database:
        for statement in statements:
            database.execute(statement)
        write_inventory(database, begin)
        write_days(database, begin, end)


def catch_up(path, end):
    """Adds the ticks since the file was made or last caught up."""
    with closing(open_history(path)) as database:
        (last,) = database.execute("SELECT max(ts) FROM gpu_sample").fetchone()
        # A millisecond after the last one, lest rounding to microseconds writes it twice.
        write_days(database, datetime.fromisoformat(last).timestamp() + 0.001, end)


def history(days, python_gua, folder, env):
    """The path of a history of so many days which ends now, made unless today's is there."""
    today = datetime.now(timezone.utc).date()
    path = FOLDER / f"python-{days}d-v{VERSION}-{today}.db"
    now = datetime.now(timezone.utc).timestamp()
    if path.exists():
        say(f"catching up with {path.name}")
        catch_up(path, now)
        return path
    for old in FOLDER.glob(f"python-{days}d-*"):
        old.unlink()
    say(f"making {path.name}, which takes about half a second a day")
    begun = path.with_suffix(".begun")
    make(begun, days, now, layout(python_gua, folder, env))
    begun.rename(path)
    return path


def runs_of_daemon(path):
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT count(*) FROM daemon_run").fetchone()[0]
