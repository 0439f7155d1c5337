"""Which code ran when, and what was used meanwhile: sub-tracking, on gpu_tracker's files."""

from __future__ import annotations

import inspect
import logging
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, TypeVar, Union

from . import _native
from ._calls import innermost, inside
from ._shape import frame

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Path = Union[str, "os.PathLike[str]"]
# Statistics by their names: min, max, mean, std.
Statistics = Dict[str, Optional[float]]

# The files that are written, by path. Each is made by the first who marks something in it.
_files: Dict[str, Tuple[int, _native.Marks]] = {}
# Files of the process that this one was forked from: not ours to close.
_left_alone: List[_native.Marks] = []
# One makes a file, the others find it.
_making = threading.Lock()


def _forget_who_was_making() -> None:
    """A fork has none of the threads: who held the lock does not give it back there."""
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_forget_who_was_making)


def _file(place: str, name: _Path, overwrite: bool) -> _native.Marks:
    pid, marks = _files.get(place, (0, None))
    if marks is not None and pid == os.getpid():
        return marks
    with _making:
        return _made(place, name, overwrite)


def _made(place: str, name: _Path, overwrite: bool) -> _native.Marks:
    pid, marks = _files.get(place, (0, None))
    if marks is not None and pid == os.getpid():
        return marks
    if marks is not None:
        _left_alone.append(marks)
    opened = _native.Marks(name, overwrite, marks is not None)
    _files[place] = (os.getpid(), opened)
    return opened


# Where the files of those stand that name none, by process.
_usual: Dict[int, str] = {}


def _place(name: Optional[_Path], pid: int) -> str:
    """A file's place for good: the program may go to another folder."""
    if name is None:
        return _usual.setdefault(pid, os.path.abspath(f"{pid}.csv"))
    return os.path.abspath(name)


class SubTracker:
    """Marks where a block of code begins and ends, inside of what a ``Tracker`` measures.

    >>> with gua.Tracker(tracking_file="run.csv"):
    ...     with gua.SubTracker("load", sub_tracking_file="blocks.csv"):
    ...         load()

    :param code_block_name: The block's name; where it stands (file and line) by default.
    :param code_block_attribute: What to name instead of the line.
    :param sub_tracking_file: Where it is noted, ``.csv`` or ``.sqlite``; ``<pid>.csv`` by default.
        Each process has a file of its own; ``combine_sub_tracking_files`` makes one of them.
    :param overwrite: Whether to replace a file that an earlier run has left.
    :raises FileExistsError: When there is such a file.
    """

    def __init__(
        self,
        code_block_name: Optional[str] = None,
        code_block_attribute: Optional[str] = None,
        sub_tracking_file: Optional[_Path] = None,
        overwrite: bool = False,
    ) -> None:
        if code_block_name is None:
            caller = sys._getframe(1)
            attribute = caller.f_lineno if code_block_attribute is None else code_block_attribute
            code_block_name = f"{_relative(caller.f_code.co_filename)}:{attribute}"
        self.code_block_name = code_block_name
        self.process_id = os.getpid()
        self.sub_tracking_file = (
            f"{self.process_id}.csv" if sub_tracking_file is None else os.fspath(sub_tracking_file)
        )
        self._place = _place(sub_tracking_file, self.process_id)
        # A message has the name as it was given.
        _file(self._place, sub_tracking_file or self._place, overwrite)

    def _mark(self, is_begin: bool) -> None:
        file = _file(self._place, self._place, False)
        file.mark(self.code_block_name, is_begin, time.time())

    def __enter__(self) -> SubTracker:
        self._mark(True)
        return self

    def __exit__(self, *_: object) -> None:
        self._mark(False)

    async def __aenter__(self) -> SubTracker:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


def _relative(path: str) -> str:
    # A cell of a notebook has no file.
    return path if path.startswith("<") else os.path.relpath(path)


def sub_track(
    code_block_name: Optional[str] = None,
    code_block_attribute: Optional[str] = None,
    sub_tracking_file: Optional[_Path] = None,
    overwrite: bool = False,
) -> Callable[[_Function], _Function]:
    """Marks every call of a function, also of an ``async`` one, or the life of a generator. The
    arguments are those of ``SubTracker``; by default a block is named after its file and the
    function."""
    file = None if sub_tracking_file is None else os.path.abspath(sub_tracking_file)

    def decorator(function: _Function) -> _Function:
        name = code_block_name or _name(function, code_block_attribute)
        return inside(function, lambda: SubTracker(name, None, file, overwrite))  # type: ignore[return-value]

    return decorator


def _name(function: Callable[..., Any], attribute: Optional[str]) -> str:
    named = innermost(function)
    return f"{os.path.abspath(inspect.getfile(named))}:{attribute or named.__name__}"


