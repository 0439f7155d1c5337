"""Prints the busy share of the SMs by GPM: of card 0 and of each of its MIG instances."""

import json
import sys
from functools import partial

import pynvml as nvml


def busy(take):
    """In percent between two samples that `take` takes one after the other."""
    request = nvml.c_nvmlGpmMetricsGet_t()
    request.version = nvml.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = 1
    request.metrics[0].metricId = nvml.NVML_GPM_METRIC_SM_UTIL
    request.sample1, request.sample2 = nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()
    try:
        take(request.sample1)
        take(request.sample2)
        nvml.nvmlGpmMetricsGet(request)
    except nvml.NVMLError as error:
        return {"error": type(error).__name__, "code": error.value}
    finally:
        nvml.nvmlGpmSampleFree(request.sample1)
        nvml.nvmlGpmSampleFree(request.sample2)
    return request.metrics[0].value


def instances(card):
    for slot in range(nvml.nvmlDeviceGetMaxMigDeviceCount(card)):
        try:
            device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, slot)
        except nvml.NVMLError_NotFound:
            continue
        yield nvml.nvmlDeviceGetGpuInstanceId(device)


nvml.nvmlInit()
card = nvml.nvmlDeviceGetHandleByIndex(0)
seen = {
    "supported": nvml.nvmlGpmQueryDeviceSupport(card).isSupportedDevice,
    "card": busy(partial(nvml.nvmlGpmSampleGet, card)),
    "instances": [
        busy(partial(nvml.nvmlGpmMigSampleGet, card, instance)) for instance in instances(card)
    ],
}
json.dump(seen, sys.stdout)
