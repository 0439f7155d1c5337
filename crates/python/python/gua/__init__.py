"""What a block of code uses, and what the GPUs of this host do: the truth, in a notebook.

>>> import gua
>>> with gua.Tracker(sleep_time=0.1) as tracker:
...     train()
>>> print(tracker)

A figure that is not known is ``None``, never 0.
"""

from __future__ import annotations

from ._native import GuaError, HistoryError, NoDriver, NoLibrary, __version__
from ._tracker import Tracker, track

# Not from `typing`, which is dear to load.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import gputil as gputil, parts as parts
    from ._blocks import (
        CodeBlockResults as CodeBlockResults,
        ComparisonResults as ComparisonResults,
        SubTracker as SubTracker,
        SubTrackingAnalyzer as SubTrackingAnalyzer,
        SubTrackingResults as SubTrackingResults,
        TrackingComparison as TrackingComparison,
        sub_track as sub_track,
    )
    from ._cards import (
        Card as Card,
        Cards as Cards,
        Holder as Holder,
        NotEnoughCards as NotEnoughCards,
        Pick as Pick,
        PickedCard as PickedCard,
        Processes as Processes,
        Reservation as Reservation,
        Unlisted as Unlisted,
        gpus as gpus,
        pick as pick,
        processes as processes,
    )
    from ._report import Report as Report, report as report
    from ._usage import (
        CPUUtilization as CPUUtilization,
        CardUsage as CardUsage,
        ComputeTime as ComputeTime,
        Details as Details,
        GPUUtilization as GPUUtilization,
        MaxGPURAM as MaxGPURAM,
        MaxRAM as MaxRAM,
        Point as Point,
        ProcessingUnitPercentages as ProcessingUnitPercentages,
        RSSValues as RSSValues,
        ResourceUsage as ResourceUsage,
        Unknown as Unknown,
    )

# What few programs need at once is loaded when it is asked for.
_PLACES = {
    "gputil": "gputil",
    "parts": "parts",
    "CPUUtilization": "_usage",
    "Card": "_cards",
    "CardUsage": "_usage",
    "Cards": "_cards",
    "CodeBlockResults": "_blocks",
    "ComparisonResults": "_blocks",
    "ComputeTime": "_usage",
    "Details": "_usage",
    "GPUUtilization": "_usage",
    "Holder": "_cards",
    "MaxGPURAM": "_usage",
    "MaxRAM": "_usage",
    "NotEnoughCards": "_cards",
    "Pick": "_cards",
    "PickedCard": "_cards",
    "Point": "_usage",
    "ProcessingUnitPercentages": "_usage",
    "Processes": "_cards",
    "RSSValues": "_usage",
    "Report": "_report",
    "Reservation": "_cards",
    "Unlisted": "_cards",
    "ResourceUsage": "_usage",
    "SubTracker": "_blocks",
    "SubTrackingAnalyzer": "_blocks",
    "SubTrackingResults": "_blocks",
    "TrackingComparison": "_blocks",
    "Unknown": "_usage",
    "gpus": "_cards",
    "pick": "_cards",
    "processes": "_cards",
    "report": "_report",
    "sub_track": "_blocks",
}

__all__ = [
    "GuaError",
    "HistoryError",
    "NoDriver",
    "NoLibrary",
    "Tracker",
    "__version__",
    "track",
    *_PLACES,
]


# A type checker knows them from above; here it would take any name for one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(f"{__name__}.{_PLACES[name]}")
        found = module if name == _PLACES[name] else getattr(module, name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext gua``: ``%%gua`` measures a cell, ``%gua on`` tells of every cell."""
    from ._jupyter import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext gua``."""
    from ._jupyter import unload

    unload(shell)
