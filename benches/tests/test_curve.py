"""The exponent of a curve."""

import pytest

from curve import Curve
from table import Missing


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_a_power_has_its_own_exponent(power):
    curve = Curve([(size, 3e-4 * size**power) for size in (7, 30, 90, 365)])
    assert curve.exponent() == pytest.approx(power)


def test_a_constant_part_makes_it_flatter():
    curve = Curve([(size, 1 + 0.01 * size) for size in (1, 8, 64)])
    assert 0 < curve.exponent() < 0.2


def test_a_missing_point_has_no_exponent_but_a_reason():
    assert Curve([(1, 1.0), (2, Missing("it hung"))]).exponent() == Missing("it hung")


@pytest.mark.parametrize("points", [[], [(1, 1.0)], [(1, 0.0), (2, 1.0)], [(2, 1.0), (2, 3.0)]])
def test_what_has_no_slope_says_so(points):
    assert isinstance(Curve(points).exponent(), Missing)
