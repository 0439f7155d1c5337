"""The reports: how long they take, what memory, and whether both tell the same."""

import json
import re
import shlex
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from common import CARDS, GUA, NotMeasured, ours, peak_kib, say
from python_history import TICK_SECONDS

RUNS = 20
STATES = ("active", "idle_held", "truly_idle")


@dataclass(frozen=True)
class Told:
    """What the Python gua's report tells about the states, which it rounds."""

    total_hours: float
    percent: dict
    idle_held_hours: float


@dataclass(frozen=True)
class Reported:
    """What one report took."""

    seconds: float
    peak_bytes: int


def python_told(printed):
    """Reads the text of the report: the observations, the shares, the hours of idle-held."""
    (samples,) = re.findall(r"([\d,]+) 관측", printed)
    shares = re.findall(r"(?:실가동|유휴점유|완전유휴) (\d+)%", printed)
    (held,) = re.findall(r"≈ (\d+) GPU-시간", printed)
    return Told(
        total_hours=int(samples.replace(",", "")) * TICK_SECONDS / 3600,
        percent=dict(zip(STATES, map(int, shares), strict=True)),
        idle_held_hours=int(held),
    )


def python_report(python_gua, database, since, runs, folder, env):
    """The median of the runs, the largest peak, and what the first one told."""
    say(f"report of the Python gua over {since}")
    command = [python_gua, "report", "--db", database, "--since", since]
    seconds, peaks, told = [], [], None
    for _ in range(runs):
        begun = time.perf_counter()
        peak, printed = peak_kib(command, folder, env)
        seconds.append(time.perf_counter() - begun)
        peaks.append(peak * 1024)
        told = told or python_told(printed)
    return Reported(statistics.median(seconds), max(peaks)), told


def our_hours(database, since, env):
    """The GPU-hours of each state, from the report's JSON."""
    report = json.loads(ours("report", "--db", database, "--since", since, "--json", env=env))
    try:
        return {state: report["states"][state]["gpu_hours"] for state in STATES}
    except KeyError as missing:
        raise NotMeasured(f"`gua report --json` has no {missing} where it is looked for") from None


def our_report(database, since, folder, env):
    """The median of many runs, and the peak of one."""
    arguments = ["report", "--db", str(database), "--since", since]
    # Before hyperfine, which would tell less about what is wrong.
    ours(*arguments, env=env)
    results = folder / "hyperfine.json"
    command = ["hyperfine", "--shell=none", "--warmup=3", f"--runs={RUNS}", "--style=basic"]
    command += ["--export-json", results, shlex.join([str(GUA), *arguments])]
    subprocess.run(command, env=env, check=True, stdout=sys.stderr, stdin=subprocess.DEVNULL)
    (result,) = json.loads(results.read_text())["results"]
    peak, _ = peak_kib([GUA, *arguments], folder, env)
    return Reported(result["median"], peak * 1024)


def differences(hours, told, runs_of_daemon):
    """Where our hours and theirs differ by more than the rounding of theirs.

    Beyond that, a tick of each card may differ at either edge of the window and at each
    start of the daemon: theirs counts ticks, ours the time between them.
    """
    slack = (2 + runs_of_daemon) * CARDS * TICK_SECONDS / 3600
    rounding = 0.005 * told.total_hours
    expected = [
        (state, hours[state], told.percent[state] / 100 * told.total_hours, rounding)
        for state in STATES
    ]
    expected.append(("idle_held", hours["idle_held"], told.idle_held_hours, 0.5))
    expected.append(("all", sum(hours.values()), told.total_hours, 0))
    return [
        f"{what} is {ours:.2f} GPU-hours and not {theirs:.2f} ± {off + slack:.2f}"
        for what, ours, theirs, off in expected
        if abs(ours - theirs) > off + slack
    ]
