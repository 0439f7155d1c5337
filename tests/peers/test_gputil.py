"""GPUtil, which reads the output of nvidia-smi."""

import sys

from servers import lose, shared_server


def test_cards_agree_with_the_scenario(lab):
    machine = shared_server(range(11, 16))
    seen = lab.look(machine, "gputil_api")["cards"]
    assert len(seen) == 3
    for index, (card, told) in enumerate(zip(machine.cards, seen, strict=True)):
        assert (told["id"], told["uuid"], told["name"]) == (index, card.uuid, card.name)
        assert told["load"] == card.utilization / 100
        assert (told["memoryTotal"], told["memoryUsed"]) == (card.memory, machine.held(index))
        assert told["memoryFree"] == card.memory - card.reserved - machine.held(index)
        assert told["driver"] == "560.35.05"


def test_it_hands_out_the_cards_that_are_free_enough(lab):
    """Card 0 is busy; 1 and 2 have less than half of their load and memory taken."""
    assert lab.look(shared_server(range(11, 16)), "gputil_api")["available"] == [1, 2]


def test_a_card_that_does_not_tell_its_load_has_none(lab):
    machine = shared_server(range(11, 16))
    machine.faults = [{"call": "nvmlDeviceGetUtilizationRates", "card": 0, "code": "NOT_SUPPORTED"}]
    first, second, _ = lab.look(machine, "gputil_api")["cards"]
    assert first["load"] is None
    assert first["memoryUsed"] == machine.held(0)
    assert second["load"] == 0.02


def test_a_lost_card_costs_it_all_of_them(lab):
    """nvidia-smi puts a sentence where GPUtil expects a row."""
    machine = lose(shared_server(range(11, 16)), card=1)
    done = lab.run(machine, sys.executable, "-c", "import GPUtil; GPUtil.getGPUs()")
    assert done.returncode == 1
    assert "ValueError" in done.stderr and "GPU is lost" in done.stderr
