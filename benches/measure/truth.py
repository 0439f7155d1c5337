"""Truth: plays with a known answer, recorded by gua and by the Python gua at the same time, and
how far from the answer their reports are."""

import json
import pwd
import shutil
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path

from common import GUA, NotMeasured, ended, of, ours, reading_one_pipe, say, tried, tried_on
from measure.host import installed
from measure.play import HIDDEN, HOURS_OF_A_SECOND, STATES, Account, Play, errors, plays
from measure.reaction import PYTHON_REPORT
from measure.recorder import ATTEMPTS, LockedUp
from table import Missing, Row, at_most, percent

TITLE = "Truth: what is reported of plays with a known answer"
NOTE = (
    "Both recorders watch the same pretend host at the same time; a second stands for two minutes "
    "(a tick of 250 ms for one of 30 s), so that {seconds} s are {hours:.1f} hours of each card. "
    "Five plays: steady loads; bursts within a tick, and phases; people who work and people who "
    "sleep on one card; a driver that goes away twice and a card that is lost for a fifth of the "
    "time; a recorder that is begun anew with a quarter of its interval. An error is in percent of "
    "all card-hours, or of the hours in which the person was there; the budget is half a percent "
    "and a tick for every change, as nobody sees when within a tick it came. Hidden is what the "
    "driver did not tell: of ours, the hours it calls unknown and those in which it says that it "
    "observed nothing; the Python gua's report does not tell of it. Of the Python gua's "
    "report, the hours of active are the share that it tells of the hours that it recorded."
)
HEADER = ("play", "GPU-hours", "true", "gua", "its error", "Python gua", "its error")
FIGURES = (2, 3, 4, 5, 6)
SECONDS, QUICK_SECONDS = 60, 16
# Played by accounts of this system, as the Python gua looks them up in the real /proc. Debian has
# these.
ACCOUNTS = {"alice": "games", "bob": "mail", "carol": "news"}
# What the truth tests allow over days; here every change may cost a tick besides.
ALLOWED_PERCENT = 0.5


@dataclass(frozen=True)
class Judged:
    """A play, what is true of it, and what either says or why it does not."""

    play: Play
    truth: Account
    ours: Account | Missing
    theirs: Account | Missing

    def rows(self):
        mine, their = (
            said if isinstance(said, Missing) else errors(self.play, self.truth, said)
            for said in (self.ours, self.theirs)
        )
        by_changes = self.play.allowed()
        for what, name in (
            (f"{self.play.name}: the largest error of a state", "state_percent"),
            ("— of a person", "person_percent"),
        ):
            budget = at_most(ALLOWED_PERCENT + getattr(by_changes, name), percent)
            yield Row(what, percent, of(mine, name), of(their, name), budget, runs=(1, 1))

    def lines(self):
        groups = [("states", state, state.replace("_", "-")) for state in (*STATES, HIDDEN)]
        for person in self.play.people():
            groups.append(("present", person, f"{person}, present"))
            groups.append(("idle", person, f"{person}, holding idle"))
        for group, key, what in groups:
            true = getattr(self.truth, group)[key]
            told = (hours_and_error(each, group, key, true) for each in (self.ours, self.theirs))
            yield self.play.name, what, f"{true:.3f}", *chain.from_iterable(told)


def hours_and_error(account, group, key, true):
    """What is said, and how much that is more than the truth."""
    if isinstance(account, Missing):
        return "–", "–"
    told = getattr(account, group)
    if key == HIDDEN and key not in told:
        return "not told", "–"
    return f"{told[key]:.3f}", f"{told[key] - true:+.3f}"


@dataclass(frozen=True)
class Locked(Missing):
    """There is no account, since the recorder locked up."""


