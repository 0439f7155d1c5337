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
    AsRecorded,
    CardReport,
    Compared,
    EquivalentGpus,
    Gap,
    HeatCell,
    Host,
    Identity,
    JudgedAgain,
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
        "accounts_judged_by": AsRecorded,
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
    accounts_judged_by: Optional[AsRecorded]
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
        if part == "cards":
            return frame([_card_row(card) for card in self.cards])
        if part == "gaps":
            rows = [{**asdict(gap), "seconds": gap.seconds} for gap in self.gaps]
            return frame(rows, [*_columns(Gap), "seconds"])
        if part not in _TABLES:
            there = ", ".join(("cards", *_TABLES, "gaps"))
            raise ValueError(f"{part!r} is no part of a report. There are {there}")
        return frame([asdict(one) for one in getattr(self, part) or ()], _columns(_TABLES[part]))

    def __repr__(self) -> str:
        window = self.window
        cards = f"{len(self.cards)} {'card' if len(self.cards) == 1 else 'cards'}"
        return f"<gua.Report of {cards}, {window.from_:%Y-%m-%d %H:%M} to {window.to:%Y-%m-%d %H:%M}>"

    def __str__(self) -> str:
        return _native.safe(f"{repr(self)[1:-1]}: {self.verdict.sentence}")

    def _repr_html_(self) -> str:
        from ._html import of_report

        return of_report(self)


# The parts that are tables as they are.
_TABLES: Dict[str, Any] = {
    "identities": Identity,
    "accounts": Account,
    "sessions": Session,
    "heatmap": HeatCell,
}


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
    return row


def report(
    since: Union[None, str, float, timedelta] = None,
    *,
    from_: Union[None, str, date] = None,
    until: Union[None, str, date] = None,
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
    :param from_: Where the time begins, instead of ``since``: a text, a ``datetime`` or a ``date``.
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
    words = ["report", "--json", f"--tz={tz}"]
    words += [] if since is None else [f"--since={duration(since)}"]
    words += [] if from_ is None else [f"--from={time(from_)}"]
    words += [] if until is None else [f"--until={time(until)}"]
    words += [] if db is None else ["--db", os.fspath(db)]
    words += [] if by is None else [f"--by={','.join(_several(by))}"]
    words += [] if user is None else [f"--user={user}"]
    words += [] if compare is None else [f"--compare={duration(compare)}"]
    words += [f"--price={one}" for one in _several(price)]
    words += [] if currency is None else [f"--currency={currency}"]
    words += [] if active_percent is None else [f"--active-percent={active_percent}"]
    words += [] if held_mb is None else [f"--held-mb={held_mb}"]
    return build(Report, _native.ask(words))


def _several(given: Any) -> List[str]:
    """One or several, as they would be typed."""
    if given is None:
        return []
    return [str(given)] if isinstance(given, (str, int, float)) else [str(one) for one in given]
