"""What a block of code uses, and what the GPUs of this host do: the truth, in a notebook.

>>> import gua
>>> with gua.Tracker(sleep_time=0.1) as tracker:
...     train()
>>> print(tracker)

A figure that is not known is ``None``, never 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._native import GuaError, HistoryError, NoDriver, NoLibrary, __version__
from ._tracker import Tracker, track

if TYPE_CHECKING:
    from . import gputil as gputil
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
        Processes as Processes,
        gpus as gpus,
        pick as pick,
        processes as processes,
    )
    from ._report import Report as Report, report as report
    from ._usage import (
        CPUUtilization as CPUUtilization,
        ComputeTime as ComputeTime,
        GPUUtilization as GPUUtilization,
        MaxGPURAM as MaxGPURAM,
        MaxRAM as MaxRAM,
        ProcessingUnitPercentages as ProcessingUnitPercentages,
        RSSValues as RSSValues,
        ResourceUsage as ResourceUsage,
    )

# What few programs need at once is loaded when it is asked for.
_PLACES = {
    "gputil": "gputil",
    "CPUUtilization": "_usage",
    "Card": "_cards",
    "Cards": "_cards",
    "CodeBlockResults": "_blocks",
    "ComparisonResults": "_blocks",
    "ComputeTime": "_usage",
    "GPUUtilization": "_usage",
    "Holder": "_cards",
    "MaxGPURAM": "_usage",
    "MaxRAM": "_usage",
    "NotEnoughCards": "_cards",
    "Pick": "_cards",
    "ProcessingUnitPercentages": "_usage",
    "Processes": "_cards",
    "RSSValues": "_usage",
    "Report": "_report",
    "ResourceUsage": "_usage",
    "SubTracker": "_blocks",
    "SubTrackingAnalyzer": "_blocks",
    "SubTrackingResults": "_blocks",
    "TrackingComparison": "_blocks",
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
