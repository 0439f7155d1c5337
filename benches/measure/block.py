"""What a Tracker costs a Python program: our module and gpu_tracker 5.0.1, on the same Python."""

import hashlib
import json
import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass

from common import PATIENCE_SECONDS, ROOT, TARGET, NotMeasured, of, prepare, say, tried
from table import Missing, Row, at_most, count, faster, megabytes, milliseconds

TITLE = "A Tracker in a Python program"
PEER = "gpu_tracker"
OUR_BLOCKS, THEIR_BLOCKS = 50, 4

# What is run in either environment, with the module's name as the argument. It measures itself,
# so that the interpreter's own start is no part of it.
PROGRAM = """
import json, os, resource, sys, time
def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0
def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
def spent():
    whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, whose))
def main():
    before = resident("self")
    begun = time.perf_counter()
    module = __import__(sys.argv[1])
    imported = time.perf_counter() - begun
    blocks = []
    for _ in range(int(sys.argv[2])):
        if len(blocks) == 1:
            spent_at_first = spent()
        begun = time.perf_counter()
        with module.Tracker(sleep_time=0.1, disable_logs=True) as tracker:
            pass
        blocks.append(time.perf_counter() - begun)
    spent_later = (spent() - spent_at_first) / (len(blocks) - 1)
    with module.Tracker(sleep_time=0.1, disable_logs=True) as tracker:
        time.sleep(2)
        started = children()
        added = resident("self") - before + sum(map(resident, started))
    assert tracker.resource_usage.max_ram.main.total_rss > 0
    assert tracker.resource_usage.gpu_utilization.system_gpu_count == 8
    print(json.dumps([imported, blocks, spent_later, added, len(started)]))
# Theirs starts a process that imports this file again.
if __name__ == "__main__":
    main()
"""


@dataclass(frozen=True)
class Block:
    """What importing, entering and leaving takes, and what is there meanwhile."""

    import_seconds: float
    first_seconds: float
    later_seconds: float
    later_cpu_seconds: float
    added_bytes: float
    processes: float


def wheel(builder):
    """The wheel as users install it."""
    say("building the wheel in release")
    folder = TARGET / "bench-wheel"
    # One of another version would stay beside the new one.
    shutil.rmtree(folder, ignore_errors=True)
    env = {**os.environ, "PATH": f"{builder}/bin:{os.environ['PATH']}"}
    pip = [f"{builder}/bin/python", "-m", "pip", "wheel", "--quiet", "--no-deps"]
    pip += ["--disable-pip-version-check", "--no-build-isolation", "--wheel-dir", folder, "."]
    subprocess.run(pip, cwd=ROOT, env=env, check=True)
    (made,) = folder.glob("*.whl")
    return made


def environment(peer, file):
    """Our own, with the same Python as that one. It is used again for the same wheel."""
    made = TARGET / "venv-bench-python"
    stamp, digest = made / "wheel", hashlib.sha256(file.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return made
    subprocess.run([peer / "bin" / "python", "-m", "venv", "--clear", made], check=True)
    pip = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--disable-pip-version-check", file], check=True)
    stamp.write_text(digest)
    return made


def measured(venv, module, blocks, folder, env):
    """As the program tells it."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [venv / "bin" / "python", script, module, str(blocks)],
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing"]
        raise NotMeasured(f"{module} ended with {done.returncode} and said: {said[-1]}")
    imported, (first, *later), *rest = json.loads(done.stdout.splitlines()[-1])
    return imported, first, statistics.median(later), *rest


def medians(venv, module, blocks, setting):
    env, runs = setting.env, setting.runs(5, 1)
    seen = [measured(venv, module, blocks, setting.folder, env) for _ in range(runs)]
    return Block(*(statistics.median(figures) for figures in zip(*seen, strict=True)))


def our_block(setting):
    builder, peer = setting.venv("wheel"), tried(setting.venv, "gpu-tracker")
    # Where there is no peer to be compared with, any Python will do.
    ours = environment(builder if isinstance(peer, Missing) else peer, wheel(builder))
    # The wheel's build has put its own variant of the program in the place of what is measured.
    prepare()
    return medians(ours, "gua", OUR_BLOCKS, setting)


def their_block(setting):
    return medians(setting.venv("gpu-tracker"), "gpu_tracker", THEIR_BLOCKS, setting)


def rows(setting):
    mine, their = tried(our_block, setting), tried(their_block, setting)
    runs = (setting.runs(5, 1),) * 2
    lines = [
        ("`import`", milliseconds, "import_seconds", at_most(0.03, milliseconds)),
        ("an empty block, the first of a program", milliseconds, "first_seconds", faster(8)),
        ("an empty block, later ones", milliseconds, "later_seconds", faster(8)),
        ("— CPU time of one, its processes included", milliseconds, "later_cpu_seconds", None),
        ("memory that it adds, its processes included", megabytes, "added_bytes", None),
        ("processes that it adds", count, "processes", at_most(0, count)),
    ]
    for what, unit, name, budget in lines:
        figures = of(mine, name), of(their, name)
        alone = None if what.startswith("—") else f"a `Tracker` in Python: {what}"
        yield Row(what, unit, *figures, budget, PEER, runs, alone)
