"""The report over a fleet: hosts written into a VictoriaMetrics, and read back as one report."""

import http.client
import json
import re
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from common import (
    GUA,
    PATIENCE_SECONDS,
    ROOT,
    TARGET,
    NotMeasured,
    ended,
    of,
    peak_kib,
    say,
    stamp,
    tried,
)
from curve import Curve
from measure.scrape import free_port, get, wait_for
from table import Row, at_most, count, exponent, megabytes, milliseconds

CARDS, SCRAPE_SECONDS = 8, 60
# Counters are final up to so long before a scrape.
LAG_SECONDS = 10
# Parts of a card's time by state, of its idle-held time by use, and joules a second by state.
STATES = {"active": 0.5, "idle_held": 0.3, "truly_idle": 0.2, "unknown": 0}
USES = {"unused": 0.2, "low_use": 0.1}
WATTS = {"active": 200, "idle_held": 30, "other": 20}
HOSTS, HOURS, RUNS = 500, 24, 5
SETTLING_SECONDS, SHOWN_SECONDS = 60, 3
# Twice the hosts may take so much more than twice the time: the noise of a few runs.
MOST_EXPONENT = 1.25
# Of 20 hosts, which comes late and which begins anew.
LATE, ANEW = 3, 13
LATE_SECONDS = 3600 + 600
USERS = [f"user-{number}" for number in range(40)]
TITLE = "A report over many hosts"


@dataclass(frozen=True)
class Fleet:
    """So many hosts over so many hours, from then on."""

    hosts: int
    hours: int
    began: int

    def ticks(self):
        return self.hours * 3600 // SCRAPE_SECONDS + 20

    def window(self):
        return self.began + 600, self.began + self.hours * 3600 + 600


@dataclass(frozen=True)
class Reported:
    seconds: float
    peak_bytes: int
    requests: float


@contextmanager
def engine():
    """A VictoriaMetrics in a folder of its own; its port."""
    installer = [ROOT / "tests" / "engines" / "install"]
    done = subprocess.run(installer, check=True, stdout=subprocess.PIPE, text=True)
    port = free_port()
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        command = [
            Path(done.stdout.strip()) / "victoria-metrics",
            f"-storageDataPath={folder}/data",
            f"-httpListenAddr=127.0.0.1:{port}",
            "-retentionPeriod=12",
            "-search.maxUniqueTimeseries=1000000",
            "-search.maxSamplesPerQuery=10000000000",
        ]
        with open(f"{folder}/log", "w") as log:
            running = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_for(port, "/health", "OK")
            yield port
        finally:
            ended(running)


def series_of(host, began, ticks):
    """Every counter of a host as lines to import: a morning of work, an afternoon of nothing."""
    first = LATE_SECONDS // SCRAPE_SECONDS if host % 20 == LATE else 0
    anew = ticks // 2 if host % 20 == ANEW else 0
    places = range(first, ticks)
    final = [began + place * SCRAPE_SECONDS for place in places]
    stamps = [(until + LAG_SECONDS) * 1000 for until in final]
    restarted = began + anew * SCRAPE_SECONDS
    since = [restarted if anew and place >= anew else began - 3600 for place in places]
    shared = {"job": "gua", "instance": f"node-{host}:7071"}

    def line(name, labels, values):
        metric = {"__name__": name, **shared, **labels}
        return json.dumps({"metric": metric, "values": values, "timestamps": stamps}) + "\n"

    def steps(share):
        counted = (place - anew if place >= anew else place for place in places)
        return [round(ticks * SCRAPE_SECONDS * share, 3) for ticks in counted]

    def counters(name, label, labels, shares):
        """The series of a family, one for each value of a label."""
        for value, share in shares.items():
            yield line(name, {**labels, label: value}, steps(share))

    flat = [1] * len(places)
    yield line("gua_build_info", {"hostname": f"node-{host}", "version": "bench"}, flat)
    yield line("gua_last_tick_timestamp_seconds", {}, [stamp / 1000 for stamp in stamps])
    yield line("gua_final_until_timestamp_seconds", {}, final)
    yield line("gua_interval_seconds", {}, [30] * len(places))
    yield line("gua_counting_since_timestamp_seconds", {}, since)
    yield line("gua_observed_seconds_total", {}, steps(1))
    for card in range(CARDS):
        uuid = {"UUID": f"GPU-{host}-{card}"}
        model = ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"][host % 2]
        info = {**uuid, "gpu": str(card), "model_name": model, "driver_version": "560.35.05"}
        yield line("gua_gpu_info", info, flat)
        yield from counters("gua_gpu_state_seconds_total", "state", uuid, STATES)
        yield from counters("gua_gpu_idle_held_seconds_total", "use", uuid, USES)
        yield from counters("gua_gpu_state_energy_joules_total", "state", uuid, WATTS)
        yield line("gua_gpu_energy_joules_total", uuid, steps(sum(WATTS.values())))
        for part, place in ((0.75, host + card), (0.25, host * 3 + card + 1)):
            user = {**uuid, "user": USERS[place % len(USERS)]}
            of_states = part_of(STATES, part, ("active", "idle_held", "unknown"))
            joules = part_of(WATTS, part, ("active", "idle_held"))
            yield from counters("gua_user_gpu_seconds_total", "state", user, of_states)
            uses = part_of(USES, part, USES)
            yield from counters("gua_user_gpu_idle_held_seconds_total", "use", user, uses)
            yield from counters("gua_user_gpu_energy_joules_total", "state", user, joules)
            yield from counters("gua_user_gpu_present_seconds_total", "state", user, STATES)


