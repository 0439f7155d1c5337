"""gpu_tracker 5.0.1 and our gpu-tracker on each other's files: the same figures."""

import csv
import json
import math
import os
import random
import sqlite3
import struct
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from conftest import BIN, HERE, PATIENCE_SECONDS
from machine import Card, Machine, Process

THEIRS = os.environ.get("GPU_TRACKER_PEER")
OURS = BIN / "gpu-tracker"
FORMATS = ("csv", "sqlite")
SUMMARY = ("min", "max", "mean", "std")

# A process whose memory is not told costs the peer all of its samples, so there is none.
MACHINE = Machine(
    cards=[
        Card("GPU-11111111-1111-1111-1111-111111111111", utilization=83),
        Card("GPU-22222222-2222-2222-2222-222222222222", name="NVIDIA L40S", memory=46068),
    ],
    processes=[Process(11, card=0, memory=60000, sm=80), Process(12, card=1, memory=500)],
)

needs_the_peer = pytest.mark.skipif(
    not THEIRS,
    reason="gpu_tracker is not installed: "
    + os.environ.get("GPU_TRACKER_PEER_MISSING", "./test installs it and sets GPU_TRACKER_PEER"),
)


def run(lab, program, *arguments):
    """What a program that must succeed wrote to stdout."""
    done = subprocess.run(
        [program, *arguments],
        env=lab.environment(),
        cwd=lab.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def tracked(lab, program, ending):
    """A tracking file that a program wrote, and two sub-tracking files of the same time."""
    files = [lab.folder / f"{name}.{ending}" for name in ("samples", "load", "train")]
    python = Path(THEIRS).with_name("python")
    command = [python, HERE / "looks" / "gpu_tracker_blocks.py", *files[1:]]
    lab.output(
        MACHINE,
        program,
        "-e",
        " ".join(map(str, command)),
        "--st=0.1",
        f"--tf={files[0]}",
        "--ru=megabytes",
        "--nec=1",
    )
    return files


def analysis(lab, program, samples, marks):
    return json.loads(
        run(lab, program, "sub-track", "analyze", f"--tf={samples}", f"--stf={marks}", "-f", "json")
    )


def combined(lab, program, files, name="all"):
    whole = files[0].with_name(name).with_suffix(files[0].suffix)
    paths = [argument for file in files for argument in ("-p", file)]
    run(lab, program, "sub-track", "combine", f"--stf={whole}", *paths)
    return whole


def shape(value):
    """The keys and the kinds of values."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__


def assert_same(ours, theirs, where=""):
    """Sums of floats depend on their order, so the last digits may differ."""
    if isinstance(ours, dict):
        assert list(ours) == list(theirs), where
        for key in ours:
            assert_same(ours[key], theirs[key], f"{where}/{key}")
    elif isinstance(ours, list):
        assert len(ours) == len(theirs), where
        for at, (one, other) in enumerate(zip(ours, theirs)):
            assert_same(one, other, f"{where}/{at}")
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9), where
    else:
        assert ours == theirs, where


@needs_the_peer
@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("writer", ["ours", "theirs"])
def test_an_analysis_is_the_same_whoever_wrote_the_files(lab, writer, ending):
    samples, *marks = tracked(lab, OURS if writer == "ours" else THEIRS, ending)
    whole = combined(lab, OURS, marks)
    found, expected = (analysis(lab, program, samples, whole) for program in (OURS, THEIRS))
    assert_same(found, expected)
    assert [block["num_calls"] for block in found["code_block_results"]] == [2, 2]
    assert any(block["num_non_empty_calls"] > 0 for block in found["code_block_results"])


@needs_the_peer
@pytest.mark.parametrize("ending", FORMATS)
def test_files_are_combined_to_the_same_rows(lab, ending):
    _, *marks = tracked(lab, OURS, ending)
    ours, theirs = combined(lab, OURS, marks, "ours"), combined(lab, THEIRS, marks, "theirs")
    assert rows(ours) == rows(theirs)
    assert len(rows(ours)) == 8


def rows(path):
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            next(file)
            return [
                (int(process), name, int(position), float(timestamp))
                for process, name, position, timestamp in csv.reader(file)
            ]
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT * FROM data").fetchall()


@needs_the_peer
def test_the_columns_of_a_database_are_the_same(lab):
    """Their types are not: the peer takes those of the first sample, where a sum of no
    processes is a whole number."""
    columns = []
    for program in (OURS, THEIRS):
        path = lab.folder / f"{len(columns)}.sqlite"
        lab.output(MACHINE, program, "-e", "sleep 0.5", "--st=0.1", f"--tf={path}")
        with closing(sqlite3.connect(path)) as database:
            columns.append([names(database, table) for table in ("static_data", "data")])
    assert columns[0] == columns[1]
    assert columns[0] == [STATIC, [*measures(), "timestamp"]]


def names(database, table):
    return [name for (name,) in database.execute(f"SELECT name FROM pragma_table_info('{table}')")]


@needs_the_peer
def test_the_report_has_the_same_keys(lab):
    """Theirs prints a line before the JSON, and takes MiB for MB."""
    arguments = ("-e", "sleep 0.7", "--st=0.1", "-f", "json", "--tu=seconds", "--nec=1")
    theirs = lab.output(MACHINE, THEIRS, *arguments)
    theirs = json.loads(theirs[theirs.index("{") :])
    ours = lab.json(MACHINE, OURS, *arguments, "--keys=descendants")
    assert shape(ours) == shape(theirs)
    assert json.dumps(shape(ours)) == json.dumps(shape(theirs)), "in the same order"
    for group, key in [
        ("max_ram", "unit"),
        ("max_gpu_ram", "unit"),
        ("cpu_utilization", "system_core_count"),
        ("cpu_utilization", "n_expected_cores"),
        ("cpu_utilization", "main_n_threads"),
        ("gpu_utilization", "system_gpu_count"),
        ("gpu_utilization", "n_expected_gpus"),
        ("compute_time", "unit"),
    ]:
        assert ours[group][key] == theirs[group][key], (group, key)
    # Theirs multiplies by 1e-9 where ours divides by 1e9: on some machines the last digit differs.
    capacity = theirs["max_ram"]["system_capacity"]
    assert ours["max_ram"]["system_capacity"] == pytest.approx(capacity, rel=1e-12)
    mebibytes = sum(card.memory for card in MACHINE.cards)
    assert ours["max_gpu_ram"]["system_capacity"] == pytest.approx(mebibytes * 2**20 / 1e9)
    assert theirs["max_gpu_ram"]["system_capacity"] == pytest.approx(mebibytes / 1e3)


@needs_the_peer
def test_their_analyses_are_compared_by_ours(lab):
    """Theirs reads pickles, ours the JSON of the same analysis."""
    samples, *marks = tracked(lab, OURS, "csv")
    analyze = ("sub-track", "analyze", f"--tf={samples}", f"--stf={combined(lab, OURS, marks)}")
    compare = ("sub-track", "compare", "-f", "json", "--stat=max")
    found = []
    for program, form in ((OURS, "json"), (THEIRS, "pickle")):
        path = lab.folder / f"analysis.{form}"
        run(lab, THEIRS, *analyze, "-f", form, "-o", path)
        sessions = ("-m", f"before={path}", "-m", f"after={path}")
        found.append(json.loads(run(lab, program, *compare, *sessions)))
    # Which of two equal sessions comes first is nobody's business.
    assert found[0] == found[1]


def floats(count):
    """Floats of every size, some of them with few digits."""
    source = random.Random(20261116)
    found = [0.0, 0.1, 1e-4, 1e-5, 1e15, 1e16, 1e22, 0.5, 0.0625, 1062.0, 5e-324, 1.5e300]
    while len(found) < count:
        value = struct.unpack("<d", source.randbytes(8))[0]
        few = round(source.uniform(0, 1000), source.randrange(12))
        found += [few, few * 10.0 ** source.randrange(-9, 9)]
        if math.isfinite(value):
            found.append(abs(value))
    return found[:count]


def test_floats_are_written_as_python_writes_them(lab):
    """A block with one sample has that sample's values as its statistics."""
    header = measures()
    values = floats(len(header) * 120)
    samples, marks = lab.folder / "samples.csv", lab.folder / "marks.csv"
    per_row = [values[at : at + len(header)] for at in range(0, len(values), len(header))]
    with samples.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(STATIC)
        writer.writerow(["bytes", "bytes", "seconds", 1.0, 1.0, 1, 1, 0, 0])
        writer.writerow([*header, "timestamp"])
        writer.writerows([*row, float(at)] for at, row in enumerate(per_row))
    with marks.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["process_id", "code_block_name", "position", "timestamp"])
        for at in range(len(per_row)):
            writer.writerows([[1, f"{at:04}", 0, at - 0.25], [1, f"{at:04}", 1, at + 0.25]])
    arguments = ("sub-track", "analyze", f"--tf={samples}", f"--stf={marks}")
    written = run(lab, OURS, *arguments, "-f", "json")
    found = [line.split(": ")[1].rstrip(",") for line in written.splitlines() if '"max"' in line]
    # First the whole, then for each block its compute time and its measures.
    blocks = found[len(header) :]
    width = len(header) + 1
    for at, row in enumerate(per_row):
        assert blocks[at * width + 1 : (at + 1) * width] == [repr(value) for value in row]
    text = run(lab, OURS, *arguments)
    cells = [line.split() for line in text.splitlines() if line.startswith("\t\tmain_ram")]
    assert [cell[1] for cell in cells] == [repr(float(f"{row[0]:.8f}")) for row in per_row]


STATIC = [
    "ram_unit",
    "gpu_ram_unit",
    "time_unit",
    "ram_system_capacity",
    "gpu_ram_system_capacity",
    "system_core_count",
    "n_expected_cores",
    "system_gpu_count",
    "n_expected_gpus",
]


def measures():
    whose = ("main", "descendants", "combined")
    processors = [f"cpu_{name}" for name in ("system", *whose)]
    return [
        *[f"{name}_ram" for name in (*whose, "system")],
        *[f"{name}_gpu_ram" for name in (*whose, "system")],
        *[f"gpu_{kind}_utilization_percent" for kind in ("sum", "hardware")],
        *[f"{name}_n_threads" for name in whose],
        *[
            f"{name}_{kind}_utilization_percent"
            for name in processors
            for kind in ("sum", "hardware")
        ],
    ]
