"""Plays whose answer is known: what the cards and the people of a simulated host do, second by
second, and what is true of it. All times are in seconds since the play began.

The truth is worked out from the script of a play: the rule of active time, applied to the exact
utilization in steps of 10 ms. Nothing of it comes from the programs that are judged.
"""

import math
import random
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate

from machine import toml

from table import Missing

# Longest time between two polls of gua; time for a recorder to begin, and to see the end of a play.
POLL_SECONDS, START_SECONDS, TAIL_SECONDS = 5, 6, 20
# Rows of gua's record may be as long: see `first_moment`.
HALF_MINUTE_SECONDS = 30
STEPS_OF_A_SECOND = 100
# The rule: active is every window whose mean utilization reaches the threshold, from the first to
# the last busy moment in it. A process works by the same rule with a threshold of its own.
WINDOW_SECONDS, ACTIVE_PERCENT, WORKING_PERCENT, HELD_MIB = 5, 10, 1, 100
STATES = ("active", "idle_held", "truly_idle")
# Time in which the driver did not answer.
HIDDEN = "hidden"
# What an account says of a person: seconds on cards, seconds of work, seconds of holding a card
# without work, and the person's share of the cards' time.
PERSON_FIGURES = ("present", "working", "idle", "share")
PEOPLE = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan")
# Longer than any play.
LONGEST_SECONDS = 400


@dataclass(frozen=True)
class Holding:
    """One process of a person on one card, and the times of its work."""

    person: str
    card: int
    memory_mib: int
    percent: int = 0
    bursts: tuple = ()

    def table(self, pid):
        points = [["-1h", 0]]
        for begin, end in self.bursts:
            points += [[milliseconds(begin), self.percent], [milliseconds(end), 0]]
        return {
            "pid": pid,
            "card": self.card,
            "memory": f"{self.memory_mib}MiB",
            "sm": {"points": points},
            "begin": "-1h",
        }

    def utilization(self, steps):
        """In percent, in each step."""
        found = [0] * steps
        for begin, end in self.bursts:
            within = range(max(step(begin), 0), min(step(end), steps))
            found[within.start : within.stop] = [self.percent] * len(within)
        return found


@dataclass(frozen=True)
class Outage:
    """A time in which the driver does not answer for a card, or for any."""

    begin: float
    end: float
    card: int | None = None

    def hides(self, card, at):
        return self.card in (None, card) and self.begin <= at < self.end

    def table(self):
        of_all = {"call": "nvml*", "code": "LIB_RM_VERSION_MISMATCH"}
        of_one = {"call": "nvmlDeviceGet*", "card": self.card, "code": "GPU_IS_LOST"}
        times = {"from": milliseconds(self.begin), "to": milliseconds(self.end)}
        return {**(of_all if self.card is None else of_one), **times}


def milliseconds(seconds):
    return f"{seconds * 1000:.0f}ms"


def step(seconds):
    return round(seconds * STEPS_OF_A_SECOND)


def in_work(utilization, threshold):
    """Whether each step is in work, by the rule."""
    window = step(WINDOW_SECONDS)
    sums = list(accumulate(utilization, initial=0))
    busy = [at for at, percent in enumerate(utilization) if percent >= threshold]
    found = bytearray(len(utilization))
    for end in range(window, len(utilization) + 1):
        if sums[end] - sums[end - window] >= threshold * window:
            first = busy[bisect_left(busy, end - window)]
            last = busy[bisect_left(busy, end) - 1]
            found[first : last + 1] = b"\1" * (last + 1 - first)
    return found


@dataclass
class Account:
    """Seconds of each card by state, and of each person by figure. What a report does not have is
    not judged."""

    states: dict = field(default_factory=lambda: defaultdict(float))
    people: dict = field(default_factory=lambda: defaultdict(float))
    unreported: tuple = ()


