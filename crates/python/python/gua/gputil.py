"""GPUtil's names, for those who have them in scripts: ``from gua import gputil as GPUtil``.

Loads are from 0 to 1 and memory is in MiB, as there. What is not known is None, never 0 or NaN;
such a card is not available, unless ``includeNan`` says so. The id of a MIG instance is its UUID:
CUDA has no other name for it.
"""

from __future__ import annotations

import random
import time
from typing import Any, Callable, Iterable, List, Optional, Sequence

from . import _native
from ._cards import Card, Cards, gpus

_MIB = 1024 * 1024

__all__ = [
    "GPU",
    "getAvailability",
    "getAvailable",
    "getFirstAvailable",
    "getGPUs",
    "showUtilization",
]


class GPU:
    """One card, with GPUtil's attributes. What neither the driver nor we tell is None."""

    def __init__(self, card: Card, driver: Optional[str]) -> None:
        self.id: Any = card.index if card.mig_slot is None else card.uuid
        self.uuid = card.uuid
        self.load = _part(card.utilization_percent, 100.0)
        self.memoryTotal = _part(card.memory_total_bytes, _MIB)
        self.memoryUsed = _part(card.memory_used_bytes, _MIB)
        self.memoryFree = _part(card.memory_free_bytes, _MIB)
        self.memoryUtil = (
            None
            if self.memoryUsed is None or not self.memoryTotal
            else self.memoryUsed / self.memoryTotal
        )
        self.driver = driver
        self.name = card.name
        self.serial: Optional[str] = None
        self.display_mode: Optional[str] = None
        self.display_active: Optional[str] = None
        self.temperature = card.temperature_celsius

    def __repr__(self) -> str:
        return f"<gua.gputil.GPU {self.id} {self.name}>"


def _part(value: Optional[float], of: float) -> Optional[float]:
    return None if value is None else value / of


def getGPUs() -> List[GPU]:
    """All cards. Without a driver there are none; one that does not answer is an error."""
    try:
        cards = gpus()
    except _native.NoLibrary:
        cards = Cards()
    return [GPU(card, cards.driver_version) for card in cards]


def getAvailability(
    GPUs: Sequence[GPU],
    maxLoad: float = 0.5,
    maxMemory: float = 0.5,
    memoryFree: float = 0,
    includeNan: bool = False,
    excludeID: Iterable[Any] = (),
    excludeUUID: Iterable[str] = (),
) -> List[int]:
    """1 for each card that may be used, 0 for the others."""
    ids, uuids = set(excludeID), set(excludeUUID)

    def fits(value: Optional[float], holds: Callable[[float], bool]) -> bool:
        return includeNan if value is None else holds(value)

    return [
        int(
            fits(gpu.load, lambda load: load < maxLoad)
            and fits(gpu.memoryUtil, lambda used: used < maxMemory)
            and fits(gpu.memoryFree, lambda free: free >= memoryFree)
            and gpu.id not in ids
            and gpu.uuid not in uuids
        )
        for gpu in GPUs
    ]


def _last_if_unknown(value: Optional[float]) -> Any:
    return (value is None, 0.0 if value is None else value)


# By a card and its place.
_ORDERS: Any = {
    "first": lambda gpu, place: place,
    "last": lambda gpu, place: -place,
    "random": lambda gpu, place: random.random(),
    "load": lambda gpu, place: _last_if_unknown(gpu.load),
    "memory": lambda gpu, place: _last_if_unknown(gpu.memoryUtil),
}


def getAvailable(
    order: str = "first",
    limit: int = 1,
    maxLoad: float = 0.5,
    maxMemory: float = 0.5,
    memoryFree: float = 0,
    includeNan: bool = False,
    excludeID: Iterable[Any] = (),
    excludeUUID: Iterable[str] = (),
) -> List[Any]:
    """The ids of cards that may be used, at most so many, in this order: first, last, random,
    load or memory."""
    if order not in _ORDERS:
        raise ValueError(f"{order!r} is no order. There are {', '.join(_ORDERS)}")
    found = getGPUs()
    may_be = getAvailability(
        found, maxLoad, maxMemory, memoryFree, includeNan, excludeID, excludeUUID
    )
    fit = [(gpu, place) for place, (gpu, yes) in enumerate(zip(found, may_be)) if yes]
    fit.sort(key=lambda one: _ORDERS[order](*one))
    return [gpu.id for gpu, _ in fit[: max(limit, 0)]]


