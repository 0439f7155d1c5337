"""What the tests need: programs in Python that run on pretend machines, with the installed wheel."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BIN = Path(os.environ.get("GUA_BIN_DIR", ROOT / "target" / "debug"))
# The environment's programs: those that the wheel has put there.
PROGRAMS = Path(sys.executable).parent

# How long anything may take before it counts as hanging. Nothing is judged by it.
PATIENCE_SECONDS = 120

CARD = '[[card]]\nuuid = "GPU-aaaa"\nname = "NVIDIA A100"\nmemory = "16GiB"\nutilization = 40\n'
SECOND = '[[card]]\nuuid = "GPU-bbbb"\nname = "NVIDIA A100"\nmemory = "16GiB"\n'


class Lab:
    """Runs programs on pretend machines."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()

    def environment(self, **more):
        kept = {key: os.environ[key] for key in ("PATH", "TMPDIR") if key in os.environ}
        ours = {
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "PYTHONPATH": str(HERE / "inside"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GUA_RESERVATIONS": str(self.folder / "reservations"),
            "GUA_WHEEL_PROGRAMS": str(PROGRAMS),
        }
        return {**kept, **ours, **more}

    def command(self, scenario, *command):
        """The command line that runs a program on a machine; without a scenario, on none."""
        if scenario is None:
            return [*map(str, command)]
        path = self.folder / "scenario.toml"
        path.write_text(scenario)
        return [str(BIN / "nvml-sim"), "run", str(path), "--", *map(str, command)]

    def run(self, scenario, *command, **more):
        return subprocess.run(
            self.command(scenario, *command),
            env=self.environment(**more),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def script(self, text):
        path = self.folder / "script.py"
        path.write_text(textwrap.dedent(text))
        return path

    def python(self, text, scenario=CARD, **more):
        """Runs a program in Python that must succeed; what it printed."""
        done = self.run(scenario, sys.executable, self.script(text), **more)
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def json(self, text, scenario=CARD, **more):
        """What a program printed last, which is JSON."""
        return json.loads(self.python(text, scenario, **more).splitlines()[-1])


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)
