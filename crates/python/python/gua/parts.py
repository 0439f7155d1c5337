"""The parts of a report. What is None is not known, or was not asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Dict, List, Optional

STATES = ("active", "idle_held", "truly_idle", "unknown")


@dataclass
class Host:
    name: str
    driver_version: Optional[str]


@dataclass
class Window:
    """The time of the report. It ends where the record is final, at most where it was asked to."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime, "requested_to": datetime}

    from_: datetime
    to: datetime
    requested_to: datetime
    tz: str
    seconds: float
    observed_seconds: float
    coverage: Optional[float]


@dataclass
class Stretch:
    """From the first to the last recorded moment."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime}

    from_: datetime
    to: datetime


@dataclass
class Thresholds:
    """The thresholds between the states; MB are of 1024² bytes."""

    active_percent: Optional[float]
    held_mb: Optional[int]
    worked_percent: Optional[float]
    context_mb: int


@dataclass
class Basis:
    """The rule and the thresholds by which a stretch of the window was classified."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime}

    from_: datetime
    to: datetime
    rule: str
    imported: bool
    active_percent: Optional[float]
    held_mb: Optional[int]
    worked_percent: Optional[float]


@dataclass
class Time:
    """The time in one state, and its share of the observed time."""

    gpu_hours: float
    share: Optional[float]


@dataclass
class States:
    _PARTS: ClassVar[Dict[str, Any]] = dict.fromkeys(STATES, Time)

    active: Time
    idle_held: Time
    truly_idle: Time
    unknown: Time


@dataclass
class EquivalentGpus:
    """How many cards would have been in that state all the time."""

    idle_held: Optional[float]
    truly_idle: Optional[float]


@dataclass
class CardReport:
    """One card: the time in each state, means over known time, energy, and why time is unknown."""

    _PARTS: ClassVar[Dict[str, Any]] = {"states": States}

    uuid: Optional[str]
    index: Optional[int]
    slot: Optional[int]
    name: Optional[str]
    states: States
    mean_utilization_percent: Optional[float]
    mean_memory_used_bytes: Optional[int]
    active_energy_kwh: Optional[float]
    idle_held_energy_kwh: Optional[float]
    energy_unknown_gpu_hours: float
    unknown_reasons: Dict[str, float]


@dataclass
class Account:
    """The time of one user, job, container or whatever was asked for, and what it cost.

    GPU-hours are shares of the cards' time and add up to it. Idle-held time is unused (memory held, no
    work) or low use (work below the threshold of the card). Process-hours add up processes.
    """

    by: str
    name: Optional[str]
    unattributed: Optional[str]
    id: Optional[str]
    user: Optional[str]
    uid: Optional[int]
    total_gpu_hours: float
    share_of_total: Optional[float]
    active_gpu_hours: float
    idle_held_gpu_hours: float
    idle_held_share: Optional[float]
    unused_gpu_hours: float
    low_use_gpu_hours: float
    unknown_gpu_hours: float
    present_process_hours: Optional[float]
    working_process_hours: Optional[float]
    idle_process_hours: Optional[float]
    idle_beside_process_hours: Optional[float]
    peak_memory_bytes: Optional[int]
    held_idle_gib_hours: Optional[float]
    memory_unknown_process_hours: Optional[float]
    active_energy_kwh: Optional[float]
    idle_held_energy_kwh: Optional[float]
    energy_unknown_gpu_hours: float
    active_cost: Optional[float]
    idle_held_cost: Optional[float]
    unpriced_active_gpu_hours: float
    unpriced_idle_held_gpu_hours: float


@dataclass
class PersonPage(Account):
    """One person's own account, and what would help; ``suggestion`` has its ``kind``."""

    suggestion: Dict[str, Any]


