"""Cards, usages and reports as HTML for a notebook. Names are anybody's, so all text is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Iterable, List, Optional, Sequence

from . import _native
from ._words import card_memory, difference, percent, ram_peak, seconds, size

if TYPE_CHECKING:
    from ._cards import Card, Holder
    from ._report import Report
    from ._tracker import Tracker
    from ._usage import Details, Point, ResourceUsage

_WIDTH, _HEIGHT = 320, 48
_MOST_POINTS = 160
_CELL = "text-align:left;padding:0.1em 1em 0.1em 0"


def text(value: object) -> str:
    """Text from outside, fit to be shown in a page."""
    return escape(_native.safe("unknown" if value is None else str(value)))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def of_cards(cards: Sequence[Card]) -> str:
    header = ("#", "card", "state", "utilization", "memory", "held by")
    return table(header, (_card_row(card) for card in cards))


def _card_row(card: Card) -> List[str]:
    state = text(card.state.replace("_", "-"))
    if card.state_reason:
        state += f" ({text(card.state_reason.replace('_', ' '))})"
    memory = _memory(card.memory_used_bytes)
    if card.memory_total_bytes is not None:
        memory += f" of {_memory(card.memory_total_bytes)}"
    part = _part(card.memory_used_bytes, card.memory_total_bytes)
    holders = [_holder(holder) for holder in card.holders]
    if not card.holders_complete:
        holders.append("unknown others")
    return [
        _place(card.index, card.mig_slot),
        text(card.name),
        state,
        percent(card.utilization_percent),
        memory + bar(part),
        "<br>".join(holders),
    ]


def _memory(count: Optional[int]) -> str:
    return text(card_memory(count))


def _place(index: int, slot: Optional[int]) -> str:
    """A MIG instance is a card and its slot."""
    return str(index) if slot is None else f"{index}:{slot}"


def _part(used: Optional[int], total: Optional[int]) -> Optional[float]:
    return None if used is None or not total else min(used / total, 1.0)


def _holder(holder: Holder) -> str:
    who = f"{text(holder.user)} {text(holder.program)} {holder.pid}"
    return f"{who} {_memory(holder.memory_bytes)}"


def of_holders(holders: Sequence[Holder]) -> str:
    header = ("card", "pid", "user", "program", "memory", "SM", "running")
    return table(
        header,
        (
            [
                text(holder.card_index),
                str(holder.pid),
                text(holder.user),
                text(holder.program),
                _memory(holder.memory_bytes),
                percent(holder.sm_percent),
                "unknown" if holder.running_seconds is None else seconds(holder.running_seconds),
            ]
            for holder in holders
        ),
    )


def bar(part: Optional[float]) -> str:
    """A share of a whole; nothing where it is not known."""
    if part is None:
        return ""
    return (
        f'<br><svg width="120" height="6" role="img" aria-label="{part * 100:.0f} %">'
        '<rect width="120" height="6" fill="#8884"/>'
        f'<rect width="{part * 120:.1f}" height="6" fill="#4878a8"/></svg>'
    )


def of_usage(tracker: Tracker) -> str:
    """What was used, with the time line of it."""
    details, usage = tracker.details, tracker.resource_usage
    if details is None or usage is None:
        return ""
    rows = [["time", seconds(details.wall_seconds), "", "", ""]]
    rows += _memory_rows(details, tracker.timeline)
    rows += _load_rows(usage, tracker.timeline)
    unknown = "".join(
        f"<div>unknown: {text(one.figure)} ({text(one.reason)})</div>" for one in tracker.unknown
    )
    return table(("", "peak", "at the end", "stayed", "over time"), rows) + unknown


def _memory_rows(details: Details, points: Sequence[Point]) -> List[List[str]]:
    times = [point.seconds for point in points]
    return [
        [
            "RAM",
            ram_peak(details),
            size(details.ram_end_bytes),
            difference(details.ram_begin_bytes, details.ram_end_bytes),
            line_chart("RAM", times, [point.ram_bytes for point in points]),
        ],
        [
            "GPU memory",
            size(details.gpu_peak_bytes),
            size(details.gpu_end_bytes),
            difference(details.gpu_begin_bytes, details.gpu_end_bytes),
            line_chart("GPU memory", times, [point.gpu_bytes for point in points]),
        ],
    ]


def _load_rows(usage: ResourceUsage, points: Sequence[Point]) -> List[List[str]]:
    times = [point.seconds for point in points]
    loads = (
        ("CPU", usage.cpu_utilization.combined, [point.cpu_percent for point in points]),
        ("GPU", usage.gpu_utilization.gpu_percentages, [point.gpu_percent for point in points]),
    )
    return [
        [
            name,
            percent(load.max_sum_percent),
            f"mean {percent(load.mean_sum_percent)}",
            "",
            line_chart(name, times, values),
        ]
        for name, load, values in loads
    ]


def line_chart(
    name: str, times: Sequence[float], values: Sequence[Optional[float]]
) -> str:
    """A small picture of values over time, from 0 up. Where a value is unknown, the line breaks."""
    known = [value for value in values if value is not None]
    if len(known) < 2 or times[-1] <= 0:
        return ""
    step = -(-len(values) // _MOST_POINTS)
    top = max(max(known), 1e-9)
    pieces: List[List[str]] = [[]]
    for at in range(0, len(values), step):
        # The most of a stretch stays, so that no peak is lost.
        here = [value for value in values[at : at + step] if value is not None]
        if not here:
            pieces.append([])
            continue
        x = times[min(at + step, len(times)) - 1] / times[-1] * (_WIDTH - 2) + 1
        y = _HEIGHT - 2 - max(here) / top * (_HEIGHT - 4)
        pieces[-1].append(f"{x:.1f},{y:.1f}")
    lines = "".join(
        f'<polyline fill="none" stroke="#4878a8" stroke-width="1.5" points="{" ".join(piece)}"/>'
        for piece in pieces
        if piece
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="{text(name)} over {seconds(times[-1])}">'
        f'<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT - 1}" y2="{_HEIGHT - 1}" stroke="#8888"/>'
        f"{lines}</svg>"
    )


def of_report(report: Report) -> str:
    def share(value: Optional[float]) -> str:
        return "unknown" if value is None else f"{value * 100:.1f} %"

    host = text(report.host.name) if report.host else "unknown host"
    coverage = share(report.window.coverage)
    words = f"<div>{host}: {text(report.window.from_)} → {text(report.window.to)}, {coverage} observed</div>"
    cards = table(
        ("#", "card", "active", "idle-held", "truly-idle", "unknown"),
        (
            [
                _place(card.index, card.slot),
                text(card.name),
                share(card.states.active.share),
                share(card.states.idle_held.share),
                share(card.states.truly_idle.share),
                share(card.states.unknown.share),
            ]
            for card in report.cards
        ),
    )
    verdict = f"<div>{text(report.verdict.sentence)}</div>" if report.verdict else ""
    return f"{words}{cards}{verdict}"