def part_of(shares, part, names):
    """Returns a user's part of what a card did."""
    return {name: shares[name] * part for name in names}


def fill(port, fleet, hosts):
    say(f"filling in {len(hosts)} hosts")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    for host in hosts:
        body = "".join(series_of(host, fleet.began, fleet.ticks())).encode()
        connection.request("POST", "/api/v1/import", body)
        answer = connection.getresponse()
        answer.read()
        if answer.status not in (200, 204):
            raise NotMeasured(f"the engine answered an import with {answer.status}")
    get(port, "/internal/force_flush")


def requests_so_far(port):
    """What the engine itself has counted."""
    told = get(port, "/metrics")
    counter = r'^vm_http_requests_total\{path="/api/v1/query(?:_range)?"\} (\d+)'
    return sum(map(int, re.findall(counter, told, re.M)))


def settled_requests(port, least=0):
    """What the engine has counted when it stays the same: it shows its counters late. At least so
    many there must be, as one that has not been shown yet would be taken for none."""
    deadline, last = time.monotonic() + SETTLING_SECONDS, None
    while time.monotonic() < deadline:
        now = requests_so_far(port)
        if now == last and now >= least:
            return now
        last = now
        time.sleep(SHOWN_SECONDS)
    raise NotMeasured(f"the engine counted {last} requests where at least {least} were made")


def report(port, fleet, hosts):
    """Seconds and peak of one report, which must say what was filled in."""
    begin, end = fleet.window()
    command = [GUA, "report", "--prometheus", f"http://127.0.0.1:{port}", "--json"]
    command += ["--from", stamp(begin), "--until", stamp(end), "--prometheus-timeout", "5m"]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        peak, told = peak_kib(command, Path(folder), None)
        seconds = time.monotonic() - began
    check(json.loads(told), hosts, fleet.hours)
    return seconds, peak * 1024


def check(told, hosts, hours):
    late = sum(host % 20 == LATE for host in range(hosts))
    expected = (hosts * hours - late) * CARDS

    def compare(name, said, share):
        assert abs(said - expected * share) < 0.001 * expected, (name, said, expected * share)

    for state in ("active", "idle_held", "truly_idle"):
        compare(state, told["states"][state]["gpu_hours"], STATES[state])
    # Accounts add up to the time of the cards that were not free.
    accounts = [account for account in told["accounts"] if account["by"] == "user"]
    held = {"active": STATES["active"], "idle_held": STATES["idle_held"], **USES}
    for name, share in {**held, "total": STATES["active"] + STATES["idle_held"]}.items():
        compare(name, sum(account[f"{name}_gpu_hours"] for account in accounts), share)
    assert len(told["hosts"]) == hosts, len(told["hosts"])


def reported(port, fleet, hosts):
    before = settled_requests(port)
    seconds, peaks = zip(*(report(port, fleet, hosts) for _ in range(RUNS)), strict=True)
    requests = settled_requests(port, least=before + RUNS) - before
    return Reported(statistics.median(seconds), max(peaks), requests / RUNS)


def measured(fleet):
    """What the report takes over a quarter, a half and all of the hosts."""
    found, filled = {}, 0
    with engine() as port:
        for hosts in (fleet.hosts // 4, fleet.hosts // 2, fleet.hosts):
            fill(port, fleet, range(filled, hosts))
            filled = hosts
            found[hosts] = reported(port, fleet, hosts)
    return found


def fleet_rows(fleet):
    found = tried(measured, fleet)
    for hosts in (fleet.hosts // 4, fleet.hosts // 2, fleet.hosts):
        took = found[hosts] if isinstance(found, dict) else found
        what = f"report over {hosts} hosts of {CARDS} cards, {fleet.hours} h"
        lines = [
            (what, milliseconds, "seconds", at_most(10, milliseconds)),
            ("— peak memory", megabytes, "peak_bytes", at_most(100e6, megabytes)),
            ("— requests", count, "requests", at_most(15, count)),
        ]
        for what, unit, name, budget in lines:
            yield Row(what, unit, of(took, name), None, budget, runs=(RUNS,))
    yield growth_row(found)


def growth_row(found):
    """How the time grows with the hosts."""
    if not isinstance(found, dict):
        return Row("exponent of the report over hosts", exponent, found)
    curve = Curve([(hosts, took.seconds) for hosts, took in found.items()])
    budget = at_most(MOST_EXPONENT, exponent)
    what = "exponent of the report over hosts"
    return Row(what, exponent, curve.exponent(), None, budget, runs=(RUNS,))


def rows(_setting, hosts=HOSTS, hours=HOURS):
    began = int(time.time()) // 3600 * 3600 - hours * 3600 - 3600
    return fleet_rows(Fleet(hosts, hours, began))
