"""The stand-in for nvidia-smi, in the ways that scripts call it."""

import csv
import io

from machine import Card, Machine
from servers import divided_server, shared_server


def query(lab, machine, option, fields):
    text = lab.output(
        machine, "nvidia-smi", f"--query-{option}={fields}", "--format=csv,noheader,nounits"
    )
    return list(csv.reader(io.StringIO(text), skipinitialspace=True))


def test_cards_by_query(lab):
    machine = shared_server(range(11, 16))
    rows = query(lab, machine, "gpu", "index,uuid,name,utilization.gpu,memory.total,memory.used")
    assert rows == [
        [
            str(index),
            card.uuid,
            card.name,
            str(card.utilization),
            str(card.memory),
            str(machine.held(index)),
        ]
        for index, card in enumerate(machine.cards)
    ]


def test_processes_by_query(lab):
    machine = shared_server(range(11, 16))
    rows = query(lab, machine, "compute-apps", "gpu_uuid,pid,used_memory")
    expected = [
        [
            machine.cards[process.card].uuid,
            str(process.pid),
            "[N/A]" if process.memory is None else str(process.memory),
        ]
        for process in machine.processes
        if process.kind == "compute"
    ]
    assert sorted(rows) == sorted(expected)


def test_the_list_of_cards(lab):
    machine = divided_server(range(11, 14))
    lines = lab.output(machine, "nvidia-smi", "-L").splitlines()
    divided, whole = machine.cards
    assert lines[0] == f"GPU 0: {divided.name} (UUID: {divided.uuid})"
    for line, instance in zip(lines[1:3], divided.mig, strict=True):
        assert line.split()[:2] == ["MIG", instance.profile]
        assert line.endswith(f"(UUID: {instance.uuid})")
    assert lines[3:] == [f"GPU 1: {whole.name} (UUID: {whole.uuid})"]


def test_without_a_driver_it_fails(lab):
    machine = Machine([Card("GPU-a")])
    machine.faults = [{"call": "nvmlInit*", "code": "DRIVER_NOT_LOADED"}]
    assert lab.run(machine, "nvidia-smi", "-L").returncode != 0
