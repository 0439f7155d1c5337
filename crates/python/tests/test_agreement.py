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
# No second of a full minute, so that the record begins and ends within rows of any kind.
BEGIN, END = "2026-11-02T12:07:43Z", "2026-11-08T12:07:43Z"
WHOLE_RECORD = (BEGIN, END)
# Neither end is the edge of a row: within a quarter hour of rows of hours, and within one of exact spans.
PART = ("2026-11-03T00:10:07Z", "2026-11-08T09:41:13Z")
STATES = ["active", "idle_held", "truly_idle", "unknown"]
ENERGY = ["active_energy_kwh", "idle_held_energy_kwh", "truly_idle_energy_kwh", "unknown_state_energy_kwh"]
JOULES_PER_KWH = 3.6e6


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    path = tmp_path_factory.mktemp("history") / "gua.db"
    gua("demo", "--db", path, "--days", "6", "--at", END)
    return path


@pytest.fixture(scope="module", autouse=True)
def prices(tmp_path_factory):
    """All programs and Python read prices from one config."""
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_text("[cost]\nprice = 2.0\nper_kwh = 0.3\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GUA_CONFIG", str(path))
        yield path


def gua(*arguments):
    command = [GUA, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS).stdout


def report(history, form, window, *more):
    arguments = ["--db", history, "--from", window[0], "--until", window[1], "--tz", "UTC", *more]
    return gua("report", *arguments, "--format", form)