def getFirstAvailable(
    order: str = "first",
    maxLoad: float = 0.5,
    maxMemory: float = 0.5,
    attempts: int = 1,
    interval: float = 900,
    verbose: bool = False,
    includeNan: bool = False,
    excludeID: Iterable[Any] = (),
    excludeUUID: Iterable[str] = (),
) -> List[Any]:
    """The first card that may be used, looked for so often, so many seconds apart.

    :raises RuntimeError: When there is none.
    """
    excludeID, excludeUUID = list(excludeID), list(excludeUUID)
    for attempt in range(attempts):
        if attempt:
            time.sleep(interval)
        if verbose:
            print(f"Attempting ({attempt + 1}/{attempts}) to locate available GPU.")
        found = getAvailable(
            order,
            1,
            maxLoad,
            maxMemory,
            includeNan=includeNan,
            excludeID=excludeID,
            excludeUUID=excludeUUID,
        )
        if found:
            if verbose:
                print(f"GPU {found[0]} located!")
            return found
    raise RuntimeError(
        f"Could not find an available GPU after {attempts} attempts with {interval} seconds "
        "interval."
    )


def showUtilization(
    all: bool = False,
    attrList: Optional[Sequence[Sequence[Any]]] = None,
    useOldCode: bool = False,
) -> None:
    """Prints a table of the cards: load and memory, or all that is known.

    :param attrList: Lists of columns as in GPUtil: ``{'attr': 'load', 'name': 'Load', ...}`` with
        the keys attr, name, suffix, precision and transform.
    """
    columns = _columns(all) if attrList is None else [c for group in attrList for c in group]
    rows = [[column["name"] for column in columns]]
    rows += [[_cell(gpu, column) for column in columns] for gpu in getGPUs()]
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    for number, row in enumerate(rows):
        print("|" + "|".join(f" {cell:>{width}} " for cell, width in zip(row, widths)) + "|")
        if number == 0:
            print("-" * (sum(widths) + 3 * len(widths) + 1))


def _columns(everything: bool) -> List[Any]:
    percent = {"suffix": "%", "transform": lambda value: value * 100, "precision": 0}
    mebibytes = {"suffix": "MB", "precision": 0}
    load = [
        {"attr": "load", "name": "GPU", **percent},
        {"attr": "memoryUtil", "name": "MEM", **percent},
    ]
    if not everything:
        return [{"attr": "id", "name": "ID"}, *load]
    return [
        {"attr": "id", "name": "ID"},
        {"attr": "name", "name": "Name"},
        {"attr": "serial", "name": "Serial"},
        {"attr": "uuid", "name": "UUID"},
        {"attr": "temperature", "name": "GPU temp.", "suffix": "C", "precision": 0},
        {"attr": "load", "name": "GPU util.", **percent},
        {"attr": "memoryUtil", "name": "Memory util.", **percent},
        {"attr": "memoryTotal", "name": "Memory total", **mebibytes},
        {"attr": "memoryUsed", "name": "Memory used", **mebibytes},
        {"attr": "memoryFree", "name": "Memory free", **mebibytes},
        {"attr": "display_mode", "name": "Display mode"},
        {"attr": "display_active", "name": "Display active"},
    ]


def _cell(gpu: GPU, column: Any) -> str:
    value = getattr(gpu, column["attr"])
    if value is None:
        return "unknown"
    transform = column.get("transform")
    value = transform(value) if transform else value
    if column.get("precision") is not None and isinstance(value, (int, float)):
        value = f"{value:.{column['precision']}f}"
    return _native.safe(str(value)) + str(column.get("suffix", ""))
