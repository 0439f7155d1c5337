"""Truth: plays with a known answer, recorded by gua at several intervals and by the Python gua at
the same time, and how far from the answer their reports are."""

import json
import pwd
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from common import GUA, NotMeasured, ended, of, ours, reading_one_pipe, say, stamp, tried, tried_on
from measure.host import installed
from measure.play import (
    HIDDEN,
    PEOPLE,
    POLL_SECONDS,
    START_SECONDS,
    STATES,
    TAIL_SECONDS,
    Account,
    Play,
    differences,
    errors,
    first_moment,
    plays,
    uuid,
)
from measure.reaction import PYTHON_REPORT
from table import Missing, Row, at_most, percent

TITLE = "Truth: what is reported of plays with a known answer"
NOTE = (
    "All record the same simulated hosts in real time, and their reports on {seconds} s are "
    "compared: gua at intervals of {intervals} s, the Python gua at its default of 30 s. The truth "
    "comes from the scripts of the plays. Where pauses are short, the rule decides: the data "
    "loader and the 30 % duty are active throughout, the blips are idle-held and in low use. An "
    "error is in percent of the time of the worst card, or of the worst person: present, working, "
    "holding idle, and the share of the card's time; of gua at the worst interval. The table has "
    "gua at 30 s, and the largest error at any interval. The Python gua reports presence and "
    "holding idle alone, and no hidden time, in which the driver did not answer. The budget is "
    "{state} % of card time and {person:.2f} % of a person's (1 %, but at least 1 s, as process "
    "samples are a second apart); two intervals of gua may be {apart:.2f} % apart. Where the "
    "driver or a card goes away, {edges:.2f} % is added, which is one poll for each of two edges: "
    "an outage lasts from the last poll before it to the first poll after it."
)
HEADER = (
    "play",
    "seconds",
    "true",
    "gua",
    "its error",
    "its largest error",
    "Python gua",
    "its error",
)
FIGURES = (2, 3, 4, 5, 6, 7)
SECONDS, QUICK_SECONDS = 300, 60
# Of the recorders of ours, in seconds; the last is the default.
INTERVALS, QUICK_INTERVALS = (1, 5, 10, 30), (1, 30)
# Time for starting the processes of all plays.
PREPARING_SECONDS = 10
# People are accounts of this system, since the Python gua looks them up in the real /proc. Debian
# has these.
LOGINS = ("games", "mail", "news", "man", "lp", "uucp", "proxy", "backup", "irc")
ACCOUNTS = dict(zip(PEOPLE, LOGINS, strict=True))
STATE_PERCENT, PERSON_PERCENT = 0.5, 1.0
# How far reports on one play may be apart, recorded at the shortest and at the longest interval.
APART_PERCENT = 0.5
# Where two work on a card, the edges of their work are as exact as process samples are frequent.
PROCESS_SAMPLE_SECONDS = 1


@dataclass(frozen=True)
class Judged:
    """A play, what is true of it, and what each report says or why there is none."""

    play: Play
    truth: Account
    # By interval, the shortest first.
    ours: dict
    theirs: Account | Missing

    def rows(self):
        mine, their = [self.errors(said) for said in self.ours.values()], self.errors(self.theirs)
        runs = (len(mine), 1)
        for what, name, allowed in (
            (f"{self.play.name}: the largest error of a state", "state_percent", STATE_PERCENT),
            ("— of a person", "person_percent", person_percent(self.play.seconds)),
        ):
            figures = largest([of(each, name) for each in mine]), of(their, name)
            yield Row(what, percent, *figures, self.budget(allowed), runs=runs)
        shortest, *_, longest = self.ours
        what = f"— the report at {shortest} s beside that at {longest} s"
        budget = self.budget(apart_percent(self.play.seconds))
        yield Row(what, percent, self.apart(shortest, longest), None, budget, runs=runs[:1])

    def errors(self, said):
        return said if isinstance(said, Missing) else errors(self.play, self.truth, said)

    def apart(self, *intervals):
        """Returns how far the reports of two intervals are apart."""
        both = [self.ours[each] for each in intervals]
        missing = next((each for each in both if isinstance(each, Missing)), None)
        return missing or differences(self.play, self.truth, *both).largest()

    def budget(self, allowed):
        return at_most(allowed + self.play.edges_percent(), percent)

    def lines(self):
        """The states of each card that has them, and the people who share a card."""
        for card, name in enumerate(self.play.cards):
            for state in (*STATES, HIDDEN):
                if self.truth.states[card, state]:
                    yield self.line("states", (card, state), f"{name}: {state.replace('_', '-')}")
        on_cards = Counter(each.card for each in self.play.holdings)
        for each in self.play.holdings:
            if on_cards[each.card] > 1:
                for figure, what in (("idle", "holding idle"), ("share", "share")):
                    yield self.line("people", (each.person, figure), f"{each.person}: {what}")

    def line(self, group, key, what):
        true = getattr(self.truth, group)[key]
        *_, at_default = self.ours.values()
        mine, their = (
            seconds_and_error(each, group, key, true) for each in (at_default, self.theirs)
        )
        known = [each for each in self.ours.values() if not isinstance(each, Missing)]
        off = [getattr(each, group)[key] - true for each in known]
        worst = f"{max(off, key=abs):+.2f}" if off else "–"
        return self.play.name, what, f"{true:.2f}", *mine, worst, *their


