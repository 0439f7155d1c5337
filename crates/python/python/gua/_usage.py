"""What was used: plain data with gpu_tracker's names. A figure that is not known is None."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional


class _Descendants:
    """The same field in the newer spelling, which gpu_tracker 5 has."""

    descendents: Any

    @property
    def descendants(self) -> Any:
        return self.descendents

    @descendants.setter
    def descendants(self, value: Any) -> None:
        self.descendents = value


@dataclass
class RSSValues:
    """Resident memory: of one process alone, of several, and both."""

    total_rss: float = 0.0
    private_rss: Optional[float] = None
    shared_rss: Optional[float] = None


@dataclass
class MaxRAM(_Descendants):
    """The most RAM at any time, in ``unit``; each figure has a maximum of its own."""

    unit: str
    system_capacity: Optional[float]
    system: Optional[float]
    main: RSSValues
    descendents: RSSValues
    combined: RSSValues


@dataclass
class MaxGPURAM(_Descendants):
    """The most GPU memory at any time, in ``unit``."""

    unit: str
    system_capacity: Optional[float]
    system: Optional[float]
    main: Optional[float]
    descendents: Optional[float]
    combined: Optional[float]


@dataclass
class ProcessingUnitPercentages:
    """Sums, where 100 is one core or one card, and shares of those expected to be used."""

    max_sum_percent: Optional[float]
    max_hardware_percent: Optional[float]
    mean_sum_percent: Optional[float]
    mean_hardware_percent: Optional[float]


@dataclass
class CPUUtilization(_Descendants):
    """How busy the cores were, and the most threads at any time."""

    system_core_count: int
    n_expected_cores: int
    system: ProcessingUnitPercentages
    main: ProcessingUnitPercentages
    descendents: ProcessingUnitPercentages
    combined: ProcessingUnitPercentages
    main_n_threads: int
    descendents_n_threads: int
    combined_n_threads: int

    @property
    def descendants_n_threads(self) -> int:
        return self.descendents_n_threads

    @descendants_n_threads.setter
    def descendants_n_threads(self, value: int) -> None:
        self.descendents_n_threads = value


@dataclass
class GPUUtilization:
    """How busy the chosen cards were, whoever used them."""

    system_gpu_count: Optional[int]
    n_expected_gpus: Optional[int]
    gpu_percentages: ProcessingUnitPercentages


@dataclass
class ComputeTime:
    """The time by the clock, in ``unit``."""

    unit: str
    time: float


@dataclass
class ResourceUsage:
    """All that was used."""

    max_ram: MaxRAM
    max_gpu_ram: MaxGPURAM
    cpu_utilization: CPUUtilization
    gpu_utilization: GPUUtilization
    compute_time: ComputeTime

    @classmethod
    def _of(cls, told: Dict[str, Any]) -> ResourceUsage:
        ram, cpu, gpu = told["max_ram"], told["cpu_utilization"], told["gpu_utilization"]
        sizes = ("main", "descendents", "combined")
        percentages = ProcessingUnitPercentages
        return cls(
            max_ram=MaxRAM(**{**ram, **{size: RSSValues(**ram[size]) for size in sizes}}),
            max_gpu_ram=MaxGPURAM(**told["max_gpu_ram"]),
            cpu_utilization=CPUUtilization(
                **{**cpu, **{size: percentages(**cpu[size]) for size in ("system", *sizes)}}
            ),
            gpu_utilization=GPUUtilization(
                **{**gpu, "gpu_percentages": percentages(**gpu["gpu_percentages"])}
            ),
            compute_time=ComputeTime(**told["compute_time"]),
        )


@dataclass
class CardUsage:
    """One card meanwhile: the most that the process and its descendants held of it."""

    index: int
    uuid: Optional[str]
    name: Optional[str]
    memory_peak_bytes: Optional[int]
    memory_total_bytes: Optional[int]
    utilization_max_percent: Optional[float]
    utilization_mean_percent: Optional[float]


@dataclass
class Details:
    """What ``resource_usage`` has no place for: bytes and seconds, both ends, how it was measured.

    Memory is that of the process and its descendants together. Where ``ram_peak_bytes`` is a lower
    bound, ``ram_peak_at_most_bytes`` is the most that it can have been, and else None.
    """

    wall_seconds: float
    cpu_seconds: float
    ram_begin_bytes: int
    ram_end_bytes: int
    ram_peak_bytes: int
    ram_peak_at_most_bytes: Optional[int]
    gpu_begin_bytes: Optional[int]
    gpu_end_bytes: Optional[int]
    gpu_peak_bytes: Optional[int]
    cards: List[CardUsage]
    processes: int
    left_running: int
    samples: int
    period_seconds: Optional[float]
    longest_seconds: Optional[float]
    own_cpu_seconds: float

    @classmethod
    def _of(cls, told: Dict[str, Any]) -> Details:
        return cls(**{**told, "cards": [CardUsage(**card) for card in told["cards"]]})


class Unknown(NamedTuple):
    """A figure that is not known, and why."""

    figure: str
    reason: str


class Point(NamedTuple):
    """What was used at one moment of the time line."""

    seconds: float
    ram_bytes: int
    cpu_percent: float
    gpu_bytes: Optional[int]
    gpu_percent: Optional[float]
