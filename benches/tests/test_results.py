"""The results as JSON, Markdown, text and a short table."""

import json

from parts import Grid, Part, Subject, measured
from results import Circumstances, as_json, as_markdown, as_text, races, short_table
from table import Missing, Row, at_most, count, faster, milliseconds

HOST = {
    "processor": "a processor",
    "cores_count": 2,
    "memory_bytes": 16e9,
    "system": "Linux 6",
    "load_average_before": 0.1,
}
ABOUT = Circumstances("2026-11-16T12:00:00Z", HOST, {"gua": "0.1.0"}, True, ["fleet"])


def parts():
    look = Part("look", "One look")
    look.rows = [
        Row("one look", milliseconds, 0.01, 1.0, faster(50), "gpustat", (20, 5), "one look"),
        Row("— CPU time", milliseconds, 0.005, 0.2, None, "gpustat"),
        Row("— slow", milliseconds, 0.5, 1.0, faster(50), "gpustat", headline="one look: slow"),
        Row("broken", count, Missing("it hung"), 3, at_most(1, count), headline="broken"),
    ]
    growth = Part("growth", "Growth", [Row("a tick", milliseconds, 0.1, 0.2)])
    growth.grids = [Grid("curves", "The curves", ("size", "gua"), [("8 cards", "1 ms")])]
    return [look, growth]


def test_json_has_units_in_its_names_and_reasons_for_what_is_missing():
    found = json.loads(as_json(ABOUT, parts()))
    assert found["schema"] == "gua.compare/1"
    assert (found["quick"], found["left_out"], found["all_hold"]) == (True, ["fleet"], False)
    first, _, _, broken = found["parts"][0]["rows"]
    assert (first["ours_seconds"], first["theirs_seconds"], first["ratio"]) == (0.01, 1.0, 100)
    assert (first["verdict"], first["runs_count"], first["peer"]) == ("holds", [20, 5], "gpustat")
    assert (broken["ours_count"], broken["missing"]) == (None, ["it hung"])
    assert found["parts"][1]["tables"][0]["lines"] == [["8 cards", "1 ms"]]


def test_text_and_markdown_have_it_all():
    for told in (as_text(ABOUT, parts()), as_markdown(ABOUT, parts(), "results.svg")):
        for word in ("a processor", "one look", "it hung", "8 cards", "1 of 3 budgets hold"):
            assert word in told
    assert "![" in as_markdown(ABOUT, parts(), "results.svg")


def test_the_short_table_tells_losses_and_gaps_as_it_tells_wins():
    assert [row.what for row in races(parts())] == ["one look", "one look: slow"]
    assert short_table(ABOUT, parts()).splitlines()[2:] == [
        "| one look | 10 ms | 1.00 s | gpustat | 100 | ≥ 50 × | holds |",
        "| one look: slow | 500 ms | 1.00 s | gpustat | 2.0 | ≥ 50 × | SHORT |",
        "| broken | not measured | 3 | Python gua | – | ≤ 1 | not measured |",
        "",
        "Measured 2026-11-16, a processor, 2 cores, on a pretend driver. A quick run: fewer runs "
        "each, no 30 s ticks, no 90 d, no year. Left out: fleet.",
    ]


def test_a_part_that_fails_keeps_what_it_had_and_says_why():
    def fill(part, _setting):
        part.rows.append(Row("one look", milliseconds, 0.01, 1.0))
        raise ValueError("the driver\nis gone")

    part = measured(Subject("look", "One look", fill), None)
    assert [row.what for row in part.rows] == ["one look", "the rest of this part"]
    assert part.rows[1].missing() == ["ValueError: the driver"]
    assert not part.is_good()
