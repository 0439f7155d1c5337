"""What the comparisons share: the programs, the pretend machine, and running things on it."""

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from table import Missing

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
# Others are started in other folders, where a relative path would be another one.
os.environ["CARGO_TARGET_DIR"] = str(TARGET)
RELEASE = TARGET / "release"
GUA = RELEASE / "gua"
SCENARIO = ROOT / "scenarios" / "eight-cards.toml"
CARDS, HOLDERS = 8, 32
# How long one command may take before it counts as hanging. Nothing is judged by it.
PATIENCE_SECONDS = 900


# Of whoever starts this, what programs need to be found and to run; the rest, such as a config of
# theirs, would be measured too.
KEPT = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
# How long a program that is told to end may take for it.
GENTLY_SECONDS = 10


def stamp(seconds):
    """Returns a moment, in whole seconds since 1970, as options of ours take it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class NotMeasured(Exception):
    """One figure could not be had. The others still can."""


# What may happen where programs are run and what they print is read: a peer that says a word
# differently costs one figure.
EXPECTED = (
    NotMeasured,
    subprocess.SubprocessError,
    OSError,
    AssertionError,
    ValueError,
    LookupError,
    sqlite3.Error,
)


def tried(measure, *arguments):
    """What a measurement gives, or why it could not be made."""
    try:
        return measure(*arguments)
    except EXPECTED as why:
        say(f"not measured: {why!r}")
        return Missing(reason(why))


def reason(why):
    """In one line. What tells nothing by itself is told with its kind."""
    first = (str(why).strip().splitlines() or [""])[0][:300]
    speaks = isinstance(why, (NotMeasured, subprocess.SubprocessError, OSError)) and first
    return first if speaks else f"{type(why).__name__}: {first}"


def tried_on(subject, measure, *arguments):
    """The same of something that may be missing itself, such as a peer that could not be had."""
    return subject if isinstance(subject, Missing) else tried(measure, subject, *arguments)


def of(measured, name):
    """A field of something that may be missing."""
    return measured if isinstance(measured, Missing) else getattr(measured, name)


def ours(*arguments, env=None):
    """What our program prints. It may not know the command yet, or refuse it."""
    command = [GUA, *arguments]
    done = subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing"]
        typed = " ".join(map(str, arguments))
        raise NotMeasured(f"`gua {typed}` ended with {done.returncode} and said: {said[0]}")
    return done.stdout


def prepare():
    """Builds what is measured and installs what it is measured with."""
    for tool in ("hyperfine", "time"):
        if shutil.which(tool) is None:
            subprocess.run([ROOT / "tests" / "peers" / "debian", tool], check=True)
    say("building gua and nvml-sim in release")
    build("-p", "gua", "-p", "nvml-sim")


def build(*what):
    """Builds packages or examples in release."""
    command = ["cargo", "build", "--quiet", "--release", "--locked", *what]
    subprocess.run(command, cwd=ROOT, check=True)


def install(name):
    """The path of the peers' environment of that name, which is made where it is missing."""
    command = [ROOT / "tests" / "peers" / "install", name]
    done = subprocess.run(command, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing"]
        raise NotMeasured(f"the peers `{name}` could not be installed: {said[-1]}")
    return Path(done.stdout.strip())


@dataclass
class Setting:
    """What every measurement needs: where, on which machine, beside whom, and how thoroughly."""

    folder: Path
    env: dict
    pids: list
    is_quick: bool = False
    # The environments that were asked for, by name.
    venvs: dict = field(default_factory=dict)
    # What several parts need and is measured once.
    found: dict = field(default_factory=dict)

    def once(self, key, measure, *arguments):
        if key not in self.found:
            self.found[key] = measure(*arguments)
        return self.found[key]

    def venv(self, name):
        """One that cannot be made is not tried again."""
        made = self.once(("venv", name), tried, install, name)
        if isinstance(made, Missing):
            raise NotMeasured(made.why)
        self.venvs[name] = made
        return made

    def peer(self, venv, program):
        return self.venv(venv) / "bin" / program

    def runs(self, thorough, quick):
        return quick if self.is_quick else thorough

    def each(self, measure, arguments):
        """What is measured with each of the arguments, in CPU time: one after the other, or in a
        quick run all at once, which is less exact."""
        if not self.is_quick:
            return [measure(*each) for each in arguments]
        with ThreadPoolExecutor(len(arguments)) as pool:
            return list(pool.map(lambda each: measure(*each), arguments))


@contextmanager
def setting(is_quick=False):
    """A pretend server with holders that run, and nothing of whoever starts this in it."""
    # Told to end, or its terminal gone, it takes with it what it has started and made.
    for told in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(told, lambda number, _frame: sys.exit(128 + number))
    prepare()
    with tempfile.TemporaryDirectory() as folder, holders(HOLDERS) as pids:
        env = {**machine(Path(folder), pids), "HOME": folder, "GUA_HOME": folder}
        yield Setting(Path(folder), env, pids, is_quick)


@contextmanager
def reading_one_pipe():
    """A pipe and a list, for processes that read from it: they end when it is closed, however
    that happens, and are waited for."""
    reading, writing = os.pipe()
    started = []
    try:
        yield reading, started
    finally:
        os.close(reading)
        os.close(writing)
        for process in started:
            process.wait()


@contextmanager
def holders(count):
    """Processes that really run: the peers look them up and skip work on those they miss."""
    with reading_one_pipe() as (pipe, started):
        for _ in range(count):
            started.append(subprocess.Popen(["cat"], stdin=pipe))
        yield [process.pid for process in started]


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
        ["bash", "-c", lines + "\nenv -0"],
        env={name: value for name, value in os.environ.items() if name in KEPT},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    env = dict(pair.split("=", 1) for pair in exported.split("\0") if pair)
    # The holders are processes of this host, so everybody looks at its own /proc, ours too.
    env.pop("GUA_HOST_ROOT", None)
    # A log or a terminal must not make one of them do other work than the rest.
    return {
        **env,
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "TZ": "UTC",
        "GUA_SYSTEM_CONFIG": os.devnull,
    }


def home(env):
    """Where a command is run: gpu_tracker leaves files where it is when it is killed."""
    return env and env.get("HOME")


def output(command, env):
    return subprocess.run(
        command,
        env=env,
        cwd=home(env),
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_SECONDS,
    ).stdout


# GNU time, and not a word of a shell.
TIME = (shutil.which("time") or "/usr/bin/time", "--format=%M")


def peak_kib(command, folder, env):
    """The largest resident memory of any process of a command, and what it printed."""
    told = folder / "peak"
    # A child of this script would begin with this script's own memory as its peak.
    printed = output([*TIME, f"--output={told}", *command], env)
    return int(told.read_text()), printed


def peak_bytes(command, folder, env, runs):
    """The same in bytes, the median of some runs."""
    return statistics.median(peak_kib(command, folder, env)[0] * 1024 for _ in range(runs))


@dataclass(frozen=True)
class Spent:
    """What a command with all that it started took."""

    seconds: float
    cpu_seconds: float


def spent(command, env, stdout=subprocess.DEVNULL):
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        env=env,
        cwd=home(env),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    impatience = threading.Timer(PATIENCE_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    impatience.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        # It is in a session of its own, so nobody else would end it.
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        impatience.cancel()
    seconds = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        typed = shlex.join(map(str, command))
        raise NotMeasured(f"`{typed}` ended with {process.returncode}")
    return Spent(seconds, usage.ru_utime + usage.ru_stime)


def process_seconds(pid):
    """User and system time of all threads of a process, also of those that have ended.

    Every process has such a clock, counted in nanoseconds where /proc/PID/stat has hundredths of a
    second; its number is that of clock_getcpuclockid(3).
    """
    return time.clock_gettime((~pid << 3) | 2)


def medians(costs):
    return Spent(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.cpu_seconds for cost in costs),
    )


def spent_in_turn(commands, env, runs):
    """The medians of each, the commands taken in turn so that a busy time hits all of them."""
    seen = [[spent(command, env) for command in commands] for _ in range(runs)]
    return [medians([run[place] for run in seen]) for place in range(len(commands))]


def ended(process):
    """Ends what was started, gently at first. Whether that sufficed."""
    try:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=GENTLY_SECONDS)
        return True
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def raced(command, folder, env, runs, cpu_runs):
    """A short command: the median of the wall clock by hyperfine, which is exact, and that of the
    CPU time by the kernel, as hyperfine tells a mean alone."""
    results = folder / "hyperfine.json"
    race = ["hyperfine", "--shell=none", "--warmup=1", f"--runs={runs}", "--style=basic"]
    race += ["--export-json", results, shlex.join(map(str, command))]
    subprocess.run(
        race,
        env=env,
        check=True,
        stdout=sys.stderr,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_SECONDS,
    )
    (told,) = json.loads(results.read_text())["results"]
    cpu = medians([spent(command, env) for _ in range(cpu_runs)]).cpu_seconds
    return Spent(told["median"], cpu)


def tallied(path):
    """The calls into the driver's library, from the file that NVML_SIM_CALLS named."""
    return sum(int(line.split()[1]) for line in path.read_text().splitlines())
