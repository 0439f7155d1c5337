"""Machines that several peers are shown."""

from machine import Card, Instance, Machine, Process


def shared_server(pids):
    """Three cards for five pids: one at work, one held without work, one free."""
    first, second, third, fourth, fifth = pids
    return Machine(
        cards=[
            Card("GPU-11111111-1111-1111-1111-111111111111", utilization=83),
            Card("GPU-22222222-2222-2222-2222-222222222222", utilization=2, unattributed=300),
            Card("GPU-33333333-3333-3333-3333-333333333333", name="NVIDIA L40S", memory=46068),
        ],
        processes=[
            Process(first, card=0, memory=60000, sm=80),
            Process(second, card=0, memory=1234),
            Process(third, card=1, memory=8000),
            Process(fourth, card=1, memory=None),
            Process(first, card=1, memory=500, sm=1),
            Process(fifth, card=1, memory=64, kind="graphics"),
        ],
    )


def divided_server(pids, slots=(0, 1)):
    """A card with two instances and a whole one. A card has seven slots."""
    first, second, third = pids
    instances = [
        Instance(
            slots[0], "3g.40gb", memory=40192, uuid="MIG-11111111-0000-0000-0000-000000000001"
        ),
        Instance(slots[1], "1g.10gb", memory=9728, uuid="MIG-22222222-0000-0000-0000-000000000002"),
    ]
    return Machine(
        cards=[
            Card("GPU-dddddddd-0000-0000-0000-000000000000", mig=instances),
            Card("GPU-eeeeeeee-0000-0000-0000-000000000000", utilization=7),
        ],
        processes=[
            Process(first, card=0, slot=slots[0], memory=5000),
            Process(second, card=0, slot=slots[1], memory=600),
            Process(third, card=1, memory=70),
        ],
    )


def growing_server(pids, grow, **more):
    """A card whose driver, asked for the number of processes, tells so many too few."""
    machine = Machine([Card("GPU-a")], [Process(pid, card=0, memory=100) for pid in pids])
    call = "nvmlDeviceGetComputeRunningProcesses*"
    machine.faults.append({"call": call, "grow": grow, **more})
    return machine


def lose(machine, card):
    """Has a card fall off the bus. The calls that look it up go with it."""
    machine.faults.append({"call": "nvmlDeviceGet*", "card": card, "code": "GPU_IS_LOST"})
    return machine