def report_json(history, window, *more):
    return json.loads(report(history, "json", window, *more))


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
    """The rows of all tables of a page, and all its text."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.cell, self.texts = [], None, []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag in ("table", "tr"):
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append(self.cell.strip())
            self.cell = None


class Printed:
    """A report that people read: the rows of its tables, and all of it with `|` between what stands apart."""

    def __init__(self, form, text):
        if form in ("html", "page"):
            found = Rows(text)
            self.rows, self.text = found.rows, "|".join(found.texts)
        elif form == "markdown":
            lines = [line.replace("\\", "") for line in text.splitlines()]
            shown = [line for line in lines if not line.startswith("|-")]
            self.rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in shown]
            self.text = "\n".join(re.sub(r" *\| *", "|", line) for line in lines)
        else:
            self.rows = [re.split(r"  +", line.strip()) for line in text.splitlines()]
            self.text = "\n".join("|".join(row) for row in self.rows)

    def table(self, *heads):
        """Returns the rows below these heads, by their first cell, without cells that are empty."""
        shown = [[cell for cell in row if cell] for row in self.rows]
        begin = [place for place, row in enumerate(shown) if row[: len(heads)] == list(heads)]
        assert begin, f"no table with the heads {heads}"
        rows = {}
        for row in shown[begin[0] + 1 :]:
            if len(row) < 2 or row[0] in rows:
                break
            rows[row[0]] = row[1:]
            if row[0] == "all":
                break
        return rows

    def headline(self):
        """Returns share and GPU-hours of each state."""
        found = {}
        states, mark = r"\b(active|idle-held|truly-idle|unknown)", r"(?:[█▒░?]\|)?"
        pattern = rf"{states}\|{mark}(\S+ %)\|([<\d,.]+)(?: GPU-h)?(?![^|\n])"
        for state, share, hours in re.findall(pattern, self.text):
            found.setdefault(state, (share, hours))
        return found

    def sentences(self):
        """Returns what is said of all energy, and of idle capacity and its cost."""
        energy = re.findall(r"energy: ([^|\n]*)", self.text)
        capacity = re.findall(r"as much as ([\d.]+ of \d+ cards \w+ all the time[^|\n]*)", self.text)
        return energy[:1] + capacity[:2]

    def cards(self):
        """Returns the shares of the states by card; of some forms, the energy follows."""
        begin = next(place for place, row in enumerate(self.rows) if row[:3] == ["#", "card", "active"])
        found = {}
        for row in self.rows[begin + 1 :]:
            if not row or not re.fullmatch(r"\d+(:\w+)?", row[0]):
                break
            found[row[0]] = row[2:]
        return found

    def sessions(self):
        """Returns how long, who, which card, how much memory and which process, of all sessions."""
        heads, found = None, []
        for row in self.rows:
            if row[:3] == ["idle", "who", "card"]:
                heads = row
            elif heads and len(row) == len(heads):
                session = dict(zip(heads, row))
                found.append(tuple(session[head] for head in ("idle", "who", "card", "memory", "pid")))
            elif row in ([], [""]):
                heads = None
        return sorted(found)


# The first heads of two tables.
ACCOUNTS = ("user", "active", "idle-held", "= unused")
ENERGY_BY_ACCOUNT = ("user", "active", "idle-held", "truly-idle")
# The columns of accounts: the key of each, and what its unit is of what is printed.
ACCOUNT_COLUMNS = {
    "active_gpu_hours": 1,
    "idle_held_gpu_hours": 1,
    "unused_gpu_hours": 1,
    "low_use_gpu_hours": 1,
    "unknown_gpu_hours": 1,
    "total_gpu_hours": 1,
    "share_of_total": 100,
    "idle_held_cost": 1,
    "held_idle_gib_hours": 1,
    "idle_beside_process_hours": 1,
    "peak_memory_bytes": 1 / (1 << 30),
    "energy_kwh": 1,
}
# Their sums are exact in print.
SUMMED = [*list(ACCOUNT_COLUMNS)[:7], "idle_held_cost", "energy_kwh"]


@pytest.mark.parametrize("window", [WHOLE_RECORD, PART], ids=["whole_record", "part"])
def test_all_outputs_have_the_same_figures(lab, history, prices, window):
    both = ["--compare", "2d"]
    data = report_json(history, window, *both)
    wide = [*both, "--wide", "--width", "300", "--sessions", "all"]
    documents = {form: report(history, form, window, *wide) for form in ("text", "markdown", "html")}
    with server(history) as get:
        query = dict(zip(("from", "until"), window), tz="UTC")
        documents["page"] = get("/", **query, sessions="all")
        api = json.loads(get("/api/v1/report", **query))
        series = parse_metrics(get("/metrics"))
    printed = {form: Printed(form, text) for form, text in documents.items()}

    assert_forms_agree(printed)
    assert_printed_is(printed["text"], data)
    assert_heatmap_is(documents["text"], printed["markdown"], data)
    tables = {"accounts": "accounts", "cards": "cards", "sessions": "sessions", "hours": "heatmap", "gaps": "gaps"}
    for table, key in tables.items():
        rows = list(csv.DictReader(io.StringIO(report(history, "csv", window, "--table", table))))
        assert_csv_is(rows, data[key], table)
    mine = {"ask", "end", "compared"}  # commands depend on who reads them, and nothing is compared there
    assert without(api, mine) == without(data, mine)
    found = lab.json(
        f"""
        import dataclasses, gua, json
        report = gua.report(from_={window[0]!r}, until={window[1]!r}, tz="UTC", compare="2d", db={str(history)!r})
        moment = lambda at: at.isoformat().replace("+00:00", "Z")
        print(json.dumps(dataclasses.asdict(report), default=moment))
        """,
        None,
        GUA_CONFIG=str(prices),
    )
    assert with_plain_names(found) == data
    counted = [value(series, f"gua_{name}_timestamp_seconds") for name in ("counting_since", "final_until")]
    assert [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) for at in counted] == [BEGIN, END]
    if window == WHOLE_RECORD:
        assert_counters_are(series, data)


def assert_forms_agree(printed):
    """All tables that people read have the same characters everywhere."""
    text = printed["text"]
    assert set(text.headline()) == {"active", "idle-held", "truly-idle", "unknown"}
    assert len(text.sentences()) == 3 and "EUR" in text.sentences()[0]
    assert "7:rest" in text.cards() and {"unlisted", "holders unknown"} < set(text.table(*ACCOUNTS))
    for form, other in printed.items():
        assert other.headline() == text.headline(), form
        assert other.sentences() == text.sentences(), form
        kwh = other.table("card", "model", "total") if form in ("html", "page") else {}
        assert set(other.cards()) == set(text.cards()), form
        for label, cells in text.cards().items():
            assert other.cards()[label][:4] == cells[:4], (form, label)
            assert (kwh[label][-1] if kwh else other.cards()[label][4]) == cells[4], (form, label)
        # HTML has more rows before the accounts that it takes together.
        accounts, others = text.table(*ACCOUNTS), other.table(*ACCOUNTS)
        alike = {name: row for name, row in accounts.items() if not name.endswith(" more")}
        assert len(alike) >= 13 and {name: others.get(name) for name in alike} == alike, form
        energy = text.table(*ENERGY_BY_ACCOUNT)
        assert len(energy) >= 13 and other.table(*ENERGY_BY_ACCOUNT) == energy, form
        # The page does not compare.
        for heads in [] if form == "page" else [("now", "before", "difference"), ("idle-held GPU-h by user",)]:
            compared = text.table(*heads)
            assert len(compared) >= 7 and other.table(*heads) == compared, form
    sessions = text.sessions()
    assert len(sessions) > 100 and printed["markdown"].sessions() == sessions
    for form in ("html", "page"):
        shown = set(printed[form].sessions())
        assert len(shown) > 5 and shown <= set(sessions), form


def assert_printed_is(text, data):
    """What is printed are the numbers of the data, rounded, and sums are those of the rows."""
    for key in STATES:
        share, hours = text.headline()[key.replace("_", "-")]
        assert number(share) == pytest.approx(100 * data["states"][key]["share"], abs=0.06)
        assert number(hours) == pytest.approx(data["states"][key]["gpu_hours"], abs=1)
    energy, *capacity = text.sentences()
    total, *states = [number(figure) for figure in re.findall(r"<?\d[\d.,]*", energy)]
    assert total == pytest.approx(data["energy_kwh"], abs=0.1)
    found = [data[key] for key in ENERGY if data[key]] + [data["energy_money"]["energy_cost"]]
    assert states == pytest.approx(found, abs=0.1) and sum(states[:-1]) == pytest.approx(total)
    for sentence, key in zip(capacity, ("idle_held", "truly_idle")):
        equivalent, gpus, cost, *_ = map(number, re.findall(r"\d[\d.,]*", sentence))
        assert equivalent == pytest.approx(data["equivalent_gpus"][key], abs=0.06)
        assert (gpus, cost) == (data["gpu_count"], pytest.approx(data["money"][key]["cost"], abs=0.6))

    cards = {card_label(card): card for card in data["cards"]}
    assert set(text.cards()) == set(cards)
    for label, cells in text.cards().items():
        shares = [100 * cards[label]["states"][state]["share"] for state in STATES]
        assert [number(cell) for cell in cells[:4]] == pytest.approx(shares, abs=0.1), label
        assert number(cells[4]) == pytest.approx(cards[label]["energy_kwh"], abs=0.1), label
    assert sum(number(cells[4]) for cells in text.cards().values()) == pytest.approx(total)

    table = text.table(*ACCOUNTS)
    accounts = {who(account): account for account in data["accounts"]}
    more = [name for name in table if name.endswith(" more")]
    assert len(more) == 1 and set(table) - set(more) - {"all"} <= set(accounts)
    units = {}
    for place, (key, unit) in enumerate(ACCOUNT_COLUMNS.items()):
        units[key] = {name: row[place] for name, row in table.items()}
        step = 0.1 if key in ("peak_memory_bytes", "idle_beside_process_hours") else 1
        for name in set(table) & set(accounts):
            cell, figure = units[key][name], accounts[name][key]
            is_same = cell == "?" if figure is None else abs(number(cell) - unit * figure) < step
            assert is_same, (name, key)
        rest = sum(unit * (account[key] or 0) for name, account in accounts.items() if name not in table)
        if key in SUMMED:
            column = {name: number(cell) for name, cell in units[key].items()}
            assert abs(column[more[0]] - rest) < 1, key
            assert column.pop("all") == pytest.approx(sum(column.values()), abs=1e-9), key
    for name in table:
        row = {key: number(cells[name]) for key, cells in units.items() if key.endswith("gpu_hours")}
        assert row["idle_held_gpu_hours"] == row["unused_gpu_hours"] + row["low_use_gpu_hours"], name
        parts = row["active_gpu_hours"] + row["idle_held_gpu_hours"] + row["unknown_gpu_hours"]
        assert row["total_gpu_hours"] == parts, name
    for state, key in (("active", "active"), ("idle-held", "idle_held"), ("unknown", "unknown")):
        assert units[f"{key}_gpu_hours"]["all"] == text.headline()[state][1]
        sums = sum(account[f"{key}_gpu_hours"] for account in data["accounts"])
        assert sums == pytest.approx(data["states"][key]["gpu_hours"], abs=1e-6)
    for key in ENERGY[:2]:
        assert sum(account[key] or 0 for account in data["accounts"]) == pytest.approx(data[key], abs=1e-6)

    energy = text.table(*ENERGY_BY_ACCOUNT)
    assert number(energy["all"][-2]) == pytest.approx(total)
    for column in (-2, -1):
        rows = [number(row[column]) for name, row in energy.items() if name != "all"]
        assert sum(rows) == pytest.approx(number(energy["all"][column])), column
    for name in set(energy) & set(accounts):
        assert number(energy[name][-2]) == pytest.approx(accounts[name]["energy_kwh"], abs=0.1), name
        assert number(energy[name][-1]) == pytest.approx(accounts[name]["energy_cost"], abs=0.01), name

    compared = text.table("now", "before", "difference")
    pairs = {pair["state"].replace("_", "-"): pair["share"] for pair in data["compared"]["states"]}
    for state, pair in pairs.items():
        now, before = [number(cell) for cell in compared[state][:2]]
        assert (now, before) == pytest.approx((100 * pair["now"], 100 * pair["before"]), abs=0.06), state
    people = {account["name"]: account["idle_held_gpu_hours"] for account in data["compared"]["accounts"]}
    for name, cells in text.table("idle-held GPU-h by user").items():
        pair = people[name]
        assert [number(cell) for cell in cells[:2]] == pytest.approx([pair["now"], pair["before"]], abs=1), name

    def of_session(session):
        memory = number(f"{session['peak_memory_bytes'] / (1 << 30):.1f}")
        return session["user"] or "unattributed", str(session["pid"]), memory

    found = [(who, pid, number(memory)) for _, who, _, memory, pid in text.sessions()]
    assert sorted(found) == sorted(of_session(session) for session in data["sessions"])


# From which share on a mark stands for it.
LEVELS = [(0, "░"), (0.25, "▒"), (0.5, "▓"), (0.75, "█")]


def assert_heatmap_is(text, markdown, data):
    cells = {(cell["weekday"], cell["hour"]): cell["active_share"] for cell in data["heatmap"]}
    days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    marks = {line.split()[0]: line for line in text.splitlines() if line.split()[:1] and line.split()[0] in days}
    rows = {row[0]: row[1:] for row in markdown.rows if row[0] in days}
    assert len(cells) > 100 and set(marks) <= set(days) and set(rows) == set(marks)
    for weekday, day in enumerate(days):
        if day not in rows:
            assert not any(day_of_cell == weekday for day_of_cell, _ in cells)
            continue
        begin = marks[day].index(day) + 5
        for hour in range(24):
            share = cells.get((weekday, hour))
            mark = marks[day][begin + 3 * hour :][:3].strip() if len(marks[day]) > begin + 3 * hour else ""
            assert rows[day][hour] == ("" if share is None else f"{100 * share:.0f}"), (day, hour)
            levels = ["·"] if share == 0 else [mark for least, mark in LEVELS if share is not None and share >= least]
            level = "".join(levels[-1:])
            assert set(mark) == set(level), (day, hour)


def number(cell):
    """Returns what a cell says; less than one unit counts as none in a sum."""
    return 0.0 if "<" in cell else float(re.search(r"\d[\d.,]*", cell)[0].rstrip(".,").replace(",", ""))


def who(account):
    """Returns whose an account is, or why it is nobody's, as it is printed and in labels of counters."""
    reasons = {"not_known": "unattributed", "holders_unknown": "holders unknown"}
    return account["name"] or reasons.get(account["unattributed"], account["unattributed"])


