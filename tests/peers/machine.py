"""A pretend machine as a test describes it: written to a scenario file for the driver, and
kept as the truth that the peers' answers are held against. Memory is in MiB throughout."""

import json
from dataclasses import asdict, dataclass, field

DRIVER = "560.35.05"


@dataclass
class Instance:
    """One MIG instance."""

    slot: int
    profile: str
    memory: int
    uuid: str


@dataclass
class Card:
    """`more` takes the keys of a scenario that no test compares."""

    uuid: str
    name: str = "NVIDIA A100-SXM4-80GB"
    memory: int = 81920
    reserved: int = 640
    unattributed: int = 0
    utilization: int = 0
    mig: list = field(default_factory=list)
    more: dict = field(default_factory=dict)


@dataclass
class Process:
    """A memory of None is one that the driver cannot tell. One that is gone is still listed
    by the driver, but the host no longer has it."""

    pid: int
    card: int
    memory: int | None
    kind: str = "compute"
    sm: int = 0
    slot: int | None = None
    program: str | None = None
    gone: bool = False


@dataclass
class Machine:
    """`faults` and `more` are tables of the scenario, as they are."""

    cards: list
    processes: list = field(default_factory=list)
    faults: list = field(default_factory=list)
    more: dict = field(default_factory=dict)

    def on(self, card):
        """The processes on a card."""
        return [process for process in self.processes if process.card == card]

    def held(self, card):
        """What is used of a card's memory, without the driver's reserve."""
        known = (process.memory or 0 for process in self.on(card))
        return sum(known) + self.cards[card].unattributed

    def memory_by_pid(self, card):
        return {process.pid: process.memory for process in self.on(card)}

    def scenario(self):
        """The file's text. Top-level keys come first, as TOML wants it."""
        tables = {
            **self.more,
            "card": [card_table(card) for card in self.cards],
            "process": [process_table(process) for process in self.processes],
            "fault": self.faults,
        }
        return "".join(f"{key} = {toml(value)}\n" for key, value in tables.items())


def card_table(card):
    table = asdict(card)
    table.update(table.pop("more"))
    for key in ("memory", "reserved", "unattributed"):
        table[key] = f"{table[key]}MiB"
    for instance in table["mig"]:
        instance["memory"] = f"{instance['memory']}MiB"
    return table


def process_table(process):
    table = {key: value for key, value in asdict(process).items() if value is not None}
    table["memory"] = "unknown" if process.memory is None else f"{process.memory}MiB"
    # Long enough ago to fill the driver's sample buffer.
    return {"begin": "-1h", **table}


def toml(value):
    """A value in TOML, which writes strings, numbers and booleans as JSON does."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)
