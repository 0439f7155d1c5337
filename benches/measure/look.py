"""One look at eight cards: gua stat, gpustat, nvitop and GPUtil."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from common import CARDS, GUA, HOLDERS, Setting, of, output, peak_bytes, raced, tallied, tried
from table import Missing, Row, at_most, count, faster, megabytes, milliseconds

TITLE = f"One look at {CARDS} cards with {HOLDERS} holders"


@dataclass(frozen=True)
class Looker:
    """A program that takes one look, and how to tell from its output what it saw."""

    name: str
    # The peers' environments are made when they are first needed, and may not be had.
    command: Callable[[Setting], list]
    cards: Callable[[str], int]
    pids: Callable[[str], set] | None = None
    # Of the wall clock and of the peak of the memory.
    budgets: tuple = (None, None)


@dataclass(frozen=True)
class Look:
    """What one look took. One that leaves the driver to nvidia-smi has no calls."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    calls: int | None


OURS = Looker(
    "gua stat --json",
    lambda _setting: [GUA, "stat", "--json"],
    lambda out: len(json.loads(out)["cards"]),
    lambda out: {h["pid"] for card in json.loads(out)["cards"] for h in card["holders"]},
)


COUNT_CARDS = "import GPUtil; print(len(GPUtil.getGPUs()))"
PEERS = [
    Looker(
        "gpustat",
        lambda setting: [setting.peer("peers", "gpustat"), "--json"],
        lambda out: len(json.loads(out)["gpus"]),
        lambda out: {p["pid"] for gpu in json.loads(out)["gpus"] for p in gpu["processes"]},
        (faster(50), at_most(16e6, megabytes)),
    ),
    Looker(
        "nvitop -1",
        lambda setting: [setting.peer("peers", "nvitop"), "-1"],
        lambda out: len(re.findall(r"iB / .*iB", out)),
        lambda out: set(map(int, re.findall(r"^[│|] +\d+ +(\d+) [CGX] ", out, re.MULTILINE))),
    ),
    Looker("GPUtil", lambda setting: [setting.peer("peers", "python"), "-c", COUNT_CARDS], int),
]


def check(looker, setting):
    """Nobody is fast by not looking."""
    seen = output(looker.command(setting), setting.env)
    assert looker.cards(seen) == CARDS, f"{looker.name} saw other cards: {seen[:200]!r}"
    if looker.pids is not None:
        saw = looker.pids(seen)
        assert saw == set(setting.pids), f"{looker.name} saw other holders: {sorted(saw)}"


def calls(looker, setting):
    told = setting.folder / "calls"
    told.unlink(missing_ok=True)
    output(looker.command(setting), {**setting.env, "NVML_SIM_CALLS": str(told)})
    return tallied(told) if told.exists() else None


def measured(looker, setting):
    check(looker, setting)
    command = looker.command(setting)
    took = raced(command, setting.folder, setting.env, setting.runs(20, 5), setting.runs(5, 3))
    peak = peak_bytes(command, setting.folder, setting.env, setting.runs(5, 1))
    return Look(took.seconds, took.cpu_seconds, peak, calls(looker, setting))


def peer_rows(looker, mine, their, setting):
    wall, memory = looker.budgets
    runs, peaks = setting.runs(20, 5), setting.runs(5, 1)
    what = f"one look, beside {looker.name}"
    lines = [
        (what, milliseconds, "seconds", wall, runs, what),
        ("— CPU time", milliseconds, "cpu_seconds", None, setting.runs(5, 3), None),
        ("— peak memory", megabytes, "peak_bytes", memory, peaks, f"{what}: peak memory"),
    ]
    if isinstance(their, Missing) or their.calls is not None:
        lines.append(("— NVML calls", count, "calls", None, 1, None))
    for what, unit, name, budget, times, headline in lines:
        figures = of(mine, name), of(their, name)
        yield Row(what, unit, *figures, budget, looker.name, (times, times), headline)


def rows(setting):
    mine = tried(measured, OURS, setting)
    for looker in PEERS:
        yield from peer_rows(looker, mine, tried(measured, looker, setting), setting)
