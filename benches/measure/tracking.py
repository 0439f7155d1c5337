"""Tracking one command: gua track and our gpu-tracker beside gpu_tracker 5.0.1."""

import csv
import shlex
import statistics
import subprocess
from functools import partial

from common import (
    GUA,
    PATIENCE_SECONDS,
    RELEASE,
    ROOT,
    NotMeasured,
    home,
    of,
    peak_bytes,
    spent,
    spent_in_turn,
    tried,
    tried_on,
)
from table import Budget, Missing, Row, Unit, at_most, megabytes, milliseconds

TITLE = "Tracking one command"
OURS = RELEASE / "gpu-tracker"
SUBJECT = ROOT / "crates" / "track" / "tests" / "subject" / "subject.c"
EVERY = 0.1
SLEEP_SECONDS, QUICK_SLEEP_SECONDS, PERIOD_SECONDS = 2, 1, 3
SPIKES, QUICK_SPIKES, SPIKE_MEGABYTES, SPIKE_MILLISECONDS = 16, 8, 500, 50
PEER = "gpu_tracker"


def gua_track(command):
    return [str(GUA), "track", "--every", f"{EVERY}s", "--", *command]


def tracker(program):
    def wrap(command, *options):
        typed = [f"--execute={shlex.join(command)}", f"--st={EVERY}", *options]
        return [str(program), *typed]

    return wrap


def sleep_costs(peer, env, seconds, runs):
    """What gua track, our gpu-tracker and theirs cost more than the command alone."""
    bare = ["sleep", str(seconds)]
    tools = [gua_track(bare), tracker(OURS)(bare)]
    if not isinstance(peer, Missing):
        tools.append(tracker(peer)(bare))
    plain, *tracked = spent_in_turn([bare, *tools], env, runs)
    added = [
        type(plain)(max(each.seconds - plain.seconds, 0), each.cpu_seconds - plain.cpu_seconds)
        for each in tracked
    ]
    return [*added, peer][:3]


def sleep_rows(peer, env, seconds, runs):
    costs = tried(sleep_costs, peer, env, seconds, runs)
    gua, ours, theirs = (costs,) * 3 if isinstance(costs, Missing) else costs
    budget = at_most(0.03, milliseconds)
    added, used = f"wall clock added to `sleep {seconds}`", "CPU time used meanwhile"
    lines = [
        (f"{added} by `gua track`", gua, "seconds", f"{added} by `gua track`"),
        ("— by our `gpu-tracker`", ours, "seconds", None),
        (f"{used} by `gua track`", gua, "cpu_seconds", f"{used} by `gua track`"),
        ("— by our `gpu-tracker`", ours, "cpu_seconds", None),
    ]
    for what, mine, name, headline in lines:
        figures = of(mine, name), of(theirs, name)
        yield Row(what, milliseconds, *figures, budget, PEER, (runs, runs), headline)


def memory_rows(peer, folder, env, runs):
    """The largest resident memory of any process of the tool; the command itself is small."""
    command, budget = ["sleep", "1"], at_most(16e6, megabytes)

    def peak(wrap):
        return peak_bytes(wrap(command), folder, env, runs)

    theirs = tried_on(peer, lambda program: peak(tracker(program)))
    of_gua = "peak memory of `gua track`"
    for what, wrap, headline in (
        (of_gua, gua_track, of_gua),
        ("— of our `gpu-tracker`", tracker(OURS), None),
    ):
        mine = tried(peak, wrap)
        yield Row(what, megabytes, mine, theirs, budget, PEER, (runs, runs), headline)


def period(program, folder, env):
    """The mean distance of the rows of a tracking file."""
    file = folder / "tracking.csv"
    file.unlink(missing_ok=True)
    spent(tracker(program)(["sleep", str(PERIOD_SECONDS)], f"--tf={file}"), env)
    rows = list(csv.reader(file.open(newline="")))[3:]
    times = [float(row[-1]) for row in rows]
    if len(times) < 3:
        raise NotMeasured(f"{program.name} wrote {len(times)} rows")
    return (times[-1] - times[0]) / (len(times) - 1)


def periods(program, folder, env, runs):
    return statistics.median(period(program, folder, env) for _ in range(runs))


def period_row(peer, folder, env, runs):
    both = (tried_on(program, periods, folder, env, runs) for program in (OURS, peer))
    budget = at_most(0.105, milliseconds)
    what = "real sampling period, 100 ms asked for"
    return Row(what, milliseconds, *both, budget, PEER, (runs, runs), what)


def compiled(folder):
    subject = folder / "subject"
    subprocess.run(["cc", "-O1", "-pthread", "-o", subject, SUBJECT], check=True)
    return subject


def is_seen(program, subject, env):
    """Whether the peak of a spike was told within 2 percent."""
    command = [str(subject), "spike", str(SPIKE_MEGABYTES), str(SPIKE_MILLISECONDS)]
    typed = tracker(program)(command, "--ru=megabytes")
    done = subprocess.run(
        typed,
        env=env,
        cwd=home(env),
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    peak = float(done.stdout.split("Main:")[1].split("Total RSS:")[1].split()[0])
    return abs(peak - SPIKE_MEGABYTES) <= SPIKE_MEGABYTES * 0.02


def missed_percent(subject, program, env, spikes):
    """How many of the spikes were not seen, in percent of them."""
    seen = sum(is_seen(program, subject, env) for _ in range(spikes))
    return 100 * (spikes - seen) / spikes


def missed_of(subject, env, spikes, program):
    return tried_on(subject, missed_percent, program, env, spikes)


def spike_row(peer, folder, env, spikes, their_spikes):
    subject = tried(compiled, folder)
    ours = tried_on(subject, missed_percent, OURS, env, spikes)
    theirs = tried_on(peer, partial(missed_of, subject, env, their_spikes))
    missed = Unit("missed_percent", lambda percent: f"{100 - percent:.0f} % seen")
    budget = Budget("100 % seen", lambda missed, _theirs: missed == 0)
    what = "a spike of 500 MB for 50 ms, told within 2 %"
    return Row(what, missed, ours, theirs, budget, PEER, (spikes, their_spikes), what)


def version_row(peer, env, runs):
    there = [each for each in (OURS, peer) if not isinstance(each, Missing)]
    both = tried(spent_in_turn, [[str(each), "--version"] for each in there], env, runs)
    ours, theirs = (both, both) if isinstance(both, Missing) else [*both, peer][:2]
    figures = of(ours, "seconds"), of(theirs, "seconds")
    budget = at_most(0.02, milliseconds)
    return Row("`--version`", milliseconds, *figures, budget, PEER, (runs, runs))


def rows(setting):
    peer = tried(setting.peer, "gpu-tracker", "gpu-tracker")
    # The tracked processes are this machine's own.
    folder, env, runs = setting.folder, setting.env, setting.runs(5, 2)
    seconds = setting.runs(SLEEP_SECONDS, QUICK_SLEEP_SECONDS)
    yield from sleep_rows(peer, env, seconds, runs)
    yield from memory_rows(peer, folder, env, setting.runs(5, 1))
    yield period_row(peer, folder, env, setting.runs(5, 1))
    yield spike_row(peer, folder, env, *setting.runs((SPIKES, SPIKES), (QUICK_SPIKES, 3)))
    yield version_row(peer, env, setting.runs(9, 2))
