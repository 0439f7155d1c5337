"""Prints all that nvidia-ml-py sees as JSON. A call that fails gives {"error": class}."""

import ctypes
import json
import sys

import pynvml as nvml


def ask(call, *arguments):
    try:
        answer = call(*arguments)
    except nvml.NVMLError as error:
        return {"error": type(error).__name__, "code": error.value}
    except nvml.NVMLLibraryMismatchError as error:
        return {"error": type(error).__name__}
    # Some calls hand out the C number itself.
    return answer.value if isinstance(answer, ctypes.c_uint) else answer


def fields(call, *arguments):
    """The fields of a struct that a call answers with."""
    return plain(ask(call, *arguments))


def plain(answer):
    if not hasattr(answer, "_fields_"):
        return answer
    return {name: getattr(answer, name) for name, *_ in answer._fields_}


def each(call, *arguments):
    """The same for a call that answers with a list."""
    answer = ask(call, *arguments)
    return [plain(one) for one in answer] if isinstance(answer, list) else answer


def processes(device):
    """The lists in all versions that nvidia-ml-py has."""
    lists = {}
    for kind in ("Compute", "Graphics", "MPSCompute"):
        for version in ("", "_v2", "_v3"):
            call = getattr(nvml, f"nvmlDeviceGet{kind}RunningProcesses{version}")
            answer = ask(call, device)
            if isinstance(answer, list):
                answer = [vars(process) for process in answer]
            lists[kind + version] = answer
    return lists


def samples(device):
    answer = ask(nvml.nvmlDeviceGetSamples, device, nvml.NVML_GPU_UTILIZATION_SAMPLES, 0)
    if isinstance(answer, dict):
        return answer
    _, found = answer
    return [[sample.timeStamp, sample.sampleValue.uiVal] for sample in found]


def device(handle):
    """What a card and an instance have in common."""
    return {
        "uuid": ask(nvml.nvmlDeviceGetUUID, handle),
        "name": ask(nvml.nvmlDeviceGetName, handle),
        "memory": fields(nvml.nvmlDeviceGetMemoryInfo, handle),
        "memory_v2": fields(nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2),
        "utilization": fields(nvml.nvmlDeviceGetUtilizationRates, handle),
        "processes": processes(handle),
        "samples": samples(handle),
        "process_utilization": each(nvml.nvmlDeviceGetProcessUtilization, handle, 0),
        "processes_utilization": each(nvml.nvmlDeviceGetProcessesUtilizationInfo, handle, 0),
        "is_mig": ask(nvml.nvmlDeviceIsMigDeviceHandle, handle),
    }


def instance(slot, card):
    found = ask(nvml.nvmlDeviceGetMigDeviceHandleByIndex, card, slot)
    if isinstance(found, dict):
        return found
    parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(found)
    return {
        **device(found),
        "parent": nvml.nvmlDeviceGetUUID(parent),
        "gpu_instance": ask(nvml.nvmlDeviceGetGpuInstanceId, found),
        "attributes": fields(nvml.nvmlDeviceGetAttributes_v2, found),
    }


def card(index):
    handle = ask(nvml.nvmlDeviceGetHandleByIndex, index)
    if isinstance(handle, dict):
        return handle
    bus = ask(nvml.nvmlDeviceGetPciInfo, handle)
    slots = ask(nvml.nvmlDeviceGetMaxMigDeviceCount, handle)
    return {
        **device(handle),
        "index": ask(nvml.nvmlDeviceGetIndex, handle),
        "minor": ask(nvml.nvmlDeviceGetMinorNumber, handle),
        "serial": ask(nvml.nvmlDeviceGetSerial, handle),
        "bus_id": bus if isinstance(bus, dict) else bus.busId,
        "encoder": ask(nvml.nvmlDeviceGetEncoderUtilization, handle),
        "decoder": ask(nvml.nvmlDeviceGetDecoderUtilization, handle),
        "milliwatts": ask(nvml.nvmlDeviceGetPowerUsage, handle),
        "milliwatts_limit": ask(nvml.nvmlDeviceGetEnforcedPowerLimit, handle),
        "milliwatts_set_limit": ask(nvml.nvmlDeviceGetPowerManagementLimit, handle),
        "celsius": ask(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
        "sm_mhz": ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        "memory_mhz": ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
        "pstate": ask(nvml.nvmlDeviceGetPerformanceState, handle),
        "compute_mode": ask(nvml.nvmlDeviceGetComputeMode, handle),
        "fan": ask(nvml.nvmlDeviceGetFanSpeed, handle),
        "persistence": ask(nvml.nvmlDeviceGetPersistenceMode, handle),
        "compute_capability": ask(nvml.nvmlDeviceGetCudaComputeCapability, handle),
        "mig_mode": ask(nvml.nvmlDeviceGetMigMode, handle),
        "slots": [instance(slot, handle) for slot in range(slots)],
    }


def main():
    nvml.nvmlInit()
    seen = {
        "driver": ask(nvml.nvmlSystemGetDriverVersion),
        "nvml": ask(nvml.nvmlSystemGetNVMLVersion),
        "cuda": ask(nvml.nvmlSystemGetCudaDriverVersion),
        "cards": [card(index) for index in range(nvml.nvmlDeviceGetCount())],
    }
    nvml.nvmlShutdown()
    json.dump(seen, sys.stdout)


main()
