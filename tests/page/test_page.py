"""The page in a real browser."""

import json
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
    assert "of the observed card time was idle-held" in text(browser, "h1")
    assert "1 of 3 cards is idle-held" in text(browser, "#now")
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
    assert "2 of 3 cards are idle-held" in text(browser, "#now")
    assert complaints(browser) == []


def test_windows_and_the_order_are_in_the_address(host, browser):
    browser.get(host.url)
    find(browser, ".windows a[href*='since=7d']").click()
    assert "since=7d" in browser.current_url
    assert text(browser, ".windows [aria-current]") == "7 d"
    find(browser, ".accounts th a[href*='sort=active']").click()
    assert "since=7d" in browser.current_url and "sort=active" in browser.current_url
    link = browser.current_url
    shown = text(browser, ".accounts")
    assert text(browser, "[aria-sort='descending']") == "active"
    browser.get("about:blank")
    browser.get(link)
    assert text(browser, "[aria-sort='descending']") == "active"
    assert text(browser, ".windows [aria-current]") == "7 d"
    names = lambda table: [line.split("\t")[0].split(" ")[0] for line in table.split("\n")]
    assert names(text(browser, ".accounts")) == names(shown)
    browser.get(host.url + "/?since=soon")
    assert "expected a number" in text(browser, "body")


def test_a_band_tells_who_and_is_zoomed_by_dragging(host, browser):
    begin = datetime.now(timezone.utc)
    moment = "%Y-%m-%dT%H:%M:%SZ"

    def observed_until_now():
        now = datetime.now(timezone.utc)
        asked = f"from={begin.strftime(moment)}&until={now.strftime(moment)}"
        status, report = host.get(f"/api/v1/report?{asked}")
        observed = json.loads(report)["window"]["observed_seconds"] if status == 200 else 0
        # What is observed is final some seconds later, and is to be zoomed into.
        return (now, asked) if observed >= 15 else None

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


def test_enter_shows_a_stretch_and_its_address_is_of_moments(host, browser):
    browser.get(f"{host.url}/?since=1m&tz=UTC")
    before = browser.current_url
    band = find(browser, ".bands li:nth-child(2) .band")
    browser.execute_script("arguments[0].focus()", band)
    band.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert "idle-held" in text(browser, "#pointed")
    band.send_keys(Keys.ALT + Keys.ARROW_RIGHT)
    assert "idle-held" in text(browser, "#pointed"), "the browser's own keys are left to it"
    band.send_keys(Keys.NULL, Keys.ENTER)
    until("the address has it", lambda: browser.current_url != before)
    asked = parse_qs(urlsplit(browser.current_url).query)
    assert "since" not in asked and asked["from"][0] < asked["until"][0]


@pytest.fixture
def in_kolkata(browser):
    """A reader elsewhere: half an hour off, so that nobody can mistake it."""
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    yield browser
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def begin_of(browser):
    """When it begins, once it is there."""
    script = "return document.readyState === 'complete' && document.querySelector('.bands').dataset.from"
    return int(until("the page is whole", lambda: browser.execute_script(script)))


def test_times_are_the_readers_and_a_window_of_choice_is_the_same_everywhere(host, in_kolkata):
    browser = in_kolkata
    browser.get(host.url)
    until("it is in the zone of the reader", lambda: "Times in Asia/" in text(browser, ".zone"))
    now = datetime.now(timezone.utc)
    browser.execute_script(
        "const form = document.querySelector('form.window');"
        "form.querySelector('[name=from]').value = arguments[0];"
        "form.querySelector('[name=until]').value = ''; form.requestSubmit()",
        (now + timedelta(hours=4, minutes=30)).strftime("%Y-%m-%dT%H:%M"),
    )
    until("the window is of choice", lambda: "from=" in browser.current_url)
    assert "tz=Asia" in browser.current_url
    begin = begin_of(browser)
    hour_ago = (now - timedelta(hours=1)).replace(second=0, microsecond=0)
    assert begin == hour_ago.timestamp() * 1000
    find(browser, ".zone a").click()
    until("it is in UTC", lambda: "Times in UTC" in text(browser, ".zone"))
    assert begin_of(browser) == begin
    until("there is a way back", lambda: "Local time" in text(browser, ".zone"))
    find(browser, "#local-time").click()
    until("it is in the zone of the reader", lambda: "Times in Asia/" in text(browser, ".zone"))
    assert begin_of(browser) == begin
    # Typed without a zone, it is of the zone of the host; who is elsewhere sees the same.
    typed = hour_ago.strftime("%Y-%m-%dT%H:%M")
    browser.get(f"{host.url}/?from={typed}")
    until("it is in the zone of the reader", lambda: "Times in Asia/" in text(browser, ".zone"))
    assert begin_of(browser) == begin
    assert complaints(browser) == []


def test_a_zone_that_nobody_knows_hides_nothing(host, browser):
    zone = "Intl.DateTimeFormat.prototype.resolvedOptions = () => ({ timeZone: 'Mars/Olympus' })"
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": zone})
    try:
        browser.get(host.url)
        until("it was asked for", lambda: any("tz=Mars" in it for it in complaints(browser)))
        assert "Times in UTC" in text(browser, ".zone") and "tz=" not in browser.current_url
        assert "idle-held, longest" in text(browser, "#now")
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_seven_tabs_all_load_and_the_one_looked_at_goes_on(host, browser):
    first = browser.current_window_handle
    others = []
    try:
        browser.get(host.url)
        for _ in range(7):
            browser.switch_to.new_window("tab")
            others.append(browser.current_window_handle)
            browser.get(host.url)
            assert "idle-held, longest" in text(browser, "#now")
        then = text(browser, "#as-of time")
        until("the last goes on", lambda: text(browser, "#as-of time") not in ("", then))
    finally:
        for other in others:
            browser.switch_to.window(other)
            browser.close()
        browser.switch_to.window(first)
    until("the first wakes up", lambda: text(browser, "#as-of time") > then)


