"""A tick of the recorder on a crowded host, beside one on the same host when it is quiet."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

from common import CARDS, NotMeasured, holders, of, say, tried
from measure import recorder
from measure.host import cards_with, installed
from table import Row, at_most_times, megabytes, milliseconds

HOLDERS, OTHERS = 200, 10_000
LENGTH = recorder.Length(20, 1, 120)
TITLE = f"{HOLDERS} holders on {CARDS} cards, with and without {OTHERS:,} other processes"

# One process that makes all the others, says that they are there or why not, and takes them with
# it at its end. They let go of its pipes, which would not end otherwise.
CROWD = """
import os, signal, sys
def make(count):
    for _ in range(count):
        if os.fork() == 0:
            os.closerange(0, 3)
            signal.pause()
try:
    make(int(sys.argv[1]))
    print("there", flush=True)
except OSError as why:
    print(why, flush=True)
try:
    sys.stdin.read()
finally:
    os.killpg(0, signal.SIGKILL)
"""


@contextmanager
def crowd(count):
    """So many processes that have nothing to do with any card. A host may allow fewer, and then
    there is nothing to measure."""
    first = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", CROWD, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        said = first.stdout.readline().decode().strip()
        if said != "there":
            raise NotMeasured(f"{count} processes could not be started: {said}")
        yield
    finally:
        # All of them are in the first one's group, which is there until it is waited for.
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()


def costs(folder, env):
    """On the crowded host, and on the quiet one."""
    measure = (recorder.cost, recorder.OURS, folder, env, LENGTH, recorder.RUNS, HOLDERS)
    quiet = tried(*measure)
    say(f"starting {OTHERS} processes")
    return tried(crowded, *measure), quiet


def crowded(*measure):
    with crowd(OTHERS):
        return tried(*measure)


def rows(setting):
    with holders(HOLDERS) as pids:
        folder, env = installed(setting, "crowd", cards_with(CARDS, pids))
        crowded, quiet = costs(folder, env)
    lines = [
        ("CPU per tick on the crowded host", milliseconds, "cpu_seconds", at_most_times(2)),
        ("— resident memory", megabytes, "resident_bytes", None),
    ]
    runs = (recorder.RUNS,) * 2
    for what, unit, name, budget in lines:
        yield Row(what, unit, of(crowded, name), of(quiet, name), budget, "gua, quiet host", runs)
