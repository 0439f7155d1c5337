"""How each tool reacts on a machine: short quotes out of what it really printed or recorded."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise

from common import GUA, RELEASE, ROOT, NotMeasured
from measure.trouble import Kept, Ours

PATIENCE_SECONDS, QUOTE = 60, 150
TICK = "300ms"
PYTHON_REPORT = ROOT / "tests" / "peers" / "looks" / "python_gua_report.py"
GPUTIL = """
import GPUtil
for gpu in GPUtil.getGPUs():
    print(f"{gpu.id}: load {gpu.load}, {gpu.memoryUsed:.0f} MB used")
"""


@dataclass(frozen=True)
class Done:
    code: int | str
    stdout: str
    stderr: str

    def last_words(self):
        """What it said at its end, which is where a traceback tells what it is about."""
        words = (self.stderr.strip() or self.stdout.strip() or "nothing").splitlines()
        return words[-1]


def squeezed(text):
    """On one line, without what only draws boxes."""
    plain = " ".join(re.sub(r"[│╒╕╘╛═╞╡├┤┼─╪╤╧┬┴]+", " ", text).split())
    return plain if len(plain) <= QUOTE else plain[: QUOTE - 1] + "…"


def quoted(text):
    return f"“{squeezed(text)}”"


class Lab:
    """Runs tools on one machine, in a folder of its own."""

    def __init__(self, folder, machine):
        self.machine = machine
        self.folder, self.scenario = folder, folder / "scenario.toml"
        folder.mkdir(parents=True)
        self.scenario.write_text(machine.scenario())

    def environment(self):
        kept = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GUA_HOME": str(self.folder)}
        usual = {"LC_ALL": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}
        return {**kept, **usual, "GUA_SYSTEM_CONFIG": os.devnull}

    def start(self, command, out, err):
        return subprocess.Popen(
            [RELEASE / "nvml-sim", "run", self.scenario, "--", *command],
            env=self.environment(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
            # So that all of it can be ended, should it hang.
            start_new_session=True,
        )

    def run(self, *command):
        running = self.start(command, subprocess.PIPE, subprocess.PIPE)
        try:
            out, err = running.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            out, err = running.communicate()
            return Done("hung", out, err)
        return Done(running.returncode, out, err)

    def record(self, program, database, ticks):
        """Lets a daemon make a few ticks, by that query, or fail at them; its exit code if it
        ended by itself, and its log."""
        log = database.with_suffix(".log")
        command = [program, "daemon", "--foreground", "--interval", TICK, "--db", database]
        with log.open("w") as file:
            running = self.start(command, file, file)
        try:
            wait_for_ticks(running, database, ticks, log)
            code = running.poll()
        finally:
            end(running)
        return code, log.read_text()


def wait_for_ticks(running, database, ticks, log):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while running.poll() is None and time.monotonic() < deadline:
        if counted(database, ticks) >= 3 or log.read_text().count("failed") >= 3:
            break
        time.sleep(0.1)


def counted(database, query):
    """Nothing as long as the tables are not there."""
    if not database.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as opened:
            return opened.execute(query).fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def end(running):
    """Gently at first: the Python gua may lock up in its signal handler."""
    if running.poll() is None:
        running.terminate()
    try:
        running.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def gua(lab):
    """What ours answered, to be judged, and the quote: the first card's lines of `gua stat`."""
    seen, shown = lab.run(GUA, "stat", "--json"), lab.run(GUA, "stat", "--color", "never")
    cards = json.loads(seen.stdout)["cards"] if seen.stdout else []
    answered = Ours(seen.code, cards, seen.stderr.strip(), kept(lab))
    return answered, our_quote(shown, answered.kept)


def kept(lab):
    """What our recorder made of a few ticks."""
    database = lab.folder / "ours.db"
    code, said = lab.record(GUA, database, "SELECT count(DISTINCT at_ms) FROM sample")
    recorded = recorded_states(lab, database) if database.exists() else []
    return Kept(code, said.strip(), recorded)


def recorded_states(lab, database):
    """The hours by state that our own report tells of each card."""
    told = lab.run(GUA, "report", "--json", "--since", "1h", "--db", database)
    if told.code != 0:
        raise NotMeasured(f"`gua report` ended with {told.code}: {told.last_words()}")
    return [
        {name: state["gpu_hours"] for name, state in card["states"].items() if state["gpu_hours"]}
        for card in json.loads(told.stdout)["cards"]
    ]