def test_what_is_selected_stays_so(host, browser):
    browser.get(host.url)
    browser.execute_script(
        "getSelection().selectAllChildren(document.querySelector('.tile:nth-child(2) .holders'));"
        "window.heading = document.querySelector('#now-title')"
    )
    selected = browser.execute_script("return getSelection().toString()")
    assert "mallory" in selected
    then = text(browser, "#as-of time")
    until("ticks pass", lambda: text(browser, "#as-of time") not in ("", then))
    assert browser.execute_script("return getSelection().toString()") == selected
    assert browser.execute_script("return heading.isConnected")


def test_a_newer_report_keeps_what_is_open_and_where_one_is(host, browser):
    browser.get(f"{host.url}/?since=1m&tz=UTC")
    browser.execute_script(
        "document.querySelector('#figures').open = true; document.querySelector('#by-user').focus();"
        "window.line = document.querySelector('.window-line').innerText"
    )
    made = "return document.querySelector('#live').dataset.made"
    then = browser.execute_script(made)
    until("it is newer", lambda: browser.execute_script(made) != then)
    assert browser.execute_script("return document.querySelector('#figures').open")
    assert browser.execute_script("return document.activeElement.id") == "by-user"
    line = browser.execute_script("return window.line")
    until("the window is told anew", lambda: text(browser, ".window-line") not in ("", line))
    assert complaints(browser) == []


def test_a_tap_tells_and_the_next_one_elsewhere_ends_it(host, browser):
    browser.get(f"{host.url}/?since=1m&tz=UTC")

    def tap(what):
        center = (
            "const it = document.querySelector(arguments[0]); it.scrollIntoView({block: 'center'});"
            "const box = it.getBoundingClientRect();"
            "return { x: box.left + box.width / 2, y: box.top + box.height / 2 }"
        )
        point = browser.execute_script(center, what)
        for kind, points in (("touchStart", [point]), ("touchEnd", [])):
            touch = {"type": kind, "touchPoints": points}
            browser.execute_cdp_cmd("Input.dispatchTouchEvent", touch)

    tap(".bands li:nth-child(2) .band")
    until("it is told", lambda: text(browser, "#pointed"))
    tap("#people-title")
    until("it is told no more", lambda: text(browser, "#pointed") == "")


def test_paper_has_what_is_folded_away(host, browser):
    browser.get(host.url)
    is_seen = "return document.querySelector('#figures table').checkVisibility()"
    assert not browser.execute_script(is_seen)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert browser.execute_script(is_seen)
        assert not find(browser, "nav").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_recorder_that_ended_is_told_of_in_the_past(host):
    host.stop()
    asked = ("report", "--db", host.folder / "gua.db", "--since", "1m", "--format", "html")
    command, surroundings = host.gua(*asked)
    told = lambda: subprocess.run(command, env=surroundings, check=True, capture_output=True).stdout.decode()
    page = until("it is seen", lambda: next((it for it in [told()] if "When last seen" in it), None))
    assert "1 of 3 cards was idle-held" in page and "The recorder is not running" in page


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
    assert serious(found) == []


def serious(found):
    return [
        (one["id"], [node["html"] for node in one["nodes"]][:3])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def test_axe_finds_nothing_serious_where_one_signs_in_nor_in_a_file(guarded, browser):
    if not AXE:
        pytest.skip("axe-core could not be fetched")
    file = guarded.folder / "page.html"
    asked = ("report", "--db", guarded.folder / "gua.db", "--since", "1m", "--format", "html", "-o", file)
    command, surroundings = guarded.gua(*asked)
    subprocess.run(command, env=surroundings, check=True)
    for address in (guarded.url, file.as_uri()):
        browser.get(address)
        browser.execute_script(open(AXE).read())
        assert serious(browser.execute_async_script("axe.run().then(arguments[0])")) == [], address


def test_hostile_names_are_text(host, browser):
    browser.get(host.url)
    assert browser.title.startswith("lab, ") and browser.title.endswith(" — gua")
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
    until("it is let in", lambda: "idle-held, longest" in text(browser, "#now"))
    cookie = browser.get_cookie("gua_pass")
    assert cookie["httpOnly"] and cookie["sameSite"] == "Lax"
    browser.execute_script("window.stayed = true")
    then = text(browser, "#as-of time")
    until("live updates come", lambda: text(browser, "#as-of time") not in ("", then))
    assert browser.execute_script("return window.stayed")


def test_who_is_signed_out_is_led_to_sign_in(guarded, browser):
    browser.get(guarded.url)
    find(browser, "#token").send_keys("0123456789abcdef0123", Keys.ENTER)
    until("it is let in", lambda: "idle-held, longest" in text(browser, "#now"))
    guarded.stop()
    (guarded.folder / "token").write_text("another-one-0123456789\n")
    guarded.start()
    until("it is asked for again", lambda: "/sign-in" in browser.current_url and text(browser, ".sign-in"))


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
