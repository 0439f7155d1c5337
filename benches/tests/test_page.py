"""The page: which ticks came late, by the samples that were recorded."""

import sqlite3
from contextlib import closing

import pytest

from common import NotMeasured
from measure.page import late_ticks


def database(path, times):
    """A sample of each of two cards at each time, in milliseconds."""
    with closing(sqlite3.connect(path)) as opened, opened:
        opened.execute("CREATE TABLE sample (at_ms INTEGER, card INTEGER)")
        rows = [(at, card) for at in times for card in (1, 2)]
        opened.executemany("INSERT INTO sample VALUES (?, ?)", rows)
    return path


def test_tick_after_more_than_one_and_a_half_intervals_is_late(tmp_path):
    times = (0, 1000, 2400, 3000, 4600, 5000, 5100)
    assert late_ticks(database(tmp_path / "gua.db", times)) == 1


def test_recorder_without_ticks_is_not_measured(tmp_path):
    with pytest.raises(NotMeasured, match="0 ticks"):
        late_ticks(database(tmp_path / "gua.db", ()))
