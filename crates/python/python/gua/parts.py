"""What the cards did over a time, from the recorded history: ``gua report`` as plain data."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Dict, Iterable, List, Optional, Union

from . import _native
from ._shape import build, duration, frame, time

STATES = ("active", "idle_held", "truly_idle", "unknown")


@dataclass
class Host:
    name: str
    driver_version: Optional[str]


@dataclass
class Window:
    """The time that was asked about."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime}

    from_: datetime
    to: datetime
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
    """The lines between the states; MB are of 1024² bytes."""

    active_percent: float
    held_mb: int


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
    _PARTS: ClassVar[Dict[str, Any]] = {"states": States}

    uuid: Optional[str]
    index: int
    slot: Optional[int]
    name: Optional[str]
    states: States


@dataclass
class Identity:
    """A person, as far as known, and what the cards did that they held."""

    user: Optional[str]
    uid: Optional[int]
    gpu_hours: float
    idle_held_gpu_hours: float
    idle_held_share: Optional[float]


@dataclass
class Account:
    """The card time of one user, job, container or whatever was asked for, and what it cost."""

    by: str
    name: Optional[str]
    unattributed: Optional[str]
    id: Optional[str]
    user: Optional[str]
    gpu_hours: float
    worked_gpu_hours: float
    idle_held_gpu_hours: float
    idle_held_share: Optional[float]
    idle_gpu_hours: float
    unknown_gpu_hours: float
    held_idle_gb_hours: float
    cost: Optional[float]
    unpriced_gpu_hours: float


@dataclass
class PersonPage(Account):
    """One person's own account, and what could be done; ``suggestion`` has its ``kind``."""

    suggestion: Dict[str, Any]


@dataclass
class Session:
    """One process that held a card without using it, and whom to ask."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime}

    user: Optional[str]
    uid: Optional[int]
    card_uuid: Optional[str]
    card_index: int
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
class ComparedAccount:
    _PARTS: ClassVar[Dict[str, Any]] = {"gpu_hours": Pair, "idle_held_gpu_hours": Pair}

    by: str
    name: Optional[str]
    unattributed: Optional[str]
    id: Optional[str]
    user: Optional[str]
    gpu_hours: Pair
    idle_held_gpu_hours: Pair


@dataclass
class Compared:
    """The same figures over an earlier time."""

    _PARTS: ClassVar[Dict[str, Any]] = {
        "window": Window,
        "states": ComparedState,
        "equivalent_gpus_idle_held": Pair,
        "idle_held_cost": Pair,
        "accounts": ComparedAccount,
    }

    window: Window
    rests_on_little: bool
    states: List[ComparedState]
    equivalent_gpus_idle_held: Pair
    idle_held_cost: Pair
    accounts: Optional[List[ComparedAccount]]


@dataclass
class HeatCell:
    """One hour of the week in the window's zone; weekday 0 is Sunday."""

    weekday: int
    hour: int
    active_share: float
    observed_seconds: float


@dataclass
class Culprits:
    """The few sessions (by their place in ``Report.sessions``) that make up so much of it."""

    sessions: List[int]
    idle_held_share: float


@dataclass
class Verdict:
    _PARTS: ClassVar[Dict[str, Any]] = {"culprits": Culprits}

    rule: str
    threshold: float
    idle_held_share: Optional[float]
    exceeded: Optional[bool]
    rests_on_little: bool
    sentence: str
    culprits: Optional[Culprits]


