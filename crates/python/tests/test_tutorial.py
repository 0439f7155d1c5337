"""The tutorial of gpu_tracker's paper, line by line, with our import instead of theirs."""

import json
import re

# The lines of the tutorial as they stand there, `print`s and bare expressions included; only the
# import is ours.
START_STOP = """
import gua as gput
from example_module import example_function
tracker = gput.Tracker(n_expected_cores=1, sleep_time=0.1)
tracker.start()
example_function()
tracker.stop()
print(tracker)
"""

UNITS = """
import gua as gput
from example_module import example_function
with gput.Tracker() as tracker:
    example_function()
with gput.Tracker(ram_unit='megabytes', gpu_ram_unit='megabytes', time_unit='seconds', sleep_time=0.1) as tracker:
    example_function()
print(tracker)
import json
print(json.dumps(tracker.to_json(), indent=1))
print('---')
print(repr(tracker.resource_usage.max_ram))
print(repr(tracker.resource_usage.max_ram.unit))
print(repr(tracker.resource_usage.max_ram.main))
print(repr(tracker.resource_usage.max_ram.main.total_rss))
print(repr(tracker.resource_usage.max_gpu_ram))
print(repr(tracker.resource_usage.compute_time))
"""

FAILING = """
import gua as gput
from example_module import example_function
try:
    with gput.Tracker() as tracker:
        example_function()
        raise RuntimeError('AN ERROR')
except Exception as error:
    print(f'The following error occured while tracking: {error}')
finally:
    print(tracker.resource_usage.max_gpu_ram.main)
"""

CHILD = """
import gua as gput
from example_module import example_function
import multiprocessing as mp
if __name__ == '__main__':
    ctx = mp.get_context(method='spawn')
    child_process = ctx.Process(target=example_function)
    with gput.Tracker(n_expected_cores=2, sleep_time=0.2) as tracker:
        child_process.start()
        example_function()
        child_process.join()
    child_process.close()
    print(tracker)
"""

# The labels, in their order and with their indents, as printed in the paper.
LABELS = """\
Max RAM:
   Unit:
   System capacity:
   System:
   Main:
      Total RSS:
      Private RSS:
      Shared RSS:
   Descendents:
      Total RSS:
      Private RSS:
      Shared RSS:
   Combined:
      Total RSS:
      Private RSS:
      Shared RSS:
Max GPU RAM:
   Unit:
   System capacity:
   System:
   Main:
   Descendents:
   Combined:
CPU utilization:
   System core count:
   Number of expected cores:
   System:
      Max sum percent:
      Max hardware percent:
      Mean sum percent:
      Mean hardware percent:
   Main:
      Max sum percent:
      Max hardware percent:
      Mean sum percent:
      Mean hardware percent:
   Descendents:
      Max sum percent:
      Max hardware percent:
      Mean sum percent:
      Mean hardware percent:
   Combined:
      Max sum percent:
      Max hardware percent:
      Mean sum percent:
      Mean hardware percent:
   Main number of threads:
   Descendents number of threads:
   Combined number of threads:
GPU utilization:
   System GPU count:
   Number of expected GPUs:
   GPU percentages:
      Max sum percent:
      Max hardware percent:
      Mean sum percent:
      Mean hardware percent:
Compute time:
   Unit:
   Time:
""".splitlines()


def labels(lines):
    return [re.sub(r":.*", ":", line) for line in lines]


def figures(lines):
    """The figures of a report, by the way to them."""
    found, way = {}, []
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 3
        label, _, value = line.strip().partition(": ")
        way = [*way[:depth], label.rstrip(":")]
        if value:
            found["/".join(way)] = value
    return found


def test_start_and_stop(lab):
    lines = lab.python(START_STOP).splitlines()
    assert labels(lines) == LABELS
    told = figures(lines)
    assert told["Max RAM/Unit"] == "gigabytes"
    assert 0.15 <= float(told["Max RAM/Main/Total RSS"]) < 0.25
    assert told["Max GPU RAM/Main"] == told["Max GPU RAM/Combined"] == "0.277"
    assert told["CPU utilization/Number of expected cores"] == "1"
    assert told["CPU utilization/Main number of threads"] == "1"
    assert told["GPU utilization/GPU percentages/Max sum percent"] == "40.0"
    assert told["Compute time/Unit"] == "hours"


def test_units_json_and_data_classes(lab):
    text = lab.python(UNITS)
    told, classes = text.split("---\n")
    lines = told.splitlines()
    assert labels(lines[: len(LABELS)]) == LABELS
    assert figures(lines[: len(LABELS)])["Max GPU RAM/Main"] == "276.992"
    data = json.loads("\n".join(lines[len(LABELS) :]))
    assert list(data) == [
        "max_ram",
        "max_gpu_ram",
        "cpu_utilization",
        "gpu_utilization",
        "compute_time",
    ]
    assert list(data["max_ram"]) == [
        "unit",
        "system_capacity",
        "system",
        "main",
        "descendents",
        "combined",
    ]
    assert data["compute_time"]["unit"] == "seconds"
    assert 0.4 <= data["compute_time"]["time"] < 60
    ram, unit, main, total, gpu_ram, time = classes.splitlines()
    number = r"\d+\.\d+"
    values = rf"RSSValues\(total_rss={number}, private_rss={number}, shared_rss={number}\)"
    assert re.fullmatch(
        rf"MaxRAM\(unit='megabytes', system_capacity={number}, system={number}, main={values}, "
        rf"descendents={values}, combined={values}\)",
        ram,
    )
    assert unit == "'megabytes'"
    assert re.fullmatch(values, main)
    assert 150 <= float(total) < 250
    assert re.fullmatch(
        rf"MaxGPURAM\(unit='megabytes', system_capacity={number}, system={number}, "
        rf"main=276.99\d+, descendents=0.0, combined=276.99\d+\)",
        gpu_ram,
    )
    assert re.fullmatch(rf"ComputeTime\(unit='seconds', time={number}\)", time)


def test_a_block_that_fails(lab):
    first, second = lab.python(FAILING).splitlines()
    assert first == "The following error occured while tracking: AN ERROR"
    assert round(float(second), 3) == 0.277


def test_a_child_process(lab):
    told = figures(lab.python(CHILD).splitlines())
    # The child takes 150 MB as well, and its card's memory after that of the main process.
    assert float(told["Max RAM/Descendents/Total RSS"]) >= 0.15
    assert float(told["Max RAM/Combined/Total RSS"]) >= 0.15
    assert told["Max GPU RAM/Descendents"] == "0.277"
    assert told["CPU utilization/Number of expected cores"] == "2"
    assert int(told["CPU utilization/Descendents number of threads"]) >= 1
