"""The table: verdicts, ratios, and what is missing."""

import pytest

from table import (
    HEADER,
    Missing,
    Row,
    at_most,
    exponent,
    faster,
    markdown,
    megabytes,
    milliseconds,
    share,
    text,
)


@pytest.mark.parametrize(
    ("ours", "theirs", "budget", "verdict"),
    [
        (0.01, 1.0, faster(100), "holds"),
        (0.0101, 1.0, faster(100), "SHORT"),
        (0.05, 1.0, share(20), "holds"),
        (0.05, None, share(20), "SHORT"),
        (9e6, 1.0, at_most(10e6, megabytes), "holds"),
        (11e6, 1.0, at_most(10e6, megabytes), "SHORT"),
        (1.0, 2.0, None, "–"),
    ],
)
def test_a_budget_holds_or_falls_short(ours, theirs, budget, verdict):
    assert Row("x", milliseconds, ours, theirs, budget).verdict() == verdict


@pytest.mark.parametrize(("ours", "theirs"), [(Missing("it hung"), 1.0), (1.0, Missing("it hung"))])
def test_what_is_missing_is_told_with_its_reason(ours, theirs):
    row = Row("x", milliseconds, ours, theirs, faster(1))
    assert not row.is_good()
    assert row.ratio() is None
    assert row.cells()[-1] == "not measured; it hung"
    assert "not measured" in row.cells()[1:3]


def test_nothing_of_theirs_is_not_missing():
    row = Row("x", megabytes, 5e6, None, at_most(10e6, megabytes))
    assert row.is_good()
    assert row.cells()[1:5] == ("5 MB", "–", "–", "–")


def test_the_ratio_says_how_many_times_ours_theirs_is():
    assert Row("x", milliseconds, 0.002, 1.0).ratio() == 500
    assert Row("x", milliseconds, 0.0, 1.0).ratio() is None
    assert Row("x", exponent, 0.5, 1.0).ratio() is None


def test_units_are_shown_in_few_digits():
    assert [milliseconds(s) for s in (0.000386, 0.0119, 0.999, 3.25)] == [
        "0.386 ms",
        "11.9 ms",
        "999 ms",
        "3.25 s",
    ]
    assert [megabytes(b) for b in (10.6e6, 258e6, 3.0e9)] == ["10.6 MB", "258 MB", "3.00 GB"]


def test_markdown_keeps_a_bar_in_a_cell():
    assert markdown(("a", "b"), [("x|y", "1")], (1,)) == (
        "| a | b |\n| --- | --: |\n| x\\|y | 1 |\n"
    )


def test_text_is_aligned():
    lines = text(("what", "gua"), [("one look", "5 ms"), ("x", "12 ms")], (1,)).splitlines()
    assert lines == ["what        gua", "────────  ─────", "one look   5 ms", "x         12 ms"]


def test_every_row_has_a_cell_for_every_column():
    assert len(Row("x", milliseconds, 1.0).cells()) == len(HEADER)
