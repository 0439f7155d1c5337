"""A tick of the recorder on a crowded host, beside one on the same host when it is quiet."""

import subprocess
import sys
from contextlib import contextmanager

from common import CARDS, holders, of, say, tried
from measure import recorder
from measure.host import cards_with, installed
from table import Row, at_most_times, megabytes, milliseconds

HOLDERS, OTHERS = 200, 10_000
TITLE = f"{HOLDERS} holders on {CARDS} cards, with and without {OTHERS:,} other processes"

# One process that makes all the others and takes them with it at its end.
CROWD = """
import os, signal, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        signal.pause()
        os._exit(0)
print("there", flush=True)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""


@contextmanager
def crowd(count):
    """So many processes that have nothing to do with any card."""
    first = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", CROWD, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        first.stdout.readline()
        yield
    finally:
        first.stdin.close()
        first.wait()


def costs(folder, env):
    """On the crowded host, and on the quiet one."""
    measure = (recorder.cost, recorder.OURS, folder, env, recorder.LONG, HOLDERS)
    quiet = tried(*measure)
    say(f"starting {OTHERS} processes")
    with crowd(OTHERS):
        return tried(*measure), quiet


def rows(setting):
    with holders(HOLDERS) as pids:
        folder, env = installed(setting, "crowd", cards_with(CARDS, pids))
        crowded, quiet = costs(folder, env)
    lines = [
        ("CPU per tick on the crowded host", milliseconds, "cpu_seconds", at_most_times(2)),
        ("— resident memory", megabytes, "resident_bytes", None),
    ]
    slices = (recorder.LONG.slices,) * 2
    for what, unit, name, budget in lines:
        yield Row(what, unit, of(crowded, name), of(quiet, name), budget, "gua, quiet host", slices)
