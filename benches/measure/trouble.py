"""What may be wrong with a host: one machine each, and what ours has to say on it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from common import ROOT

# The peers' tests describe machines in Python; so does this.
sys.path.append(str(ROOT / "tests" / "peers"))

from machine import Card, Machine, Process  # noqa: E402
from servers import divided_server, lose  # noqa: E402

# Above the largest pid there can be.
NOBODY = 4_194_304


@dataclass(frozen=True)
class Ours:
    """What our program answered: its exit code, the cards of `gua stat --json`, what it said, and
    the states that a recorder kept of the first card."""

    code: int
    cards: list
    said: str
    recorded: dict


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


def never_free(ours):
    """Neither now nor in what was recorded."""
    return ours.cards[0]["state"] != "free" and ours.recorded.get("truly_idle", 0) == 0


def other_is_whole(ours):
    other = ours.cards[-1]
    return other["state"] == "active" and len(other["holders"]) == 1


def knows_the_holder(ours):
    (holder,) = ours.cards[0]["holders"]
    return holder["memory_bytes"] is None and ours.cards[0]["state"] == "idle-held"


def keeps_the_gone(ours):
    (holder,) = ours.cards[0]["holders"]
    return holder["presence"] == "gone" and ours.cards[0]["state"] == "idle-held"


def sees_instances(ours):
    instances = [card for card in ours.cards if card["uuid"].startswith("MIG-")]
    used = all(card["memory_used_bytes"] for card in instances)
    return len(instances) == 2 and used and all(c["state"] == "unknown" for c in instances)


def says_what_to_do(ours):
    """A short message of our own, and no trace of a program that fell over."""
    is_short = ours.said.startswith("gua: ") and len(ours.said.splitlines()) <= 4
    return ours.code == 1 and not ours.cards and is_short and "panicked" not in ours.said


TROUBLES = [
    Trouble(
        "unknown process memory",
        beside_a_whole_one(HIDING, lambda pid: Process(pid, 0, None)),
        "held, its memory unknown",
        lambda ours: knows_the_holder(ours) and never_free(ours) and other_is_whole(ours),
    ),
    Trouble(
        "one card lost",
        lost,
        "that card unknown, the other whole",
        lambda ours: (
            ours.cards[0]["state"] == "unknown"
            and ours.recorded.get("unknown", 0) > 0
            and never_free(ours)
            and other_is_whole(ours)
        ),
    ),
    Trouble(
        "process list denied",
        beside_a_whole_one(FIRST, lambda pid: Process(pid, 0, 40000), [DENIED]),
        "held by somebody unseen",
        lambda ours: (
            ours.cards[0]["state"] == "idle-held" and never_free(ours) and other_is_whole(ours)
        ),
    ),
    Trouble(
        "pid gone",
        beside_a_whole_one(FIRST, lambda _pid: Process(NOBODY, 0, 8000, gone=True)),
        "kept, marked gone",
        lambda ours: keeps_the_gone(ours) and never_free(ours) and other_is_whole(ours),
    ),
    Trouble(
        "MIG card",
        divided_server,
        "each instance, unknown where unreadable",
        lambda ours: sees_instances(ours) and never_free(ours),
    ),
    Trouble(
        "no driver",
        beside_a_whole_one(FIRST, None, [NO_DRIVER]),
        "a sentence and the next step, exit code 1",
        says_what_to_do,
    ),
]
