"""nvitop, through its Python API and as printed once."""

import re

from conftest import peer
from servers import divided_server, growing_server, lose, shared_server

MIB = 1 << 20

NVITOP = peer("nvitop")


def memory_by_pid(device):
    """In MiB; None where nvitop has no number."""
    memory = {int(pid): process["memory"] for pid, process in device["processes"].items()}
    return {pid: None if bytes_ is None else bytes_ / MIB for pid, bytes_ in memory.items()}


def test_api_agrees_with_the_scenario(lab, running):
    machine = shared_server(running(5))
    seen = lab.look(machine, "nvitop_api")
    assert len(seen) == 3
    for index, (card, told) in enumerate(zip(machine.cards, seen, strict=True)):
        assert (told["index"], told["uuid"], told["name"]) == (index, card.uuid, card.name)
        assert told["utilization"] == card.utilization
        assert told["memory_total"] == card.memory * MIB
        assert told["memory_used"] == machine.held(index) * MIB
        assert memory_by_pid(told) == machine.memory_by_pid(index)
        assert told["instances"] == []


def test_api_tells_who_works_and_how(lab, running):
    """Where one process's memory is unknown, nvitop takes no sample for unknown, not for 0."""
    machine = shared_server(running(5))
    seen = lab.look(machine, "nvitop_api")
    for index, device in enumerate(seen):
        idle = None if None in machine.memory_by_pid(index).values() else 0
        for process in machine.on(index):
            told = device["processes"][str(process.pid)]
            assert told["sm"] == (process.sm or idle)
            assert told["type"] == ("G" if process.kind == "graphics" else "C")


def test_api_sees_each_mig_instance(lab, running):
    machine = divided_server(running(3))
    divided, whole = lab.look(machine, "nvitop_api")
    first, second = machine.cards[0].mig
    assert [told["uuid"] for told in divided["instances"]] == [first.uuid, second.uuid]
    for process, instance, told in zip(
        machine.on(0), (first, second), divided["instances"], strict=True
    ):
        assert told["memory_total"] == instance.memory * MIB
        assert told["memory_used"] == process.memory * MIB
        assert memory_by_pid(told) == {process.pid: process.memory}
        assert told["utilization"] is None
    assert (whole["instances"], memory_by_pid(whole)) == ([], machine.memory_by_pid(1))


def test_api_stops_at_an_empty_mig_slot(lab, running):
    """Real drivers leave such holes; the instance behind it goes unseen."""
    machine = divided_server(running(3), slots=(0, 5))
    divided, _ = lab.look(machine, "nvitop_api")
    assert [told["uuid"] for told in divided["instances"]] == [machine.cards[0].mig[0].uuid]


def test_api_marks_a_lost_card(lab, running):
    """The handle is given out, then everything about the card fails."""
    machine = shared_server(running(5))
    machine.faults = [
        {"call": call, "card": 1, "code": "GPU_IS_LOST"}
        for call in ("nvmlDeviceGetUtil*", "nvmlDeviceGetMemory*", "nvmlDeviceGet*Processes*")
    ]
    first, lost, third = lab.look(machine, "nvitop_api")
    assert (lost["uuid"], lost["utilization"], lost["memory_used"]) == (
        machine.cards[1].uuid,
        None,
        None,
    )
    assert lost["processes"] == {}
    assert memory_by_pid(first) == machine.memory_by_pid(0)
    assert third["memory_used"] == 0


def test_api_reads_a_list_that_grows_a_little(lab, running):
    machine = growing_server(running(12), grow=4)
    (card,) = lab.look(machine, "nvitop_api")
    assert memory_by_pid(card) == machine.memory_by_pid(0)


def test_api_takes_a_list_that_grows_a_lot_for_an_empty_one(lab, running):
    (card,) = lab.look(growing_server(running(12), grow=11), "nvitop_api")
    assert card["processes"] == {}


def printed_processes(text):
    """Card, pid, type and memory of each row of the lower table."""
    row = re.compile(r"^[│|] +(\d+) +(\d+) ([CGX]) +\S+ +(\S+)", re.MULTILINE)
    return {(int(card), int(pid)): (kind, memory) for card, pid, kind, memory in row.findall(text)}


def test_once_agrees_with_the_scenario(lab, running):
    first, second, third, fourth, fifth = running(5)
    machine = shared_server([first, second, third, fourth, fifth])
    text = lab.output(machine, NVITOP, "-1")
    assert printed_processes(text) == {
        (0, first): ("C", "58.59GiB"),
        (0, second): ("C", "1234MiB"),
        (1, third): ("C", "8000MiB"),
        (1, fourth): ("C", "N/A"),
        (1, first): ("C", "500.0MiB"),
        (1, fifth): ("G", "64.00MiB"),
    }
    loads = re.findall(r"GiB [│|] +(\d+)%", text)
    assert loads == [str(card.utilization) for card in machine.cards]


def test_once_marks_a_lost_card(lab, running):
    machine = lose(shared_server(running(5)), card=1)
    text = lab.output(machine, NVITOP, "-1")
    assert "GPU is Lost" in text
    assert {card for card, _ in printed_processes(text)} == {0}