@dataclass
class Session:
    """One process that held a card without using it, and whom to ask."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime}

    user: Optional[str]
    uid: Optional[int]
    card_uuid: Optional[str]
    card_index: Optional[int]
    card_slot: Optional[int]
    pid: int
    program: Optional[str]
    from_: datetime
    from_seen: bool
    to: datetime
    to_seen: bool
    open: Optional[bool]
    idle_seconds: float
    busy_card_seconds: float
    idle_held_gpu_hours: float
    peak_memory_bytes: Optional[int]
    bare_context: Optional[bool]
    ask: Optional[str]
    end: Optional[str]
    command: Optional[str]
    identity: Optional[Dict[str, Any]]


@dataclass
class Cost:
    """What a state cost; hours of cards without a price are told apart."""

    cost: Optional[float]
    cost_per_month: Optional[float]
    unpriced_gpu_hours: float


@dataclass
class Price:
    model: Optional[str]
    cards: int
    cost_per_gpu_hour: Optional[float]


@dataclass
class Money:
    _PARTS: ClassVar[Dict[str, Any]] = {"idle_held": Cost, "truly_idle": Cost, "prices": Price}

    currency: str
    idle_held: Cost
    truly_idle: Cost
    prices: List[Price]
    cost_per_kwh: Optional[float]
    active_energy_cost: Optional[float]
    idle_held_energy_cost: Optional[float]
    month_seconds: float
    rests_on_seconds: float


@dataclass
class Pair:
    """A figure now and before."""

    now: Optional[float]
    before: Optional[float]
    difference: Optional[float]


@dataclass
class ComparedState:
    _PARTS: ClassVar[Dict[str, Any]] = {"gpu_hours": Pair, "share": Pair}

    state: str
    gpu_hours: Pair
    share: Pair


@dataclass
class ComparedCard:
    _PARTS: ClassVar[Dict[str, Any]] = {
        "active_gpu_hours": Pair,
        "idle_held_gpu_hours": Pair,
        "truly_idle_gpu_hours": Pair,
    }

    uuid: Optional[str]
    index: Optional[int]
    slot: Optional[int]
    name: Optional[str]
    active_gpu_hours: Pair
    idle_held_gpu_hours: Pair
    truly_idle_gpu_hours: Pair


@dataclass
class ComparedAccount:
    _PARTS: ClassVar[Dict[str, Any]] = {
        "active_gpu_hours": Pair,
        "idle_held_gpu_hours": Pair,
        "total_gpu_hours": Pair,
    }

    by: str
    name: Optional[str]
    unattributed: Optional[str]
    id: Optional[str]
    user: Optional[str]
    active_gpu_hours: Pair
    idle_held_gpu_hours: Pair
    total_gpu_hours: Pair


@dataclass
class Compared:
    """The same figures over an earlier time."""

    _PARTS: ClassVar[Dict[str, Any]] = {
        "window": Window,
        "states": ComparedState,
        "equivalent_gpus_idle_held": Pair,
        "idle_held_cost": Pair,
        "cards": ComparedCard,
        "accounts": ComparedAccount,
    }

    window: Window
    rests_on_little: bool
    states: List[ComparedState]
    equivalent_gpus_idle_held: Pair
    idle_held_cost: Pair
    cards: List[ComparedCard]
    accounts: List[ComparedAccount]


@dataclass
class HeatCell:
    """One hour of the week in the window's zone; weekday 0 is Sunday."""

    weekday: int
    hour: int
    active_share: float
    observed_seconds: float


@dataclass
class LargestSessions:
    """The few sessions (by their place in ``Report.sessions``) that make up so much of the idle-held time."""

    sessions: List[int]
    idle_held_share: float


@dataclass
class Verdict:
    _PARTS: ClassVar[Dict[str, Any]] = {"largest_sessions": LargestSessions}

    rule: str
    threshold: float
    idle_held_share: Optional[float]
    exceeded: Optional[bool]
    rests_on_little: bool
    sentence: str
    largest_sessions: Optional[LargestSessions]


@dataclass
class Gap:
    """Time that was not observed, and why."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime}

    from_: datetime
    to: datetime
    seconds: float
    reason: str
