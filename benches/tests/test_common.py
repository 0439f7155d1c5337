"""What the measurements share: a figure that cannot be had costs no other."""

import json
import sqlite3
import subprocess
import sys

import pytest

import common
from common import NotMeasured, Setting, ended, tried, tried_on
from table import Missing


@pytest.fixture
def setting(tmp_path):
    return Setting(tmp_path, {}, [])


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        (lambda: json.loads("{"), "JSONDecodeError: Expecting"),
        (lambda: {}["cards"], "KeyError: 'cards'"),
        (lambda: [][0], "IndexError: list index"),
        (lambda: sqlite3.connect(":memory:").execute("x"), "OperationalError: near"),
        (lambda: subprocess.run(["false"], check=True), "Command '['false']' returned"),
    ],
)
def test_what_cannot_be_read_is_missing_with_its_reason(measure, why):
    found = tried(measure)
    assert isinstance(found, Missing)
    assert found.why.startswith(why)


def test_a_mistake_of_ours_is_no_missing_figure():
    with pytest.raises(TypeError):
        tried(lambda: None + 1)


def test_of_what_is_missing_nothing_is_measured():
    missing = Missing("no Python 3.12")
    assert tried_on(missing, pytest.fail) is missing
    assert tried_on(20, lambda subject, more: subject + more, 1) == 21


def test_a_peer_that_cannot_be_had_is_looked_for_once(setting, monkeypatch):
    asked = []

    def install(name):
        asked.append(name)
        raise NotMeasured("no Python 3.12 or later was found")

    monkeypatch.setattr(common, "install", install)
    for _ in range(3):
        with pytest.raises(NotMeasured, match="no Python 3.12"):
            setting.peer("gua", "gua")
    assert (asked, setting.venvs) == (["gua"], {})


def test_what_does_not_end_gently_is_killed(monkeypatch):
    monkeypatch.setattr(common, "GENTLY_SECONDS", 0.2)
    deaf = (
        "import signal, sys; signal.signal(15, signal.SIG_IGN); print(flush=True); sys.stdin.read()"
    )
    program = [sys.executable, "-c", deaf]
    started = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with started:
        started.stdout.readline()
        assert not ended(started)
    assert started.returncode == -9
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as started:
        assert ended(started)
