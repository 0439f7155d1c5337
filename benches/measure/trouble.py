"""What may be wrong with a host: one machine each, and what ours has to say on it."""

from collections.abc import Callable
from dataclasses import dataclass

from machine import Card, Machine, Process
from servers import divided_server, lose

# Above the largest pid there can be.
NOBODY = 4_194_304


@dataclass(frozen=True)
class Kept:
    """What a recorder of ours kept: its exit code if it ended by itself, what it said, and of each
    card the states that its report tells of, in hours."""

    code: int | None
    said: str
    cards: list

    def of_first(self, state):
        return self.cards[0].get(state, 0)

    def of_last(self, state):
        return self.cards[-1].get(state, 0)


@dataclass(frozen=True)
class Ours:
    """What our program answered: its exit code, the cards of `gua stat --json`, what it said, and
    what a recorder kept."""

    code: int
    cards: list
    said: str
    kept: Kept


@dataclass(frozen=True)
class Trouble:
    """`is_right` tells whether ours reacted as it should; `expected` is that in words."""

    name: str
    machine: Callable[[list], Machine]
    expected: str
    is_right: Callable[[Ours], bool]


def beside_a_whole_one(troubled, holder, faults=()):
    """A card in trouble and one at work, each with a holder."""

    def machine(pids):
        first, second = pids[:2]
        return Machine(
            [troubled, Card("GPU-bbbbbbbb-0000-0000-0000-000000000000", utilization=80)],
            [*([holder(first)] if holder else []), Process(second, card=1, memory=5000, sm=80)],
            [dict(fault) for fault in faults],
        )

    return machine


FIRST = Card("GPU-aaaaaaaa-0000-0000-0000-000000000000")
HIDING = Card(FIRST.uuid, unattributed=40000)
DENIED = {"call": "nvmlDeviceGet*RunningProcesses*", "card": 0, "code": "NO_PERMISSION"}
NO_DRIVER = {"call": "nvmlInit*", "code": "DRIVER_NOT_LOADED"}


def lost(pids):
    return lose(beside_a_whole_one(FIRST, lambda pid: Process(pid, 0, 8000))(pids), 0)


def never_free(ours, state):
    """Neither now nor in what was recorded, of which there must be something: who records nothing
    claims nothing."""
    is_kept = ours.kept.of_first(state) > 0 and ours.kept.of_first("truly_idle") == 0
    return is_kept and ours.cards[0]["state"] != "free"


def other_is_whole(ours):
    other = ours.cards[-1]
    is_shown = other["state"] == "active" and len(other["holders"]) == 1
    return is_shown and ours.kept.of_last("active") > 0 and ours.kept.of_last("unknown") == 0


def is_held(ours):
    """The first card is held, also in what was recorded, and the other is as it should be."""
    is_shown = ours.cards[0]["state"] == "idle-held"
    return is_shown and never_free(ours, "idle_held") and other_is_whole(ours)


def is_lost(ours):
    is_shown = ours.cards[0]["state"] == "unknown"
    return is_shown and never_free(ours, "unknown") and other_is_whole(ours)


def knows_the_holder(ours):
    (holder,) = ours.cards[0]["holders"]
    return holder["memory_bytes"] is None


def keeps_the_gone(ours):
    (holder,) = ours.cards[0]["holders"]
    return holder["presence"] == "gone"


def holder_is_unlisted(ours):
    """Nobody is named, but neither is it said that nobody is there."""
    card = ours.cards[0]
    unlisted = card["unlisted"] or {}
    is_told = unlisted.get("holders_reason") == "no_permission"
    return not card["holders"] and not card["holders_complete"] and is_told


def sees_instances(ours):
    """Each with its memory, and the card without instances as any other: it is nearly empty."""
    *instances, whole = ours.cards
    used = all(card["memory_used_bytes"] for card in instances)
    unknown = all(card["state"] == "unknown" for card in instances)
    is_kept = whole["state"] == "free" and ours.kept.of_last("truly_idle") > 0
    return [card["uuid"][:4] for card in instances] == ["MIG-"] * 2 and used and unknown and is_kept


def is_short(said):
    """A short message of our own, and no trace of a program that fell over."""
    return said.startswith("gua: ") and len(said.splitlines()) <= 4 and "panicked" not in said


def says_what_to_do(ours):
    """The look and the recorder alike."""
    looked = ours.code == 1 and not ours.cards and is_short(ours.said)
    return looked and ours.kept.code == 1 and not ours.kept.cards and is_short(ours.kept.said)


TROUBLES = [
    Trouble(
        "unknown process memory",
        beside_a_whole_one(HIDING, lambda pid: Process(pid, 0, None)),
        "held, its memory unknown",
        lambda ours: knows_the_holder(ours) and is_held(ours),
    ),
    Trouble(
        "one card lost",
        lost,
        "that card unknown, the other whole",
        is_lost,
    ),
    Trouble(
        "process list denied",
        beside_a_whole_one(FIRST, lambda pid: Process(pid, 0, 40000), [DENIED]),
        "held, the holders not listed",
        lambda ours: holder_is_unlisted(ours) and is_held(ours),
    ),
    Trouble(
        "pid gone",
        beside_a_whole_one(FIRST, lambda _pid: Process(NOBODY, 0, 8000, gone=True)),
        "kept, marked gone",
        lambda ours: keeps_the_gone(ours) and is_held(ours),
    ),
    Trouble(
        "MIG card",
        divided_server,
        "each instance, unknown where unreadable",
        lambda ours: sees_instances(ours) and never_free(ours, "unknown"),
    ),
    Trouble(
        "no driver",
        beside_a_whole_one(FIRST, None, [NO_DRIVER]),
        "a sentence and the next step, exit code 1",
        says_what_to_do,
    ),
]
