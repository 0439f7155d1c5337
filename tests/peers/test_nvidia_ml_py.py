"""nvidia-ml-py, NVIDIA's own bindings: every answer against the scenario."""

from itertools import pairwise

import pytest

from machine import DRIVER, Card, Instance, Machine, Process

MIB = 1 << 20

KINDS = ("Compute", "Graphics", "MPSCompute")
VERSIONS = ("", "_v2", "_v3")


def lab_server():
    """Two cards: one at work with all kinds of holders, one that only holds memory."""
    return Machine(
        cards=[
            Card(
                "GPU-aaaa",
                utilization=50,
                unattributed=512,
                more={
                    "minor": 3,
                    "serial": "1320021012345",
                    "bus_id": "00000000:3B:00.0",
                    "memory_utilization": 25,
                    "encoder": 11,
                    "decoder": 7,
                    "power": {"idle": 100, "full": 300, "limit": 350},
                    "temperature": {"idle": 30, "full": 80},
                    "sm_clock": {"idle": 200, "full": 1400},
                    "fan": 45,
                    "compute_capability": "8.6",
                },
            ),
            Card("GPU-bbbb", name="NVIDIA L40S", memory=46068, reserved=500, utilization=3),
        ],
        processes=[
            Process(1001, card=0, memory=30000, sm=40),
            Process(1002, card=0, memory=None, sm=10),
            Process(1003, card=0, memory=128, kind="graphics"),
            Process(1004, card=0, memory=700, kind="compute+graphics"),
            Process(1005, card=0, memory=900, kind="mps"),
            Process(1001, card=1, memory=2000),
        ],
    )


def in_bytes(memory):
    return None if memory is None else memory * MIB


def listed(processes):
    """A process list as {pid: bytes}; a pid must not come twice."""
    by_pid = {process["pid"]: process["usedGpuMemory"] for process in processes}
    assert len(by_pid) == len(processes), processes
    return by_pid


def test_the_system_is_the_scenarios(lab):
    machine = lab_server()
    machine.more = {"driver": {"version": "535.1.2", "nvml_version": "12.535.1", "cuda": "12.2"}}
    seen = lab.look(machine, "nvml")
    assert (seen["driver"], seen["nvml"], seen["cuda"]) == ("535.1.2", "12.535.1", 12020)


def test_a_machine_without_cards(lab):
    seen = lab.look(Machine([]), "nvml")
    assert seen["cards"] == []
    assert seen["driver"] == DRIVER


def test_cards_have_their_identity(lab):
    machine = lab_server()
    first, second = lab.look(machine, "nvml")["cards"]
    for index, (card, seen) in enumerate(zip(machine.cards, (first, second), strict=True)):
        assert (seen["index"], seen["uuid"], seen["name"]) == (index, card.uuid, card.name)
    assert (first["minor"], first["serial"]) == (3, "1320021012345")
    assert first["bus_id"] == "00000000:3B:00.0"
    assert first["compute_capability"] == [8, 6]


@pytest.mark.parametrize(
    "lookup",
    [
        "nvml.nvmlDeviceGetHandleByIndex(0)",
        'nvml.nvmlDeviceGetHandleByUUID("GPU-aaaa")',
        'nvml.nvmlDeviceGetHandleByPciBusId("00000000:3B:00.0")',
        'nvml.nvmlDeviceGetHandleBySerial("1320021012345")',
    ],
)
def test_a_card_is_found_by(lab, lookup):
    _, uuid = lab.look(lab_server(), "call", "nvml.nvmlInit()", f"nvml.nvmlDeviceGetUUID({lookup})")
    assert uuid == "GPU-aaaa"


@pytest.mark.parametrize(
    ("lookup", "error"),
    [
        ("nvml.nvmlDeviceGetHandleByIndex(2)", "NVMLError_InvalidArgument"),
        ('nvml.nvmlDeviceGetHandleByUUID("GPU-none")', "NVMLError_NotFound"),
        ('nvml.nvmlDeviceGetHandleByPciBusId("00000000:99:00.0")', "NVMLError_NotFound"),
    ],
)
def test_a_card_that_is_not_there(lab, lookup, error):
    _, answer = lab.look(lab_server(), "call", "nvml.nvmlInit()", lookup)
    assert answer["error"] == error


