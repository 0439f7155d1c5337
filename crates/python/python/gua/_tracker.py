"""Measures what a process and its descendants use, from a native thread that needs no interpreter."""

from __future__ import annotations

import _thread
import atexit
import enum
import os
import sys

# What `weakref` has it from, which is dear to load.
from _weakrefset import WeakSet

from . import _native

# What only a type checker needs is dear to load (`typing` most of all, so that this is not from
# there), and nobody needs classes of data before there is something to tell.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import (
        Any,
        Callable,
        Dict,
        Iterable,
        List,
        NoReturn,
        Optional,
        TypeVar,
        Union,
        overload,
    )

    from ._usage import Details, Point, ResourceUsage, Unknown

    _Function = TypeVar("_Function", bound=Callable[..., Any])

# How long the interpreter's end waits for a measurement that nobody has stopped.
_AT_EXIT_SECONDS = 2.0

_started: WeakSet[Tracker] = WeakSet()


class State(enum.Enum):
    """How far a tracker is."""

    NEW = 0
    STARTED = 1
    STOPPED = 2


class Tracker:
    """Measures what this process, or another one, and all its descendants use.

    A tracker is a context manager, also of ``async with``; or call ``start()`` and ``stop()``.
    ``str()`` and ``to_json()`` tell what was used, ``resource_usage`` has it as plain data, and
    what is not known is ``None`` with its reason in ``unknown``. When the block raises, what was
    used until then is kept.

    :param sleep_time: Seconds from one sample to the next, 0.001 at least. Peaks between two
        samples are not missed: the kernel's own accounts come first. For that the begin of a block
        resets the high-water mark of this process (``VmHWM``; ``ru_maxrss`` falls with it), so
        others who read it see the most since then. Where that is not allowed, and for another
        process, a peak may be a lower bound: see ``details.ram_peak_at_most_bytes``.
    :param ram_unit: bytes, kilobytes, megabytes, gigabytes or terabytes.
    :param gpu_ram_unit: The same for GPU memory.
    :param time_unit: seconds, minutes, hours or days.
    :param n_expected_cores: What the hardware percentages are shares of; all cores by default.
    :param gpu_uuids: The cards whose utilization is measured: UUIDs, their beginnings, or
        indices; all cards by default.
    :param disable_logs: Whether to leave out warnings of what could not be measured.
    :param process_id: The process to measure; this one by default.
    :param resource_usage_file: A file that has what was used so far, as JSON, as long as it goes
        on: for a process that may be killed. At the end it is removed.
    :param n_join_attempts: How often to wait for the end of the measurement.
    :param join_timeout: How many seconds to wait each time.
    :param gpu_brand: nvidia, or nothing.
    :param tracking_file: A file for every sample, ``.csv`` or ``.sqlite``.
    :param overwrite: Whether to replace a tracking file that is there already.
    :raises ValueError: When an argument makes no sense. Nothing was begun then.
    :raises TypeError: When an argument is of a wrong kind.
    :raises FileExistsError: When there is a tracking file already, or a ``resource_usage_file``
        that no Tracker has written.
    """

    State = State

    def __init__(
        self,
        sleep_time: float = 1.0,
        ram_unit: str = "gigabytes",
        gpu_ram_unit: str = "gigabytes",
        time_unit: str = "hours",
        n_expected_cores: Optional[int] = None,
        gpu_uuids: Optional[Iterable[str]] = None,
        disable_logs: bool = False,
        process_id: Optional[int] = None,
        resource_usage_file: Union[str, PathLike[str], None] = None,
        n_join_attempts: int = 5,
        join_timeout: float = 10.0,
        gpu_brand: Optional[str] = None,
        tracking_file: Union[str, PathLike[str], None] = None,
        overwrite: bool = False,
    ) -> None:
        self._plan = _native.Plan(
            {
                "sleep_time": sleep_time,
                "ram_unit": ram_unit,
                "gpu_ram_unit": gpu_ram_unit,
                "time_unit": time_unit,
                "n_expected_cores": n_expected_cores,
                "gpu_uuids": _uuids(gpu_uuids),
                "gpu_brand": gpu_brand,
                "tracking_file": tracking_file,
                "overwrite": overwrite,
                "resource_usage_file": resource_usage_file,
                "n_join_attempts": n_join_attempts,
                "join_timeout": join_timeout,
            }
        )
        self.disable_logs = disable_logs
        self.process_id = process_id
        self.n_join_attempts = n_join_attempts
        self.join_timeout = join_timeout
        self.state = State.NEW
        self._tracking: Optional[_native.Tracking] = None
        self._ending = _thread.allocate_lock()
        self._told: Optional[Dict[str, Any]] = None
        self._points: List[Any] = []

    def start(self) -> None:
        """Begins to measure, until ``stop()``."""
        if self.state is State.STARTED:
            raise RuntimeError("Cannot start tracking when tracking has already started.")
        if self.state is State.STOPPED:
            raise RuntimeError("Cannot start tracking when tracking has already stopped.")
        pid = os.getpid() if self.process_id is None else self.process_id
        self._tracking = self._plan.start(pid)
        self.state = State.STARTED
        _started.add(self)

    def stop(self) -> None:
        """Ends the measurement; what was used stays readable."""
        tracking = self._begun()
        if not tracking.is_ours():
            raise RuntimeError(
                "Cannot stop tracking in a fork of the process that started it. "
                "The tracking goes on there."
            )
        self._end(tracking)

    def _end(self, tracking: _native.Tracking) -> None:
        """Of several who stop it at once, one does; the others are told that it has stopped."""
        with self._ending:
            self._begun()
            self._finish(tracking, self.n_join_attempts, self.join_timeout)

    def _begun(self) -> _native.Tracking:
        if self.state is State.STOPPED:
            raise RuntimeError("Cannot stop tracking when tracking has already stopped.")
        if self._tracking is None:
            raise RuntimeError("Cannot stop tracking when tracking has not started yet.")
        return self._tracking

    def _finish(self, tracking: _native.Tracking, attempts: int, seconds: float) -> None:
        ended = None
        for _ in range(max(attempts, 1)):
            ended = tracking.stop(seconds)
            if ended is not None:
                break
            self._warn("The tracking has not ended in time. Waiting for it again...")
        self.state = State.STOPPED
        _started.discard(self)
        if ended is None:
            self._warn(f"The tracking has not ended after {attempts} attempts. It is left behind.")
            raise _native.GuaError("The tracking has not ended in time: what was used is unknown.")
        self._told, troubles = ended
        self._points = tracking.points()
        self._tracking = None
        self._warn_of(troubles)

    def _warn_of(self, troubles: List[str]) -> None:
        for trouble in troubles:
            self._warn(trouble)
        unknown = [] if self._told is None else self._told["unknown"]
        if unknown:
            figures = ", ".join(f"{figure} ({reason})" for figure, reason in unknown)
            self._warn(f"Unknown, as it could not be measured: {figures}")

    def _warn(self, words: str) -> None:
        if not self.disable_logs:
            import logging

            logging.getLogger("gua").warning(_native.safe(words))

    def __enter__(self) -> Tracker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A block may end in a fork, too; the measurement is not its own.
        if self._tracking is None or self._tracking.is_ours():
            self.stop()

    async def __aenter__(self) -> Tracker:
        import asyncio

        # Others go on while the driver takes its first look.
        started = asyncio.get_running_loop().run_in_executor(None, self.start)
        try:
            await asyncio.shield(started)
        except asyncio.CancelledError:
            started.add_done_callback(self._end_unentered)
            raise
        return self

    def _end_unentered(self, started: Any) -> None:
        """Nobody enters the block any more."""
        if not started.cancelled() and started.exception() is None and self._tracking is not None:
            self._tracking.end()

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        tracking = self._begun()
        if not tracking.is_ours():
            return
        tracking.end()
        # Others go on while the driver takes its last look. A cancellation does not lose it.
        finish = asyncio.get_running_loop().run_in_executor(None, self._end, tracking)
        await asyncio.shield(finish)

    @property
    def resource_usage(self) -> Optional[ResourceUsage]:
        """What was used: until now while it is measured, in all afterwards; before, ``None``."""
        from ._usage import ResourceUsage

        told = self._newest()
        return None if told is None else ResourceUsage._of(told["resource_usage"])

    @property
    def details(self) -> Optional[Details]:
        """The same in bytes and seconds, with what there was at both ends."""
        from ._usage import Details

        told = self._newest()
        return None if told is None else Details._of(told["details"])

    @property
    def unknown(self) -> List[Unknown]:
        """What is ``None``, and why."""
        from ._usage import Unknown

        told = self._newest()
        if told is None:
            return []
        return [Unknown(*one) for one in (*told["unknown"], *told["unknown_details"])]

    @property
    def timeline(self) -> List[Point]:
        """The samples, merged with their neighbours when there are many."""
        from ._usage import Point

        points = self._points if self._tracking is None else self._tracking.points()
        return [Point(*point) for point in points]

    def _newest(self) -> Optional[Dict[str, Any]]:
        if self._told is not None or self._tracking is None:
            return self._told
        told = self._tracking.so_far()
        if told is None and self._tracking.is_ours():
            # Another process that was measured has ended by itself.
            ended = self._tracking.stop(self.join_timeout)
            told = None if ended is None else ended[0]
        return told

    def to_json(self) -> Dict[str, Dict[str, Any]]:
        """What was used, by gpu_tracker's keys."""
        import copy

        return copy.deepcopy(self._complete()["resource_usage"])  # type: ignore[no-any-return]

    def _complete(self) -> Dict[str, Any]:
        if self._told is None:
            raise RuntimeError(
                "Cannot display the tracker in string or JSON format before tracking completes. "
                "Exit the context manager or call the stop() method before calling to_json() or "
                "str()"
            )
        return self._told

    def __str__(self) -> str:
        return str(self._complete()["text"])

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A Tracker cannot be pickled or copied: it belongs to this process. "
            "Take its resource_usage or to_json()"
        )

    def __repr__(self) -> str:
        return f"<gua.Tracker {self.state.name.lower()}>"

    def _repr_html_(self) -> Optional[str]:
        if self._told is None:
            return None
        from ._html import of_usage

        return of_usage(self)


