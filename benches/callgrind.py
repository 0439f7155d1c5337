"""Runs a program under callgrind, and tells which of its functions were called how often."""

import ctypes
import errno
import re
import signal
import struct
import subprocess
import time
from collections import Counter

from common import NotMeasured

PATIENCE_SECONDS = 300
CALLGRIND = ("valgrind", "--tool=callgrind", "--demangle=no", "--quiet")

# As of linux/{filter,seccomp,prctl}.h, on x86-64.
BPF_LOAD, BPF_JUMP_IF_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06
SECCOMP_DATA_NUMBER, SECCOMP_DATA_FIRST_ARGUMENT = 0, 16
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x0005_0000, 0x7FFF_0000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
SYS_PRCTL, PR_GET_AUXV = 157, 0x41555856


def calls_of(command, env, folder, until=None):
    """How often a command calls each function. It ends by itself, or is ended when that has come."""
    profile = folder / "profile"
    command = [*CALLGRIND, f"--callgrind-out-file={profile}", *command]
    with subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        preexec_fn=without_the_kernels_auxv,
    ) as it:
        try:
            if until:
                while not until() and it.poll() is None:
                    time.sleep(0.1)
                it.send_signal(signal.SIGTERM)
            it.stdin.close()
            status = it.wait(PATIENCE_SECONDS)
        finally:
            it.kill()
    if status:
        raise NotMeasured(f"it ended with {status} under callgrind")
    return calls_in(profile.read_text())


def calls_in(profile):
    """The same from what callgrind wrote down: 0 for one that nobody calls, as it begins a thread."""
    names, calls, called = {}, Counter(), None
    for line in profile.splitlines():
        found = re.fullmatch(r"(c?)fn=(\(\d+\))(?: (.*?)(?:'\d+)?)?", line)
        if found:
            is_called, number, name = found.groups()
            name = names.setdefault(number, name)
            calls[name] += 0
            called = name if is_called else None
        elif line.startswith("calls=") and called:
            calls[called] += int(line[len("calls=") :].split()[0])
    return calls


def without_the_kernels_auxv():
    """Under valgrind the kernel's own answer to PR_GET_AUXV names a page that is not mapped, and
    rustix looks into it. With none it reads /proc/self/auxv, which valgrind has put right."""
    refused = SECCOMP_RET_ERRNO | errno.EINVAL
    steps = [
        (BPF_LOAD, 0, 0, SECCOMP_DATA_NUMBER),
        (BPF_JUMP_IF_EQUAL, 0, 3, SYS_PRCTL),
        (BPF_LOAD, 0, 0, SECCOMP_DATA_FIRST_ARGUMENT),
        (BPF_JUMP_IF_EQUAL, 0, 1, PR_GET_AUXV),
        (BPF_RETURN, 0, 0, refused),
        (BPF_RETURN, 0, 0, SECCOMP_RET_ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0
    ):
        raise OSError(ctypes.get_errno(), "no filter for system calls")