def largest(figures):
    """Returns the largest of all figures, or the first that is missing."""
    missing = next((each for each in figures if isinstance(each, Missing)), None)
    return missing or max(figures)


def person_percent(seconds):
    return max(PERSON_PERCENT, 100 * PROCESS_SAMPLE_SECONDS / seconds)


def apart_percent(seconds):
    return max(APART_PERCENT, 100 * PROCESS_SAMPLE_SECONDS / seconds)


def seconds_and_error(account, group, key, true):
    """What is said, and how much more that is than the truth."""
    if isinstance(account, Missing):
        return "–", "–"
    if key[1] in account.unreported:
        return "not reported", "–"
    said = getattr(account, group)
    return f"{said[key]:.2f}", f"{said[key] - true:+.2f}"


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


@contextmanager
def running(command, env, home):
    """A program in the background with a home of its own, where it also writes its output."""
    home.mkdir()
    env = {**env, "HOME": str(home), "GUA_HOME": str(home / ".gua")}
    with (home / "out").open("w") as out, (home / "err").open("w") as err:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        started = subprocess.Popen(command, env=env, **pipes)
        try:
            yield started
            # By now it may have ended, but not with an error.
            if started.poll():
                said = (home / "err").read_text().strip().splitlines() or ["nothing"]
                raise NotMeasured(f"{command[0]} ended with {started.returncode}: {said[-1]}")
        finally:
            ended(started)


def our_account(play, folder, env, began, interval):
    """Records the play at an interval, and reads our report on the judged time."""
    home, until = folder / f"ours-{interval}", began + play.end() + TAIL_SECONDS
    database = home / "gua.db"
    daemon = [GUA, "daemon", "--foreground", "--db", database, "--interval", f"{interval}s"]
    with running(daemon, env, home) as recorder:
        time.sleep(max(until - time.time(), 0))
        if not ended(recorder):
            raise NotMeasured("the recorder did not stop when it was told to")
    edges = [stamp(began + at) for at in (play.begin(), play.end())]
    window = ["--from", edges[0], "--until", edges[1]]
    return account_of_our_report(
        play, json.loads(ours("report", "--db", database, *window, "--json", env=env))
    )


def account_of_our_report(play, said):
    """Returns the seconds of cards and people in our report on the judged time."""
    account = Account()
    cards = {card["uuid"]: card["states"] for card in said["cards"]}
    for card in range(len(play.cards)):
        states = cards.get(uuid(card), {})
        for state in STATES:
            account.states[card, state] = seconds_of(states.get(state, {}), "gpu_hours")
        known = sum(account.states[card, state] for state in STATES)
        account.states[card, HIDDEN] = play.seconds - known
    for each in said["accounts"]:
        if each["by"] == "user" and each["name"] is not None:
            person = person_of(each["name"])
            # Who is on a free card is idle, but holds nothing.
            on_cards = [holding.card for holding in play.holdings if holding.person == person]
            free = sum(account.states[card, "truly_idle"] for card in on_cards)
            idle, working = (
                seconds_of(each, f"{work}_process_hours") for work in ("idle", "working")
            )
            account.people[person, "present"] = idle + working
            account.people[person, "working"] = working
            account.people[person, "idle"] = max(idle - free, 0)
            shares = (seconds_of(each, f"{state}_gpu_hours") for state in ("active", "idle_held"))
            account.people[person, "share"] = sum(shares)
    return account


