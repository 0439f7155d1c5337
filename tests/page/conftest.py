"""What the tests of the page need: a recorder that serves one, and a browser that looks at it."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BIN = Path(os.environ.get("GUA_BIN_DIR", ROOT / "target" / "debug"))
AXE = os.environ.get("GUA_AXE", "")

# How long anything may take before it counts as not happening. Nothing is judged by it.
PATIENCE_SECONDS = 60

# Names as nobody would choose them, but for harm.
PROGRAM = "<b>p\u202e"
SCRIPT = "\"><script>document.title='owned'\x1b[2J\u202e.py"

SCENARIO = """
[host]
name = "lab"
[[card]]
uuid = "GPU-a"
utilization = {utilization}
[[card]]
uuid = "GPU-b"
utilization = 0
[[card]]
uuid = "GPU-c"
utilization = 0
[[process]]
pid = 4001
card = 0
user = "alice"
program = "python"
memory = "40GiB"
begin = "-2h"
[[process]]
pid = 4002
card = 1
user = "mallory"
program = {program}
command = ["python", {script}]
memory = "8GiB"
begin = "-3h"
"""


def until(what, condition):
    """Waits for something that is going to be."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"this did not happen: {what}")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Host:
    """A pretend machine with a recorder that serves its page."""

    def __init__(self, folder, *more):
        self.folder, self.more = folder, more
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.recorder = None
        self.becomes(utilization=90)
        (folder / "config.toml").write_text("[cost]\nprice = 2.5\ncurrency = \"$\"\n")

    def becomes(self, utilization):
        """Changes what the machine does from now on."""
        text = SCENARIO.format(
            utilization=utilization, program=json.dumps(PROGRAM), script=json.dumps(SCRIPT)
        )
        new = self.folder / "scenario.new"
        new.write_text(text)
        new.replace(self.folder / "scenario.toml")

    def gua(self, *arguments):
        kept = {key: os.environ[key] for key in ("PATH", "TMPDIR") if key in os.environ}
        surroundings = {
            **kept,
            "HOME": str(self.folder),
            "GUA_CONFIG": str(self.folder / "config.toml"),
            "GUA_SYSTEM_CONFIG": "/nowhere/config.toml",
            "TZ": "UTC",
        }
        scenario = self.folder / "scenario.toml"
        command = [BIN / "nvml-sim", "run", scenario, "--", BIN / "gua", *arguments]
        return command, surroundings

    def start(self):
        """Goes on where it was, if it was."""
        command, surroundings = self.gua(
            "daemon", "--foreground", "--append", "--interval", "500ms",
            "--db", self.folder / "gua.db", "--listen", str(self.port), *self.more,
        )
        log = (self.folder / "log").open("a")
        self.recorder = subprocess.Popen(command, env=surroundings, stderr=log, stdin=subprocess.DEVNULL)
        until("it answers", lambda: self.get("/metrics")[0] in (200, 401))
        until("cards were observed", self.has_observed)
        return self

    def has_observed(self):
        status, text = self.get("/api/v1/report?since=1m")
        return status == 401 or (status == 200 and json.loads(text)["cards"])

    def stop(self):
        if self.recorder:
            self.recorder.terminate()
            self.recorder.wait(PATIENCE_SECONDS)
            self.recorder = None

    def get(self, path):
        """The status and the text of an answer."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return None, ""

    def state(self, card):
        return json.loads(self.get("/api/v1/stat")[1])["cards"][card]["state"]


@pytest.fixture
def host(tmp_path):
    host = Host(tmp_path).start()
    yield host
    host.stop()


@pytest.fixture
def guarded(tmp_path):
    """One that wants a token."""
    token = tmp_path / "token"
    token.write_text("0123456789abcdef0123\n")
    host = Host(tmp_path, "--token-file", token).start()
    yield host
    host.stop()


def open_browser(*more):
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *more):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver, env={**os.environ, "TZ": "UTC"}))
    opened.set_page_load_timeout(PATIENCE_SECONDS)
    opened.set_window_size(1280, 900)
    return opened


@pytest.fixture(scope="session")
def one_browser():
    opened = open_browser()
    yield opened
    opened.quit()


@pytest.fixture
def browser(one_browser):
    """Without what a test before has left."""
    one_browser.get("about:blank")
    one_browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    one_browser.get_log("browser")
    one_browser.set_window_size(1280, 900)
    return one_browser
