"""One window in all outputs: text, Markdown, HTML, the page, CSV, JSON, the API, Python and the counters."""

import csv
import io
import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from contextlib import contextmanager
from html.parser import HTMLParser

import pytest

from conftest import PATIENCE_SECONDS, PROGRAMS

GUA = PROGRAMS / "gua"
END = "2026-11-08T12:00:00Z"
# Neither end is the edge of a row: within a quarter hour of rows of hours, and within one of exact spans.
WINDOW = ("2026-11-03T00:10:07Z", "2026-11-08T09:41:13Z")
STATES = ["active", "idle_held", "truly_idle", "unknown"]


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    path = tmp_path_factory.mktemp("history") / "gua.db"
    gua("demo", "--db", path, "--days", "6", "--at", END)
    return path


def gua(*arguments):
    command = [GUA, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS).stdout


def report(history, form, window=WINDOW, table=None):
    arguments = ["--db", history, "--from", window[0], "--until", window[1], "--width", "200"]
    arguments += ["--table", table] if table else []
    return gua("report", *arguments, "--format", form)


def report_json(history, window=WINDOW):
    return json.loads(report(history, "json", window))


@contextmanager
def server(history):
    """Serves a history, and returns a function that gets a path from it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([GUA, "serve", "--db", history, "--listen", str(port)], stderr=subprocess.DEVNULL)

    def get(path, **query):
        url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            return answer.read().decode()

    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                get("/api/v1/status")
                break
            except urllib.error.URLError:
                assert time.monotonic() < deadline and process.poll() is None, "the server does not answer"
                time.sleep(0.02)
        yield get
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


class Rows(HTMLParser):
    """The rows of all tables of a page."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.cell = [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append(self.cell.strip())
            self.cell = None


def text_rows(text):
    return [re.split(r"  +", line.strip()) for line in text.splitlines()]


def markdown_rows(text):
    lines = [line.replace("\\", "") for line in text.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines]


def accounts(rows):
    """Returns figures by account: active, idle-held, unused, low use, unknown, total and share."""
    begin = next(place for place, row in enumerate(rows) if row[:2] == ["user", "active"])
    found = {}
    for row in rows[begin + 1 :]:
        if len(row) < 8:
            continue
        found[row[0]] = row[1:8]
        if row[0] == "all":
            return found
    raise AssertionError(f"no sum below the accounts: {rows[begin:]}")


def cards(rows):
    """Returns the shares of the states by card."""
    begin = next(place for place, row in enumerate(rows) if row[:3] == ["#", "card", "active"])
    count = 3 + ("unknown" in rows[begin])
    found = {}
    for row in rows[begin + 1 :]:
        if not re.fullmatch(r"\d+(:\d+)?", row[0]):
            break
        found[row[0]] = row[2 : 2 + count]
    return found



def test_all_outputs_have_the_same_figures(lab, history):
    data = report_json(history)
    documents = {form: report(history, form) for form in ("text", "markdown", "html")}
    with server(history) as get:
        query = dict(zip(("from", "until"), WINDOW), tz="UTC")
        documents["page"] = get("/", **query)
        api = json.loads(get("/api/v1/report", **query))
    rows = {
        "text": text_rows(documents["text"]),
        "markdown": markdown_rows(documents["markdown"]),
        "html": Rows(documents["html"]).rows,
        "page": Rows(documents["page"]).rows,
    }

    # Tables that people read: the same characters everywhere, and those of the data.
    expected = {card_label(card): card for card in data["cards"]}
    for form in rows:
        # HTML has more rows before the accounts that it takes together.
        shown = accounts(rows["text"])
        common = {name: row for name, row in accounts(rows[form]).items() if name in shown}
        assert len(common) >= 11 and all(row == shown[name] for name, row in common.items()), form
        shares = cards(rows[form])
        assert shares == cards(rows["text"]), form
        assert set(shares) == set(expected), form
        for label, cells in shares.items():
            for state, cell in zip(STATES, cells):
                assert abs(float(cell.strip("<% ")) - 100 * expected[label]["states"][state]["share"]) <= 0.1, form
    table = accounts(rows["text"])
    named = {account["name"]: account for account in data["accounts"] if account["name"] in table}
    reasons = {account["unattributed"] for account in data["accounts"]}
    nobody = {reason.replace("_", " ") for reason in reasons & {"unlisted", "holders_unknown"}}
    assert nobody and nobody <= set(table), "memory and time of nobody have rows of their own"
    assert 10 - len(nobody) <= len(named) <= 10, "ten accounts besides"
    assert len(set(table) - set(named) - nobody - {"not known"}) == 2, "the others together, and the sum"
    keys = ["active", "idle_held", "unused", "low_use", "unknown", "total"]
    for name, account in named.items():
        for key, cell in zip(keys, table[name]):
            assert abs(whole(cell) - account[f"{key}_gpu_hours"]) < 1, (name, key)
    sums = {key: sum(account[f"{key}_gpu_hours"] for account in data["accounts"]) for key in keys}
    for place, key in enumerate(keys):
        column = {name: whole(row[place]) for name, row in table.items()}
        assert abs(column["all"] - sums[key]) < 1, key
        assert column.pop("all") == sum(column.values()), key
    for key in ("active", "idle_held"):
        assert sums[key] == pytest.approx(data["states"][key]["gpu_hours"], abs=1e-6)

    # Data that programs read: the same numbers.
    assert_csv_is(report(history, "csv"), report(history, "csv", table="cards"), data)
    mine = {"ask", "end"}  # commands depend on who reads them
    assert without(api, mine) == without(data, mine)
    found = lab.json(
        f"""
        import dataclasses, gua, json
        report = gua.report(from_={WINDOW[0]!r}, until={WINDOW[1]!r}, db={str(history)!r})
        print(json.dumps(dataclasses.asdict(report), default=str))
        """,
        None,
    )
    for key in ("states", "cards", "accounts", "gaps", "coverage"):
        if key in data:
            assert without(found[key], {"from", "from_", "to"}) == without(data[key], {"from", "to"}), key


