"""What the tests need: a machine to run a peer on, and processes that really run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BIN = Path(os.environ.get("GUA_BIN_DIR", ROOT / "target" / "debug"))

# How long a peer may take before it counts as hanging. Nothing is judged by it.
PATIENCE_SECONDS = 120


class Lab:
    """Runs programs on pretend machines."""

    def __init__(self, folder):
        self.folder = folder

    def command(self, machine, *command):
        """The command line that runs a program on a machine."""
        scenario = self.folder / "scenario.toml"
        scenario.write_text(machine.scenario())
        return [BIN / "nvml-sim", "run", scenario, "--", *command]

    def environment(self, **more):
        """The peers write into their homes and adapt to the terminal and the language."""
        kept = {key: os.environ[key] for key in ("PATH", "TMPDIR") if key in os.environ}
        return {**kept, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "TERM": "dumb", **more}

    def run(self, machine, *command, **more):
        """Runs a program to its end, whatever its exit code."""
        return subprocess.run(
            self.command(machine, *command),
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def output(self, machine, *command, **more):
        """What a program that must succeed wrote to stdout."""
        done = self.run(machine, *command, **more)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def json(self, machine, *command, **more):
        return json.loads(self.output(machine, *command, **more))

    def look(self, machine, name, *arguments):
        """What one of the programs in looks/ saw."""
        return self.json(machine, sys.executable, HERE / "looks" / f"{name}.py", *arguments)


def peer(name):
    """A program that came with the peers' environment."""
    return Path(sys.executable).with_name(name)


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


@pytest.fixture
def running():
    """Starts processes that run until the test ends. Peers look up pids in the real /proc,
    and some drop those that are not there."""
    started = []

    def start(count):
        # `cat` ends by itself when this process does, however that happens.
        new = [subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in range(count)]
        started.extend(new)
        return [process.pid for process in new]

    yield start
    for process in started:
        process.stdin.close()
        process.wait()
