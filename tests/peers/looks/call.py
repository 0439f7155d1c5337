"""Makes calls of nvidia-ml-py and prints their answers as a JSON list.

Each argument is one call in Python, with `nvml` for the module and `card` for a function
that gives a card's handle. An error gives {"error": class, "code": number}.
"""

import json
import sys

import pynvml as nvml


def card(index):
    return nvml.nvmlDeviceGetHandleByIndex(index)


def answer(expression):
    try:
        return eval(expression, {"nvml": nvml, "card": card})  # The tests' own words.
    except nvml.NVMLError as error:
        return {"error": type(error).__name__, "code": error.value}


json.dump([answer(expression) for expression in sys.argv[1:]], sys.stdout)
