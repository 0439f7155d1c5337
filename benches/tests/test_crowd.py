"""The crowd: it is there as long as it is measured, and gone afterwards, also when it failed."""

import subprocess
import time
from pathlib import Path

import pytest

from common import NotMeasured
from measure.crowd import CROWD, crowd

# As on a host that allows three processes.
LIMITED = """
import os
fork, left = os.fork, [0] * 3
def limited():
    if not left:
        raise BlockingIOError(11, "no more processes")
    left.pop()
    return fork()
os.fork = limited
"""


def alive(group):
    """How many processes of a group there are, without those that only wait to be reaped."""
    found = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # It has just ended.
        found += int(its_group) == group and state != "Z"
    return found


def wait_until_gone(group):
    deadline = time.monotonic() + 30
    while alive(group):
        assert time.monotonic() < deadline, f"{alive(group)} processes were left"
        time.sleep(0.01)


@pytest.fixture
def groups(monkeypatch):
    """The groups of what was started."""
    started, popen = [], subprocess.Popen

    def remembered(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", remembered)
    return started


def test_all_are_there_and_then_none(groups):
    with crowd(20):
        assert alive(groups[0].pid) == 21
    wait_until_gone(groups[0].pid)


def test_a_crowd_that_cannot_be_is_not_measured_and_leaves_nobody(groups, monkeypatch):
    monkeypatch.setattr("measure.crowd.CROWD", LIMITED + CROWD)
    with pytest.raises(NotMeasured, match="no more processes"), crowd(20):
        pytest.fail("it was not there")
    wait_until_gone(groups[0].pid)
