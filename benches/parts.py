"""The parts of the comparison: what each measures, and what came of it."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from common import Setting, reason, say
from measure import (
    block,
    crowd,
    faults,
    fleet,
    growth,
    look,
    page,
    recorder,
    reports,
    scrape,
    tracking,
    truth,
    watch,
)
from table import HEADER, Missing, Row, count, markdown


@dataclass(frozen=True)
class Grid:
    """Another table than that of the figures; all cells are text."""

    name: str
    title: str
    header: tuple
    lines: list
    # Which columns are figures.
    figures: tuple = ()


@dataclass
class Part:
    """What was measured of one subject."""

    name: str
    title: str
    rows: list = field(default_factory=list)
    grids: list = field(default_factory=list)
    # What is not as it should be, besides the rows.
    remarks: list = field(default_factory=list)
    # How it was measured, where the reader has to know it.
    notes: list = field(default_factory=list)
    seconds: float = 0

    def is_good(self):
        return not self.remarks and all(row.is_good() for row in self.rows)

    def markdown(self):
        """Its heading, its tables, and what is not as it should be."""
        blocks = [f"## {self.title}\n", *(f"{note}\n" for note in self.notes)]
        if self.rows:
            blocks.append(markdown(HEADER, [row.cells() for row in self.rows]))
        for grid in self.grids:
            blocks.append(f"**{grid.title}**\n")
            blocks.append(markdown(grid.header, grid.lines, grid.figures))
        blocks += [f"**{remark}**\n" for remark in self.remarks]
        return "\n".join(blocks)


@dataclass(frozen=True)
class Subject:
    """Something to measure. `fill` puts what it finds into the part as it goes along, so that
    what was found before a failure is kept."""

    name: str
    title: str
    fill: Callable[[Part, Setting], None]
    # Whether a quick run has it, too.
    is_quick: bool = True


def with_rows(measure: Callable[[Setting], Iterable[Row]]):
    def fill(part, setting):
        for row in measure(setting):
            part.rows.append(row)

    return fill


def with_reports(part, setting):
    for row in reports.rows(setting, part.remarks):
        part.rows.append(row)


def with_faults(part, setting):
    part.notes.append(faults.NOTE)
    lines = []
    part.grids.append(Grid("reactions", "What each says", faults.HEADER, lines))
    for *line, wrong in faults.found(setting):
        lines.append(line)
        part.remarks += [wrong] if wrong else []


def with_growth(part, setting):
    part.notes.append(growth.NOTE)
    lines = []
    part.grids.append(Grid("curves", "The curves", growth.HEADER, lines, (1, 2, 3)))
    for found in growth.growths(setting):
        part.rows.append(found.row())
        lines += found.lines()


def with_truth(part, setting):
    part.notes.append(truth.note(setting))
    lines = []
    part.grids.append(
        Grid("seconds", "Seconds of cards and people", truth.HEADER, lines, truth.FIGURES)
    )
    for judged in truth.all_judged(setting):
        part.rows += judged.rows()
        lines += judged.lines()


SUBJECTS = [
    Subject("look", look.TITLE, with_rows(look.rows)),
    Subject("top", watch.TITLE, with_rows(watch.rows)),
    Subject("record", recorder.TITLE, with_rows(recorder.rows)),
    Subject("report", reports.TITLE, with_reports),
    Subject("track", tracking.TITLE, with_rows(tracking.rows)),
    Subject("python", block.TITLE, with_rows(block.rows)),
    Subject("scrape", scrape.TITLE, with_rows(scrape.rows)),
    Subject("growth", growth.TITLE, with_growth),
    Subject("truth", truth.TITLE, with_truth),
    Subject("faults", faults.TITLE, with_faults),
    Subject("crowd", crowd.TITLE, with_rows(crowd.rows), is_quick=False),
    Subject("fleet", fleet.TITLE, with_rows(fleet.rows), is_quick=False),
    Subject("page", page.TITLE, with_rows(page.rows), is_quick=False),
]


def measured(subject, setting):
    """A part. Whatever goes wrong in it is told in it, and the others go on."""
    say(f"== {subject.name}: {subject.title}")
    part, begun = Part(subject.name, subject.title), time.monotonic()
    try:
        subject.fill(part, setting)
    except Exception as why:  # noqa: BLE001 a mistake in one part must not cost the others
        what = "the rest of this part" if part.rows else "all of this part"
        part.rows.append(Row(what, count, Missing(reason(why))))
        say(f"not measured: {why!r}")
    part.seconds = time.monotonic() - begun
    say(f"== {subject.name}: {part.seconds:.0f} s")
    return part


def named(*names):
    return [subject for subject in SUBJECTS if subject.name in names]
