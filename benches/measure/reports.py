"""The reports: how long they take, what memory, and whether both tell the same."""

import json
import re
import statistics
from dataclasses import dataclass
from pathlib import Path

from common import (
    CARDS,
    GUA,
    TIME,
    NotMeasured,
    of,
    ours,
    peak_bytes,
    raced,
    say,
    spent,
    tried,
    tried_on,
)
from measure.python_history import TICK_SECONDS, history, runs_of_daemon
from measure.recorder import database_size
from measure.year import DAYS as YEAR_DAYS
from measure.year import year
from table import Budget, Missing, Row, at_most, faster, megabytes, milliseconds, share

TITLE = f"Reports on {CARDS} cards"
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
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Window:
    """How far back a report looks, and what it has to keep to."""

    since: str
    budget: Budget | None


@dataclass(frozen=True)
class Histories:
    """A history of the Python gua, ours with the same in it, and what importing it took."""

    days: int
    theirs: Path | Missing
    ours: Path | Missing
    imported: Reported | Missing


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


def python_report(database, setting, since, runs):
    """The medians, and what the last one told."""
    say(f"report of the Python gua over {since}, {runs} runs")
    peer = setting.peer("gua", "gua")
    command = [peer, "report", "--db", database, "--since", since]
    took = median_report([taken(setting, command) for _ in range(runs)])
    return took, python_told((setting.folder / "printed").read_text())


def taken(setting, command):
    """What one run of a long command took; what it printed is in a file."""
    told, printed = setting.folder / "peak", setting.folder / "printed"
    with printed.open("w") as file:
        took = spent([*TIME, f"--output={told}", *command], setting.env, file)
    return Reported(took.seconds, took.cpu_seconds, int(told.read_text()) * 1024)


def median_report(runs):
    return Reported(
        statistics.median(run.seconds for run in runs),
        statistics.median(run.cpu_seconds for run in runs),
        statistics.median(run.peak_bytes for run in runs),
    )


def our_hours(database, since, env):
    """The GPU-hours of each state, from the report's JSON."""
    report = json.loads(ours("report", "--db", database, "--since", since, "--json", env=env))
    try:
        return {state: report["states"][state]["gpu_hours"] for state in STATES}
    except KeyError as missing:
        raise NotMeasured(f"`gua report --json` has no {missing} where it is looked for") from None


def report_runs(setting):
    """How many of ours and of theirs."""
    return setting.runs(20, 7), setting.runs(5, 2)


def our_report_once(setting, database, since):
    """Measured once for each window, as theirs is: a figure stands in two parts, and a curve over
    windows must not be of two times of different noise."""
    key = ("our report", str(database), since)
    return setting.once(key, tried_on, database, our_report, setting, since)


def our_report(database, setting, since):
    arguments = ["report", "--db", str(database), "--since", since]
    # Before hyperfine, which would tell less about what is wrong.
    ours(*arguments, env=setting.env)
    runs = setting.runs(20, 7), setting.runs(5, 3)
    took = raced([GUA, *arguments], setting.folder, setting.env, *runs)
    peak = peak_bytes([GUA, *arguments], setting.folder, setting.env, setting.runs(5, 3))
    return Reported(took.seconds, took.cpu_seconds, peak)


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


def imported(database, setting):
    """Our database with what theirs holds, and what the import took."""
    runs = setting.runs(5, 1)
    say(f"importing, {runs} runs")
    mine, took = setting.folder / "imported.db", []
    # One before, which tells what is wrong if something is.
    ours("db", "import", database, "--db", mine, env=setting.env)
    for _ in range(runs):
        mine.unlink(missing_ok=True)
        took.append(taken(setting, [GUA, "db", "import", database, "--db", mine]))
    return mine, median_report(took)


def their_history(setting, days):
    return history(days, setting.peer("gua", "gua"), setting.folder, setting.env)


def histories(setting):
    """Of a week, or of three months where there is time for them."""
    days = setting.runs(90, 7)
    theirs = tried(their_history, setting, days)
    both = tried_on(theirs, imported, setting)
    mine, took = (both, both) if isinstance(both, Missing) else both
    return Histories(days, theirs, mine, took)


def windows(is_quick):
    """The shortest first, as the history ends when it was made. The last hour of a small file
    costs the peer little, so there it has no budget."""
    if is_quick:
        return [Window("1h", None), Window("7d", faster(100))]
    return [Window("1h", faster(200)), Window("7d", faster(100)), Window("90d", faster(300))]


