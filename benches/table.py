"""The table: each figure beside the peer's, with its budget and whether that holds."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """What our figure has to keep to, given theirs."""

    text: str
    holds: Callable[[float, float | None], bool]


def share(parts):
    return Budget(
        f"≤ 1/{parts}", lambda ours, theirs: theirs is not None and ours * parts <= theirs
    )


def faster(times):
    return Budget(
        f"≥ {times} ×", lambda ours, theirs: theirs is not None and ours * times <= theirs
    )


def at_most(limit, unit):
    return Budget(f"≤ {unit(limit)}", lambda ours, _theirs: ours <= limit)


def milliseconds(seconds):
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def megabytes(count):
    return f"{count / 1e6:.3g} MB" if count < 1e9 else f"{count / 1e9:.2f} GB"


def count_bytes(count):
    return f"{count:,.0f} B"


def count_calls(count):
    return f"{count:.2f}"


@dataclass(frozen=True)
class Row:
    """One line of the table. A figure that is None could not be measured; a row without a
    budget is there to be looked at."""

    what: str
    unit: Callable[[float], str]
    ours: float | None
    theirs: float | None = None
    budget: Budget | None = None
    # Where there is nothing of theirs to measure.
    is_alone: bool = False

    def verdict(self):
        if self.ours is None or self.theirs is None and not self.is_alone:
            return "not measured"
        if self.budget is None:
            return "–"
        return "holds" if self.budget.holds(self.ours, self.theirs) else "**BROKEN**"

    def is_good(self):
        return self.verdict() in ("holds", "–")

    def line(self):
        ratio = "–"
        if self.ours and self.theirs:
            ratio = f"{self.theirs / self.ours:,.1f}"
        theirs = "–" if self.is_alone and self.theirs is None else self.told(self.theirs)
        budget = self.budget.text if self.budget else "–"
        cells = (self.what, self.told(self.ours), theirs, ratio, budget, self.verdict())
        return f"| {' | '.join(cells)} |"

    def told(self, figure):
        return "not measured" if figure is None else self.unit(figure)


def print_table(rows, peer="Python gua", ours="gua"):
    print(f"| | {ours} | {peer} | ratio | budget | |")
    print("|---|--:|--:|--:|--:|---|")
    for row in rows:
        print(row.line())