@dataclass(frozen=True)
class Play:
    """The cards have the names of what is done on them. `driver` has options of the scenario's
    sample buffers."""

    name: str
    seconds: int
    cards: list
    holdings: list
    outages: list = field(default_factory=list)
    driver: dict = field(default_factory=dict)

    def begin(self):
        return START_SECONDS

    def end(self):
        return START_SECONDS + self.seconds

    def scenario(self, pids):
        tables = {
            "samples": {"period": "167ms", "capacity": 100, **self.driver},
            "card": [{"memory": "80GiB", "uuid": uuid(card)} for card in range(len(self.cards))],
            "process": [each.table(pid) for each, pid in zip(self.holdings, pids, strict=True)],
            "fault": [outage.table() for outage in self.outages],
        }
        return "".join(f"{key} = {toml(value)}\n" for key, value in tables.items())

    def people(self):
        return [each.person for each in self.holdings]

    def edges_percent(self):
        """What the edges of outages may cost: an outage lasts from the poll before it to the poll
        after it."""
        return 100 * 2 * len(self.outages) * POLL_SECONDS / self.seconds

    def truth(self):
        account = Account()
        for card in range(len(self.cards)):
            self.add_card(account, card)
        return account

    def add_card(self, account, card):
        steps = step(self.end() + TAIL_SECONDS)
        holders = [each for each in self.holdings if each.card == card]
        loads = [each.utilization(steps) for each in holders]
        total = [min(sum(percents), 100) for percents in zip(*loads, strict=True)] or [0] * steps
        active = in_work(total, ACTIVE_PERCENT)
        works = [in_work(load, WORKING_PERCENT) for load in loads]
        held = sum(each.memory_mib for each in holders)
        seconds = 1 / STEPS_OF_A_SECOND
        for at in range(step(self.begin()), step(self.end())):
            if any(outage.hides(card, at * seconds) for outage in self.outages):
                account.states[card, HIDDEN] += seconds
                continue
            state = "active" if active[at] else "idle_held" if held > HELD_MIB else "truly_idle"
            account.states[card, state] += seconds
            # Active time is shared by the load of those who work, idle-held time by memory.
            weights = {
                "active": [each.percent * work[at] for each, work in zip(holders, works)],
                "idle_held": [each.memory_mib for each in holders],
                "truly_idle": [0] * len(holders),
            }[state]
            for each, work, weight in zip(holders, works, weights):
                account.people[each.person, "present"] += seconds
                account.people[each.person, "share"] += seconds * weight / max(sum(weights), 1)
                if work[at]:
                    account.people[each.person, "working"] += seconds
                elif state != "truly_idle":
                    account.people[each.person, "idle"] += seconds


def uuid(card):
    return f"GPU-00000000-0000-0000-0000-{card:012}"


@dataclass(frozen=True)
class Errors:
    """The largest differences of two accounts, in percent: of a state, of the time of its card; of
    a person, of the time in which that person was there."""

    state_percent: float | Missing
    person_percent: float | Missing

    def largest(self):
        return max(self.state_percent, self.person_percent)


def errors(play, truth, said):
    """Returns how far an account is from the truth."""
    return differences(play, truth, truth, said)


def differences(play, truth, one, other):
    """Returns how far two accounts are apart. What one of them does not have is left out."""
    unreported = (*one.unreported, *other.unreported)
    states = [
        abs(one.states[card, state] - other.states[card, state]) / play.seconds
        for card in range(len(play.cards))
        for state in (*STATES, HIDDEN)
        if state not in unreported
    ]
    people = [
        abs(one.people[who, figure] - other.people[who, figure]) / truth.people[who, "present"]
        for who in play.people()
        for figure in PERSON_FIGURES
        if figure not in unreported
    ]
    return Errors(100 * max(states), 100 * max(people))


