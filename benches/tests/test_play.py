"""The plays: what is true of them, by hand."""

import pytest

from measure.play import (
    START_SECONDS,
    Account,
    Holding,
    Play,
    cycles,
    differences,
    errors,
    first_moment,
    in_work,
    plays,
)
from measure.truth import HEADER, Judged, account_of_our_report, account_of_report
from table import Missing

PLAYS = {play.name: play for play in plays(120)}
TRUTHS = {name: play.truth() for name, play in PLAYS.items()}


def about(seconds):
    return pytest.approx(seconds, abs=0.015)


def states(name, card):
    """Seconds by state of a card."""
    place = PLAYS[name].cards.index(card)
    return {state: spent for (of, state), spent in TRUTHS[name].states.items() if of == place}


def people(name, figure):
    return {who: spent for (who, what), spent in TRUTHS[name].people.items() if what == figure}


def test_each_play_is_a_scenario():
    tomllib = pytest.importorskip("tomllib", reason="this Python has no tomllib")
    for play in PLAYS.values():
        scenario = tomllib.loads(play.scenario(range(100, 100 + len(play.holdings))))
        assert len(scenario["card"]) == len(play.cards)
        assert len(scenario["process"]) == len(play.holdings)
        for process in scenario["process"]:
            times = [int(time.removesuffix("ms")) for time, _ in process["sm"]["points"][1:]]
            assert times == sorted(set(times)), "the simulator refuses points out of order"


# The plays are judged from the 6th to the 126th second.
@pytest.mark.parametrize(
    ("name", "card", "expected"),
    [
        # Work from 7.3 to 48.3 and from 101.3 on.
        ("phases", "41/53 at 90", {"active": 41 + 24.7, "idle_held": 120 - 65.7}),
        # Idle until 11.7 and from 124.7 on.
        ("phases", "113/97 at 95", {"active": 113, "idle_held": 5.7 + 1.3}),
        # Pauses of 8 s from 53.6 and from 113.6 on.
        ("phases", "52/8 at 92", {"active": 104, "idle_held": 16}),
        ("notebooks", "4 s a minute at 80", {"active": 8, "idle_held": 112}),
        ("notebooks", "loader, 1 s / 1 s", {"active": 120}),
        ("notebooks", "30 % duty", {"active": 120}),
        ("notebooks", "blip every 5 s", {"idle_held": 120}),
        # Work from 3.1 to 40.1 and from 101.1 on.
        ("shared cards", "one works", {"active": 34.1 + 24.9, "idle_held": 61}),
        ("shared cards", "back to back", {"active": 120}),
        ("driver away", "asleep", {"idle_held": 88.8, "hidden": 31.2}),
        ("card lost", "asleep", {"idle_held": 120}),
        ("steady", "at 80", {"active": 120}),
        ("steady", "held", {"idle_held": 120}),
        ("steady", "90 MiB", {"truly_idle": 120}),
        ("steady", "free", {"truly_idle": 120}),
    ],
)
def test_states_are_those_of_the_script(name, card, expected):
    assert states(name, card) == {state: about(spent) for state, spent in expected.items()}


def test_sleeper_beside_a_worker_holds_idle():
    idle = people("shared cards", "idle")
    assert (idle["alice"], idle["bob"], idle["carol"]) == (about(61), about(120), about(120))


def test_idle_time_is_shared_by_memory_and_active_time_by_load():
    share = people("shared cards", "share")
    assert share["alice"] == about(59 + 61 * 12 / 36)
    assert share["bob"] == about(61 * 20 / 36)
    # Heidi works until 51.7 and from 81.7 on, Ivan until 44.9 and from 94.9 on.
    both, alone, idle = 38.9 + 31.1, 6.8 + 13.2, 30
    assert share["heidi"] == about(both * 2 / 3 + alone + idle * 8 / 17)


def test_blips_are_low_use_and_little_memory_is_no_holding():
    assert people("notebooks", "idle").get("erin", 0) == 0
    assert people("notebooks", "working")["erin"] == about(120)
    assert set(people("steady", "idle")) == {"bob"}


@pytest.mark.parametrize(
    ("pause", "is_bridged"), [(4.3, True), (4.5, False)], ids=["short pause", "long pause"]
)
def test_pause_within_work_is_work_up_to_the_window(pause, is_bridged):
    load = Holding("alice", 0, 8000, 90, cycles(20, pause)).utilization(4000)
    assert in_work(load, 10)[2100] == is_bridged


def test_burst_needs_a_tenth_of_the_window():
    for seconds, counts in ((0.49, 0), (0.5, 50)):
        load = Holding("alice", 0, 8000, 100, ((10, 10 + seconds),)).utilization(4000)
        assert sum(in_work(load, 10)) == counts


