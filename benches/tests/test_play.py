"""The plays: what is true of them, by hand."""

import pytest

from measure.play import HOURS_OF_A_SECOND, Account, errors, plays

PLAYS = {play.name: play for play in plays(60)}


def seconds(hours):
    return {key: pytest.approx(value / HOURS_OF_A_SECOND, abs=0.1) for key, value in hours.items()}


def test_there_are_five_and_each_is_a_scenario():
    tomllib = pytest.importorskip("tomllib", reason="this Python has no tomllib")
    assert list(PLAYS) == [
        "steady",
        "bursty",
        "shared cards",
        "flapping driver",
        "mixed intervals",
    ]
    for play in PLAYS.values():
        scenario = tomllib.loads(play.scenario(range(100, 100 + len(play.holdings))))
        assert len(scenario["card"]) == play.cards
        assert len(scenario["process"]) == len(play.holdings)


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("steady", {"active": 60, "idle_held": 60, "truly_idle": 120}),
        ("bursty", {"active": 180, "idle_held": 60}),
        ("shared cards", {"active": 60, "idle_held": 60}),
        ("flapping driver", {"active": 48, "idle_held": 36, "hidden": 36}),
        ("mixed intervals", {"active": 28, "idle_held": 84}),
    ],
)
def test_the_states_are_as_designed(name, states):
    assert states == seconds(PLAYS[name].truth().states)


def test_who_sleeps_beside_somebody_who_works_holds_idle():
    truth = PLAYS["shared cards"].truth()
    assert seconds(truth.idle) == {"bob": 90, "carol": 30}
    assert seconds(truth.present) == {"alice": 60, "bob": 90, "carol": 30}


def test_who_holds_little_holds_nothing():
    assert set(PLAYS["steady"].truth().idle) == {"bob"}


def test_the_truth_has_no_errors_and_silence_has_all():
    for play in PLAYS.values():
        truth = play.truth()
        none = errors(play, truth, truth)
        assert (none.state_percent, none.person_percent) == (0, 0)
        assert errors(play, truth, Account()).person_percent == pytest.approx(100)


def test_what_was_hidden_is_judged_of_who_tells_of_it():
    play = PLAYS["flapping driver"]
    truth, dropped = play.truth(), play.truth()
    dropped.states["hidden"] = 0
    assert errors(play, truth, dropped).state_percent == pytest.approx(30)
    del dropped.states["hidden"]
    assert errors(play, truth, dropped).state_percent == 0


def test_changes_are_allowed_a_tick_each():
    assert PLAYS["steady"].allowed().person_percent == 0
    shared = PLAYS["shared cards"].allowed()
    assert shared.person_percent == pytest.approx(100 * 2 * 0.25 / 60)
    flapping = PLAYS["flapping driver"].allowed()
    assert flapping.state_percent == pytest.approx(100 * 10 * 0.25 / 60 / 2)