def test_only_the_first_memory_call_counts_the_reserve_as_used(lab):
    machine = lab_server()
    for index, seen in enumerate(lab.look(machine, "nvml")["cards"]):
        card, held = machine.cards[index], machine.held(index)
        free = card.memory - card.reserved - held
        assert seen["memory"] == {
            "total": in_bytes(card.memory),
            "free": in_bytes(free),
            "used": in_bytes(held + card.reserved),
        }
        seen["memory_v2"].pop("version")
        assert seen["memory_v2"] == {
            "total": in_bytes(card.memory),
            "reserved": in_bytes(card.reserved),
            "free": in_bytes(free),
            "used": in_bytes(held),
        }


def test_loads_and_what_follows_from_them(lab):
    first, second = lab.look(lab_server(), "nvml")["cards"]
    assert first["utilization"] == {"gpu": 50, "memory": 25}
    assert second["utilization"] == {"gpu": 3, "memory": 0}
    assert (first["encoder"][0], first["decoder"][0]) == (11, 7)
    assert (first["milliwatts"], first["milliwatts_limit"]) == (200_000, 350_000)
    assert (first["celsius"], first["sm_mhz"], first["fan"]) == (55, 800, 45)
    assert second["fan"]["error"] == "NVMLError_NotSupported"
    assert first["persistence"] == 1


def test_process_lists_in_all_versions(lab):
    machine = lab_server()
    first, second = lab.look(machine, "nvml")["cards"]
    expected = {
        "Compute": {1001: 30000, 1002: None, 1004: 700},
        "Graphics": {1003: 128, 1004: 700},
        "MPSCompute": {1005: 900},
    }
    for kind in KINDS:
        holders = {pid: in_bytes(memory) for pid, memory in expected[kind].items()}
        for version in VERSIONS:
            assert listed(first["processes"][kind + version]) == holders, kind + version
    assert listed(second["processes"]["Compute"]) == {1001: in_bytes(2000)}
    assert second["processes"]["Graphics_v2"] == []


def test_whole_cards_have_no_instance_ids(lab):
    """NVML gives the largest number where a process runs in no instance."""
    first, _ = lab.look(lab_server(), "nvml")["cards"]
    for process in first["processes"]["Compute_v3"]:
        assert process["gpuInstanceId"] == process["computeInstanceId"] == 0xFFFF_FFFF


def test_a_process_has_the_name_of_its_program(lab):
    machine = lab_server()
    machine.processes[0].program = "train.py"
    name = "nvml.nvmlSystemGetProcessName({})".format
    _, found, missing = lab.look(machine, "call", "nvml.nvmlInit()", name(1001), name(77))
    assert found == "train.py"
    assert missing["error"] == "NVMLError_NotFound"


def test_the_sample_buffer_holds_the_load(lab):
    machine = lab_server()
    machine.more = {"samples": {"period": "100ms", "capacity": 20}}
    first, second = lab.look(machine, "nvml")["cards"]
    times = [time for time, _ in first["samples"]]
    assert [value for _, value in first["samples"]] == [50] * 20
    assert [value for _, value in second["samples"]] == [3] * 20
    assert {later - earlier for earlier, later in pairwise(times)} == {100_000}


def test_samples_are_given_from_a_time_stamp_on(lab):
    """Whatever has come in since, none is as old as the one that was seen."""
    since = "(lambda since: [s.timeStamp - since for s in nvml.nvmlDeviceGetSamples("
    since += "card(0), nvml.NVML_GPU_UTILIZATION_SAMPLES, since)[1]])"
    tenth = "(nvml.nvmlDeviceGetSamples(card(0), nvml.NVML_GPU_UTILIZATION_SAMPLES, 0)[1]"
    tenth += "[9].timeStamp)"
    _, after = lab.look(lab_server(), "call", "nvml.nvmlInit()", since + tenth)
    assert len(after) >= 90
    assert min(after) > 0


def test_process_utilization_tells_who_works(lab):
    first, second = lab.look(lab_server(), "nvml")["cards"]
    for call in ("process_utilization", "processes_utilization"):
        assert {sample["pid"]: sample["smUtil"] for sample in first[call]} == {1001: 40, 1002: 10}
        assert second[call]["error"] == "NVMLError_NotFound"


def test_process_utilization_with_garbage_in_it(lab):
    """Drivers are known to give samples of dead pids, over 100 %, and years old."""
    machine = lab_server()
    machine.more = {"stray_sample": [{"card": 0, "pid": 999, "sm": 3_000_000, "age": "2h"}]}
    first, _ = lab.look(machine, "nvml")["cards"]
    by_pid = {sample["pid"]: sample for sample in first["process_utilization"]}
    assert set(by_pid) == {999, 1001, 1002}
    assert by_pid[999]["smUtil"] == 3_000_000
    assert by_pid[1001]["timeStamp"] - by_pid[999]["timeStamp"] > 3600 * 1_000_000