def seconds_of(said, name):
    """Returns hours in a report as seconds."""
    return said.get(name, 0) * 3600


def person_of(login):
    """Returns the person whom an account of this system plays."""
    return next((person for person, account in ACCOUNTS.items() if account == login), login)


def their_account(peer, play, folder, env, began):
    """Records until the end of the play, and reads their report on a copy of the database that has
    the judged time alone."""
    home = folder / "theirs"
    with running([peer, "daemon", "--foreground"], env, home):
        time.sleep(began + play.end() + 1 - time.time())
    copy = home / "copy.db"
    edges = [their_stamp(began + at) for at in (play.begin(), play.end())]
    with (
        closing(sqlite3.connect(home / ".gua" / "gua.db")) as source,
        closing(sqlite3.connect(copy)) as cut,
    ):
        source.backup(cut)
        with cut:
            for table in ("gpu_sample", "proc_sample"):
                cut.execute(f"DELETE FROM {table} WHERE ts < ? OR ts >= ?", edges)
        recorded = cut.execute(
            "SELECT gpu_uuid, sum(interval_seconds) FROM gpu_sample"
            " JOIN daemon_run ON id = run_id GROUP BY gpu_uuid"
        )
        seconds = dict(recorded.fetchall())
    report = [peer.with_name("python"), PYTHON_REPORT, copy]
    said = json.loads(subprocess.run(report, check=True, stdout=subprocess.PIPE).stdout)
    return account_of_report(play, said, seconds)


def their_stamp(seconds):
    """As it writes time into its rows, so that text compares as time does."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="microseconds")


def account_of_report(play, said, recorded):
    """`recorded` has the seconds that the report's rows stand for, by UUID."""
    account = Account(unreported=(HIDDEN, "working", "share"))
    for card in range(len(play.cards)):
        for state in STATES:
            share = said["cards"].get(uuid(card), {}).get(state, 0)
            account.states[card, state] = share * recorded.get(uuid(card), 0)
    for login, each in said["identities"].items():
        person = person_of(login)
        account.people[person, "present"] = each["gpu_hours"] * 3600
        account.people[person, "idle"] = each["idle_held_gpu_hours"] * 3600
    return account


def judged(setting, play, began):
    """Returns one play, with what the reports say of it or why there are none."""
    said = tried(recorded, setting, play, began)
    if isinstance(said, Missing):
        said = dict.fromkeys(intervals(setting), said), said
    return Judged(play, play.truth(), *said)


def recorded(setting, play, began):
    """Returns what ours say of a play at each interval, and what theirs says."""
    peer, each = tried(setting.peer, "gua", "gua"), intervals(setting)
    with processes(play) as pids, ThreadPoolExecutor(len(each) + 1) as pool:
        name = f"truth-{play.name.replace(' ', '-')}"
        folder, env = installed(setting, name, play.scenario(pids))
        env["NVML_SIM_START"] = str(began * 1_000_000)
        wait_for_beginning(began)
        there = (play, folder, env, began)
        mine = {at: pool.submit(tried, our_account, *there, at) for at in each}
        their = pool.submit(tried_on, peer, their_account, *there)
        return {at: said.result() for at, said in mine.items()}, their.result()


def wait_for_beginning(began):
    late = time.time() - began
    if late > START_SECONDS / 2:
        raise NotMeasured(f"the play began {late:.0f} s before all was prepared")
    time.sleep(max(-late, 0))


def all_judged(setting):
    """All plays at once: nearly all of the time everybody sleeps."""
    # Before many ask for it at once.
    tried(setting.venv, "gua")
    played = plays(judged_seconds(setting))
    say(f"recording {len(played)} plays for {judged_seconds(setting)} s")
    began = first_moment(time.time() + PREPARING_SECONDS)
    with ThreadPoolExecutor(len(played)) as pool:
        yield from pool.map(lambda play: judged(setting, play, began), played)


def judged_seconds(setting):
    return setting.runs(SECONDS, QUICK_SECONDS)


def intervals(setting):
    return setting.runs(INTERVALS, QUICK_INTERVALS)


def note(setting):
    seconds = judged_seconds(setting)
    return NOTE.format(
        seconds=seconds,
        intervals=", ".join(map(str, intervals(setting))),
        state=STATE_PERCENT,
        person=person_percent(seconds),
        apart=apart_percent(seconds),
        edges=100 * 2 * POLL_SECONDS / seconds,
    )
