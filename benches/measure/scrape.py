"""What a scrape of a recorder costs, and what listening adds to its memory."""

import http.client
import re
import socket
import statistics
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from common import CARDS, GUA, HOLDERS, PATIENCE_SECONDS, NotMeasured, ended, of, tried
from table import Row, at_most, count_bytes, megabytes, milliseconds

TITLE = f"A scrape of {CARDS} cards and {HOLDERS} holders"
RUNS, SCRAPES = 5, 100
WEB_THREADS = ("web", "tokio-rt-worker", "tokio-runtime-w")


@dataclass(frozen=True)
class Scraped:
    cpu_seconds: float
    size_bytes: int
    resident_bytes: int


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    connection.request("GET", path)
    return connection.getresponse().read().decode()


def wait_for(port, path, word):
    """Until something that has this word is answered there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if word in get(port, path):
                return
        except OSError:
            pass  # It does not listen yet.
        time.sleep(0.05)
    raise NotMeasured(f"nothing answered {path} with {word!r} for a minute")


def cpu_seconds(pid):
    """How long the threads of the web part were on a processor."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().strip() in WEB_THREADS:
                total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass  # It has just ended.
    return total / 1e9


def resident_bytes(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


@contextmanager
def recorder(home, env, *more):
    """A recorder in a folder of its own; its process."""
    command = [GUA, "daemon", "--foreground", "--interval", "1s", *more]
    running = subprocess.Popen(
        command, env={**env, "GUA_HOME": str(home)}, stderr=subprocess.DEVNULL
    )
    try:
        yield running
    finally:
        ended(running)


def scraped(setting):
    port = free_port()
    with recorder(setting.folder / "listens", setting.env, "--listen", str(port)) as running:
        # The last series to come: time of users is counted once it is final.
        wait_for(port, "/metrics", "gua_user_gpu_seconds_total{")
        connection = http.client.HTTPConnection("127.0.0.1", port)
        costs, size = [], 0
        for _ in range(RUNS):
            before = cpu_seconds(running.pid)
            for _ in range(SCRAPES):
                connection.request("GET", "/metrics")
                size = len(connection.getresponse().read())
            costs.append((cpu_seconds(running.pid) - before) / SCRAPES)
        if min(costs) <= 0:
            # Threads under other names would look like a scrape that costs nothing.
            raise NotMeasured(f"no CPU time was seen on threads named {', '.join(WEB_THREADS)}")
        return Scraped(statistics.median(costs), size, resident_bytes(running.pid))


def rows(setting):
    found = tried(scraped, setting)
    limit = at_most(0.001, milliseconds)
    yield Row(
        "a scrape: CPU time", milliseconds, of(found, "cpu_seconds"), None, limit, runs=(RUNS,)
    )
    yield Row("— its size", count_bytes, of(found, "size_bytes"), runs=(1,))
    yield Row(
        "— resident memory of a recorder that listens",
        megabytes,
        of(found, "resident_bytes"),
        runs=(1,),
    )