def card_label(card):
    slot = "rest" if card["unpartitioned"] else card["slot"]
    return str(card["index"]) if slot is None else f"{card['index']}:{slot}"


def without(value, keys):
    if isinstance(value, dict):
        return {key: without(inner, keys) for key, inner in value.items() if key not in keys}
    if isinstance(value, list):
        return [without(inner, keys) for inner in value]
    return value


def with_plain_names(value):
    """Python cannot call a field `from`."""
    if isinstance(value, dict):
        return {key.rstrip("_"): with_plain_names(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_plain_names(inner) for inner in value]
    return value


def assert_csv_is(rows, expected, table):
    assert len(rows) == len(expected) > 0, table
    # What consists of parts has a column for each of them.
    nested = {key for one in expected for key, value in one.items() if isinstance(value, (dict, list))}
    for row, one in zip(rows, expected):
        for key in set(one) - nested:
            value, found = one[key], row[key]
            if isinstance(value, bool):
                assert found == str(value).lower(), (table, key)
            elif isinstance(value, (int, float)):
                assert float(found) == value, (table, key)
            else:
                assert (found or None) == value, (table, key)
        for state in STATES if table == "cards" else []:
            assert float(row[f"{state}_gpu_hours"]) == one["states"][state]["gpu_hours"]


def assert_counters_are(series, data):
    """Counters of all that was recorded are the report on it."""
    sums = defaultdict(float)
    for name, labels, amount in series:
        part = labels.get("state") or labels.get("use") or labels.get("basis")
        for owner in {labels.get("UUID"), labels.get("user")} - {None}:
            sums[name, owner, part] += amount
    for card in data["cards"]:
        uuid, states = card["uuid"], card["states"]
        for state, energy in zip(STATES, ENERGY):
            assert_near(sums["gua_gpu_state_seconds_total", uuid, state], states[state]["gpu_hours"] * 3600, card)
            assert_near(sums["gua_gpu_state_energy_joules_total", uuid, state], (card[energy] or 0) * JOULES_PER_KWH, card)
        idle_held = 0.0
        for use in ("unused", "low_use"):
            seconds = sums["gua_gpu_idle_held_seconds_total", uuid, use]
            assert_near(seconds, sums["gua_user_gpu_idle_held_seconds_total", uuid, use], card)
            idle_held += seconds
        assert_near(idle_held, states["idle_held"]["gpu_hours"] * 3600, card)
        assert_near(sums["gua_gpu_energy_joules_total", uuid, None], (card["energy_kwh"] or 0) * JOULES_PER_KWH, card)
        for basis, key in (("power", "energy_estimated_gpu_hours"), ("unknown", "energy_unknown_gpu_hours")):
            assert_near(sums["gua_gpu_energy_seconds_total", uuid, basis], card[key] * 3600, card)
    owners = {who(account): account for account in data["accounts"] if who(account) != "holders unknown"}
    users = {labels["user"] for name, labels, _ in series if name == "gua_user_gpu_seconds_total"}
    assert users == {owner for owner, account in owners.items() if account["total_gpu_hours"]}
    for user, account in owners.items():
        for state in ("active", "idle_held", "unknown"):
            seconds = account[f"{state}_gpu_hours"] * 3600
            assert_near(sums["gua_user_gpu_seconds_total", user, state], seconds, account)
        for use in ("unused", "low_use"):
            seconds = account[f"{use}_gpu_hours"] * 3600
            assert_near(sums["gua_user_gpu_idle_held_seconds_total", user, use], seconds, account)
        for state in ("active", "idle_held"):
            energy = (account[f"{state}_energy_kwh"] or 0) * JOULES_PER_KWH
            assert_near(sums["gua_user_gpu_energy_joules_total", user, state], energy, account)
        unknown = account["energy_unknown_gpu_hours"] * 3600
        assert_near(sums["gua_user_gpu_energy_unknown_seconds_total", user, None], unknown, account)
    assert_near(value(series, "gua_observed_seconds_total"), data["window"]["observed_seconds"], "observed")


def assert_near(found, expected, what):
    # JSON has nine decimals of an hour and of a kilowatt-hour.
    assert found == pytest.approx(expected, abs=0.02), what


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
    whole = figures(report_json(history, WHOLE_RECORD))
    parts = [figures(report_json(history, window)) for window in ((BEGIN, cut), (cut, END))]
    for key, amount in whole.items():
        # JSON has nine decimals of an hour. Nothing of an energy may be known, in a window or in both.
        known = [part.get(key) or 0.0 for part in parts]
        assert sum(known) == pytest.approx(amount or 0.0, abs=1e-8), key


def figures(data):
    found = {("observed",): data["window"]["observed_seconds"] / 3600}
    for card in data["cards"]:
        for state in STATES:
            found["card", card["uuid"], state] = card["states"][state]["gpu_hours"]
        for key in [*ENERGY, "energy_unknown_gpu_hours"]:
            found["card", card["uuid"], key] = card[key]
    for account in data["accounts"]:
        for key in ("active", "unused", "low_use", "unknown", "total"):
            found["account", who(account), key] = account[f"{key}_gpu_hours"]
        for key in [*ENERGY[:2], "energy_unknown_gpu_hours"]:
            found["account", who(account), key] = account[key] or 0.0
    return found
