"""For programs on a pretend machine: holds memory of its card, and waits for what must come."""

import fcntl
import os
import re
import time

PATIENCE_SECONDS = 100
DRIVER_LOOKS_EVERY_SECONDS = 0.002


def hold(mebibytes, pid=None, card=0):
    """This process (or another) holds so much of a card from now on; with 0, nothing."""
    path = os.environ["NVML_SIM_SCENARIO"]
    pid = pid or os.getpid()
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(path) as file:
            text = re.sub(rf"\n\[\[process\]\]\npid = {pid}\n[^\n]*\n[^\n]*\n", "", file.read())
        if mebibytes:
            text += f'\n[[process]]\npid = {pid}\ncard = {card}\nmemory = "{mebibytes}MiB"\n'
        with open(path + ".new", "w") as file:
            file.write(text)
        os.replace(path + ".new", path)
    # After this time the pretend driver looks whether it has become another, whoever asks.
    time.sleep(DRIVER_LOOKS_EVERY_SECONDS)


def until(holds):
    """Waits until something holds."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > PATIENCE_SECONDS:
            raise TimeoutError("it never held")
        time.sleep(0.005)
