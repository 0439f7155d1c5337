"""What the comparisons share: the programs, the pretend machine, and running things on it."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RELEASE = TARGET / "release"
GUA = RELEASE / "gua"
SCENARIO = ROOT / "scenarios" / "eight-cards.toml"
CARDS, HOLDERS = 8, 32


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class NotMeasured(Exception):
    """One figure could not be had. The others still can."""


def tried(measure, *arguments):
    """What a measurement gives, or None where it could not be made, which is said."""
    try:
        return measure(*arguments)
    except NotMeasured as why:
        say(f"not measured: {why}")
        return None


def ours(*arguments, env=None):
    """What our program prints. It may not know the command yet, or refuse it."""
    command = [GUA, *arguments]
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing"]
        typed = " ".join(map(str, arguments))
        raise NotMeasured(f"`gua {typed}` ended with {done.returncode} and said: {said[0]}")
    return done.stdout


def prepare(peers):
    """Builds what is measured and installs what it is measured with and against: the
    environment of that name, whose path it returns."""
    for tool, package in (("hyperfine", "hyperfine"), ("time", "time")):
        if shutil.which(tool) is None:
            subprocess.run([ROOT / "tests" / "peers" / "debian", package], check=True)
    say("building gua and nvml-sim in release")
    build = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "gua", "-p", "nvml-sim"]
    subprocess.run(build, cwd=ROOT, check=True)
    install = [ROOT / "tests" / "peers" / "install", peers]
    return Path(
        subprocess.run(install, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    )


@contextmanager
def holders(count):
    """Processes that really run: the peers look them up and skip work on those they miss."""
    started = [subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in range(count)]
    try:
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.stdin.close()
            process.wait()


def scenario_with(pids):
    """The scenario, its made-up pids replaced by those of running processes."""
    left = iter(pids)
    text = re.sub(r"^pid = \d+$", lambda _: f"pid = {next(left)}", SCENARIO.read_text(), flags=re.M)
    assert next(left, None) is None, f"{SCENARIO} has fewer than {len(pids)} holders"
    return text


def machine(folder, pids):
    """The environment in which programs see the pretend server with these holders."""
    return machine_of(folder, scenario_with(pids))


def machine_of(folder, text):
    """The environment in which programs see the machine of a scenario. It is laid out once, so
    that this is no part of what is measured."""
    scenario = folder / "eight-cards.toml"
    scenario.write_text(text)
    install = [RELEASE / "nvml-sim", "install", folder / "machine", scenario]
    lines = subprocess.run(install, check=True, stdout=subprocess.PIPE, text=True).stdout
    exported = subprocess.run(
        ["bash", "-c", lines + "\nenv -0"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    env = dict(pair.split("=", 1) for pair in exported.split("\0") if pair)
    # A log or a terminal must not make one of them do other work than the rest.
    return {**env, "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def output(command, env):
    return subprocess.run(
        command, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ).stdout


def peak_kib(command, folder, env):
    """The largest resident memory of any process of a command, and what it printed."""
    told = folder / "peak"
    # A child of this script would begin with this script's own memory as its peak.
    printed = output(["/usr/bin/time", "--format=%M", f"--output={told}", *command], env)
    return int(told.read_text()), printed


def tallied(path):
    """The calls into the driver's library, from the file that NVML_SIM_CALLS named."""
    return sum(int(line.split()[1]) for line in path.read_text().splitlines())