def test_truth_has_no_errors_and_an_empty_account_has_all():
    for name, play in PLAYS.items():
        none = errors(play, TRUTHS[name], TRUTHS[name])
        assert (none.state_percent, none.person_percent) == (0, 0)
        assert errors(play, TRUTHS[name], Account()).person_percent == pytest.approx(100)


def test_edges_of_outages_may_cost_a_poll_each():
    assert PLAYS["steady"].edges_percent() == 0
    assert PLAYS["driver away"].edges_percent() == pytest.approx(100 * 10 / 120)


ONE_CARD = Play("one", 60, ["a card"], [Holding("alice", 0, 8000, 90, cycles(20, 20))])


def hours(seconds):
    return seconds / 3600


def our_report(name="games", **seconds):
    """A report on one card; times in seconds."""
    states = {state: {"gpu_hours": hours(seconds[state])} for state in ("active", "idle_held")}
    account = {
        "by": "user",
        "name": name,
        "working_process_hours": hours(seconds["active"]),
        "idle_process_hours": hours(seconds["idle"]),
        "active_gpu_hours": hours(seconds["active"]),
        "idle_held_gpu_hours": hours(seconds["idle_held"]),
    }
    unattributed = {"by": "user", "name": None, "active_gpu_hours": 1}
    states |= {
        "truly_idle": {"gpu_hours": hours(seconds["truly_idle"])},
        "unknown": {"gpu_hours": 1},
    }
    card = {"uuid": "GPU-00000000-0000-0000-0000-000000000000", "states": states}
    return {"cards": [card], "accounts": [account, unattributed]}


def test_our_report_is_read_in_seconds():
    said = our_report(active=14, idle_held=30, truly_idle=0, idle=30)
    account = account_of_our_report(ONE_CARD, said)
    expected = {"active": 14, "idle_held": 30, "truly_idle": 0, "hidden": 16}
    assert account.states == {(0, state): about(spent) for state, spent in expected.items()}
    figures = {"present": 44, "working": 14, "idle": 30, "share": 44}
    assert account.people == {("alice", what): about(spent) for what, spent in figures.items()}


def test_who_is_idle_on_a_free_card_holds_nothing():
    said = our_report(active=0, idle_held=20, truly_idle=40, idle=60)
    account = account_of_our_report(ONE_CARD, said)
    assert account.people["alice", "present"] == about(60)
    assert account.people["alice", "idle"] == about(20)


def test_card_that_is_not_in_our_report_is_hidden():
    account = account_of_our_report(ONE_CARD, {"cards": [], "accounts": []})
    assert account.states[0, "hidden"] == 60


def test_judged_time_begins_and_ends_at_full_half_minutes():
    for now in (1_000_000_000, 1_000_000_013.7, 1_000_000_024):
        began = first_moment(now)
        assert began >= now and began - now < 30
        assert (began + START_SECONDS) % 30 == 0


def test_report_of_the_python_gua_is_scaled_to_its_recorded_time():
    card = {"active": 0.5, "idle_held": 0.5, "truly_idle": 0}
    who = {"gpu_hours": 1 / 60, "idle_held_gpu_hours": 0.5 / 60}
    said = {
        "cards": {"GPU-00000000-0000-0000-0000-000000000000": card},
        "identities": {"games": who},
    }
    account = account_of_report(ONE_CARD, said, dict.fromkeys(said["cards"], 60))
    assert (account.states[0, "active"], account.states[0, "idle_held"]) == (30, 30)
    assert account.people["alice", "idle"] == pytest.approx(30)


def test_unreported_figures_are_not_judged():
    play, truth, said = PLAYS["driver away"], TRUTHS["driver away"], PLAYS["driver away"].truth()
    said.states[0, "hidden"] = 0
    assert errors(play, truth, said).state_percent == pytest.approx(26)
    said.unreported = ("hidden",)
    assert errors(play, truth, said).state_percent == 0


def test_worst_interval_counts_and_intervals_are_compared():
    play, truth = ONE_CARD, ONE_CARD.truth()
    at_1, at_30 = ONE_CARD.truth(), ONE_CARD.truth()
    at_1.states[0, "active"] += 0.3
    at_30.states[0, "active"] -= 0.6
    states, _, apart = Judged(play, truth, {1: at_1, 30: at_30}, truth).rows()
    assert (states.ours, apart.ours) == (pytest.approx(1), pytest.approx(1.5))
    assert differences(play, truth, at_1, at_1).largest() == 0
    assert states.verdict() == "SHORT"


def test_interval_without_a_report_is_missing():
    truth = ONE_CARD.truth()
    judged = Judged(ONE_CARD, truth, {1: Missing("it broke"), 30: truth}, Missing("no peer"))
    assert [row.missing() for row in judged.rows()] == [
        ["it broke", "no peer"],
        ["it broke", "no peer"],
        ["it broke"],
    ]
    assert {len(line) for line in judged.lines()} == {len(HEADER)}