def _uuids(given: Optional[Iterable[str]]) -> Optional[List[str]]:
    """A text is a list with commas. A set has no order, and a message should have one."""
    if given is None:
        return None
    words = given.split(",") if isinstance(given, str) else given
    return sorted(str(word).strip() for word in words)


def _stop_all() -> None:
    """The interpreter ends: what still measures is ended in order, tracking files included."""
    for tracker in list(_started):
        tracking = tracker._tracking
        if tracking is not None and tracking.is_ours():
            tracking.stop(_AT_EXIT_SECONDS)


atexit.register(_stop_all)
# A fork in the middle of a call to the driver would have half of it.
os.register_at_fork(
    before=_native.before_fork,
    after_in_parent=_native.after_fork_in_parent,
    after_in_child=_native.after_fork_in_child,
)


class _Call:
    """The block of one call: a tracker, and who is told of it."""

    def __init__(self, tracker: Tracker, finished: Callable[[Tracker], Any]) -> None:
        self._tracker = tracker
        self._finished = finished

    def __enter__(self) -> None:
        self._tracker.__enter__()

    def __exit__(self, *raised: object) -> None:
        try:
            self._tracker.__exit__(*raised)
        finally:
            self._finish()

    async def __aenter__(self) -> None:
        await self._tracker.__aenter__()

    async def __aexit__(self, *raised: object) -> None:
        try:
            await self._tracker.__aexit__(*raised)
        finally:
            self._finish()

    def _finish(self) -> None:
        # A fork that leaves the function has stopped nothing.
        if self._tracker.state is State.STOPPED:
            self._finished(self._tracker)


