"""A real Jupyter server and real kernels: who is behind them, as `gua who` tells it."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import BIN, PATIENCE_SECONDS
from machine import Card, Machine, Process

PYTHON = os.environ.get("NOTEBOOK_PEER")
TOKEN = "of-the-test"

pytestmark = pytest.mark.skipif(
    not PYTHON,
    reason="Jupyter is not installed: "
    + os.environ.get("NOTEBOOK_PEER_MISSING", "./test installs it and sets NOTEBOOK_PEER"),
)


def until(found, what):
    """The first thing that is found, before patience ends."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if thing := found():
            return thing
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE_SECONDS} s")


@contextmanager
def started(lab, *arguments, cwd=None):
    """A Python program that ends with the test."""
    with open(lab.folder / "log", "ab") as log:
        process = subprocess.Popen(
            [PYTHON, *arguments],
            env=lab.environment(
                JUPYTER_RUNTIME_DIR=str(lab.folder / "runtime"),
                VIRTUAL_ENV=str(Path(PYTHON).parent.parent),
            ),
            cwd=cwd or lab.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def served(lab, server):
    """Where the server answers, once it does."""
    path = lab.folder / "runtime" / f"jpserver-{server.pid}.json"

    def address():
        assert server.poll() is None, (lab.folder / "log").read_text()
        return path.exists() and path.read_text().strip() and json.loads(path.read_text())["url"]

    url = until(address, "a server")
    until(lambda: answers(url), "an answer")
    return url


def answers(url):
    """It tells its address before it listens."""
    try:
        return asked(f"{url}api/status")
    except urllib.error.URLError:
        return None


def asked(url, value=None):
    """What the server answers; a value is posted."""
    request = urllib.request.Request(
        url,
        data=None if value is None else json.dumps(value).encode(),
        headers={"Authorization": f"token {TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)


def pid_of(kernel):
    """The process that was started with this kernel's connection file."""

    def found():
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
                is_it = f"kernel-{kernel}.json".encode() in command
                # Until it runs, its environment may not be in place.
                if is_it and (folder / "environ").read_bytes():
                    return int(folder.name)
            except OSError:
                continue
        return None

    return until(found, "a kernel")


def identity(lab, pid):
    """Who is behind a process of this host that holds a card of a pretend one."""
    machine = Machine([Card("GPU-a")], [Process(pid, card=0, memory=100)])
    who = lab.json(machine, "env", "GUA_HOST_ROOT=/", BIN / "gua", "who", "--json")
    (holder,) = who["holders"]
    assert holder["pid"] == pid
    return holder["identity"]


def test_a_notebook_of_a_server(lab):
    folder = lab.folder / "work"
    folder.mkdir()
    notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "fit.ipynb").write_text(json.dumps(notebook))
    options = [f"--ServerApp.root_dir={lab.folder}", f"--IdentityProvider.token={TOKEN}"]
    arguments = ["-m", "jupyter_server", "--allow-root", "--no-browser", "--port=0", *options]
    with started(lab, *arguments) as server:
        url = served(lab, server)
        session = {"path": "work/fit.ipynb", "name": "fit.ipynb", "type": "notebook"}
        answer = asked(f"{url}api/sessions", {**session, "kernel": {"name": "python3"}})
        kernel = answer["kernel"]["id"]
        found = identity(lab, pid_of(kernel))
    assert found["notebook"] == {
        "kernel": kernel,
        "path": str(folder / "fit.ipynb"),
        "client": "jupyter",
        "source": "environment",
    }
    assert found["script"] == "ipykernel_launcher"
    venv = {"kind": "venv", "path": str(Path(PYTHON).parent.parent), "source": "environment"}
    assert found["environment"] == venv
    assert TOKEN not in json.dumps(found)


def test_a_kernel_as_vs_code_starts_it(lab):
    folder = lab.folder / "code"
    folder.mkdir()
    kernel = "v3aa5c8a2d1b0"
    file = lab.folder / f"kernel-{kernel}.json"
    with started(lab, "-m", "ipykernel_launcher", f"--f={file}", cwd=folder) as process:
        assert pid_of(kernel) == process.pid
        found = identity(lab, process.pid)
    assert found["notebook"] == {
        "kernel": kernel,
        "path": f"{folder}/",
        "client": "vs_code",
        "source": "working_folder",
    }