# Becomes somebody who has logged in, and then the command: uid, command.
LOGIN = """
import os, sys
with open("/proc/self/loginuid", "w") as file:
    file.write(sys.argv[1])
os.setuid(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""


def uid_of(person):
    try:
        return pwd.getpwnam(ACCOUNTS[person]).pw_uid
    except KeyError:
        raise NotMeasured(
            f"this system has no account {ACCOUNTS[person]!r} to play {person}"
        ) from None


def started_by(person, reading):
    login = [sys.executable, "-I", "-S", "-c", LOGIN, str(uid_of(person)), shutil.which("cat")]
    return subprocess.Popen(login, stdin=reading, stderr=subprocess.PIPE, text=True)


def is_logged_in(process):
    """Also whether it already is what it is to be."""
    folder = Path(f"/proc/{process.pid}")
    return process.poll() is None and (folder / "comm").read_text().strip() == "cat"


@contextmanager
def processes(play):
    """A process for each holding, of the account that plays the person, as after a login: the
    Python gua reports people by that alone."""
    with reading_one_pipe() as (pipe, started):
        for each in play.holdings:
            started.append(started_by(each.person, pipe))
        wait_for_logins(started)
        yield [process.pid for process in started]


def wait_for_logins(started):
    deadline = time.monotonic() + 30
    while not all(map(is_logged_in, started)):
        failed = next((each for each in started if each.poll() is not None), None)
        if failed is not None or time.monotonic() > deadline:
            why = failed.stderr.read().strip().splitlines() if failed else ["it took too long"]
            raise NotMeasured(f"no process of another login could be started: {why[-1]}")
        time.sleep(0.05)


class Recording:
    """A recorder of a play: one run for each stretch, into the database of a home of its own,
    as neither is begun anew on one that it was told of."""

    def __init__(self, program, home, env, began):
        self.program, self.began = program, began
        home.mkdir()
        self.env = {**env, "HOME": str(home), "GUA_HOME": str(home / ".gua")}
        self.database, self.log = home / ".gua" / "gua.db", home / "log"

    def run(self, play):
        """From as early as can be before each stretch until a little after it."""
        for _, end, interval in play.stretches:
            running = self.start(interval)
            try:
                self.sleep_until(end + 2 * interval)
                self.check(running)
            finally:
                was_gentle = ended(running)
            if not was_gentle:
                raise LockedUp(f"{self.program} did not end when it was told to")

    def start(self, interval):
        command = [self.program, "daemon", "--foreground", "--interval", f"{interval * 1000:.0f}ms"]
        with self.log.open("a") as log:
            return subprocess.Popen(
                command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def check(self, running):
        if running.poll() is not None:
            said = self.log.read_text().strip().splitlines() or ["nothing"]
            raise NotMeasured(f"{self.program} ended with {running.returncode}: {said[-1]}")

    def sleep_until(self, second):
        time.sleep(max(self.began + second - time.time(), 0))


def stamp(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def our_account(recording, play):
    """The sum of our own reports over the stretches."""
    account = Account()
    scale = HOURS_OF_A_SECOND * 3600
    for begin, end, _ in play.stretches:
        window = ["--from", stamp(recording.began + begin), "--until", stamp(recording.began + end)]
        told = json.loads(ours("report", "--json", *window, env=recording.env))
        for state in STATES:
            account.states[state] += told["states"][state]["gpu_hours"] * scale
        account.states[HIDDEN] += told["states"]["unknown"]["gpu_hours"] * scale
        # While no card answers, it counts no card, but tells the time.
        unseen = told["window"]["seconds"] - told["window"]["observed_seconds"]
        account.states[HIDDEN] += unseen * play.cards * HOURS_OF_A_SECOND
        for each in told["accounts"]:
            person = played_by(each["name"])
            account.present[person] += each["gpu_hours"] * scale
            account.idle[person] += each["idle_gpu_hours"] * scale
    return account


def played_by(name):
    people = {account: person for person, account in ACCOUNTS.items()}
    return people.get(name, name)


def their_account(recording, play):
    """What their report makes of the rows of the stretches; others are taken out of a copy."""
    copy = recording.database.with_name("copy.db")
    within = " OR ".join("(ts >= ? AND ts < ?)" for _ in play.stretches)
    edges = [
        their_stamp(recording.began + at) for begin, end, _ in play.stretches for at in (begin, end)
    ]
    with (
        closing(sqlite3.connect(recording.database)) as source,
        closing(sqlite3.connect(copy)) as cut,
    ):
        source.backup(cut)
        with cut:
            for table in ("gpu_sample", "proc_sample"):
                cut.execute(f"DELETE FROM {table} WHERE NOT ({within})", edges)
        recorded = cut.execute(
            "SELECT sum(interval_seconds) FROM gpu_sample JOIN daemon_run ON id = run_id"
        ).fetchone()[0]
    report = [recording.program.with_name("python"), PYTHON_REPORT, copy]
    told = json.loads(subprocess.run(report, check=True, stdout=subprocess.PIPE).stdout)
    return account_of(told, (recorded or 0) * HOURS_OF_A_SECOND)


def their_stamp(seconds):
    """As it writes time into its rows, so that text compares as time does."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="microseconds")


