"""The commands that the wheel installs: the native programs, signals, exit codes, recorder and all."""

import json
import os
import signal
import subprocess
import sys

import pytest

from conftest import CARD, PROGRAMS, SECOND

sys.path.insert(0, str(__import__("conftest").HERE / "inside"))
from pretend import until  # noqa: E402


def test_they_are_there_and_native(lab):
    done = lab.run(None, PROGRAMS / "gua", "version")
    assert (done.returncode, done.stderr) == (0, "")
    version = lab.python("import gua; print(gua.__version__)", None).strip()
    assert done.stdout == f"gua {version}\n"
    for program in ("gua", "gpu-tracker"):
        with open(PROGRAMS / program, "rb") as file:
            assert file.read(4) == b"\x7fELF"


def test_exit_codes_and_broken_pipes(lab):
    assert lab.run(None, PROGRAMS / "gua", "stat", GUA_NVML="libno-such-driver.so.1").returncode == 1
    assert lab.run(None, PROGRAMS / "gua", "no-such-command").returncode == 2
    done = lab.run(CARD, PROGRAMS / "gpu-tracker", "-e", "sh -c 'exit 3'", "-f", "json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["compute_time"]["unit"] == "hours"
    # Whoever reads only the first line is no reason to complain.
    command = f"{PROGRAMS / 'gua'} demo --json 2>/dev/null | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = lab.run(None, "bash", "-c", command)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_pick_becomes_the_command(lab):
    script = "import os, signal; print(os.environ['CUDA_VISIBLE_DEVICES'], signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = lab.run(
        CARD + SECOND, PROGRAMS / "gua", "pick", "--max-util", "1", "--", sys.executable, "-c", script
    )
    assert (done.returncode, done.stdout) == (0, "GPU-bbbb True\n"), done.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_at_once(lab, name):
    command = lab.command(CARD, PROGRAMS / "gua", "stat", "-i", "1")
    process = subprocess.Popen(
        command, env=lab.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    process.stdout.readline()
    # nvml-sim hands the signal on, and tells how the program ended as a shell does.
    process.send_signal(getattr(signal, name))
    process.stdout.close()
    assert process.wait(60) == 128 + getattr(signal, name)


def test_a_recorder_in_the_background(lab):
    """It starts its own program again, which is the one in the environment."""
    gua = PROGRAMS / "gua"
    started = lab.run(CARD, gua, "daemon", "--interval", "100ms")
    assert started.returncode == 0, started.stderr
    try:
        status = json.loads(lab.run(None, gua, "status", "--json").stdout)
        assert os.path.samefile(f"/proc/{status['pid']}/exe", gua)
        until(lambda: json.loads(report(lab).stdout)["window"]["observed_seconds"] > 0.2)
        # The module reads what the program records, meanwhile.
        observed = lab.python("import gua; print(gua.report('1h').window.observed_seconds)", None)
        assert float(observed) > 0.2
    finally:
        stopped = lab.run(None, gua, "stop")
    assert stopped.returncode == 0, stopped.stderr
    assert lab.run(None, gua, "status").returncode == 3


def report(lab):
    return lab.run(None, PROGRAMS / "gua", "report", "--json")


def test_the_second_program_tracks_python(lab):
    done = lab.run(
        CARD,
        PROGRAMS / "gpu-tracker",
        "-e",
        f"{sys.executable} -c 'b = bytearray(100_000_000)'",
        "--ru=megabytes",
        "-f",
        "json",
        "--st=0.01",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["max_ram"]["main"]["total_rss"] > 95
