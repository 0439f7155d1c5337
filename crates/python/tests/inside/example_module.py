"""The tutorial's module: its function works, takes memory, and holds some of a card."""

import os
import time

from pretend import hold


def example_function():
    memory = bytearray(150_000_000)
    if "NVML_SIM_SCENARIO" in os.environ:
        # 264.2 MiB are 277 MB.
        hold(264.16)
    end = time.perf_counter() + 0.4
    while time.perf_counter() < end:
        sum(range(1000))
    return len(memory)
