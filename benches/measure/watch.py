"""Watching: gua top and nvitop, side by side on terminals of their own, once a second."""

import fcntl
import os
import pty
import re
import select
import statistics
import struct
import termios
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from common import CARDS, GUA, HOLDERS, NotMeasured, of, process_seconds, say, tried
from table import Missing, Row, count_bytes, megabytes, milliseconds, share

COLUMNS, ROWS = 120, 40
TITLE = f"Watching {CARDS} cards with {HOLDERS} holders, {COLUMNS} × {ROWS}, every second"
# Starting is left out: a view is opened once and then watched.
WARM_UP_SECONDS, QUICK_WARM_UP_SECONDS = 6, 4
SLICES = 5


@dataclass(frozen=True)
class Watched:
    """What a second of watching takes, and the peak of the resident memory."""

    cpu_seconds: float
    bytes_written: float
    peak_bytes: int


def become(command, env):
    """In the child: the command, or nothing. It must never go on as a second comparison."""
    try:
        os.execvpe(command[0], command, env)
    finally:
        os._exit(127)


class Watcher:
    """A program on a terminal of its own, and what it has cost so far."""

    def __init__(self, name, command, env):
        self.name, self.bytes, self.shown = name, 0, b""
        # What it had used and written at each reading.
        self.readings = []
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            become(command, env)
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)

    def read(self):
        try:
            data = os.read(self.terminal, 1 << 16)
        except OSError as gone:
            raise NotMeasured(f"{self.name} ended: {self.shown[-300:]!r}") from gone
        self.bytes += len(data)
        self.shown += data

    def seconds(self):
        """On a processor until now, to the nanosecond, of all its threads."""
        return process_seconds(self.pid)

    def take_reading(self):
        self.readings.append((time.monotonic(), self.seconds(), self.bytes))

    def peak(self):
        status = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def watched(self):
        """The median of the slices between the readings, by second."""
        slices = [
            ((cpu - cpu_before) / (at - before), (written - written_before) / (at - before))
            for (before, cpu_before, written_before), (at, cpu, written) in pairwise(self.readings)
        ]
        cpu, written = (statistics.median(each) for each in zip(*slices, strict=True))
        return Watched(cpu, written, self.peak())

    def end(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def drain(watchers, seconds):
    """Reads what they draw, as a terminal would, for so long."""
    until = time.monotonic() + seconds
    by_terminal = {watcher.terminal: watcher for watcher in watchers}
    while (left := until - time.monotonic()) > 0:
        for terminal in select.select(list(by_terminal), [], [], left)[0]:
            by_terminal[terminal].read()


def check(watcher, pids):
    """Nobody is cheap by not looking."""
    text = watcher.shown.decode(errors="replace")
    seen = len(set(map(str, pids)) & set(re.findall(r"\d+", text)))
    # A terminal of so few lines may not have room for all of them.
    if seen < CARDS:
        raise NotMeasured(f"{watcher.name} showed {seen} of {len(pids)} holders")


def measure(commands, env, pids, warm_up_seconds, slice_seconds):
    say(f"watching for {warm_up_seconds + SLICES * slice_seconds} s")
    watchers = []
    try:
        for name, command in commands:
            watchers.append(Watcher(name, command, env))
        drain(watchers, warm_up_seconds)
        for watcher in watchers:
            watcher.take_reading()
        for _ in range(SLICES):
            drain(watchers, slice_seconds)
            for watcher in watchers:
                watcher.take_reading()
        for watcher in watchers:
            check(watcher, pids)
        return [watcher.watched() for watcher in watchers]
    finally:
        for watcher in watchers:
            watcher.end()


def rows(setting):
    nvitop = tried(setting.peer, "peers", "nvitop")
    commands = [("gua top", [str(GUA), "top", "--every", "1s"])]
    if not isinstance(nvitop, Missing):
        commands.append(("nvitop", [str(nvitop), "--interval", "1"]))
    env = {**setting.env, "TERM": "xterm-256color"}
    seconds = setting.runs((WARM_UP_SECONDS, 4), (QUICK_WARM_UP_SECONDS, 2))
    both = tried(measure, commands, env, setting.pids, *seconds)
    # Without the peer there is one, and why.
    mine, their = (both, both) if isinstance(both, Missing) else [*both, nvitop][:2]
    cpu = "watching: CPU per refresh"
    lines = [
        (cpu, milliseconds, "cpu_seconds", share(10), SLICES, cpu),
        ("— bytes to the terminal", count_bytes, "bytes_written", None, SLICES, None),
        ("— peak memory", megabytes, "peak_bytes", None, 1, "watching: peak memory"),
    ]
    for what, unit, name, budget, runs, headline in lines:
        figures = of(mine, name), of(their, name)
        yield Row(what, unit, *figures, budget, "nvitop", (runs, runs), headline)
