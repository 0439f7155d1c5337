"""The page: what a month of a lab costs the server, and whether 200 viewers are felt."""

import asyncio
import sqlite3
import statistics
import subprocess
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise

from common import GUA, NotMeasured, ended, of, ours, process_seconds, say, tried
from measure.scrape import free_port, resident_bytes
from table import Row, at_most, count, count_bytes, megabytes, milliseconds

TITLE = "The page"
MONTH = "since=30d"
MOST_SECONDS, MOST_BYTES = 0.1, 300_000
VIEWERS, DEADLINE_SECONDS = 200, 60
# More than the server keeps whole.
WATCHED_WINDOWS = 64
INTERVAL_SECONDS = 1
# A tick is late when it comes more than half an interval after it was due.
LATEST_SECONDS = 1.5 * INTERVAL_SECONDS
# The first and the last tick may fall outside of what is watched, and one in between.
MOST_MISSED = 3


@dataclass(frozen=True)
class Month:
    """What the page over a month takes: for a window that nobody has asked for, and again."""

    anew_seconds: float
    cpu_seconds: float
    again_seconds: float
    size_bytes: int
    resident_bytes: int


@dataclass(frozen=True)
class Watched:
    """How many ticks came late beside all viewers, and how many the one who saw fewest missed."""

    late: int
    missed: int


class Server:
    """One that answers, and what it has said."""

    def __init__(self, process, port, log):
        self.process, self.port, self.log = process, port, log

    async def answer(self, path):
        """The body, and how long it took to come."""
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request(path, "Connection: close"))
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise NotMeasured(f"{path} was answered with {head[:60]!r} {body[:200]!r}")
        return body, time.perf_counter() - began

    async def first_answer(self, path):
        """Starting takes as long as it takes."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            self.check()
            try:
                return await self.answer(path)
            except (OSError, NotMeasured):
                await asyncio.sleep(0.1)
        raise NotMeasured(f"nothing answered {path} for {DEADLINE_SECONDS} s")

    def check(self):
        if self.process.poll() is not None:
            said = self.log.read_text().strip().splitlines() or ["nothing"]
            raise NotMeasured(f"gua ended with {self.process.returncode} and said: {said[0]}")


def request(path, *more):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *more, "", ""]).encode()


@contextmanager
def serving(setting, name, *command):
    """A command of ours that listens, in a home of its own."""
    home, port = setting.folder / name, free_port()
    home.mkdir(exist_ok=True)
    log = home / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [GUA, *command, "--listen", str(port)],
            env={**setting.env, "HOME": str(home), "GUA_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        yield Server(process, port, log)
    finally:
        ended(process)


def month(setting):
    """Of the demo's lab."""
    database = setting.folder / "month.db"
    database.unlink(missing_ok=True)
    ours("demo", "--days", "30", "--db", database, env=setting.env)
    with serving(setting, "month", "serve", "--db", database) as server:
        return asyncio.run(asked_for(server, setting.runs(11, 5)))


async def asked_for(server, windows):
    body, _ = await server.first_answer(f"/?{MONTH}")
    again = [(await server.answer(f"/?{MONTH}"))[1] for _ in range(20)]
    anew, cpu = [], []
    # Each is a window that nobody has asked for.
    for hours in range(719, 719 - windows, -1):
        before = process_seconds(server.process.pid)
        anew.append((await server.answer(f"/?since={hours}h"))[1])
        cpu.append(process_seconds(server.process.pid) - before)
    return Month(
        statistics.median(anew),
        statistics.median(cpu),
        statistics.median(again),
        len(body),
        resident_bytes(server.process.pid),
    )


def watched(setting, seconds):
    """Viewers beside a recorder of the usual host that ticks every second."""
    say(f"watching with {VIEWERS} viewers for {seconds} s")
    database = setting.folder / "viewed.db"
    interval = f"{INTERVAL_SECONDS}s"
    command = ["daemon", "--foreground", "--interval", interval, "--db", database]
    with serving(setting, "viewed", *command) as server:
        seen = asyncio.run(fewest_seen(server, seconds))
    return Watched(late_ticks(database), max(seconds - seen, 0))


def late_ticks(database):
    """How many ticks came late, by the distances of the samples: each tick has one of each card."""
    query = "SELECT DISTINCT at_ms FROM sample ORDER BY at_ms"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        times = [at for (at,) in opened.execute(query)]
    if len(times) < 2:
        raise NotMeasured(f"the recorder made {len(times)} ticks")
    return sum((after - before) / 1000 > LATEST_SECONDS for before, after in pairwise(times))


def window(place):
    """What a viewer looks at: not all the same."""
    return f"since={24 + place % WATCHED_WINDOWS}h"


async def fewest_seen(server, seconds):
    """The updates of the viewer who saw fewest. All must be there to the end."""
    opened = (server.first_answer(f"/?{window(place)}") for place in range(VIEWERS))
    await asyncio.gather(*opened)
    counts = [0] * VIEWERS
    tasks = [asyncio.create_task(viewer(server, counts, place)) for place in range(VIEWERS)]
    left, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    seen = min(counts)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in left:
        raise NotMeasured(f"a viewer did not stay to the end: {task.exception()!r}")
    return seen


async def viewer(server, counts, place):
    """As a browser: listens, and asks for what is new after every tick."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(request("/events"))
        while line := await reader.readline():
            if line.startswith(b"event: tick"):
                await server.answer(f"/live?{window(place)}")
                counts[place] += 1
    finally:
        writer.close()


def rows(setting):
    found, runs = tried(month, setting), (setting.runs(11, 5),)
    quick, what = at_most(MOST_SECONDS, milliseconds), "the page over 30 d of 9 cards"
    small = at_most(MOST_BYTES, count_bytes)
    seconds = setting.runs(20, 10)
    beside = tried(watched, setting, seconds)
    late = f"late ticks beside {VIEWERS} viewers of {WATCHED_WINDOWS} windows"
    missed = f"— updates of {seconds} that a viewer missed at most"
    for name, unit, figure, budget, times in (
        (f"{what}, made anew", milliseconds, of(found, "anew_seconds"), quick, runs),
        ("— CPU time of the server", milliseconds, of(found, "cpu_seconds"), None, runs),
        ("— asked for again", milliseconds, of(found, "again_seconds"), quick, (20,)),
        ("— its size", count_bytes, of(found, "size_bytes"), small, (1,)),
        ("— resident memory", megabytes, of(found, "resident_bytes"), None, (1,)),
        (late, count, of(beside, "late"), at_most(0, count), (1,)),
        (missed, count, of(beside, "missed"), at_most(MOST_MISSED, count), (1,)),
    ):
        yield Row(name, unit, figure, None, budget, runs=times)
