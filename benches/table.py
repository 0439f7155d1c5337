"""The table: each figure beside the peer's, with its budget and whether that holds."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    """In the place of a figure that could not be had: why."""

    why: str


@dataclass(frozen=True)
class Unit:
    """How a figure is called in JSON, and how it is shown."""

    name: str
    show: Callable[[float], str]
    # Whether it says something how many times another such figure it is.
    has_ratio: bool = True

    def __call__(self, figure):
        return self.show(figure)


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


def at_most_times(times):
    return Budget(
        f"≤ {times} ×", lambda ours, theirs: theirs is not None and ours <= times * theirs
    )


def at_most(limit, unit):
    return Budget(f"≤ {unit(limit)}", lambda ours, _theirs: ours <= limit)


def show_seconds(seconds):
    return f"{seconds * 1000:.3g} ms" if abs(seconds) < 1 else f"{seconds:.2f} s"


def show_bytes(count):
    return f"{count / 1e6:.3g} MB" if count < 1e9 else f"{count / 1e9:.2f} GB"


milliseconds = Unit("seconds", show_seconds)
megabytes = Unit("bytes", show_bytes)
count_bytes = Unit("bytes", lambda count: f"{count:,.0f} B")
count_calls = Unit("calls", lambda count: f"{count:.2f}")
count = Unit("count", lambda number: f"{number:.0f}")
exponent = Unit("exponent", lambda power: f"{power:.2f}", has_ratio=False)
percent = Unit("percent", lambda part: f"{part:.2f} %", has_ratio=False)

HOLDS, SHORT, MISSING, UNBOUND = "holds", "SHORT", "not measured", "–"


@dataclass(frozen=True)
class Row:
    """One line of the table. A row without a budget is there to be looked at; theirs is None
    where there is nothing of theirs to measure."""

    what: str
    unit: Unit
    ours: float | Missing
    theirs: float | Missing | None = None
    budget: Budget | None = None
    # Whose figure theirs is.
    peer: str = "Python gua"
    # How many runs the medians are of, ours and theirs.
    runs: tuple = ()
    # What it is called where it stands without the rows around it; the short table has these alone.
    headline: str | None = None

    def missing(self):
        """Why a figure is missing, ours first. Both may be so for the same reason."""
        figures = (self.ours, self.theirs)
        return list(dict.fromkeys(each.why for each in figures if isinstance(each, Missing)))

    def verdict(self):
        if self.missing():
            return MISSING
        if self.budget is None:
            return UNBOUND
        return HOLDS if self.budget.holds(self.ours, self.theirs) else SHORT

    def is_good(self):
        return self.verdict() in (HOLDS, UNBOUND)

    def ratio(self):
        """How many times ours theirs is. Of nothing there is no multiple."""
        if self.missing() or not self.unit.has_ratio or not self.theirs or self.ours <= 0:
            return None
        return self.theirs / self.ours

    def told(self, figure):
        if figure is None:
            return "–"
        return MISSING if isinstance(figure, Missing) else self.unit(figure)

    def cells(self):
        ratio = self.ratio()
        return (
            self.what,
            self.told(self.ours),
            self.told(self.theirs),
            "–" if self.theirs is None else self.peer,
            "–" if ratio is None else show_ratio(ratio),
            self.budget.text if self.budget else "–",
            " / ".join(map(str, self.runs)) or "–",
            "; ".join([self.verdict(), *self.missing()]),
        )


def show_ratio(ratio):
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:,.1f}" if ratio >= 1 else f"{ratio:.2f}"


HEADER = ("", "gua", "theirs", "whose", "ratio", "budget", "runs", "")
# Which columns are figures, and so end at the right.
FIGURES = (1, 2, 4, 5)


def markdown(header, lines, figures=FIGURES):
    """A table as Markdown."""
    rule = ["--:" if place in figures else "---" for place in range(len(header))]
    escaped = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *escaped))


def text(header, lines, figures=FIGURES):
    """A table for a terminal, in columns as wide as their contents."""
    widths = [
        max(len(str(line[place])) for line in (header, *lines)) for place in range(len(header))
    ]

    def aligned(line):
        cells = (
            str(cell).rjust(width) if place in figures else str(cell).ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join(cells).rstrip() + "\n"

    return "".join(map(aligned, (header, ["─" * width for width in widths], *lines)))
