"""The counters that are filled in: those of users add up to those of cards."""

import json
from collections import defaultdict

import pytest

from measure.fleet import ANEW, LAG_SECONDS, LATE, check, series_of

TICKS = 200


def rises(host):
    """By how much the counters of each family rose since their first samples, by state or use."""
    found = defaultdict(float)
    for line in map(json.loads, series_of(host, 0, TICKS)):
        metric, values = line["metric"], line["values"]
        label = metric.get("state") or metric.get("use")
        found[metric["__name__"], label] += values[-1] - values[0]
    return found


@pytest.mark.parametrize(
    ("of_users", "of_cards", "labels"),
    [
        (
            "gua_user_gpu_seconds_total",
            "gua_gpu_state_seconds_total",
            ["active", "idle_held", "unknown"],
        ),
        (
            "gua_user_gpu_idle_held_seconds_total",
            "gua_gpu_idle_held_seconds_total",
            ["unused", "low_use"],
        ),
        (
            "gua_user_gpu_energy_joules_total",
            "gua_gpu_state_energy_joules_total",
            ["active", "idle_held"],
        ),
    ],
)
def test_counters_of_users_add_up_to_those_of_cards(of_users, of_cards, labels):
    found = rises(host=0)
    for label in labels:
        assert found[of_users, label] == pytest.approx(found[of_cards, label], abs=1)


def test_uses_add_up_to_idle_held_time():
    found = rises(host=0)
    uses = sum(found["gua_gpu_idle_held_seconds_total", use] for use in ("unused", "low_use"))
    assert uses == pytest.approx(found["gua_gpu_state_seconds_total", "idle_held"], abs=1)


@pytest.mark.parametrize("host", [0, LATE, ANEW], ids=["usual", "late", "begins anew"])
def test_counters_are_final_some_seconds_before_each_sample(host):
    lines = {
        line["metric"]["__name__"]: line for line in map(json.loads, series_of(host, 0, TICKS))
    }
    final = lines["gua_final_until_timestamp_seconds"]
    stamps = [until + LAG_SECONDS for until in final["values"]]
    assert [stamp / 1000 for stamp in final["timestamps"]] == stamps
    observed = lines["gua_observed_seconds_total"]["values"]
    since = lines["gua_counting_since_timestamp_seconds"]["values"]
    if host == ANEW:
        expected = final["values"][-1] - since[-1]
        assert observed[-1] == expected
    assert observed[-1] - observed[-2] == final["values"][-1] - final["values"][-2]


def test_accounts_must_be_those_that_were_filled_in():
    hours = 8 * 10.0

    def told(low_use):
        states = {"active": 0.5, "idle_held": 0.3, "truly_idle": 0.2}
        account = {"active": 0.5, "idle_held": 0.3, "unused": 0.2, "low_use": low_use, "total": 0.8}
        named = {f"{name}_gpu_hours": share * hours for name, share in account.items()}
        return {
            "states": {state: {"gpu_hours": share * hours} for state, share in states.items()},
            "accounts": [{"by": "user", **named}],
            "hosts": [{}],
        }

    check(told(low_use=0.1), 1, 10)
    with pytest.raises(AssertionError, match="low_use"):
        check(told(low_use=0.2), 1, 10)