if TYPE_CHECKING:

    @overload
    def track(function: _Function) -> _Function: ...

    @overload
    def track(
        function: None = None,
        *,
        on_finish: Optional[Callable[[Tracker], Any]] = None,
        sleep_time: float = 1.0,
        ram_unit: str = "gigabytes",
        gpu_ram_unit: str = "gigabytes",
        time_unit: str = "hours",
        n_expected_cores: Optional[int] = None,
        gpu_uuids: Optional[Iterable[str]] = None,
        disable_logs: bool = False,
        process_id: Optional[int] = None,
        resource_usage_file: Union[str, PathLike[str], None] = None,
        n_join_attempts: int = 5,
        join_timeout: float = 10.0,
        gpu_brand: Optional[str] = None,
        tracking_file: Union[str, PathLike[str], None] = None,
        overwrite: bool = False,
    ) -> Callable[[_Function], _Function]: ...


def track(
    function: Optional[Callable[..., Any]] = None,
    *,
    on_finish: Optional[Callable[[Tracker], Any]] = None,
    **arguments: Any,
) -> Any:
    """Measures every call of a function, also of an ``async`` one or of a generator.

    >>> @gua.track
    ... def train(): ...
    >>> @gua.track(sleep_time=0.1, on_finish=lambda tracker: log(tracker.to_json()))
    ... async def load(): ...

    :param on_finish: Is given the tracker of each call, also when the call raised. By default one
        line is written to stderr.
    :param arguments: Those of :class:`Tracker`.

    The tracker of the call that ended last is at ``train.tracker``.
    """
    # Arguments that make no sense are told where they stand, not at the first call.
    Tracker(**arguments)
    if function is None:
        return lambda function: _tracked(function, on_finish, arguments)
    return _tracked(function, on_finish, arguments)


def _tracked(
    function: Any,
    on_finish: Optional[Callable[[Tracker], Any]],
    arguments: Dict[str, Any],
) -> Callable[..., Any]:
    from ._calls import innermost, inside

    if not callable(function):
        raise TypeError(
            f"track() measures a function, and {function!r} is none. "
            "Name arguments, as in @gua.track(sleep_time=0.1)"
        )

    def finished(tracker: Tracker) -> None:
        wrapper.tracker = tracker  # type: ignore[attr-defined]
        if on_finish is None:
            _tell(innermost(function).__qualname__, tracker)
        else:
            on_finish(tracker)

    wrapper = inside(function, lambda: _Call(Tracker(**arguments), finished))
    return wrapper


def _tell(name: str, tracker: Tracker) -> None:
    from ._words import line

    print(f"gua: {_native.safe(name)}: {line(tracker)}", file=sys.stderr)