@dataclass
class Gap:
    """Time that nobody observed, and why."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime}

    from_: datetime
    to: datetime
    reason: str

    @property
    def seconds(self) -> float:
        return (self.to - self.from_).total_seconds()


@dataclass
class JudgedAgain:
    """What the samples speak for, where other thresholds were asked for."""

    _PARTS: ClassVar[Dict[str, Any]] = {"from_": datetime, "to": datetime}

    from_: Optional[datetime]
    to: Optional[datetime]
    covers_seconds: float
    share_of_observed: Optional[float]
    omits: List[str]


@dataclass
class Report:
    """What the cards did. What nobody observed is no part of any share."""

    _PARTS: ClassVar[Dict[str, Any]] = {
        "host": Host,
        "window": Window,
        "data": Stretch,
        "thresholds": Thresholds,
        "states": States,
        "equivalent_gpus": EquivalentGpus,
        "cards": CardReport,
        "identities": Identity,
        "accounts": Account,
        "sessions": Session,
        "money": Money,
        "person": PersonPage,
        "compared": Compared,
        "heatmap": HeatCell,
        "verdict": Verdict,
        "gaps": Gap,
        "judged_again": JudgedAgain,
    }

    schema: str
    host: Optional[Host]
    window: Window
    data: Optional[Stretch]
    thresholds: Thresholds
    states: States
    equivalent_gpus: EquivalentGpus
    cards: List[CardReport]
    identities: Optional[List[Identity]]
    accounts_by: List[str]
    accounts: Optional[List[Account]]
    sessions: Optional[List[Session]]
    money: Optional[Money]
    person: Optional[PersonPage]
    compared: Optional[Compared]
    heatmap: List[HeatCell]
    verdict: Verdict
    gaps: List[Gap]
    judged_again: Optional[JudgedAgain]

    def to_frame(self, part: str = "cards") -> Any:
        """A part of the report as a table for pandas: cards, identities, accounts,
        sessions, heatmap or gaps."""
        parts = {
            "cards": [_card_row(card) for card in self.cards],
            "identities": [asdict(one) for one in self.identities or ()],
            "accounts": [asdict(one) for one in self.accounts or ()],
            "sessions": [asdict(one) for one in self.sessions or ()],
            "heatmap": [asdict(cell) for cell in self.heatmap],
            "gaps": [{**asdict(gap), "seconds": gap.seconds} for gap in self.gaps],
        }
        if part not in parts:
            raise ValueError(f"{part!r} is no part of a report. There are {', '.join(parts)}")
        return frame(parts[part])

    def _repr_html_(self) -> str:
        from ._html import of_report

        return of_report(self)


def _card_row(card: CardReport) -> Dict[str, Any]:
    row: Dict[str, Any] = {"index": card.index, "slot": card.slot, "uuid": card.uuid}
    row["name"] = card.name
    for state in STATES:
        time_in: Time = getattr(card.states, state)
        row[f"{state}_gpu_hours"] = time_in.gpu_hours
        row[f"{state}_share"] = time_in.share
    return row


def report(
    since: Union[None, str, float, timedelta] = None,
    *,
    from_: Union[None, str, datetime] = None,
    until: Union[None, str, datetime] = None,
    tz: str = "UTC",
    db: Union[None, str, os.PathLike[str]] = None,
    by: Union[None, str, Iterable[str]] = None,
    user: Union[None, str, int] = None,
    compare: Union[None, str, float, timedelta] = None,
    price: Union[None, float, str, Iterable[str]] = None,
    currency: Optional[str] = None,
    active_percent: Optional[float] = None,
    held_mb: Optional[int] = None,
) -> Report:
    """What the cards did over a time: worked, were held idle, stood free, and by whom.

    :param since: How far back to look, ``"7d"`` or seconds; the last hour when left out.
    :param from_: Where the time begins, instead of ``since``.
    :param until: Where it ends; now when left out.
    :param tz: The zone of times without an offset, and of the heatmap.
    :param db: The history to read; gua.db in GUA_HOME or ~/.gua when left out.
    :param by: What to make accounts of: user, job, container, pod, notebook, program or card.
    :param user: The page for one person alone, by name or uid.
    :param compare: An earlier time to set it beside: ``"previous"``, or how long before.
    :param price: What a GPU-hour costs; ``"A100=3.20"`` is for cards of that model.
    :param currency: What stands beside an amount of money.
    :param active_percent: Judge again, with a card active from this utilization on.
    :param held_mb: Judge again, with a card held above so many MB (of 1024² bytes).
    :raises gua.HistoryError: When there is no history, or none that can be read.
    """
    words = ["report", "--json", "--tz", tz]
    words += [] if since is None else ["--since", duration(since)]
    words += [] if from_ is None else ["--from", time(from_)]
    words += [] if until is None else ["--until", time(until)]
    words += [] if db is None else ["--db", os.fspath(db)]
    words += [] if by is None else ["--by", ",".join(_several(by))]
    words += [] if user is None else ["--user", str(user)]
    words += [] if compare is None else ["--compare", duration(compare)]
    words += [word for one in _several(price) for word in ("--price", one)]
    words += [] if currency is None else ["--currency", currency]
    words += [] if active_percent is None else ["--active-percent", str(active_percent)]
    words += [] if held_mb is None else ["--held-mb", str(held_mb)]
    return build(Report, _native.ask(words))


def _several(given: Any) -> List[str]:
    """One or several, as they would be typed."""
    if given is None:
        return []
    return [str(given)] if isinstance(given, (str, int, float)) else [str(one) for one in given]
