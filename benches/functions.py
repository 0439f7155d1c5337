"""The functions of a program by the names that the compiler gives them, and where they lie."""

import re
import subprocess
from collections import Counter


def functions_of(program):
    """The functions in a program, by name."""
    listed = subprocess.run(["nm", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1] for line in listed.splitlines() if line.split()[-2] in "tTwW"}


def without_hash(name):
    """The name of a function, whatever the compiler makes of its hashes this time."""
    return re.sub(r"Cs[0-9A-Za-z]+_", "Cs*_", re.sub(r"17h[0-9a-f]{16}E", "17h*E", name))


def sections(functions):
    """The section of each function. Where many are called the same, such as what is made anew for
    each type, only the hash tells them apart."""
    alike = Counter(map(without_hash, functions))
    short = {name: without_hash(name) for name in functions}
    return {name: f".text.{short[name] if alike[short[name]] == 1 else name}" for name in functions}
