"""The picture: well-formed, to scale, and with everything in it."""

import xml.etree.ElementTree as ElementTree

import pytest

from picture import LABELS, RIGHT, WIDTH, Scale, svg
from table import Row, milliseconds

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [
    Row("one look", milliseconds, 0.01, 1.0, peer="gpustat"),
    Row("`import` <&>", milliseconds, 0.01, 0.1, peer="gpu_tracker"),
    Row("slower", milliseconds, 0.02, 0.01, peer="somebody else"),
]


def bars(picture):
    rects = ElementTree.fromstring(picture).iter(f"{SVG}rect")
    return [rect for rect in rects if rect.find(f"{SVG}title") is not None]


def test_there_is_a_bar_for_every_row_and_names_are_text():
    picture = svg(ROWS, "then & there")
    titles = [bar.find(f"{SVG}title").text for bar in bars(picture)]
    assert titles[0] == "one look: gua 10 ms, gpustat 1.00 s"
    assert titles[1].startswith("import <&>:")
    assert "then & there" in "".join(ElementTree.fromstring(picture).itertext())


def test_bars_are_logarithmic_and_begin_at_one():
    hundred, ten, half = (float(bar.get("width")) for bar in bars(svg(ROWS, "")))
    assert hundred == pytest.approx(2 * ten, abs=0.2)
    assert 0 < half < ten
    first, _, third = bars(svg(ROWS, ""))
    assert float(third.get("x")) < float(first.get("x"))


@pytest.mark.parametrize("ratios", [[1.0], [0.02, 5000.0], [3.0, 7.0], []])
def test_a_scale_holds_all_of_its_ratios(ratios):
    scale = Scale(ratios)
    assert all(LABELS <= scale.at(ratio) <= WIDTH - RIGHT for ratio in [1, *ratios])
    assert 0 in scale.powers()


def test_both_kinds_of_ground_are_there():
    assert "prefers-color-scheme: dark" in svg(ROWS, "")
    assert svg([], "").startswith("<svg")
