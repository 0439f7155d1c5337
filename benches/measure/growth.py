"""Growth: a tick over cards and holders, a report over days, and the exponent of each."""

import statistics
from dataclasses import dataclass

from common import CARDS, HOLDERS, holders, of, tried, tried_on
from curve import Curve
from measure.host import cards_with, installed
from measure.recorder import OURS, Length, check_seen, python_recorder, record_stubbornly
from measure.reports import both_histories, our_report_once, report_runs, their_report
from measure.year import year
from table import Missing, Row, exponent, milliseconds

TITLE = "Growth"
NOTE = (
    "The exponent is the slope of the least squares in log–log: 1 grows as the size does, 0 not at "
    "all. A tick is CPU time, a report wall clock."
)
HEADER = ("", "size", "gua", "Python gua")
CARD_COUNTS, HOLDER_COUNTS = (1, 8, 64), (10, 100, 1000)
LONG, QUICK = Length(10, 5, 20), Length(5, 3, 10)
DAYS, QUICK_DAYS, YEAR_DAYS = (7, 30, 90), (1, 3, 7), (7, 30, 90, 365)


@dataclass(frozen=True)
class Growth:
    """What grows with what; theirs is None where the peer was not asked."""

    name: str
    size: str
    ours: Curve
    theirs: Curve | None
    # How many runs, or slices of one, each point is the median of.
    runs: tuple

    def row(self):
        figures = self.ours.exponent(), self.theirs and self.theirs.exponent()
        return Row(f"exponent of {self.name}", exponent, *figures, runs=self.runs)

    def lines(self):
        theirs = dict(self.theirs.points) if self.theirs else {}
        for size, figure in self.ours.points:
            yield self.name, f"{size:,} {self.size}", shown(figure), shown(theirs.get(size))


def shown(figure):
    if figure is None:
        return "–"
    return f"not measured: {figure.why}" if isinstance(figure, Missing) else milliseconds(figure)


def tick_seconds(recorder, place, length, cards, count):
    run = record_stubbornly(recorder, *place, length)
    check_seen(recorder, run, cards, count)
    return statistics.median(run.cpu_seconds)


def tick_costs(setting, name, cards, count):
    """A tick of ours and of theirs on a host of so many cards with so many holders."""
    peer, length = tried(python_recorder, setting), setting.runs(LONG, QUICK)
    with holders(count) as pids:
        place = installed(setting, name, cards_with(cards, pids))
        arguments = [(each, tick_seconds, place, length, cards, count) for each in (OURS, peer)]
        return setting.each(tried_on, arguments)


def tick_growth(setting, name, size, hosts):
    """Over hosts, each of a size, some cards and some holders."""
    sizes = [number for number, *_ in hosts]
    arguments = [(setting, f"growth-{size}-{n}", cards, count) for n, cards, count in hosts]
    ours, theirs = zip(*setting.each(tick_costs, arguments), strict=True)
    curves = (Curve(list(zip(sizes, costs, strict=True))) for costs in (ours, theirs))
    slices = setting.runs(LONG, QUICK).slices
    return Growth(name, size, *curves, (slices, slices))


def by_cards(setting):
    hosts = [(cards, cards, HOLDERS) for cards in CARD_COUNTS]
    return tick_growth(setting, f"a tick over cards, {HOLDERS} holders", "cards", hosts)


def by_holders(setting):
    hosts = [(count, CARDS, count) for count in HOLDER_COUNTS]
    return tick_growth(setting, f"a tick over holders, {CARDS} cards", "holders", hosts)


def our_seconds(setting, database, days):
    return of(our_report_once(setting, database, f"{days}d"), "seconds")


def their_seconds(setting, days):
    told = their_report(setting, f"{days}d")
    return told if isinstance(told, Missing) else told[0].seconds


def by_days(setting):
    """On the same history, in their file and in ours."""
    days, both = setting.runs(DAYS, QUICK_DAYS), both_histories(setting)
    ours = Curve([(each, our_seconds(setting, both.ours, each)) for each in days])
    theirs = Curve([(each, their_seconds(setting, each)) for each in days])
    return Growth(f"a report over days of {both.days}", "days", ours, theirs, report_runs(setting))


def by_days_of_a_year(setting):
    made = tried(year, setting)
    ours = Curve([(each, our_seconds(setting, made, each)) for each in YEAR_DAYS])
    runs = report_runs(setting)[:1]
    return Growth("a report over days of a year, of the demo's lab", "days", ours, None, runs)


def growths(setting):
    yield by_cards(setting)
    yield by_holders(setting)
    yield by_days(setting)
    if not setting.is_quick:
        yield by_days_of_a_year(setting)
