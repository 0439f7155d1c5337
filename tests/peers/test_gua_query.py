"""Our own `gua query` beside nvidia-ml-py and nvidia-smi, on the same machines."""

import csv
import io

import pytest

from conftest import BIN
from servers import divided_server, shared_server

GUA = BIN / "gua"

# What a card has in `gua query --json`, and in what nvidia-ml-py tells.
SAME = {
    "index": lambda card: card["index"],
    "uuid": lambda card: card["uuid"],
    "name": lambda card: card["name"],
    "pci_bus_id": lambda card: card["bus_id"],
    "pstate": lambda card: f"P{card['pstate']}",
    "temperature_gpu_celsius": lambda card: card["celsius"],
    "utilization_gpu_percent": lambda card: card["utilization"]["gpu"],
    "utilization_memory_percent": lambda card: card["utilization"]["memory"],
    "utilization_encoder_percent": lambda card: card["encoder"][0],
    "utilization_decoder_percent": lambda card: card["decoder"][0],
    "memory_total_bytes": lambda card: card["memory_v2"]["total"],
    "memory_free_bytes": lambda card: card["memory_v2"]["free"],
    "memory_used_bytes": lambda card: card["memory_v2"]["used"],
    "memory_reserved_bytes": lambda card: card["memory_v2"]["reserved"],
    "power_draw_watts": lambda card: card["milliwatts"] / 1000,
    "power_limit_watts": lambda card: card["milliwatts_set_limit"] / 1000,
    "enforced_power_limit_watts": lambda card: card["milliwatts_limit"] / 1000,
    "clocks_current_sm_mhz": lambda card: card["sm_mhz"],
    "clocks_current_memory_mhz": lambda card: card["memory_mhz"],
    "compute_mode": lambda card: ["Default", "", "Prohibited", "Exclusive_Process"][
        card["compute_mode"]
    ],
    "persistence_mode": lambda card: ["Disabled", "Enabled"][card["persistence"]],
    "mig_mode_current": lambda card: ["Disabled", "Enabled"][card["mig_mode"][0]],
}

FIELDS = (
    "index,uuid,name,pci.bus_id,pstate,temperature.gpu,utilization.gpu,utilization.memory,"
    "utilization.encoder,utilization.decoder,memory.total,memory.free,memory.used,"
    "memory.reserved,power.draw,power.limit,enforced.power.limit,clocks.sm,clocks.mem,"
    "compute_mode,persistence_mode,mig.mode.current"
)


def steady_server(pids):
    machine = shared_server(pids)
    machine.cards[0].more = {"memory_utilization": 31, "encoder": 4, "decoder": 5}
    return machine


def test_agrees_with_nvidia_ml_py(lab, running):
    machine = steady_server(running(5))
    ours = lab.json(machine, GUA, "query", "--json", "--fields", FIELDS)["cards"]
    theirs = lab.look(machine, "nvml")["cards"]
    assert len(ours) == len(theirs) == 3
    for our_card, their_card in zip(ours, theirs, strict=True):
        assert our_card.pop("unknown") == {}
        told = {key: tell(their_card) for key, tell in SAME.items()}
        assert our_card == pytest.approx(told)


def test_agrees_with_nvidia_ml_py_on_holders(lab, running):
    machine = steady_server(running(5))
    fields = "gpu_uuid,pid,used_memory,sm"
    ours = lab.json(machine, GUA, "query", "--json", "--apps", "--fields", fields)["holders"]
    theirs = lab.look(machine, "nvml")["cards"]
    listed = {
        (card["uuid"], process["pid"]): process["usedGpuMemory"]
        for card in theirs
        for kind in ("Graphics_v3", "Compute_v3")
        for process in card["processes"][kind]
    }
    assert {(row["gpu_uuid"], row["pid"]): row["used_gpu_memory_bytes"] for row in ours} == listed
    shares = {
        (card["uuid"], sample["pid"]): sample["smUtil"]
        for card in theirs
        if isinstance(card["process_utilization"], list)
        for sample in card["process_utilization"]
    }
    for row in ours:
        assert row["sm_percent"] == shares.get((row["gpu_uuid"], row["pid"]), 0)


@pytest.mark.parametrize("words", ["csv", "csv,noheader", "csv,noheader,nounits"])
def test_prints_what_nvidia_smi_prints(lab, running, words):
    machine = steady_server(running(5))
    query = [f"--query-gpu={FIELDS}", f"--format={words}"]
    assert lab.output(machine, GUA, "query", *query) == lab.output(machine, "nvidia-smi", *query)


def test_its_csv_is_read_as_that_of_nvidia_smi_is(lab, running):
    machine = steady_server(running(5))
    query = ["--query-compute-apps=pid,gpu_uuid,used_memory", "--format=csv,noheader,nounits"]

    def rows(*program):
        text = lab.output(machine, *program, *query)
        return sorted(csv.reader(io.StringIO(text), skipinitialspace=True))

    assert rows(GUA, "query") == rows("nvidia-smi")


def test_sees_the_instances_that_nvidia_smi_leaves_out(lab, running):
    machine = divided_server(running(3))
    query = ["--query-gpu=uuid", "--format=csv,noheader"]
    first, second = machine.cards[0].mig
    ours = lab.output(machine, GUA, "query", *query).split()
    assert ours == [first.uuid, second.uuid, machine.cards[1].uuid]
    assert len(lab.output(machine, "nvidia-smi", *query).split()) == 2
