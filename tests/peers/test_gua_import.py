"""A history of the Python gua in ours: GPU-hours before and after agree.

Before is what the Python gua itself reports of its file; after is what `gua` says of it
once it is imported, and of the file as it is."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from conftest import BIN, HERE, PATIENCE_SECONDS
from servers import shared_server
from test_python_gua import GUA, daemon, pytestmark  # noqa: F401

OURS = BIN / "gua"
# Everything that the tests record.
LONG_AGO = "1000d"
# States of the Python gua, as an import of ours calls them.
STATES = {"active": "active", "idle_held": "idle_held", "truly_idle": "free"}


def ours(lab, *arguments):
    done = subprocess.run(
        [OURS, *arguments],
        env=lab.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def theirs(lab, database):
    """The Python gua's own figures, by its own code."""
    done = subprocess.run(
        [Path(GUA).with_name("python"), HERE / "looks" / "python_gua_report.py", database],
        env=lab.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def demo(lab):
    """The pretend workload that the Python gua comes with, recorded by itself."""
    database = lab.folder / "demo.db"
    command = [GUA, "demo", "--db", database, "--ticks", "7", "--interval", "200ms"]
    subprocess.run(
        command, env=lab.environment(), capture_output=True, timeout=PATIENCE_SECONDS, check=True
    )
    return database


@pytest.fixture(params=["demo", "daemon"])
def recorded(request, lab):
    """A database that the Python gua has made, once of each kind."""
    if request.param == "demo":
        return demo(lab)
    recorder = request.getfixturevalue("daemon")(shared_server(range(11, 16)))
    recorder.wait_until(lambda: len(recorder.rows("SELECT DISTINCT ts FROM gpu_sample")) >= 3)
    recorder.stop()
    return recorder.database


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_hours_before_and_after_agree(lab, recorded):
    before = theirs(lab, recorded)
    digest_before = digest(recorded)
    after = ours(lab, "db", "import", recorded, "--db", lab.folder / "ours.db", "--json")
    assert after["card_rows"] == before["samples"]
    assert set(after["unusable_rows"].values()) == {0}
    assert after["cards"] == len(before["cards"])
    found = {state: after[f"{ours}_gpu_hours"] for state, ours in STATES.items()}
    for state, hours in before["gpu_hours"].items():
        assert found[state] == pytest.approx(hours)
    # All ticks have one interval here, so that shares of ticks are shares of time.
    total = sum(found.values()) + after["unknown_gpu_hours"]
    for state, share in before["shares"].items():
        assert found[state] / total == pytest.approx(share)
    assert digest(recorded) == digest_before


def as_printed(figure):
    """Reports print six decimals: an hour to a few milliseconds."""
    return pytest.approx(figure, abs=1e-6)


@pytest.mark.parametrize("imported", [True, False], ids=["imported", "as it is"])
def test_reports_before_and_after_agree(lab, recorded, imported):
    before = theirs(lab, recorded)
    database = recorded
    if imported:
        database = lab.folder / "ours.db"
        ours(lab, "db", "import", recorded, "--db", database, "--json")
    after = ours(lab, "report", "--db", database, "--since", LONG_AGO, "--json")
    for state, hours in before["gpu_hours"].items():
        assert after["states"][state]["gpu_hours"] == as_printed(hours)
    for state, share in before["shares"].items():
        assert after["states"][state]["share"] == as_printed(share)
    compare_people(before, after)


def compare_people(before, after):
    """The Python gua counts for how long somebody was on cards, ours their shares of the cards'
    time. Both are the same for people who are alone on their cards, as long as these are not truly
    idle: in that state nobody has a share. Of the others, only our own sums can be checked."""
    accounts = [account for account in after["accounts"] if account["by"] == "user"]
    for state in ("active", "idle_held", "unknown"):
        shares = sum(account[f"{state}_gpu_hours"] for account in accounts)
        assert shares == as_printed(after["states"][state]["gpu_hours"])
    by_name = {account["name"]: account for account in accounts}
    for who, hours in before["identities"].items():
        # It names only people who have logged in; other owners of processes are unknown to it.
        if who == "unknown":
            continue
        # We add up the processes of a person, it counts a card once.
        assert by_name[who]["present_process_hours"] >= hours["gpu_hours"] - 1e-6
        if hours["is_alone"]:
            assert by_name[who]["total_gpu_hours"] == as_printed(hours["gpu_hours"])
            idle_held = by_name[who]["idle_held_gpu_hours"]
            assert idle_held == as_printed(hours["idle_held_gpu_hours"])


def test_the_file_at_our_place_is_taken_over(lab):
    home = lab.folder / ".gua"
    home.mkdir()
    made = demo(lab)
    before = theirs(lab, made)
    digest_before = digest(made)
    made.rename(home / "gua.db")
    after = ours(lab, "db", "import", home / "gua.db", "--json")
    assert after["kept"] == str(home / "gua-python.db")
    assert after["card_rows"] == before["samples"]
    assert digest(home / "gua-python.db") == digest_before


def test_a_running_daemon_keeps_its_file(lab, daemon):  # noqa: F811
    recorder = daemon(shared_server(range(11, 16)))
    recorder.wait_until(lambda: recorder.rows("SELECT * FROM gpu_sample"))
    command = [OURS, "db", "import", recorder.database, "--db", recorder.database]
    done = subprocess.run(command, env=lab.environment(), capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    assert "stop that process first" in done.stderr
    # But what it has recorded so far can be had.
    copy = ours(lab, "db", "import", recorder.database, "--db", lab.folder / "o.db", "--json")
    assert copy["card_rows"] >= 3
    recorder.stop()
