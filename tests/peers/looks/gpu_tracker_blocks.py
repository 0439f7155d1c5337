"""A program whose blocks gpu_tracker's SubTracker marks. Works a little, in two blocks, so that
samples fall into both; the files are named on the command line, one for each block."""

import sys
import time

from gpu_tracker import SubTracker

WORK_SECONDS = 0.4


def work():
    end = time.monotonic() + WORK_SECONDS
    while time.monotonic() < end:
        sum(range(1000))


def main(load_file, train_file):
    for _ in range(2):
        with SubTracker("load data", sub_tracking_file=load_file):
            work()
        with SubTracker("train", sub_tracking_file=train_file):
            work()


main(*sys.argv[1:])
