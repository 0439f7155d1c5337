"""Plays whose answer is known: what the cards and the people of a pretend host do, by design.

A second of a play stands for two minutes, so that the usual tick of 30 s is one of 250 ms. Loads
are either longer than many ticks or shorter than one; so what a card is can be said without
asking how anybody looks at it. All times are in seconds since the play began.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field

from machine import toml

from table import Missing

TICK_SECONDS, HOURS_OF_A_SECOND = 0.25, 120 / 3600
# How long a recorder may take to begin.
STARTING_SECONDS = 4.0
# As for the recorders: what works, and what holds.
WORKS_PERCENT, HELD_MIB = 10, 100
STATES = ("active", "idle_held", "truly_idle")
# What nobody could see. Who tells of it at all must tell it rightly.
HIDDEN = "hidden"


@dataclass(frozen=True)
class Steady:
    """A load that stays."""

    percent: int

    def shape(self):
        return self.percent

    def works(self, _at):
        return self.percent >= WORKS_PERCENT

    def changes(self, _seconds):
        return 0


@dataclass(frozen=True)
class Bursts:
    """High for a part of a period that is shorter than a tick: it works if its mean does."""

    duty: int
    period: float
    high: int

    def shape(self):
        return {
            "duty": self.duty,
            "period": f"{self.period * 1000:.0f}ms",
            "high": self.high,
            "low": 0,
        }

    def works(self, _at):
        return self.duty * self.high / 100 >= WORKS_PERCENT

    def changes(self, _seconds):
        """None: within a tick they do not count."""
        return 0


@dataclass(frozen=True)
class Phases:
    """High and low in turn, each for many ticks."""

    seconds: float
    high: int
    low: int

    def shape(self):
        turns = [["0s", self.high], [f"{self.seconds * 1000:.0f}ms", self.low]]
        return {"points": turns, "repeat": f"{self.seconds * 2000:.0f}ms"}

    def works(self, at):
        return self.high >= WORKS_PERCENT and at % (2 * self.seconds) < self.seconds

    def changes(self, seconds):
        return math.ceil(seconds / self.seconds)


@dataclass(frozen=True)
class Holding:
    """One process of a person on one card."""

    person: str
    card: int
    memory_mib: int
    load: object
    begin: float = -3600
    end: float = 3600

    def is_there(self, at):
        return self.begin <= at < self.end

    def table(self, pid):
        return {
            "pid": pid,
            "card": self.card,
            "memory": f"{self.memory_mib}MiB",
            "sm": self.load.shape(),
            "begin": f"{self.begin * 1000:.0f}ms",
            "end": f"{self.end * 1000:.0f}ms",
        }


@dataclass(frozen=True)
class Outage:
    """A time in which the driver answers nothing of a card, or of any."""

    begin: float
    end: float
    card: int | None = None

    def hides(self, card, at):
        return self.card in (None, card) and self.begin <= at < self.end

    def table(self):
        of_all = {"call": "nvml*", "code": "LIB_RM_VERSION_MISMATCH"}
        of_one = {"call": "nvmlDeviceGet*", "card": self.card, "code": "GPU_IS_LOST"}
        times = {"from": f"{self.begin * 1000:.0f}ms", "to": f"{self.end * 1000:.0f}ms"}
        return {**(of_all if self.card is None else of_one), **times}


@dataclass
class Account:
    """GPU-hours by state, and of each person those on cards and those in which they held idle. A
    report that tells nothing of what was hidden from it has no such state."""

    states: dict = field(default_factory=lambda: defaultdict(float))
    present: dict = field(default_factory=lambda: defaultdict(float))
    idle: dict = field(default_factory=lambda: defaultdict(float))


@dataclass(frozen=True)
class Play:
    """`stretches` are the parts that are judged, each with the interval of the recorders in it:
    between two of them they are begun anew."""

    name: str
    cards: int
    holdings: list
    stretches: list
    outages: list = field(default_factory=list)

    def scenario(self, pids):
        tables = {
            # Enough for the longest tick, as drivers do not keep more.
            "samples": {"period": "5ms", "capacity": 120},
            "card": [{"memory": "80GiB"} for _ in range(self.cards)],
            "process": [each.table(pid) for each, pid in zip(self.holdings, pids, strict=True)],
            "fault": [outage.table() for outage in self.outages],
        }
        return "".join(f"{key} = {toml(value)}\n" for key, value in tables.items())

    def people(self):
        return list(dict.fromkeys(each.person for each in self.holdings))

    def card_hours(self):
        return self.cards * self.seconds() * HOURS_OF_A_SECOND

    def seconds(self):
        return sum(end - begin for begin, end, _ in self.stretches)

    def changes(self, each):
        """How often what a holding does changes while it is judged."""
        ends = sum(b <= at < e for b, e, _ in self.stretches for at in (each.begin, each.end))
        return each.load.changes(self.seconds()) + ends

    def allowed(self):
        """What the changes may cost, at a tick each: of a state, and of the person with most. An
        outage is two of them: the ticks before and after it are all that is known of its edges."""
        everybodys = [(each.person, self.changes(each)) for each in self.holdings]
        edges = sum(2 * (self.cards if each.card is None else 1) for each in self.outages)
        of_cards = sum(changes for _, changes in everybodys) + edges
        tick = 100 * TICK_SECONDS / self.seconds()
        by_person = [
            sum(changes for who, changes in everybodys if who == person) + 2 * len(self.outages)
            for person in self.people()
        ]
        return Errors(tick * of_cards / self.cards, tick * max(by_person))

    def truth(self, step=0.01):
        """By walking through the play in small steps."""
        account = Account()
        for begin, end, _ in self.stretches:
            for number in range(round((end - begin) / step)):
                at = begin + (number + 0.5) * step
                for card in range(self.cards):
                    if any(outage.hides(card, at) for outage in self.outages):
                        account.states[HIDDEN] += step * HOURS_OF_A_SECOND
                    else:
                        self.add(account, card, at, step * HOURS_OF_A_SECOND)
        return account

    def add(self, account, card, at, hours):
        there = [each for each in self.holdings if each.card == card and each.is_there(at)]
        held = sum(each.memory_mib for each in there)
        works = any(each.load.works(at) for each in there)
        state = "active" if works else "idle_held" if held > HELD_MIB else "truly_idle"
        account.states[state] += hours
        for person in {each.person for each in there}:
            own = [each for each in there if each.person == person]
            account.present[person] += hours
            holds = sum(each.memory_mib for each in own) > HELD_MIB
            if holds and not any(each.load.works(at) for each in own):
                account.idle[person] += hours


@dataclass(frozen=True)
class Errors:
    """The largest differences from the truth, in percent: of a state of all card-hours, of a
    person of the hours in which that person was there."""

    state_percent: float | Missing
    person_percent: float | Missing


def errors(play, truth, said):
    told = (*STATES, HIDDEN) if HIDDEN in said.states else STATES
    of_states = [abs(said.states[state] - truth.states[state]) for state in told]
    of_people = [
        abs(told[person] - true[person]) / truth.present[person]
        for person in play.people()
        for told, true in ((said.present, truth.present), (said.idle, truth.idle))
    ]
    return Errors(100 * max(of_states) / play.card_hours(), 100 * max(of_people))


def plays(seconds):
    """The five, each so long, from when a recorder has surely begun."""
    begin, end = STARTING_SECONDS, STARTING_SECONDS + seconds
    middle, quarter = begin + seconds / 2, seconds / 4
    whole = [(begin, end, TICK_SECONDS)]
    gib = 1024
    return [
        Play(
            "steady",
            4,
            [
                Holding("alice", 0, 60 * gib, Steady(80)),
                Holding("bob", 1, 8 * gib, Steady(0)),
                Holding("carol", 2, 90, Steady(0)),
            ],
            whole,
        ),
        Play(
            "bursty",
            4,
            [
                # Periods that no tick is a simple multiple of: who looks at instants meets all.
                Holding("alice", 0, 20 * gib, Bursts(30, 0.11, 95)),
                Holding("alice", 1, 20 * gib, Phases(seconds / 4, 90, 0)),
                Holding("bob", 2, 9 * gib, Bursts(25, 0.17, 80)),
                Holding("bob", 3, 9 * gib, Phases(seconds / 6, 60, 0)),
            ],
            whole,
        ),
        Play(
            "shared cards",
            2,
            [
                Holding("alice", 0, 30 * gib, Steady(70)),
                Holding("bob", 0, 11 * gib, Steady(0), begin + quarter, end - quarter),
                Holding("bob", 1, 5 * gib, Steady(0)),
                Holding("carol", 1, 7 * gib, Steady(0), middle, 3600),
            ],
            whole,
        ),
        Play(
            "flapping driver",
            2,
            [
                Holding("alice", 0, 30 * gib, Steady(70)),
                Holding("bob", 1, 11 * gib, Steady(0)),
            ],
            whole,
            [
                Outage(begin + seconds * 0.1, begin + seconds * 0.2),
                Outage(begin + seconds * 0.3, begin + seconds * 0.4),
                Outage(begin + seconds * 0.6, begin + seconds * 0.8, card=1),
            ],
        ),
        Play(
            "mixed intervals",
            2,
            [
                Holding("alice", 0, 60 * gib, Steady(75), -3600, middle),
                Holding("alice", 0, 60 * gib, Steady(0), middle, 3600),
                Holding("bob", 1, 3 * gib, Steady(0)),
            ],
            # A recorder takes its time to begin anew.
            [
                (begin, middle - STARTING_SECONDS / 2, 2 * TICK_SECONDS),
                (middle + STARTING_SECONDS / 2, end, TICK_SECONDS / 2),
            ],
        ),
    ]
