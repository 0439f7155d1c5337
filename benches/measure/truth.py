"""Truth: plays with a known answer, recorded by gua and by the Python gua at the same time, and
how far from the answer their reports are."""

import json
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from common import GUA, NotMeasured, of, ours, say, tried
from measure import trouble  # noqa: F401 it puts the peers' machines within reach of `play`
from measure.host import installed
from measure.play import HOURS_OF_A_SECOND, STATES, Account, Play, errors, plays
from measure.reaction import PYTHON_REPORT
from table import Missing, Row, at_most, percent

TITLE = "Truth: what is reported of plays with a known answer"
NOTE = (
    "Both recorders watch the same pretend host at the same time; a second stands for two minutes "
    "(a tick of 250 ms for one of 30 s), so that {seconds} s are {hours:.1f} hours of each card. "
    "Five plays: steady loads; bursts within a tick, and phases; people who work and people who "
    "sleep on one card; a driver that goes away twice and a card that is lost for a fifth of the "
    "time; a recorder that is begun anew with a quarter of its interval. An error is in percent of "
    "all card-hours, or of the hours in which the person was there; the budget is half a percent "
    "and a tick for every change, as nobody sees when within a tick it came. Of the Python gua's "
    "report, the hours of active are the share that it tells of the hours that it recorded."
)
HEADER = ("play", "GPU-hours", "true", "gua", "Python gua")
SECONDS, QUICK_SECONDS = 60, 16
# Played by accounts that every system has, as the Python gua looks them up in the real /proc.
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
        groups = [("states", state, state.replace("_", "-")) for state in STATES]
        for person in self.play.people():
            groups.append(("present", person, f"{person}, present"))
            groups.append(("idle", person, f"{person}, holding idle"))
        for group, key, what in groups:
            told = (hours(each, group, key) for each in (self.truth, self.ours, self.theirs))
            yield self.play.name, what, *told


def hours(account, group, key):
    return "–" if isinstance(account, Missing) else f"{getattr(account, group)[key]:.3f}"


# Becomes somebody who has logged in, and then the command: uid, command.
LOGIN = """
import os, sys
with open("/proc/self/loginuid", "w") as file:
    file.write(sys.argv[1])
os.setuid(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""


def started_by(person, reading):
    uid = pwd.getpwnam(ACCOUNTS[person]).pw_uid
    login = [sys.executable, "-I", "-S", "-c", LOGIN, str(uid), shutil.which("cat")]
    return subprocess.Popen(login, stdin=reading)


def is_logged_in(process):
    """Also whether it already is what it is to be."""
    folder = Path(f"/proc/{process.pid}")
    return process.poll() is None and (folder / "comm").read_text().strip() == "cat"


@contextmanager
def processes(play):
    """A process for each holding, of the account that plays the person, as after a login: the
    Python gua reports people by that alone."""
    reading, writing = os.pipe()
    started = [started_by(each.person, reading) for each in play.holdings]
    os.close(reading)
    try:
        deadline = time.monotonic() + 30
        while not all(map(is_logged_in, started)):
            if time.monotonic() > deadline or any(each.poll() is not None for each in started):
                raise NotMeasured("processes of several logins can be started by root only")
            time.sleep(0.05)
        yield [process.pid for process in started]
    finally:
        os.close(writing)
        for process in started:
            process.wait()


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
                stop(running)

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


def stop(running):
    """Gently at first: the Python gua may lock up in its signal handler."""
    if running.poll() is None:
        running.send_signal(signal.SIGTERM)
    try:
        running.wait(timeout=5)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()


def stamp(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def our_account(play, recording):
    """The sum of our own reports over the stretches."""
    account = Account()
    scale = HOURS_OF_A_SECOND * 3600
    for begin, end, _ in play.stretches:
        window = ["--from", stamp(recording.began + begin), "--until", stamp(recording.began + end)]
        told = json.loads(ours("report", "--json", *window, env=recording.env))
        for state in STATES:
            account.states[state] += told["states"][state]["gpu_hours"] * scale
        for each in told["accounts"]:
            person = played_by(each["name"])
            account.present[person] += each["gpu_hours"] * scale
            account.idle[person] += each["idle_gpu_hours"] * scale
    return account


def played_by(name):
    people = {account: person for person, account in ACCOUNTS.items()}
    return people.get(name, name)


def their_account(play, recording, python):
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
    report = [python, PYTHON_REPORT, copy]
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
    said = tried(watched, setting, play)
    both = (said, said) if isinstance(said, Missing) else said
    return Judged(play, play.truth(), *both)


def watched(setting, play):
    """What either says of a play that both have watched."""
    with processes(play) as pids:
        name = f"truth-{play.name.replace(' ', '-')}"
        folder, env = installed(setting, name, play.scenario(pids))
        began = int(env["NVML_SIM_START"]) / 1e6
        mine = Recording(GUA, folder / "ours", env, began)
        their = Recording(setting.peer("gua", "gua"), folder / "theirs", env, began)
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(tried, each.run, play) for each in (mine, their)]
            failed = [job.result() for job in jobs]
    python = setting.peer("gua", "python")
    said = tried(our_account, play, mine) if failed[0] is None else failed[0]
    their_said = tried(their_account, play, their, python) if failed[1] is None else failed[1]
    shutil.rmtree(folder)
    return said, their_said


def all_judged(setting):
    """All plays at once: nearly all of the time everybody sleeps."""
    seconds = setting.runs(SECONDS, QUICK_SECONDS)
    setting.venv("gua")
    played = plays(seconds)
    say(f"recording {len(played)} plays for {seconds} s")
    with ThreadPoolExecutor(len(played)) as pool:
        return list(pool.map(lambda play: judged(setting, play), played))


def note(setting):
    seconds = setting.runs(SECONDS, QUICK_SECONDS)
    return NOTE.format(seconds=seconds, hours=seconds * HOURS_OF_A_SECOND)