def divided_card():
    """An instance in slots 0 and 2, none in the others; a whole card beside it."""
    instances = [
        Instance(0, "3g.40gb", memory=40192, uuid="MIG-0000"),
        Instance(2, "1g.10gb", memory=9728, uuid="MIG-2222"),
    ]
    return Machine(
        cards=[Card("GPU-mig", mig=instances, more={"mig_slots": 4}), Card("GPU-whole")],
        processes=[
            Process(2001, card=0, slot=0, memory=5000),
            Process(2002, card=0, slot=2, memory=600),
            Process(2003, card=1, memory=70),
        ],
    )


def test_mig_slots_may_be_empty(lab):
    machine = divided_card()
    divided, whole = lab.look(machine, "nvml")["cards"]
    assert (divided["mig_mode"], whole["mig_mode"]) == ([1, 1], [0, 0])
    assert whole["slots"] == []
    assert [slot.get("uuid") for slot in divided["slots"]] == ["MIG-0000", None, "MIG-2222", None]
    assert {divided["slots"][slot]["error"] for slot in (1, 3)} == {"NVMLError_NotFound"}
    assert (divided["is_mig"], divided["slots"][0]["is_mig"]) == (0, 1)


def test_each_mig_instance_has_its_own_memory_and_processes(lab):
    machine = divided_card()
    divided = lab.look(machine, "nvml")["cards"][0]
    held = {"MIG-0000": (2001, 5000), "MIG-2222": (2002, 600)}
    for instance in machine.cards[0].mig:
        seen = divided["slots"][instance.slot]
        pid, memory = held[instance.uuid]
        assert seen["parent"] == "GPU-mig"
        assert seen["memory_v2"]["total"] == in_bytes(instance.memory)
        assert seen["memory_v2"]["used"] == in_bytes(memory)
        assert seen["attributes"]["memorySizeMB"] == instance.memory
        assert listed(seen["processes"]["Compute"]) == {pid: in_bytes(memory)}
        assert seen["processes"]["Compute"][0]["gpuInstanceId"] == seen["gpu_instance"]


def test_a_divided_card_does_not_tell_its_utilization(lab):
    divided = lab.look(divided_card(), "nvml")["cards"][0]
    for device in (divided, divided["slots"][0]):
        assert device["utilization"]["error"] == "NVMLError_NotSupported"
    assert divided["samples"]["error"] == "NVMLError_NotSupported"


def test_a_divided_card_lists_processes_without_their_memory(lab):
    divided = lab.look(divided_card(), "nvml")["cards"][0]
    assert listed(divided["processes"]["Compute"]) == {2001: None, 2002: None}


def test_gpm_tells_the_load_of_each_instance(lab):
    machine = divided_card()
    machine.cards[0].utilization = 60
    machine.cards[0].more["gpm"] = True
    machine.processes[0].sm = 35
    seen = lab.look(machine, "gpm")
    assert seen["supported"] == 1
    assert [seen["card"], *seen["instances"]] == pytest.approx([60, 35, 0])


def test_gpm_is_for_newer_cards(lab):
    seen = lab.look(Machine([Card("GPU-old", utilization=60)]), "gpm")
    refused = {"error": "NVMLError_NotSupported", "code": 3}
    assert seen == {"supported": 0, "card": refused, "instances": []}


def test_unified_memory_is_not_told(lab):
    machine = Machine([Card("GPU-gb10", more={"unified_memory": True})])
    (seen,) = lab.look(machine, "nvml")["cards"]
    assert seen["memory"]["error"] == seen["memory_v2"]["error"] == "NVMLError_NotSupported"


@pytest.mark.parametrize(
    ("name", "code", "error"),
    [
        ("INVALID_ARGUMENT", 2, "NVMLError_InvalidArgument"),
        ("NOT_SUPPORTED", 3, "NVMLError_NotSupported"),
        ("NO_PERMISSION", 4, "NVMLError_NoPermission"),
        ("NOT_FOUND", 6, "NVMLError_NotFound"),
        ("DRIVER_NOT_LOADED", 9, "NVMLError_DriverNotLoaded"),
        ("TIMEOUT", 10, "NVMLError_Timeout"),
        ("GPU_IS_LOST", 15, "NVMLError_GpuIsLost"),
        ("RESET_REQUIRED", 16, "NVMLError_ResetRequired"),
        ("LIB_RM_VERSION_MISMATCH", 18, "NVMLError_LibRmVersionMismatch"),
        ("IN_USE", 19, "NVMLError_InUse"),
        ("UNKNOWN", 999, "NVMLError_Unknown"),
    ],
)
def test_codes_arrive_as_their_exceptions(lab, name, code, error):
    machine = Machine([Card("GPU-a"), Card("GPU-b", utilization=9)])
    machine.faults = [{"call": "nvmlDeviceGetUtilizationRates", "card": 0, "code": name}]
    first, second = lab.look(machine, "nvml")["cards"]
    assert first["utilization"] == {"error": error, "code": code}
    assert second["utilization"] == {"gpu": 9, "memory": 0}


