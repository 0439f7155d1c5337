"""What ours has to say in trouble: neither silence nor an empty recording passes for it."""

from dataclasses import replace

import pytest

from measure.trouble import TROUBLES, Kept, Ours

BY_NAME = {trouble.name: trouble for trouble in TROUBLES}
OTHER = {"state": "active", "holders": [{}]}


def answer(state, recorded, **of_first):
    first = {"state": state, "holders": [], "holders_complete": True, "unlisted": None, **of_first}
    kept = Kept(None, "", [{recorded: 0.001}, {"active": 0.001}])
    return Ours(0, [first, OTHER], "", kept)


RIGHT = {
    "unknown process memory": answer("idle-held", "idle_held", holders=[{"memory_bytes": None}]),
    "one card lost": answer("unknown", "unknown"),
    "process list denied": answer(
        "idle-held",
        "idle_held",
        holders_complete=False,
        unlisted={"holders_reason": "no_permission"},
    ),
    "pid gone": answer("idle-held", "idle_held", holders=[{"presence": "gone"}]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_should_be_said_is_right(name):
    assert BY_NAME[name].is_right(RIGHT[name])


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize(
    "cards",
    [[{}, {}], [{"truly_idle": 0.001}, {"active": 0.001}], [{"idle_held": 0.001}, {}]],
    ids=["nothing", "free", "of one card only"],
)
def test_another_recording_is_wrong(name, cards):
    recorded = replace(RIGHT[name], kept=Kept(None, "", cards))
    assert not BY_NAME[name].is_right(recorded)


def test_a_denied_list_is_told_as_such():
    nobody = replace(
        RIGHT["process list denied"], cards=[{**RIGHT["pid gone"].cards[0], "holders": []}, OTHER]
    )
    assert not BY_NAME["process list denied"].is_right(nobody)


def test_without_a_driver_the_recorder_says_it_too():
    said = "gua: cannot read the driver\n     Load it."
    right = Ours(1, [], said, Kept(1, said, []))
    judge = BY_NAME["no driver"].is_right
    assert judge(right)
    assert not judge(replace(right, kept=Kept(None, said, [])))
    assert not judge(replace(right, kept=Kept(1, "thread 'main' panicked", [])))
