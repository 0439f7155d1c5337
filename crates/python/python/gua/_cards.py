"""The cards of this host, who holds them, and which of them to use."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any, ClassVar, Dict, Iterable, List, Optional, Union

from . import _native
from ._shape import build, duration, frame, moment, seconds

_Duration = Union[str, float, timedelta]
_Ids = Union[None, int, str, Iterable[Union[int, str]]]

# How long to wait before looking again.
_LOOK_AGAIN_SECONDS = 1.0


@dataclass
class Holder:
    """One process on one card. What is None is not known; ``unknown`` says why."""

    _PARTS: ClassVar[Dict[str, Any]] = {
        "started": datetime,
        "idle_since": datetime,
        "idle_recorded_until": datetime,
    }

    pid: int
    start_ticks: Optional[int]
    presence: str
    user: Optional[str]
    uid: Optional[int]
    owner: Optional[str]
    owner_uid: Optional[int]
    program: Optional[str]
    parent_pid: Optional[int]
    started: Optional[datetime]
    running_seconds: Optional[float]
    command: Optional[List[str]]
    kinds: List[str]
    memory_bytes: Optional[int]
    sm_percent: Optional[float]
    memory_busy_percent: Optional[float]
    encoder_percent: Optional[float]
    decoder_percent: Optional[float]
    work: str
    state: str
    state_reason: Optional[str]
    idle_since: Optional[datetime]
    idle_seconds: Optional[float]
    idle_certainty: Optional[str]
    idle_source: Optional[str]
    idle_doubt: Optional[str]
    idle_recorded_until: Optional[datetime]
    identity: Optional[Dict[str, Any]]
    unknown: Dict[str, str]
    card_index: Optional[int] = None
    card_uuid: Optional[str] = None


@dataclass
class Reservation:
    """Who was given a card and may not hold it yet: for some time, or as long as a command runs."""

    user: Optional[str]
    uid: int
    pid: Optional[int]
    seconds_left: Optional[int]


@dataclass
class Unlisted:
    """Memory that no listed process holds, where there is or may be some."""

    _PARTS: ClassVar[Dict[str, Any]] = {
        "idle_since": datetime,
        "idle_recorded_until": datetime,
    }

    memory_bytes: Optional[int]
    holders_reason: Optional[str]
    idle_since: Optional[datetime]
    idle_seconds: Optional[float]
    idle_certainty: Optional[str]
    idle_source: Optional[str]
    idle_doubt: Optional[str]
    idle_recorded_until: Optional[datetime]
    unknown: Dict[str, str]


@dataclass
class Card:
    """One GPU, or one MIG instance, now. What is None is not known; ``unknown`` says why."""

    _PARTS: ClassVar[Dict[str, Any]] = {
        "holders": Holder,
        "unlisted": Unlisted,
        "reservations": Reservation,
    }

    index: int
    mig_slot: Optional[int]
    gpu_instance: Optional[int]
    uuid: Optional[str]
    parent_uuid: Optional[str]
    name: Optional[str]
    bus_id: Optional[str]
    minor: Optional[int]
    state: str
    state_reason: Optional[str]
    utilization_percent: Optional[float]
    utilization_basis: Optional[str]
    utilization_covers_seconds: Optional[float]
    memory_used_bytes: Optional[int]
    memory_free_bytes: Optional[int]
    memory_total_bytes: Optional[int]
    memory_reserved_bytes: Optional[int]
    memory_unattributed_bytes: Optional[int]
    memory_source: Optional[str]
    power_watts: Optional[float]
    power_limit_watts: Optional[float]
    energy_joules: Optional[float]
    temperature_celsius: Optional[int]
    sm_clock_mhz: Optional[int]
    memory_clock_mhz: Optional[int]
    encoder_percent: Optional[float]
    decoder_percent: Optional[float]
    fan_percent: Optional[float]
    holders_complete: bool
    holders: List[Holder]
    unlisted: Optional[Unlisted]
    reservations: List[Reservation]
    unknown: Dict[str, str]

    def _repr_html_(self) -> str:
        from ._html import of_cards

        return of_cards([self])


class Processes(List[Holder]):
    """Who holds the cards, in their order."""

    def to_frame(self) -> Any:
        """A table for pandas, a row a holder."""
        return frame([asdict(holder) for holder in self], [one.name for one in fields(Holder)])

    def _repr_html_(self) -> str:
        from ._html import of_holders

        return of_holders(self)


class Cards(List[Card]):
    """All cards at one moment."""

    time: Optional[datetime] = None
    host: Optional[str] = None
    driver_version: Optional[str] = None
    cuda_version: Optional[str] = None

    def to_frame(self) -> Any:
        """A table for pandas, a row a card; its holders by pid."""
        rows = []
        for card in self:
            row = asdict(card)
            row["holders"] = [holder.pid for holder in card.holders]
            rows.append(row)
        return frame(rows, [one.name for one in fields(Card)])

    def _repr_html_(self) -> str:
        from ._html import of_cards

        return of_cards(self)


def gpus(ids: _Ids = None, *, commands: bool = False) -> Cards:
    """What each card is doing now, and who holds it.

    :param ids: Only these: an index, a UUID, a bus id, or several of them.
    :param commands: Whether to read the holders' command lines, which may hold secrets.
    :raises gua.NoDriver: When the driver cannot be read.
    """
    words = ["stat", "--json", *_ids(ids)]
    told = _native.ask(words + ["-f"] if commands else words)
    cards = Cards(build(Card, card) for card in told["cards"])
    for card in cards:
        for holder in card.holders:
            holder.card_index, holder.card_uuid = card.index, card.uuid
    cards.time = moment(told["time"])
    cards.host = told["host"]
    cards.driver_version = told["driver_version"]
    cards.cuda_version = told["cuda_version"]
    return cards


def processes(ids: _Ids = None, *, commands: bool = False) -> Processes:
    """Who holds the cards now: a process on two cards is there twice.

    Where a card's list could not be read there may be more: see ``Card.holders_complete``.

    :raises gua.NoDriver: When the driver cannot be read.
    """
    cards = gpus(ids, commands=commands)
    return Processes(holder for card in cards for holder in card.holders)


def _ids(ids: _Ids) -> List[str]:
    if ids is None:
        return []
    several = [ids] if isinstance(ids, (int, str)) else list(ids)
    if not several:
        raise ValueError("ids names no card. Leave it out for all of them")
    return [f"--id={','.join(map(str, several))}"]


@dataclass
class PickedCard:
    """A card, and whether it was chosen, with the reason when it was not."""

    index: int
    mig_slot: Optional[int]
    gpu_instance: Optional[int]
    uuid: Optional[str]
    parent_uuid: Optional[str]
    name: Optional[str]
    bus_id: Optional[str]
    minor: Optional[int]
    chosen: bool
    reason: Optional[str]
    detail: Optional[str]
    state: str
    memory_free_bytes: Optional[int]
    utilization_percent: Optional[float]
    recorded_utilization_percent: Optional[float]
    recorded_seconds: float
    holders: List[str]
    unknown: Dict[str, str]


@dataclass
class Pick:
    """The cards that were chosen, and why the others were not."""

    _PARTS: ClassVar[Dict[str, Any]] = {
        "time": datetime,
        "reserved_until": datetime,
        "cards": PickedCard,
    }

    time: datetime
    wanted: int
    enough: bool
    cuda_visible_devices: Optional[str]
    reserved_until: Optional[datetime]
    over_seconds: float
    history_reason: Optional[str]
    visible_devices: Optional[str]
    reservations_reason: Optional[str]
    cards: List[PickedCard]

    @property
    def chosen(self) -> List[PickedCard]:
        return [card for card in self.cards if card.chosen] if self.enough else []

    @property
    def indices(self) -> List[int]:
        """As nvidia-smi counts them; CUDA does so only with CUDA_DEVICE_ORDER=PCI_BUS_ID."""
        return [card.index for card in self.chosen]

    @property
    def uuids(self) -> List[str]:
        return [card.uuid for card in self.chosen if card.uuid is not None]


class NotEnoughCards(_native.GuaError):
    """There are not so many cards to be had; ``pick`` says why of each."""

    def __init__(self, pick: Pick) -> None:
        free = sum(card.chosen or card.reason == "not_needed" for card in pick.cards)
        lines = [f"{free} of {pick.wanted} cards can be had"]
        lines += [f"card {card.index}: {card.detail}" for card in pick.cards if card.detail]
        super().__init__("\n".join(map(_native.safe, lines)))
        self.pick = pick

    def __reduce__(self) -> Any:
        # What is raised in a process of a pool comes to its parent.
        return NotEnoughCards, (self.pick,)


def pick(
    count: int = 1,
    *,
    min_free: Union[None, str, float] = None,
    max_util: Optional[float] = None,
    over: _Duration = "5m",
    ids: _Ids = None,
    reserve: Union[None, bool, _Duration] = "30s",
    wait: Union[None, bool, _Duration] = None,
    db: Union[None, str, os.PathLike[str]] = None,
    all_cards: bool = False,
    export: bool = False,
) -> Pick:
    """Chooses cards that nobody uses, as ``gua pick`` does.

    >>> gua.pick(2, export=True)        # before CUDA is initialised
    >>> import torch

    :param count: How many cards.
    :param min_free: Share cards that have so much memory left: ``"20GB"``, or bytes.
    :param max_util: Share cards that worked no more than so much, in percent.
    :param over: The time until now to judge by, as far as it is recorded.
    :param ids: Choose only from these.
    :param reserve: How long the cards stay reserved for you; None or False reserves nothing.
    :param wait: How long to wait until there are enough; True waits for ever.
    :param db: The history to judge by.
    :param all_cards: Whether to look beyond CUDA_VISIBLE_DEVICES, where that is set.
    :param export: Whether to set CUDA_VISIBLE_DEVICES in this process.
    :raises gua.NotEnoughCards: When there are not so many.
    :raises gua.NoDriver: When the driver cannot be read.
    """
    words = ["pick", "--json", f"--count={count}", f"--over={duration(over)}", *_ids(ids)]
    if min_free is not None:
        words.append(f"--min-free={min_free if isinstance(min_free, str) else f'{min_free:.0f}B'}")
    words += [] if max_util is None else [f"--max-util={max_util}"]
    words += [] if db is None else ["--db", os.fspath(db)]
    words += _reserve(reserve)
    words += ["--all-cards"] if all_cards else []
    # Looks once all the same, but one's own reservations count: who waits wants other cards.
    words += ["--wait"] if _seconds(wait) is not None else []
    picked = _pick_in_time(words, _seconds(wait))
    if export and picked.cuda_visible_devices is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = picked.cuda_visible_devices
    return picked


def _reserve(given: Union[None, bool, _Duration]) -> List[str]:
    if given is None or given is False:
        return ["--no-reserve"]
    return [] if given is True else [f"--reserve={duration(given)}"]


def _seconds(wait: Union[None, bool, _Duration]) -> Optional[float]:
    """How long to wait: None is not at all."""
    if wait is None or wait is False:
        return None
    if wait is True:
        return float("inf")
    return seconds(wait)


def _pick_in_time(words: List[str], wait: Optional[float]) -> Pick:
    begun = time.monotonic()
    while True:
        picked = build(Pick, _native.ask(words))
        if picked.enough:
            return picked
        left = (wait or 0.0) - (time.monotonic() - begun)
        # No waiting makes more cards.
        if left <= 0 or len(picked.cards) < picked.wanted:
            raise NotEnoughCards(picked)
        time.sleep(min(left, _LOOK_AGAIN_SECONDS))