def test_a_driver_that_is_not_loaded(lab):
    machine = Machine([Card("GPU-a")])
    machine.faults = [{"call": "nvmlInit*", "code": "DRIVER_NOT_LOADED"}]
    (answer,) = lab.look(machine, "call", "nvml.nvmlInit()")
    assert answer == {"error": "NVMLError_DriverNotLoaded", "code": 9}


def test_nothing_answers_before_the_library_is_initialized(lab):
    before, count = "nvml._LoadNvmlLibrary()", "nvml.nvmlDeviceGetCount()"
    answers = lab.look(
        Machine([Card("GPU-a")]),
        "call",
        before,
        count,
        "nvml.nvmlInit()",
        count,
        "nvml.nvmlShutdown()",
        count,
    )
    uninitialized = {"error": "NVMLError_Uninitialized", "code": 1}
    assert answers == [None, uninitialized, None, 1, None, uninitialized]


def test_a_lost_card_leaves_the_others_whole(lab):
    machine = lab_server()
    machine.cards.append(Card("GPU-cccc"))
    machine.faults = [{"call": "nvmlDeviceGet*", "card": 1, "code": "GPU_IS_LOST"}]
    first, lost, third = lab.look(machine, "nvml")["cards"]
    assert lost == {"error": "NVMLError_GpuIsLost", "code": 15}
    assert (first["uuid"], first["utilization"]["gpu"]) == ("GPU-aaaa", 50)
    assert third["uuid"] == "GPU-cccc"


def test_a_fault_that_passes(lab):
    machine = Machine([Card("GPU-a", utilization=33)])
    machine.faults = [{"call": "nvmlDeviceGetUtilizationRates", "code": "TIMEOUT", "times": 2}]
    rate = "nvml.nvmlDeviceGetUtilizationRates(card(0)).gpu"
    answers = lab.look(machine, "call", "nvml.nvmlInit()", rate, rate, rate, rate)
    timeout = {"error": "NVMLError_Timeout", "code": 10}
    assert answers == [None, timeout, timeout, 33, 33]


def crowded(grow):
    """A card with 20 holders whose number seems lower when it is asked for."""
    holders = [Process(pid, card=0, memory=pid) for pid in range(1, 21)]
    fault = {"call": "nvmlDeviceGetComputeRunningProcesses*", "grow": grow, "times": 1}
    return Machine([Card("GPU-a")], holders, [fault])


LIST = "sorted(p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses(card(0)))"


def test_a_list_that_grows_a_little_between_two_calls(lab):
    """nvidia-ml-py makes room for twice as many and five more than it was told."""
    _, pids = lab.look(crowded(grow=6), "call", "nvml.nvmlInit()", LIST)
    assert pids == list(range(1, 21))


def test_a_list_that_grows_beyond_the_room_made_for_it(lab):
    """19 too few: room for 7. The next attempt, with no fault left, gets them all."""
    _, refused, pids = lab.look(crowded(grow=19), "call", "nvml.nvmlInit()", LIST, LIST)
    assert refused == {"error": "NVMLError_InsufficientSize", "code": 7}
    assert pids == list(range(1, 21))


def test_an_older_driver_has_older_calls_only(lab):
    machine = lab_server()
    machine.more = {"driver": {"lacks": ["nvmlDeviceGet*RunningProcesses_v3", "*MemoryInfo_v2"]}}
    first, _ = lab.look(machine, "nvml")["cards"]
    for kind in KINDS:
        assert first["processes"][kind + "_v3"]["error"] == "NVMLError_FunctionNotFound"
        assert first["processes"][kind]["error"] == "NVMLLibraryMismatchError"
    assert listed(first["processes"]["MPSCompute_v2"]) == {1005: in_bytes(900)}
    assert first["memory_v2"]["error"] == "NVMLError_FunctionNotFound"
    assert first["memory"]["total"] == in_bytes(81920)
