"""Prints what nvitop's Python API sees as JSON; what is not available is null."""

import json
import sys

from nvitop import NA, Device


def known(value):
    return None if value is NA else value


def seen(device):
    return {
        "uuid": known(device.uuid()),
        "name": known(device.name()),
        "index": device.index,
        "memory_total": known(device.memory_total()),
        "memory_used": known(device.memory_used()),
        "utilization": known(device.gpu_utilization()),
        "processes": {
            str(pid): {
                "memory": known(process.gpu_memory()),
                "sm": known(process.gpu_sm_utilization()),
                "type": process.type,
            }
            for pid, process in device.processes().items()
        },
        "instances": [seen(instance) for instance in device.mig_devices()],
    }


json.dump([seen(device) for device in Device.all()], sys.stdout)
