"""Our own `gua stat --json` beside gpustat and nvitop, on the same machines."""

import json

import pytest

from conftest import BIN, peer
from servers import divided_server, growing_server, lose, shared_server

MIB = 1 << 20

GUA = BIN / "gua"


def our_cards(lab, machine):
    """Whatever the exit code, which may tell that a card could not be read."""
    done = lab.run(machine, GUA, "stat", "--json")
    assert done.stdout, done.stderr
    seen = json.loads(done.stdout)
    assert seen["schema"] == "gua.stat/2"
    return seen["cards"]


def gpustat_cards(lab, machine):
    return lab.json(machine, peer("gpustat"), "--json")["gpus"]


def our_holders(card):
    by_pid = {holder["pid"]: holder["memory_bytes"] for holder in card["holders"]}
    assert len(by_pid) == len(card["holders"]), card["holders"]
    return by_pid


def close(ours, theirs):
    """Whether bytes of ours and whole MiB of theirs differ by less than one MiB."""
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs * MIB) < MIB


def assert_the_same(ours, theirs):
    assert (ours["index"], ours["uuid"]) == (theirs["index"], theirs["uuid"])
    assert ours["name"] == theirs["name"]
    assert ours["utilization_percent"] == pytest.approx(theirs["utilization.gpu"])
    assert close(ours["memory_used_bytes"], theirs["memory.used"])
    assert close(ours["memory_total_bytes"], theirs["memory.total"])
    holders = our_holders(ours)
    their_holders = {p["pid"]: p["gpu_memory_usage"] for p in theirs["processes"]}
    assert holders.keys() == their_holders.keys()
    for pid, memory in holders.items():
        assert close(memory, their_holders[pid]), pid


def test_agrees_with_gpustat(lab, running):
    machine = shared_server(running(5))
    ours, theirs = our_cards(lab, machine), gpustat_cards(lab, machine)
    assert len(ours) == len(theirs) == 3
    for our_card, their_card in zip(ours, theirs, strict=True):
        assert_the_same(our_card, their_card)
    assert [card["state"] for card in ours] == ["active", "idle-held", "free"]


def test_agrees_with_gpustat_on_the_cards_that_are_left(lab, running):
    machine = lose(shared_server(running(5)), card=1)
    ours, theirs = our_cards(lab, machine), gpustat_cards(lab, machine)
    assert_the_same(ours[0], theirs[0])
    assert_the_same(ours[2], theirs[2])
    assert (ours[1]["index"], ours[1]["state"]) == (1, "unknown")
    assert theirs[1]["name"] == "((GPU is lost))"


def test_agrees_with_nvitop_on_mig_instances(lab, running):
    machine = divided_server(running(3))
    ours = {card["uuid"]: card for card in our_cards(lab, machine)}
    divided, whole = lab.look(machine, "nvitop_api")
    theirs = [*divided["instances"], whole]
    assert list(ours) == [device["uuid"] for device in theirs]
    for device in theirs:
        card = ours[device["uuid"]]
        assert card["memory_total_bytes"] == device["memory_total"]
        assert card["memory_used_bytes"] == device["memory_used"]
        assert card["utilization_percent"] == device["utilization"]
        memory = {int(pid): process["memory"] for pid, process in device["processes"].items()}
        assert our_holders(card) == memory


def test_sees_the_instance_behind_an_empty_slot_that_nvitop_misses(lab, running):
    machine = divided_server(running(3), slots=(0, 5))
    uuids = [card["uuid"] for card in our_cards(lab, machine)]
    first, second = machine.cards[0].mig
    assert uuids == [first.uuid, second.uuid, machine.cards[1].uuid]


@pytest.mark.parametrize("more", [{"times": 1}, {}], ids=["once", "always"])
def test_keeps_the_holders_that_gpustat_loses_when_the_list_grows(lab, running, more):
    machine = growing_server(running(12), grow=11, **more)
    (ours,), (theirs,) = our_cards(lab, machine), gpustat_cards(lab, machine)
    assert our_holders(ours) == dict.fromkeys(machine.memory_by_pid(0), 100 * MIB)
    assert theirs["processes"] == []


def test_keeps_the_gone_holder_that_gpustat_drops(lab, running):
    nobody = 4_194_304  # Above the largest pid there can be.
    machine = shared_server([*running(4), nobody])
    machine.processes[-1].gone = True
    ours, theirs = our_cards(lab, machine)[1], gpustat_cards(lab, machine)[1]
    assert {h["pid"]: h["presence"] for h in ours["holders"]}[nobody] == "gone"
    assert nobody not in {process["pid"] for process in theirs["processes"]}
