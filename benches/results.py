"""The results of a run: what was measured where and when, as text, JSON and Markdown."""

import json
import os
import platform
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from common import GUA, ROOT, Setting
from table import HEADER, UNBOUND, Missing, markdown, text

SCHEMA = "gua.compare/1"
# Which packages of which environment are the peers.
PACKAGES = {
    "peers": ("gpustat", "nvitop", "GPUtil"),
    "gua": ("gpu-usage-audit",),
    "gpu-tracker": ("gpu-tracker",),
}
VERSIONS = "import importlib.metadata as m, sys; print(*map(m.version, sys.argv[1:]))"


@dataclass(frozen=True)
class Circumstances:
    """Where and when it was measured, and what."""

    ended: str
    machine: dict
    versions: dict
    is_quick: bool
    left_out: list


def machine():
    """Of the host, what a reader has to know to weigh the figures."""
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    named = (line.split(":")[1].strip() for line in facts if "model name" in line)
    model = next(named, platform.processor() or platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": model,
        "cores_count": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "system": f"{platform.system()} {platform.release()}",
        "load_average_before": round(os.getloadavg()[0], 2),
    }


def commit():
    """What of ours was measured, where that is known."""
    git = ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(git, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def versions(setting: Setting):
    """Of ours, and of each peer that was used."""
    ours = subprocess.run([GUA, "--version"], capture_output=True, text=True).stdout.strip()
    found = {"gua": f"{ours.removeprefix('gua ')} ({commit()})"}
    for name, packages in PACKAGES.items():
        if name in setting.venvs:
            command = [setting.peer(name, "python"), "-c", VERSIONS, *packages]
            done = subprocess.run(command, capture_output=True, text=True)
            told = done.stdout.split() if done.returncode == 0 else ["unknown"] * len(packages)
            found |= zip(packages, told, strict=True)
    return found


def circumstances(setting, left_out, host):
    """At the end, as only then it is known which peers were used; the host is as it was before."""
    ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return Circumstances(ended, host, versions(setting), setting.is_quick, left_out)


def row_json(row):
    """A row with its unit in the names of its figures; what is missing is null, with a reason."""

    def figure(each):
        return None if isinstance(each, Missing) else each

    found = {
        "what": row.what,
        "headline": row.headline,
        f"ours_{row.unit.name}": figure(row.ours),
        f"theirs_{row.unit.name}": figure(row.theirs),
        "peer": None if row.theirs is None else row.peer,
        "ratio": row.ratio(),
        "budget": row.budget.text if row.budget else None,
        "verdict": None if row.verdict() == UNBOUND else row.verdict().lower(),
        "runs_count": list(row.runs),
    }
    return {**found, "missing": row.missing()} if row.missing() else found


def part_json(part):
    return {
        "name": part.name,
        "title": part.title,
        "notes": part.notes,
        "rows": [row_json(row) for row in part.rows],
        "tables": [
            {
                "name": grid.name,
                "title": grid.title,
                "header": list(grid.header),
                "lines": [list(map(str, line)) for line in grid.lines],
            }
            for grid in part.grids
        ],
        "remarks": part.remarks,
        "measured_in_seconds": round(part.seconds, 1),
    }


def as_json(about, parts):
    return json.dumps(
        {
            "schema": SCHEMA,
            "ended": about.ended,
            "quick": about.is_quick,
            "machine": about.machine,
            "versions": about.versions,
            "left_out": about.left_out,
            "parts": [part_json(part) for part in parts],
            "all_hold": all(part.is_good() for part in parts),
        },
        indent=2,
        ensure_ascii=False,
    )


def as_text(about, parts):
    blocks = [f"{sentence}\n" for sentence in introduction(about)]
    for part in parts:
        blocks.append(f"\n{part.title}\n\n")
        blocks += [f"{note}\n\n" for note in part.notes]
        if part.rows:
            blocks.append(text(HEADER, [row.cells() for row in part.rows]))
        for grid in part.grids:
            blocks.append(f"\n{grid.title}\n\n{text(grid.header, grid.lines, grid.figures)}")
        blocks += [f"\n!! {remark}\n" for remark in part.remarks]
    return "".join(blocks) + "\n" + closing(parts) + "\n"


def introduction(about):
    """When, where and what, a sentence each."""
    host = about.machine
    gigabytes = host["memory_bytes"] / 1e9
    yield (
        f"Measured {about.ended} on {host['processor']}, {host['cores_count']} cores, "
        f"{gigabytes:.0f} GB, {host['system']}; load average before: "
        f"{host['load_average_before']}."
    )
    yield "; ".join(f"{name} {version}" for name, version in about.versions.items()) + "."
    yield from omissions(about)


def omissions(about):
    """What a run did less than it could have."""
    if about.is_quick:
        yield "A quick run: fewer runs each, no 30 s ticks, no 90 d, no year."
    if about.left_out:
        yield f"Left out: {', '.join(about.left_out)}."


def closing(parts):
    """How many budgets hold, and what does not."""
    rows = [row for part in parts for row in part.rows]
    judged = [row for row in rows if row.budget is not None]
    held = sum(row.is_good() for row in judged)
    missing = sum(bool(row.missing()) for row in rows)
    remarks = sum(len(part.remarks) for part in parts)
    return (
        f"{held} of {len(judged)} budgets hold; {missing} figures could not be measured; "
        f"{remarks} things are not as they should be."
    )


def as_markdown(about, parts, picture=None):
    head = [
        "# Results of the comparison\n",
        "Written by `benches/compare`; do not edit. How each figure is measured is told in "
        "[README.md](README.md). Ratios count: seconds do not carry from machine to machine.\n",
        "\n".join(f"- {sentence}" for sentence in introduction(about)) + f"\n- {closing(parts)}\n",
    ]
    if picture is not None:
        head.append(f"![How many times gua's figure the peer's is]({picture})\n")
    return "\n".join([*head, *(part.markdown() for part in parts)])


def headlines(parts):
    """The rows that tell the short story, under the names by which they stand alone."""
    return [
        replace(row, what=row.headline)
        for part in parts
        for row in part.rows
        if row.headline is not None
    ]


def races(parts):
    """Those with a peer's figure beside ours."""
    return [row for row in headlines(parts) if row.ratio() is not None]


def short_cells(row):
    """Without the reasons, which are long: the results have them."""
    what, mine, theirs, whose, ratio, budget, _runs, _verdict = row.cells()
    return what, mine, theirs, whose, ratio, budget, row.verdict()


def short_table(about, parts):
    """What a README shows: wins, losses and what could not be measured alike."""
    header = ("", "gua", "theirs", "whose", "ratio", "budget", "")
    table = markdown(header, [short_cells(row) for row in headlines(parts)], (1, 2, 4, 5))
    host = about.machine
    when = f"{about.ended[:10]}, {host['processor']}, {host['cores_count']} cores"
    rest = " ".join([f"Measured {when}, on a pretend driver.", *omissions(about)])
    return f"{table}\n{rest}\n"
