"""The scenario files that come with the project."""

import subprocess

import pytest

from conftest import BIN, ROOT

FILES = sorted((ROOT / "scenarios").glob("*.toml"))


def test_there_are_some():
    assert {"lab.toml", "eight-cards.toml"} <= {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_scenario_is_right(file):
    done = subprocess.run([BIN / "nvml-sim", "check", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