def whole(cell):
    """Returns the GPU-hours of a cell; less than one counts as none in a sum."""
    return 0 if cell == "<1" else int(cell.replace(",", ""))


def who(account):
    """Returns whose an account is, or why it is nobody's."""
    return account["name"] or account["unattributed"]


def card_label(card):
    return str(card["index"]) if card["slot"] is None else f"{card['index']}:{card['slot']}"


def without(value, keys):
    if isinstance(value, dict):
        return {key: without(inner, keys) for key, inner in value.items() if key not in keys}
    if isinstance(value, list):
        return [without(inner, keys) for inner in value]
    return value


def assert_csv_is(accounts, cards, data):
    rows = list(csv.DictReader(io.StringIO(cards)))
    assert [row["uuid"] for row in rows] == [card["uuid"] for card in data["cards"]]
    for row, card in zip(rows, data["cards"]):
        for state in STATES:
            assert float(row[f"{state}_gpu_hours"]) == card["states"][state]["gpu_hours"]
    rows = list(csv.DictReader(io.StringIO(accounts)))
    assert len(rows) == len(data["accounts"])
    for row, account in zip(rows, data["accounts"]):
        for key, value in account.items():
            found = float(row[key]) if isinstance(value, (int, float)) else row[key] or None
            assert found == value, (who(account), key)


def test_counters_are_the_report_on_all_that_was_counted(history):
    with server(history) as get:
        series = parse_metrics(get("/metrics"))
    since = value(series, "gua_counting_since_timestamp_seconds")
    until = value(series, "gua_final_until_timestamp_seconds")
    window = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)) for moment in (since, until)]
    data = report_json(history, window)
    by_uuid = {card["uuid"]: card for card in data["cards"]}
    cards, users, idle = defaultdict(float), defaultdict(float), defaultdict(float)
    for name, labels, amount in series:
        if name == "gua_gpu_state_seconds_total":
            cards[labels["UUID"], labels["state"]] += amount
        elif name == "gua_user_gpu_seconds_total":
            users[labels["user"], labels["state"]] += amount
        elif name == "gua_user_gpu_idle_held_seconds_total":
            idle[labels["user"], labels["use"]] += amount
    assert {uuid for uuid, _ in cards} == set(by_uuid)
    for (uuid, state), seconds in cards.items():
        assert seconds == pytest.approx(by_uuid[uuid]["states"][state]["gpu_hours"] * 3600, abs=0.01)
    owners = {who(account): account for account in data["accounts"] if who(account) != "holders_unknown"}
    assert {user for user, state in users if users[user, state]} == {user for user in owners if owners[user]["total_gpu_hours"]}
    for user, account in owners.items():
        for state in ("active", "idle_held", "unknown"):
            assert users[user, state] == pytest.approx(account[f"{state}_gpu_hours"] * 3600, abs=0.01), (user, state)
        for use in ("unused", "low_use"):
            assert idle[user, use] == pytest.approx(account[f"{use}_gpu_hours"] * 3600, abs=0.01), (user, use)
    observed = value(series, "gua_observed_seconds_total")
    assert observed == pytest.approx(data["window"]["observed_seconds"], abs=0.01)


def parse_metrics(text):
    series = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, amount = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line).groups()
            series.append((name, dict(re.findall(r'(\w+)="([^"]*)"', labels or "")), float(amount)))
    return series


def value(series, wanted):
    return next(amount for name, _, amount in series if name == wanted)


@pytest.mark.parametrize("cut", ["2026-11-05T06:00:00Z", "2026-11-05T06:07:30Z", "2026-11-08T03:11:59Z"])
def test_adjacent_windows_add_up_to_both(history, cut):
    whole = figures(report_json(history))
    parts = [figures(report_json(history, window)) for window in ((WINDOW[0], cut), (cut, WINDOW[1]))]
    for key, amount in whole.items():
        # JSON has nine decimals of an hour.
        assert sum(part.get(key, 0.0) for part in parts) == pytest.approx(amount, abs=1e-8), key


def figures(data):
    found = {("observed",): data["window"]["observed_seconds"] / 3600}
    for card in data["cards"]:
        for state in STATES:
            found["card", card["uuid"], state] = card["states"][state]["gpu_hours"]
    for account in data["accounts"]:
        for key in ("active", "unused", "low_use", "unknown", "total"):
            found["account", who(account), key] = account[f"{key}_gpu_hours"]
    return found