def account_of(told, recorded_hours):
    scale, account = HOURS_OF_A_SECOND * 3600, Account()
    account.states["active"] = told["shares"]["active"] * recorded_hours
    for state in ("idle_held", "truly_idle"):
        account.states[state] = told["gpu_hours"][state] * scale
    for name, each in told["identities"].items():
        account.present[played_by(name)] += each["gpu_hours"] * scale
        account.idle[played_by(name)] += each["idle_held_gpu_hours"] * scale
    return account


def judged(setting, play):
    """One play, with what either says of it or why it does not."""
    said = tried(watched_stubbornly, setting, play)
    both = (said, said) if isinstance(said, Missing) else said
    return Judged(play, play.truth(), *both)


def watched_stubbornly(setting, play, attempts=ATTEMPTS):
    """Once more where a recorder locked up at the end of a stretch, which costs it the beginning of
    the next one: that is no error of its report."""
    said = watched(setting, play, f"{play.name.replace(' ', '-')}-{attempts}")
    if attempts == 1 or not any(isinstance(each, Locked) for each in said):
        return said
    say(f"{play.name}: a recorder locked up; once more")
    return watched_stubbornly(setting, play, attempts - 1)


def watched(setting, play, name):
    """What either says of a play that both have watched."""
    peer = tried(setting.peer, "gua", "gua")
    with processes(play) as pids:
        folder, env = installed(setting, f"truth-{name}", play.scenario(pids))
        began = int(env["NVML_SIM_START"]) / 1e6
        mine = Recording(GUA, folder / "ours", env, began)
        their = tried_on(peer, Recording, folder / "theirs", env, began)
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(tried_on, each, recorded, play) for each in (mine, their)]
            mine, their = (job.result() for job in jobs)
    said = tried_on(mine, our_account, play)
    their_said = tried_on(their, their_account, play)
    shutil.rmtree(folder)
    return said, their_said


def recorded(recording, play):
    """The recording once it is made."""
    try:
        recording.run(play)
    except LockedUp as why:
        return Locked(str(why))
    return recording


def all_judged(setting):
    """All plays at once: nearly all of the time everybody sleeps."""
    seconds = setting.runs(SECONDS, QUICK_SECONDS)
    # Before many ask for it at once.
    tried(setting.venv, "gua")
    played = plays(seconds)
    say(f"recording {len(played)} plays for {seconds} s")
    with ThreadPoolExecutor(len(played)) as pool:
        yield from pool.map(lambda play: judged(setting, play), played)


def note(setting):
    seconds = setting.runs(SECONDS, QUICK_SECONDS)
    return NOTE.format(seconds=seconds, hours=seconds * HOURS_OF_A_SECOND)
