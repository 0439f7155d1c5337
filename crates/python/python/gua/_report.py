"""What the cards did over a time, from the recorded history: ``gua report`` as plain data."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Dict, Iterable, List, Optional, Union

from . import _native
from ._shape import build, duration, frame, time
from .parts import (
    Account,
    Basis,
    CardReport,
    Compared,
    EnergyMoney,
    EquivalentGpus,
    Gap,
    HeatCell,
    Host,
    Money,
    PersonPage,
    STATES,
    Session,
    States,
    Stretch,
    Thresholds,
    Time,
    Verdict,
    Window,
)


@dataclass(repr=False)
class Report:
    """What the cards did. Time that was not observed is no part of any share.

    A report on one person has their figures alone: states, energy, equivalent_gpus, cards and money are
    their part of the cards that they were on, and verdict and heatmap, which are about all cards, are
    None. Shares of their accounts are parts of what all held.
    """

    _PARTS: ClassVar[Dict[str, Any]] = {
        "host": Host,
        "window": Window,
        "data": Stretch,
        "thresholds": Thresholds,
        "basis": Basis,
        "states": States,
        "equivalent_gpus": EquivalentGpus,
        "cards": CardReport,
        "accounts": Account,
        "sessions": Session,
        "money": Money,
        "energy_money": EnergyMoney,
        "person": PersonPage,
        "compared": Compared,
        "heatmap": HeatCell,
        "verdict": Verdict,
        "gaps": Gap,
    }

    schema: str
    host: Optional[Host]
    window: Window
    data: Optional[Stretch]
    thresholds: Optional[Thresholds]
    basis: List[Basis]
    states: States
    energy_kwh: Optional[float]
    active_energy_kwh: Optional[float]
    idle_held_energy_kwh: Optional[float]
    energy_unknown_gpu_hours: float
    truly_idle_energy_kwh: Optional[float]
    unknown_state_energy_kwh: Optional[float]
    energy_estimated_gpu_hours: float
    energy_divided: bool
    equivalent_gpus: EquivalentGpus
    gpu_count: int
    cards: List[CardReport]
    accounts_by: List[str]
    accounts: List[Account]
    sessions: List[Session]
    money: Optional[Money]
    energy_money: Optional[EnergyMoney]
    person: Optional[PersonPage]
    compared: Optional[Compared]
    heatmap: Optional[List[HeatCell]]
    verdict: Optional[Verdict]
    gaps: List[Gap]

    def to_frame(self, part: str = "cards") -> Any:
        """A part of the report as a table for pandas: cards, accounts, sessions, heatmap,
        basis or gaps."""
        if part == "cards":
            return frame([_card_row(card) for card in self.cards])
        if part not in _TABLES:
            there = ", ".join(("cards", *_TABLES))
            raise ValueError(f"{part!r} is no part of a report. There are {there}")
        return frame([asdict(one) for one in getattr(self, part) or ()], _columns(_TABLES[part]))

    def __repr__(self) -> str:
        window = self.window
        cards = f"{len(self.cards)} {'card' if len(self.cards) == 1 else 'cards'}"
        return f"<gua.Report of {cards}, {window.from_:%Y-%m-%d %H:%M} to {window.to:%Y-%m-%d %H:%M}>"

    def __str__(self) -> str:
        if self.verdict is None:
            return repr(self)[1:-1]
        return _native.safe(f"{repr(self)[1:-1]}: {self.verdict.sentence}")

    def _repr_html_(self) -> str:
        from ._html import of_report

        return of_report(self)


# The parts that are tables as they are.
_TABLES: Dict[str, Any] = {
    "accounts": Account,
    "sessions": Session,
    "heatmap": HeatCell,
    "basis": Basis,
    "gaps": Gap,
}


_CARD_FIGURES = (
    "mean_utilization_percent",
    "mean_memory_used_bytes",
    "energy_kwh",
    "active_energy_kwh",
    "idle_held_energy_kwh",
    "truly_idle_energy_kwh",
    "unknown_state_energy_kwh",
    "energy_unknown_gpu_hours",
    "energy_estimated_gpu_hours",
)


def _columns(part: Any) -> List[str]:
    """A table without rows has them, too."""
    return [field.name for field in fields(part)]


def _card_row(card: CardReport) -> Dict[str, Any]:
    row: Dict[str, Any] = {"index": card.index, "slot": card.slot, "uuid": card.uuid}
    row["name"] = card.name
    for state in STATES:
        time_in: Time = getattr(card.states, state)
        row[f"{state}_gpu_hours"] = time_in.gpu_hours
        row[f"{state}_share"] = time_in.share
    for field in _CARD_FIGURES:
        row[field] = getattr(card, field)
    return row


def report(
    since: Union[None, str, float, timedelta] = None,
    *,
    period: Optional[str] = None,
    from_: Union[None, str, date] = None,
    until: Union[None, str, date] = None,
    tz: str = "local",
    db: Union[None, str, os.PathLike[str]] = None,
    by: Union[None, str, Iterable[str]] = None,
    sort: Optional[str] = None,
    user: Union[None, str, int] = None,
    compare: Union[None, str, float, timedelta] = None,
    price: Union[None, float, str, Iterable[str]] = None,
    price_kwh: Optional[float] = None,
    currency: Optional[str] = None,
) -> Report:
    """What the cards did over a time: worked, were held idle, stood free, and by whom.

    :param since: How far back to look, ``"7d"``, ``"1mo"`` (30 days) or seconds; the last 24 hours when
        left out.
    :param period: A period of the calendar instead: ``"today"``, ``"yesterday"``, ``"this-week"``,
        ``"last-week"``, ``"this-month"``, ``"last-month"``, ``"2026-10"`` or ``"2026-W46"``.
    :param from_: Where the time begins, instead of ``since``: a text, a ``datetime`` or a ``date``.
    :param until: Where it ends; now when left out.
    :param tz: The zone of times without an offset, of periods, and of the heatmap.
    :param db: The history to read; gua.db in GUA_HOME or ~/.gua when left out.
    :param by: What to make accounts of: user, job, container, pod, notebook, program or card.
    :param sort: Which accounts come first: those with the most ``"total"`` (the default), ``"idle"`` or
        ``"active"`` time, or the highest ``"cost"`` of idle time.
    :param user: The report on one person alone, by name or uid.
    :param compare: An earlier time to set it beside: ``"previous"``, or how long before.
    :param price: What a GPU-hour costs; ``"A100=3.20"`` is for cards of that model.
    :param price_kwh: What a kilowatt-hour costs.
    :param currency: What stands beside an amount of money.
    :raises gua.HistoryError: When there is no history, or none that can be read.
    """
    words = ["report", "--json", f"--tz={tz}"]
    words += [] if since is None else [f"--since={duration(since)}"]
    words += [] if period is None else [f"--period={period}"]
    words += [] if from_ is None else [f"--from={time(from_)}"]
    words += [] if until is None else [f"--until={time(until)}"]
    words += [] if db is None else ["--db", os.fspath(db)]
    words += [] if by is None else [f"--by={','.join(_several(by))}"]
    words += [] if sort is None else [f"--sort={sort}"]
    words += [] if user is None else [f"--user={user}"]
    words += [] if compare is None else [f"--compare={duration(compare)}"]
    words += [f"--price={one}" for one in _several(price)]
    words += [] if price_kwh is None else [f"--price-kwh={price_kwh}"]
    words += [] if currency is None else [f"--currency={currency}"]
    return build(Report, _native.ask(words))


def _several(given: Any) -> List[str]:
    """One or several, as they would be typed."""
    if given is None:
        return []
    return [str(given)] if isinstance(given, (str, int, float)) else [str(one) for one in given]
