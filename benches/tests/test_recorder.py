"""What a recorder's database takes: by tick, and by what begins anew every hour."""

import sqlite3
from contextlib import closing

from measure.recorder import TICKS_PER_HOUR, Cost, bytes_by_hour, bytes_per_tick

LAYOUT = """
CREATE TABLE card_span (from_ms INTEGER, card INTEGER, note TEXT, PRIMARY KEY (from_ms, card))
WITHOUT ROWID
"""


def test_a_day_of_hourly_rows_is_laid_down(tmp_path):
    path = tmp_path / "gua.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(LAYOUT)
        rows = [(1_000, card, "x" * 100) for card in range(64)]
        database.executemany("INSERT INTO card_span VALUES (?, ?, ?)", rows)
    before = path.read_bytes()
    # 64 rows of about 110 bytes, on pages that need not be full.
    assert 64 * 105 < bytes_by_hour(path, ("card_span",)) < 64 * 165
    assert bytes_by_hour(path, ()) == 0
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def test_an_hours_rows_are_shared_by_its_ticks():
    cost = Cost(0.001, 6, 300, TICKS_PER_HOUR * 25, 0, 0, 0)
    assert bytes_per_tick(cost) == 325
