"""Prints what GPUtil sees as JSON: all cards, and those it would hand out."""

import json
import math
import sys

import GPUtil


def known(value):
    return None if isinstance(value, float) and math.isnan(value) else value


cards = [{key: known(value) for key, value in vars(gpu).items()} for gpu in GPUtil.getGPUs()]
available = GPUtil.getAvailable(limit=len(cards), maxLoad=0.5, maxMemory=0.5)
json.dump({"cards": cards, "available": available}, sys.stdout)
