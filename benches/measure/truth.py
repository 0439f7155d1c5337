"""Truth: plays with a known answer, watched by gua's classifier and by the Python gua at the same
time, and how far from the answer they are."""

import json
import math
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
from itertools import chain
from pathlib import Path

from common import RELEASE, NotMeasured, build, ended, of, reading_one_pipe, say, tried, tried_on
from measure.host import installed
from measure.play import (
    HIDDEN,
    PEOPLE,
    POLL_SECONDS,
    STATES,
    TAIL_SECONDS,
    Account,
    Play,
    errors,
    plays,
    uuid,
)
from measure.reaction import PYTHON_REPORT
from table import Missing, Row, at_most, percent

TITLE = "Truth: what is reported of plays with a known answer"
NOTE = (
    "Both watch the same simulated hosts in real time, judged for {seconds} s: gua's classifier "
    "with a poll every {poll} s (the example `classify` of the crate `probe`), the Python gua "
    "with its default interval of 30 s. The truth comes from the scripts of the plays. Where "
    "pauses are short, the rule decides: the data loader and the 30 % duty are active throughout, "
    "the blips are idle-held and in low use. An error is in percent of the time of the worst "
    "card, or of the worst person: present, working, holding idle, and the share of the card's "
    "time. The Python gua reports presence and holding idle alone, and no hidden time, in which "
    "the driver did not answer. The budget is {state} % of card time and {person:.2f} % of a "
    "person's (1 %, but at least 1 s, as process samples are a second apart); where the driver or "
    "a card goes away, {edges:.2f} % more, which is one poll for each of two edges: an outage "
    "lasts from the last poll before it to the first poll after it."
)
HEADER = ("play", "seconds", "true", "gua", "its error", "Python gua", "its error")
FIGURES = (2, 3, 4, 5, 6)
SECONDS, QUICK_SECONDS = 300, 60
# People are accounts of this system, since the Python gua looks them up in the real /proc. Debian
# has these.
LOGINS = ("games", "mail", "news", "man", "lp", "uucp", "proxy", "backup", "irc")
ACCOUNTS = dict(zip(PEOPLE, LOGINS, strict=True))
STATE_PERCENT, PERSON_PERCENT = 0.5, 1.0
# Where two work on a card, the edges of their work are as exact as process samples are frequent.
PROCESS_SAMPLE_SECONDS = 1
CLASSIFY = RELEASE / "examples" / "classify"


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
        for what, name, allowed in (
            (f"{self.play.name}: the largest error of a state", "state_percent", STATE_PERCENT),
            ("— of a person", "person_percent", person_percent(self.play.seconds)),
        ):
            budget = at_most(allowed + self.play.edges_percent(), percent)
            yield Row(what, percent, of(mine, name), of(their, name), budget, runs=(1, 1))

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
        said = (seconds_and_error(each, group, key, true) for each in (self.ours, self.theirs))
        return self.play.name, what, f"{true:.2f}", *chain.from_iterable(said)


def person_percent(seconds):
    return max(PERSON_PERCENT, 100 * PROCESS_SAMPLE_SECONDS / seconds)


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


def our_account(play, folder, env, began, pids):
    """Polls until all of the play is final, and adds up the spans."""
    home, until = folder / "ours", play.end() + TAIL_SECONDS
    seconds = math.floor(began + until - time.time())
    with running([CLASSIFY, str(seconds), str(POLL_SECONDS)], env, home) as classify:
        classify.wait(timeout=seconds + 60)
    spans = map(json.loads, (home / "out").read_text().splitlines())
    return account_of_spans(play, dict(zip(pids, play.people(), strict=True)), spans, began)


def account_of_spans(play, people, spans, began):
    """Spans, clipped to the time that is judged and added up by card and by person. `people` are
    the people by pid."""
    account = Account()
    for card in range(len(play.cards)):
        account.states[card, HIDDEN] = play.seconds
    for span in spans:
        begin, end = (span[edge] / 1000 - began for edge in ("from_ms", "to_ms"))
        seconds = min(end, play.end()) - max(begin, play.begin())
        if seconds <= 0 or span["state"] == "unknown":
            continue
        account.states[span["card"], span["state"]] += seconds
        account.states[span["card"], HIDDEN] -= seconds
        for holder in span["holders"]:
            person = people.get(holder["pid"], "somebody else")
            account.people[person, "present"] += seconds
            share = holder["share_ms"] / 1000 * seconds / (end - begin)
            account.people[person, "share"] += share
            if holder["work"] == "working" or span["state"] != "truly_idle":
                account.people[person, holder["work"]] += seconds
    return account


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
    names = {login: person for person, login in ACCOUNTS.items()}
    for card in range(len(play.cards)):
        for state in STATES:
            share = said["cards"].get(uuid(card), {}).get(state, 0)
            account.states[card, state] = share * recorded.get(uuid(card), 0)
    for login, each in said["identities"].items():
        person = names.get(login, login)
        account.people[person, "present"] = each["gpu_hours"] * 3600
        account.people[person, "idle"] = each["idle_held_gpu_hours"] * 3600
    return account


def judged(setting, play):
    """One play, with what either says of it or why it does not."""
    said = tried(watched, setting, play)
    both = (said, said) if isinstance(said, Missing) else said
    return Judged(play, play.truth(), *both)


def watched(setting, play):
    """What either says of a play that both have watched."""
    peer = tried(setting.peer, "gua", "gua")
    with processes(play) as pids, ThreadPoolExecutor(2) as pool:
        name = f"truth-{play.name.replace(' ', '-')}"
        folder, env = installed(setting, name, play.scenario(pids))
        there = (play, folder, env, int(env["NVML_SIM_START"]) / 1e6)
        mine = pool.submit(tried, our_account, *there, pids)
        their = pool.submit(tried_on, peer, their_account, *there)
        return mine.result(), their.result()


def all_judged(setting):
    """All plays at once: nearly all of the time everybody sleeps."""
    build("-p", "probe", "--example", "classify")
    # Before many ask for it at once.
    tried(setting.venv, "gua")
    played = plays(judged_seconds(setting))
    say(f"watching {len(played)} plays for {judged_seconds(setting)} s")
    with ThreadPoolExecutor(len(played)) as pool:
        yield from pool.map(lambda play: judged(setting, play), played)


def judged_seconds(setting):
    return setting.runs(SECONDS, QUICK_SECONDS)


def note(setting):
    seconds = judged_seconds(setting)
    return NOTE.format(
        seconds=seconds,
        poll=POLL_SECONDS,
        state=STATE_PERCENT,
        person=person_percent(seconds),
        edges=100 * 2 * POLL_SECONDS / seconds,
    )
