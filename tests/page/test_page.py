"""The page in a real browser."""

import subprocess
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs, urlsplit

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from conftest import AXE, until


def find(browser, what):
    return browser.find_element(By.CSS_SELECTOR, what)


def text(browser, what):
    """Read at once: an update may replace an element while it is looked at."""
    script = "const found = document.querySelector(arguments[0]); return found && found.innerText"
    return browser.execute_script(script, what) or ""


def complaints(browser):
    """What the browser had to say: errors, and what the policy has kept from happening."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] != "INFO"]


def test_it_loads_without_a_complaint(host, browser):
    browser.get(host.url)
    assert "of the observed card time was held for nothing" in text(browser, "h1")
    assert "1 of 3 cards is held for nothing" in text(browser, "#now")
    numbers = "return [...document.querySelectorAll('.tile .number')].map((it) => it.innerText)"
    assert browser.execute_script(numbers) == ["0", "1", "2"]
    for part in ("#headline", "#now", "#time", "#people", "#habit", "#coverage"):
        assert find(browser, part).is_displayed(), part
    assert complaints(browser) == []


def test_a_change_shows_within_two_ticks_without_a_reload(host, browser):
    browser.get(host.url)
    browser.execute_script(
        "window.ticks = 0; new EventSource('/events').addEventListener('tick', () => window.ticks++)"
    )
    assert "active" in text(browser, ".tile:nth-child(1) .state")
    host.becomes(utilization=0)
    until("the recorder sees it", lambda: host.state(0) == "idle-held")
    then = browser.execute_script("return window.ticks")
    until("the page shows it", lambda: "idle-held" in text(browser, ".tile:nth-child(1) .state"))
    assert browser.execute_script("return window.ticks") - then <= 2
    assert "2 of 3 cards are held for nothing" in text(browser, "#now")
    assert complaints(browser) == []


def test_windows_and_the_order_are_in_the_address(host, browser):
    browser.get(host.url)
    find(browser, ".windows a[href*='since=7d']").click()
    assert "since=7d" in browser.current_url
    assert text(browser, ".windows [aria-current]") == "7 d"
    find(browser, ".accounts th a[href*='sort=present']").click()
    assert "since=7d" in browser.current_url and "sort=present" in browser.current_url
    link = browser.current_url
    shown = text(browser, ".accounts")
    assert text(browser, "[aria-sort='descending']") == "present"
    browser.get("about:blank")
    browser.get(link)
    assert text(browser, "[aria-sort='descending']") == "present"
    assert text(browser, ".windows [aria-current]") == "7 d"
    names = lambda table: [line.split("\t")[0].split(" ")[0] for line in table.split("\n")]
    assert names(text(browser, ".accounts")) == names(shown)
    browser.get(host.url + "/?since=soon")
    assert "expected a number" in text(browser, "body")


def test_a_band_tells_who_and_is_zoomed_by_dragging(host, browser):
    begin = datetime.now(timezone.utc) - timedelta(seconds=20)
    moment = "%Y-%m-%dT%H:%M:%SZ"

    def observed_until_now():
        now = datetime.now(timezone.utc)
        asked = f"from={begin.strftime(moment)}&until={now.strftime(moment)}"
        has_cards = '"uuid": "GPU-b"' in host.get(f"/api/v1/report?{asked}")[1]
        return (now, asked) if has_cards else None

    now, asked = until("a window in which something was observed", observed_until_now)
    browser.get(f"{host.url}/?{asked}")
    band = find(browser, ".bands li:nth-child(2) .band")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", band)
    ActionChains(browser).move_to_element(band).perform()
    until("it tells of it", lambda: "card" in band.accessible_name.lower() and text(browser, "#pointed"))
    browser.execute_script("arguments[0].focus()", band)
    band.send_keys(Keys.HOME)
    until("it tells of the first", lambda: text(browser, "#pointed"))

    def next_is_hers():
        band.send_keys(Keys.ARROW_RIGHT)
        return "mallory" in text(browser, "#pointed")

    until("it tells who it was", next_is_hers)
    before = browser.current_url
    drag = ActionChains(browser).move_to_element_with_offset(band, -100, 0).click_and_hold()
    drag.move_by_offset(120, 0).release().perform()
    until("the address has it", lambda: browser.current_url != before)
    asked = parse_qs(urlsplit(browser.current_url).query)
    seconds = [datetime.fromisoformat(asked[name][0]).timestamp() for name in ("from", "until")]
    assert begin.timestamp() - 1 <= seconds[0] < seconds[1] <= now.timestamp() + 1
    assert seconds[1] - seconds[0] < (now - begin).total_seconds() / 2


def test_a_lost_server_is_told_and_recovered_from(host, browser):
    browser.get(host.url)
    browser.execute_script("window.stayed = true")
    host.stop()
    until("it is told", lambda: "connection lost, trying again" in text(browser, "#connection"))
    then = text(browser, "#as-of time")
    host.start()
    until("it goes on", lambda: text(browser, "#connection") == "")
    until("it is newer", lambda: text(browser, "#as-of time") not in ("", then))
    assert browser.execute_script("return window.stayed")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_serious(host, browser, width, scheme):
    if not AXE:
        pytest.skip("axe-core could not be fetched")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    try:
        browser.get(host.url)
        browser.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        browser.execute_script(open(AXE).read())
        found = browser.execute_async_script("axe.run().then(arguments[0])")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    serious = [
        (one["id"], [node["html"] for node in one["nodes"]][:3])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_hostile_names_are_text(host, browser):
    browser.get(host.url)
    assert browser.title == "lab — gua"
    assert browser.execute_script("return document.scripts.length") == 1
    assert browser.execute_script("return document.querySelectorAll('img, main b').length") == 0
    page = text(browser, "main")
    assert "<script>document.title='owned'?[2J?.py" in page
    assert "\u202e" not in page and "\x1b" not in page
    assert complaints(browser) == []


def test_a_token_is_brought_through_a_form(guarded, browser):
    browser.get(guarded.url)
    assert browser.current_url.endswith("/sign-in")
    find(browser, "#token").send_keys("wrong", Keys.ENTER)
    until("it is told", lambda: "not the token" in text(browser, ".wrong"))
    find(browser, "#token").send_keys("0123456789abcdef0123", Keys.ENTER)
    until("it is let in", lambda: "held for nothing" in text(browser, "#now"))
    cookie = browser.get_cookie("gua_token")
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    browser.execute_script("window.stayed = true")
    then = text(browser, "#as-of time")
    until("live updates come", lambda: text(browser, "#as-of time") not in ("", then))
    assert browser.execute_script("return window.stayed")


def test_a_file_needs_neither_a_server_nor_a_script(host, browser):
    file = host.folder / "page.html"
    asked = ("report", "--db", host.folder / "gua.db", "--since", "1m", "--format", "html", "-o", file)
    command, surroundings = host.gua(*asked)
    subprocess.run(command, env=surroundings, check=True)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(file.as_uri())
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    for part in ("#headline", "#now", "#time", "#people", "#habit", "#coverage"):
        assert find(browser, part).is_displayed(), part
    assert browser.execute_script("return document.scripts.length") == 0
    titles = "return [...document.querySelectorAll('.band title')].map((it) => it.textContent).join()"
    assert "mallory" in browser.execute_script(titles)
    assert complaints(browser) == []


@pytest.mark.parametrize("picture", ["time", "habit", "states", "people"])
def test_a_picture_stands_by_itself(host, browser, picture):
    file = host.folder / f"{picture}.svg"
    asked = ("report", "--db", host.folder / "gua.db", "--since", "1m", "--format", "svg")
    command, surroundings = host.gua(*asked, "--picture", picture, "-o", file)
    subprocess.run(command, env=surroundings, check=True)
    browser.get(file.as_uri())
    assert browser.execute_script("return document.documentElement.tagName") == "svg"
    assert "lab" in browser.execute_script("return document.querySelector('title').textContent")
    assert complaints(browser) == []