def first_moment(now):
    """Returns the next moment, in seconds since 1970, at which a play may begin so that its judged
    time begins at a full half minute of UTC, and ends at one. gua adds up more than two spans of a
    half minute in one row, of which a window that cuts it takes a part in proportion."""
    edge = math.ceil((now + START_SECONDS) / HALF_MINUTE_SECONDS) * HALF_MINUTE_SECONDS
    return edge - START_SECONDS


def cycles(work, idle, offset=0.0):
    """Work and idleness in turn, from an offset on."""
    rounds = range(int(LONGEST_SECONDS / (work + idle)) + 1)
    starts = (offset + number * (work + idle) for number in rounds)
    return tuple((begin, begin + work) for begin in starts)


def random_bursts(seed):
    """Bursts of 2 to 10 s, one or two a minute, the same for the same seed."""
    source, at, found = random.Random(seed), 0.0, []
    while at < LONGEST_SECONDS:
        at += round(source.uniform(20, 50), 2)
        found.append((at, at + round(source.uniform(2, 10), 2)))
        at = found[-1][1]
    return tuple(found)


def plays(seconds):
    """Each is judged for so many seconds, from when a recorder has surely begun."""
    dry = {"dry_when_idle": True}

    def alone(name, works, driver):
        """A card for each, with one holder."""
        people = zip(PEOPLE, works.values())
        holdings = [Holding(who, card, 8000, *work) for card, (who, work) in enumerate(people)]
        return Play(name, seconds, list(works), holdings, driver=driver)

    def with_outage(name, *where):
        outage = Outage(START_SECONDS + seconds * 0.37, START_SECONDS + seconds * 0.63, *where)
        holdings = [Holding("alice", 0, 8000, 90, cycles(41, 53, 7.3)), Holding("bob", 1, 8000)]
        return Play(name, seconds, ["41/53 at 90", "asleep"], holdings, [outage])

    return [
        alone(
            "phases",
            {
                "41/53 at 90": (90, cycles(41, 53, 7.3)),
                "29/36 at 70": (70, cycles(29, 36, 3.1)),
                "113/97 at 95": (95, cycles(113, 97, 11.7)),
                "61/71 at 40": (40, cycles(61, 71, 9.4)),
                "35/90 at 100": (100, cycles(35, 90, 12.9)),
                "52/8 at 92": (92, cycles(52, 8, 1.6)),
            },
            dry,
        ),
        alone(
            "notebooks",
            {
                "4 s a minute at 80": (80, cycles(4, 56, 8.2)),
                "random at 85": (85, random_bursts(5)),
                "loader, 1 s / 1 s": (95, cycles(1, 1)),
                "30 % duty": (100, cycles(0.21, 0.49)),
                "blip every 5 s": (100, cycles(0.2, 4.8)),
            },
            dry,
        ),
        Play(
            "shared cards",
            seconds,
            ["one works", "40 s apart", "back to back", "two at once"],
            [
                Holding("alice", 0, 12_000, 85, cycles(37, 61, 3.1)),
                Holding("bob", 0, 20_000),
                Holding("carol", 0, 4000),
                Holding("dave", 1, 8000, 80, cycles(23, 57, 2)),
                Holding("erin", 1, 9000, 80, cycles(23, 57, 42)),
                # Both work before the judged time, so that gua reads their samples every second.
                Holding("frank", 2, 8000, 80, cycles(20, 20, -17)),
                Holding("grace", 2, 9000, 80, cycles(20, 20, 3)),
                Holding("heidi", 3, 8000, 60, cycles(50, 30, 1.7)),
                Holding("ivan", 3, 9000, 30, cycles(40, 50, 4.9)),
            ],
        ),
        with_outage("driver away"),
        with_outage("card lost", 0),
        Play(
            "steady",
            seconds,
            ["at 80", "held", "90 MiB", "free"],
            [
                Holding("alice", 0, 60_000, 80, ((0, LONGEST_SECONDS),)),
                Holding("bob", 1, 8000),
                Holding("carol", 2, 90),
            ],
        ),
    ]