@dataclass
class CodeBlockResults:
    """One block of code, over all of its calls."""

    name: str
    num_timepoints: int
    num_calls: int
    num_non_empty_calls: int
    compute_time: Statistics
    resource_usage: Dict[str, Statistics]

    def to_frame(self) -> Any:
        """What it used, as a table for pandas: a row a measure."""
        return frame(self.resource_usage).T


@dataclass
class SubTrackingResults:
    """What was used over all, and while each block ran. What is not known is None."""

    overall: Dict[str, Statistics]
    static_data: Dict[str, Any]
    code_block_results: List[CodeBlockResults]
    _text: str = field(default="", repr=False, compare=False)

    def to_json(self) -> Dict[str, Any]:
        """What ``gpu-tracker sub-track analyze -f json`` writes, and ``TrackingComparison`` reads."""
        told = asdict(self)
        del told["_text"]
        return told

    def to_frame(self) -> Any:
        """What was used over all, as a table for pandas: a row a measure."""
        return frame(self.overall).T

    def __str__(self) -> str:
        return self._text


class SubTrackingAnalyzer:
    """Holds a sub-tracking file against the tracking file of the same time.

    :param tracking_file: What a ``Tracker`` wrote; may be None for who only combines.
    :param sub_tracking_file: What ``SubTracker``s wrote, or the file to combine theirs in.
    """

    def __init__(self, tracking_file: Optional[_Path], sub_tracking_file: _Path) -> None:
        self.tracking_file = tracking_file
        self.sub_tracking_file = sub_tracking_file

    def _tracking_file(self) -> _Path:
        if self.tracking_file is None:
            raise ValueError("tracking_file is None. Name the file that a Tracker wrote")
        return self.tracking_file

    def read_static_data(self) -> Dict[str, Any]:
        """Units, capacities and counts."""
        return _native.static_data(self._tracking_file())

    def load_code_block_names(self) -> List[str]:
        """The blocks, by name."""
        return [name for name, _ in _native.calls(self.sub_tracking_file)]

    def combine_sub_tracking_files(self, files: Iterable[_Path]) -> None:
        """Makes ``sub_tracking_file`` of those of several processes."""
        _native.combine(list(files), self.sub_tracking_file)

    def load_timestamp_pairs(self, code_block_name: str) -> List[Tuple[float, float]]:
        """When each call of a block began and ended, in seconds since the epoch."""
        return dict(_native.calls(self.sub_tracking_file)).get(code_block_name, [])

    def load_timepoints(
        self, timestamp_pairs: Iterable[Tuple[float, float]]
    ) -> List[Dict[str, Optional[float]]]:
        """The samples that fall into any of these times, each once."""
        pairs = list(timestamp_pairs)
        measures, rows = _native.timepoints(self._tracking_file())
        return [
            {**dict(zip(measures, values)), "timestamp": at}
            for at, values in rows
            if any(begin <= at <= end for begin, end in pairs)
        ]

    def overall_timepoint_results(self) -> Dict[str, Statistics]:
        """The statistics of each measure over all samples."""
        return self.sub_tracking_results().overall

    def sub_tracking_results(self) -> SubTrackingResults:
        """What was used over all, and while each block ran."""
        told, text = _native.analyze(self._tracking_file(), self.sub_tracking_file)
        blocks = [CodeBlockResults(**block) for block in told["code_block_results"]]
        return SubTrackingResults(told["overall"], told["static_data"], blocks, text)


@dataclass
class ComparisonResults:
    """One statistic of several sessions, ascending; what is not known is None, and last."""

    overall_resource_usage: Dict[str, Statistics]
    code_block_resource_usage: Dict[str, Dict[str, Statistics]]
    code_block_compute_time: Dict[str, Statistics]
    _text: str = field(default="", repr=False, compare=False)

    def to_json(self) -> Dict[str, Any]:
        told = asdict(self)
        del told["_text"]
        return told

    def to_frame(self) -> Any:
        """What was used over all, as a table for pandas: a row a measure, a column a session."""
        return frame(self.overall_resource_usage).T

    def __str__(self) -> str:
        return self._text


class TrackingComparison:
    """Compares sessions, each the JSON that ``SubTrackingResults.to_json`` or
    ``gpu-tracker sub-track analyze -f json`` gave.

    :param file_path_map: The files, by the names of the sessions.
    :raises ValueError: When the sessions do not have the same blocks.
    """

    def __init__(self, file_path_map: Dict[str, _Path]) -> None:
        if not file_path_map:
            raise ValueError("There is nothing to compare. Name files by their sessions")
        self._sessions = list(file_path_map.items())
        for block, session, there in _native.compare(self._sessions, "mean")[2]:
            logging.getLogger("gua").warning(
                "%s is taken for %s of session %s: the same file, another line",
                *map(_native.safe, (block, there, session)),
            )

    def compare(self, statistic: str = "mean") -> ComparisonResults:
        """Compares by one statistic: min, max, mean or std."""
        told, text, _ = _native.compare(self._sessions, statistic)
        return ComparisonResults(**told, _text=text)