def our_quote(shown, kept):
    lines = shown.stdout.splitlines()[1:]
    of_first = [line for line in lines if not line.startswith("[1]")]
    if shown.code != 0:
        return f"{quoted(shown.stderr)}, exit {shown.code}"
    states = ", ".join(kept.cards[0] if kept.cards else ()).replace("_", "-") or "nothing"
    return f"{quoted(' '.join(of_first))}; recorded: {states}"


def python_gua(lab, setting):
    """What its report makes of what its daemon recorded, or why there is nothing."""
    database = lab.folder / "theirs.db"
    ticks = "SELECT count(DISTINCT ts) FROM gpu_sample"
    code, log = lab.record(setting.peer("gua", "gua"), database, ticks)
    if code is not None:
        return f"{quoted(log)}, exit {code}"
    if counted(database, ticks) == 0:
        failed = next((line for line in log.splitlines() if "failed" in line), log)
        return f"records nothing of any card; {quoted(failed)}"
    report = [setting.peer("gua", "python"), PYTHON_REPORT, database]
    told = json.loads(subprocess.run(report, check=True, stdout=subprocess.PIPE).stdout)
    first = told["cards"].get(lab.machine.cards[0].uuid)
    if first is None:
        return f"of the card: nothing; of others: {len(told['cards'])} cards"
    states = ", ".join(name.replace("_", "-") for name, part in first.items() if part)
    return f"recorded: {states}"


def gpustat(lab, setting):
    program = setting.peer("peers", "gpustat")
    done = lab.run(program, "--show-cmd", "--show-pid", "--no-color", "--no-header")
    lines = [line for line in done.stdout.splitlines() if line.startswith("[0]")]
    if done.code != 0 or not lines:
        return f"{quoted(done.last_words())}, exit {done.code}"
    return quoted(" ".join(lines))


def nvitop(lab, setting):
    done = lab.run(setting.peer("peers", "nvitop"), "-1")
    lines = done.stdout.splitlines()
    # Of a card there are two lines in the upper table, the second without its number.
    upper = [
        line.split("│")[1] + " " + following.split("│", 2)[-1]
        for line, following in pairwise(lines)
        if re.match(r"│ +0 +\D", line) and following.startswith("│ N/A")
    ]
    lower = [line for line in lines if re.match(r"│ +0:\d |│ +0(:\d)? +\d+ [CGX] ", line)]
    if done.code != 0 or not upper:
        return f"{quoted(done.last_words())}, exit {done.code}"
    is_listed = any(re.match(r"│ +0(:\d)? +\d+ [CGX] ", line) for line in lower)
    return quoted(" ".join(upper + lower)) + ("" if is_listed else ", no process of it listed")


def gpu_tracker(lab, setting):
    """Its own figures of the host, and what it repeats while it tries."""
    program = setting.peer("gpu-tracker", "gpu-tracker")
    done = lab.run(program, "-e", "sleep 1", "--st=0.1")
    before, _, report = done.stdout.partition("Resource tracking")
    said = (before + done.stderr).splitlines()
    # The last is about the command that it tracked, whatever is wrong with the cards.
    usual = ("uncaught exception", "process that no longer exists")
    complaints = [line for line in said if not any(each in line for each in usual)]
    parts = []
    if complaints:
        line, times = Counter(complaints).most_common(1)[0]
        parts.append(f"{times} × {quoted(line.removeprefix('WARNING:root:'))}")
    found = re.search(r"Max GPU RAM:.*?System: (\S+)", report, re.S)
    cards = re.search(r"System GPU count: (\S+)", report)
    if found and cards:
        parts.append(f"GPU RAM of the system {found[1]}, {cards[1]} GPUs")
    return "; ".join([*parts, f"exit {done.code}"])


def gputil(lab, setting):
    done = lab.run(setting.peer("peers", "python"), "-c", GPUTIL)
    if done.code != 0:
        return f"{quoted(done.last_words())}, exit {done.code}"
    return quoted(done.stdout.splitlines()[0]) if done.stdout else "no cards, exit 0"


PEERS = {
    "Python gua": python_gua,
    "gpustat": gpustat,
    "nvitop": nvitop,
    "gpu_tracker": gpu_tracker,
    "GPUtil": gputil,
}
