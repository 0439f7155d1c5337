"""gpustat, as data and as text."""

from conftest import peer
from machine import Card, Machine
from servers import divided_server, growing_server, lose, shared_server

GPUSTAT = peer("gpustat")


def cards(lab, machine):
    return lab.json(machine, GPUSTAT, "--json")["gpus"]


def memory_by_pid(card):
    by_pid = {process["pid"]: process["gpu_memory_usage"] for process in card["processes"]}
    assert len(by_pid) == len(card["processes"]), card["processes"]
    return by_pid


def test_json_agrees_with_the_scenario(lab, running):
    machine = shared_server(running(5))
    seen = cards(lab, machine)
    assert len(seen) == 3
    for index, (card, told) in enumerate(zip(machine.cards, seen, strict=True)):
        assert (told["index"], told["uuid"], told["name"]) == (index, card.uuid, card.name)
        assert told["utilization.gpu"] == card.utilization
        assert (told["memory.total"], told["memory.used"]) == (card.memory, machine.held(index))
        assert memory_by_pid(told) == machine.memory_by_pid(index)


def test_text_agrees_with_the_scenario(lab, running):
    first, second, third, fourth, fifth = running(5)
    machine = shared_server([first, second, third, fourth, fifth])
    text = lab.output(machine, GPUSTAT, "--show-cmd", "--show-pid", "--no-header", "--no-color")
    busy, held, free = (line.split("|") for line in text.splitlines())
    assert busy[0].split() == ["[0]", "NVIDIA", "A100-SXM4-80GB"]
    assert busy[1].split()[1:] == ["83", "%"]
    assert busy[2].split() == ["61234", "/", "81920", "MB"]
    assert busy[3].split() == [f"cat/{first}(60000M)", f"cat/{second}(1234M)"]
    assert set(held[3].split()) == {
        f"cat/{third}(8000M)",
        f"cat/{fourth}(?M)",
        f"cat/{first}(500M)",
        f"cat/{fifth}(64M)",
    }
    assert free[2].split() == ["0", "/", "46068", "MB"]
    assert free[3].split() == []


def test_a_pid_that_is_gone_is_dropped(lab, running):
    machine = shared_server([*running(4), 4_194_304])  # Above the largest pid there can be.
    dropped = machine.processes.pop()
    expected = machine.memory_by_pid(1)
    machine.processes.append(dropped)
    assert memory_by_pid(cards(lab, machine)[1]) == expected


def test_a_lost_card_leaves_the_others_whole(lab, running):
    machine = lose(shared_server(running(5)), card=1)
    first, lost, third = cards(lab, machine)
    assert lost == {"index": 1, "name": "((GPU is lost))", "processes": None}
    assert memory_by_pid(first) == machine.memory_by_pid(0)
    assert (third["uuid"], third["memory.used"]) == (machine.cards[2].uuid, 0)


def test_a_denied_process_list_is_not_an_empty_one(lab, running):
    machine = shared_server(running(5))
    machine.faults = [
        {"call": "nvmlDeviceGet*RunningProcesses*", "card": 0, "code": "NO_PERMISSION"}
    ]
    first, second, _ = cards(lab, machine)
    assert first["processes"] is None
    assert first["memory.used"] == machine.held(0)
    assert memory_by_pid(second) == machine.memory_by_pid(1)


def test_a_list_that_grows_a_little_is_still_whole(lab, running):
    machine = growing_server(running(12), grow=4)
    (card,) = cards(lab, machine)
    assert memory_by_pid(card) == machine.memory_by_pid(0)


def test_a_list_that_grows_a_lot_looks_empty(lab, running):
    """Told of one process, it makes room for seven, and takes the refusal for nobody."""
    (card,) = cards(lab, growing_server(running(12), grow=11))
    assert card["processes"] == []


def test_a_divided_card_has_no_utilization(lab, running):
    machine = divided_server(running(3))
    divided, whole = cards(lab, machine)
    assert divided["utilization.gpu"] is None
    assert memory_by_pid(divided) == dict.fromkeys(machine.memory_by_pid(0))
    assert whole["utilization.gpu"] == 7
    assert memory_by_pid(whole) == machine.memory_by_pid(1)


def test_an_older_driver_is_read_by_its_own_calls(lab, running):
    machine = shared_server(running(5))
    machine.more = {"driver": {"lacks": ["nvmlDeviceGet*RunningProcesses_v3", "*MemoryInfo_v2"]}}
    seen = cards(lab, machine)
    for index, card in enumerate(machine.cards):
        assert memory_by_pid(seen[index]) == machine.memory_by_pid(index)
        # Without its second version the call counts the driver's reserve as used.
        assert seen[index]["memory.used"] == machine.held(index) + card.reserved


def test_without_a_driver_it_fails(lab):
    machine = Machine([Card("GPU-a")])
    machine.faults = [{"call": "nvmlInit*", "code": "DRIVER_NOT_LOADED"}]
    done = lab.run(machine, GPUSTAT, "--json")
    assert done.returncode == 1
    assert "Driver Not Loaded" in done.stdout + done.stderr
