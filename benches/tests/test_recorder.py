"""What a recorder's database takes: the rows of a day, laid down in a copy."""

import re
import sqlite3
from contextlib import closing

import pytest

from measure import host
from measure.recorder import HOUR_MS, QUARTER_HOUR_MS, DayRows, bytes_of_day

LAYOUT = """
CREATE TABLE card_span (from_ms INTEGER, card INTEGER, length_ms INTEGER, active_ms INTEGER,
    PRIMARY KEY (from_ms, card)) WITHOUT ROWID;
CREATE TABLE card_hour (from_ms INTEGER, card INTEGER, length_ms INTEGER, active_ms INTEGER,
    PRIMARY KEY (from_ms, card)) WITHOUT ROWID;
CREATE TABLE sample (at_ms INTEGER, card INTEGER, power_w INTEGER, PRIMARY KEY (at_ms, card))
    WITHOUT ROWID;
"""
SPANS = DayRows("card_span", "card_span", "card", "length_ms", QUARTER_HOUR_MS)
HOURS = DayRows("card_hour", "card_span", "card", "length_ms", HOUR_MS)
SAMPLES = DayRows("sample", "sample", "card", "power_w", 30_000)


@pytest.fixture
def path(tmp_path):
    """A short run: of each card two rows and two samples, one without its power."""
    path = tmp_path / "gua.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(LAYOUT)
        for card in range(8):
            for begin, length in ((1_000, 20_000), (21_000, 100)):
                row = (begin, card, length, length // 2)
                database.execute("INSERT INTO card_span VALUES (?, ?, ?, ?)", row)
            for at, power in ((1_000, 300), (2_000, None)):
                database.execute("INSERT INTO sample VALUES (?, ?, ?)", (at, card, power))
    return path


def test_day_has_a_row_for_each_stretch_of_time(path):
    with closing(sqlite3.connect(path)) as database:
        for rows, table, count in ((SPANS, "card_span", 96), (HOURS, "card_hour", 24)):
            rows.add(database)
            added = f"SELECT count(*), min(length_ms), max(active_ms) FROM {table} "
            found = database.execute(added + "WHERE from_ms >= 86400000").fetchone()
            assert found == (8 * count, rows.covers_ms, rows.covers_ms // 2)
        SAMPLES.add(database)
        added = "SELECT count(*), min(power_w), max(at_ms) FROM sample WHERE at_ms >= 86400000"
        assert database.execute(added).fetchone() == (8 * 2880, 300, 2 * 86_400_000 - 30_000)


def test_day_is_laid_down_in_a_copy(path):
    before = path.read_bytes()
    # 768 rows of about 20 bytes, on pages that need not be full.
    assert 768 * 15 < bytes_of_day(path, [SPANS]) < 768 * 40
    assert bytes_of_day(path, []) == 0
    assert (path.read_bytes(), list(path.parent.iterdir())) == (before, [path])


def test_one_holder_of_each_card_works_on_the_host_without_several_workers():
    text = host.one_worker_per_card(range(100, 132))
    works = re.findall(r"^card = (\d)$.*?^sm = (\d+)$", text, re.M | re.S)
    assert len(works) == 32
    at_work = [card for card, percent in works if percent != "0"]
    assert len(at_work) == len(set(at_work)) >= 6