def import_rows(setting, both):
    runs, what = (setting.runs(5, 1),), f"import of {both.days} d"
    yield Row(what, milliseconds, of(both.imported, "seconds"), runs=runs)
    yield Row("— CPU time", milliseconds, of(both.imported, "cpu_seconds"), runs=runs)
    yield Row("— peak memory", megabytes, of(both.imported, "peak_bytes"), runs=runs)
    sizes = (tried_on(each, database_size) for each in (both.ours, both.theirs))
    yield Row(
        "— its file", megabytes, *sizes, runs=(1, 1), headline=f"file of the same {both.days} d"
    )


def window_rows(setting, both, window, reported):
    """Ours beside theirs, which was measured before."""
    mine = our_report_once(setting, both.ours, window.since)
    runs = report_runs(setting)
    peaks = (setting.runs(5, 3), runs[1])
    what, limit = f"report over {window.since} of {both.days} d", at_most(40e6, megabytes)
    lines = [
        (what, milliseconds, "seconds", window.budget, runs, what),
        ("— CPU time", milliseconds, "cpu_seconds", None, peaks, f"{what}: CPU time"),
        ("— peak memory", megabytes, "peak_bytes", limit, peaks, f"{what}: peak memory"),
    ]
    for what, unit, name, budget, times, headline in lines:
        figures = of(mine, name), of(reported, name)
        yield Row(what, unit, *figures, budget, runs=times, headline=headline)


def year_rows(setting, their_week):
    """A year in the file as the daemon keeps it, and a report on all of it."""
    mine = tried(year, setting)
    size = tried_on(mine, database_size)
    took = our_report_once(setting, mine, f"{YEAR_DAYS}d")
    runs, peaks = report_runs(setting), (setting.runs(5, 3),)
    file, report = "a year of the demo's lab in the file, as it is pruned", "report over that year"
    lines = [
        (file, megabytes, size, None, at_most(80e6, megabytes), (1,), file),
        (
            f"{report}; theirs: 7 d of the history above",
            milliseconds,
            of(took, "seconds"),
            of(their_week, "seconds"),
            share(10),
            runs,
            "report over a year of the demo's lab; theirs: over 7 d of its history",
        ),
        ("— CPU time", milliseconds, of(took, "cpu_seconds"), None, None, peaks, None),
        (
            "— peak memory",
            megabytes,
            of(took, "peak_bytes"),
            None,
            at_most(40e6, megabytes),
            peaks,
            f"{report}: peak memory",
        ),
    ]
    for what, unit, mine, theirs, budget, times, headline in lines:
        yield Row(what, unit, mine, theirs, budget, runs=times, headline=headline)


class Disagreements:
    """Where both reports do not tell the same: nobody is fast by reporting on something else."""

    def __init__(self, setting, both, found):
        self.setting, self.both, self.found = setting, both, found

    def compare(self, since, told):
        hours = tried_on(self.both.ours, our_hours, since, self.setting.env)
        if isinstance(hours, Missing):
            self.found.append(f"not compared over {since}: {hours.why}")
            return
        apart = differences(hours, told, runs_of_daemon(self.both.theirs))
        self.found += [f"the reports differ over {since}: ours says that {each}" for each in apart]


def both_histories(setting):
    return setting.once("histories", histories, setting)


def their_report(setting, since):
    """With what it told; measured once for each window."""
    theirs = both_histories(setting).theirs
    measured = (theirs, python_report, setting, since, setting.runs(5, 2))
    return setting.once(("their report", since), tried_on, *measured)


def rows(setting, remarks):
    """One by one, and into the remarks what the reports do not agree on."""
    both, week = both_histories(setting), None
    disagreements = Disagreements(setting, both, remarks)
    yield from import_rows(setting, both)
    for window in windows(setting.is_quick):
        # Ours is compared at once, as the window moves on.
        their = their_report(setting, window.since)
        reported = their if isinstance(their, Missing) else their[0]
        if not isinstance(their, Missing):
            disagreements.compare(window.since, their[1])
        yield from window_rows(setting, both, window, reported)
        week = reported if window.since == "7d" else week
    if not setting.is_quick:
        yield from year_rows(setting, week)
