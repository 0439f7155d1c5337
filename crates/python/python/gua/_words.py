"""Figures in words, with their units: what is not known is said to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._tracker import Tracker
    from ._usage import Details


def size(count: Optional[int]) -> str:
    """Memory that was measured: decimal units, three digits."""
    if count is None:
        return "unknown"
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if abs(count) >= 0.9995 * 1000**power:
            value = count / 1000**power
            decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
            return f"{value:.{decimals}f} {unit}"
    return f"{count} B"


def card_memory(count: Optional[int]) -> str:
    """Memory of a card or of who holds it: GiB, as the live views tell it."""
    if count is None:
        return "unknown"
    gib = count / 1024**3
    # A small holder is not nothing.
    return "<0.1 GiB" if 0 < gib < 0.05 else f"{gib:.1f} GiB"


def difference(begin: Optional[int], end: Optional[int]) -> str:
    """What one end has more than the other, with its sign."""
    if begin is None or end is None:
        return "unknown"
    return f"{'+' if end >= begin else '-'}{size(abs(end - begin))}"


def seconds(count: float) -> str:
    """A time: 0.42 s, 12.3 s, 1m40s, 2h05m."""
    if count < 9.995:
        return f"{count:.2f} s"
    if count < 59.95:
        return f"{count:.1f} s"
    whole = round(count)
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    minutes = round(count / 60)
    return f"{minutes // 60}h{minutes % 60:02}m"


def percent(value: Optional[float]) -> str:
    return "unknown" if value is None else f"{value:.1f} %"


def ram_peak(details: Details) -> str:
    bound = "" if details.ram_peak_at_most_bytes is None else "at least "
    return bound + size(details.ram_peak_bytes)


def line(
    tracker: Tracker, ram_before: Optional[int] = None, gpu_before: Optional[int] = None
) -> str:
    """A measurement as one line. What stayed is counted from its begin, or from what there was before."""
    details = tracker.details
    if details is None:
        return "nothing was measured"
    ram_begin = details.ram_begin_bytes if ram_before is None else ram_before
    ram = (
        f"RAM {size(details.ram_end_bytes)}, peak {ram_peak(details)}, "
        f"stayed {difference(ram_begin, details.ram_end_bytes)}"
    )
    return " | ".join((seconds(details.wall_seconds), ram, _gpu(tracker, gpu_before)))


def _gpu(tracker: Tracker, before: Optional[int]) -> str:
    details = tracker.details
    if details is None or details.gpu_peak_bytes is None:
        reasons = [reason for figure, reason in tracker.unknown if "GPU" in figure]
        return "GPU memory unknown" + (f" ({reasons[0]})" if reasons else "")
    begin = details.gpu_begin_bytes if before is None else before
    return (
        f"GPU memory {size(details.gpu_end_bytes)}, peak {size(details.gpu_peak_bytes)}, "
        f"stayed {difference(begin, details.gpu_end_bytes)}"
    )
