"""The Python gua: what its doctor sees, and the rows its daemon records."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

from conftest import PATIENCE_SECONDS
from machine import DRIVER
from servers import lose, shared_server

GUA = os.environ.get("GUA_PEER")
# How long a daemon has for ending by itself.
GENTLY_SECONDS = 20

pytestmark = pytest.mark.skipif(
    not GUA,
    reason="the Python gua is not installed: "
    + os.environ.get("GUA_PEER_MISSING", "./test installs it and sets GUA_PEER"),
)


def test_doctor_agrees_with_the_scenario(lab):
    """Only its driver checks: the machine that the tests run on has no /dev/nvidia*."""
    machine = shared_server(range(11, 16))
    done = lab.run(machine, GUA, "doctor", "--json")
    checks = {check["id"]: check for check in read_json(done)["checks"]}
    assert checks["nvml"]["status"] == checks["nvidia_smi"]["status"] == "ok"
    assert checks["nvml"]["details"]["device_count"] == len(machine.cards)
    assert checks["nvml"]["details"]["driver_version"] == DRIVER
    listed = checks["nvidia_smi"]["details"]["gpu_lines"]
    assert listed == [
        f"GPU {index}: {card.name} (UUID: {card.uuid})" for index, card in enumerate(machine.cards)
    ]


def read_json(done):
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


class Daemon:
    """A daemon in the foreground, writing to files in the test's folder."""

    def __init__(self, lab, machine):
        self.database = lab.folder / "peer.db"
        self.log = lab.folder / "peer.log"
        command = lab.command(
            machine, GUA, "daemon", "--foreground", "--interval", "1s", "--db", self.database
        )
        with self.log.open("w") as log:
            # A group of its own, so that a signal reaches the daemon itself.
            self.process = subprocess.Popen(
                command,
                env=lab.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until(self, is_so):
        """Waits for what the daemon is to do, and gives up only on one that does not."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert self.process.poll() is None, f"the daemon ended\n{self.log.read_text()}"
            assert time.monotonic() < deadline, f"waited in vain\n{self.log.read_text()}"
            time.sleep(0.05)

    def rows(self, query):
        """What a query finds; nothing as long as the daemon has not made its tables."""
        if not self.database.exists():
            return []
        with closing(sqlite3.connect(self.database, timeout=PATIENCE_SECONDS)) as database:
            try:
                return database.execute(query).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return []
                raise

    def stop(self):
        """Ends it, gently at first.

        The peer sets a threading.Event in its signal handler, which locks up when the signal
        comes while it holds that event's lock. So it gets one signal, not one for each process
        of its group, and is not waited for any longer than that takes.
        """
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=GENTLY_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture
def daemon(lab):
    """Starts daemons and sees to it that none outlives the test."""
    started = []

    def start(machine):
        started.append(Daemon(lab, machine))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            os.killpg(each.process.pid, signal.SIGKILL)
            each.process.wait()


def test_daemon_records_the_scenario(daemon):
    machine = shared_server(range(11, 16))
    recorder = daemon(machine)
    recorder.wait_until(lambda: len(recorder.rows("SELECT DISTINCT ts FROM gpu_sample")) >= 2)
    recorder.stop()

    # It reads memory by the older call, which counts the driver's reserve as used.
    cards = recorder.rows("SELECT DISTINCT gpu_uuid, util_pct, memory_used_mb FROM gpu_sample")
    assert sorted(cards) == sorted(
        (card.uuid, card.utilization, machine.held(index) + card.reserved)
        for index, card in enumerate(machine.cards)
    )
    devices = recorder.rows("SELECT gpu_uuid, name, memory_total_mb FROM gpu_device")
    assert sorted(devices) == sorted((card.uuid, card.name, card.memory) for card in machine.cards)
    holders = recorder.rows(
        "SELECT DISTINCT gpu_uuid, pid, mem_used_mb, process_type FROM proc_sample"
    )
    assert set(holders) == {
        (machine.cards[process.card].uuid, process.pid, process.memory, process.kind)
        for process in machine.processes
    }
    assert recorder.rows("SELECT driver_version FROM host") == [(DRIVER,)]


def test_a_lost_card_costs_it_the_whole_tick(daemon):
    """Of the two cards that can be read it records nothing either."""
    recorder = daemon(lose(shared_server(range(11, 16)), card=2))
    recorder.wait_until(lambda: "tick 1 failed" in recorder.log.read_text())
    recorder.stop()
    assert "GPU is lost" in recorder.log.read_text()
    assert recorder.rows("SELECT * FROM gpu_sample") == []
