"""From the native half's dictionaries to classes: the names of ``--json`` are the names of fields."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import date, datetime, timedelta, timezone
from typing import Any, Dict, List, Mapping, Optional, Type, TypeVar, Union

from . import _native

T = TypeVar("T")

_MOMENT = re.compile(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(?:\.(\d+))?Z")


def moment(text: Optional[str]) -> Optional[datetime]:
    """A moment as JSON has it, in UTC; one that no ``datetime`` can hold is None."""
    found = _MOMENT.fullmatch(text or "")
    if found is None:
        return None
    *parts, fraction = found.groups()
    micros = int(((fraction or "") + "000000")[:6])
    return datetime(*map(int, parts), micros, tzinfo=timezone.utc)  # type: ignore[arg-type,misc]


def build(cls: Type[T], told: Mapping[str, Any]) -> T:
    """An object of a class, with what it has in it made objects as the class says in ``_PARTS``."""
    parts: Dict[str, Any] = getattr(cls, "_PARTS", {})
    values = {}
    for field in fields(cls):  # type: ignore[arg-type]
        value = told.get(field.name.rstrip("_"))
        values[field.name] = _part(parts.get(field.name), value)
    return cls(**values)


def _part(kind: Any, value: Any) -> Any:
    if kind is None or value is None:
        return value
    if isinstance(value, list):
        return [_part(kind, one) for one in value]
    return moment(value) if kind is datetime else build(kind, value)


def duration(given: Union[str, float, timedelta]) -> str:
    """A time as it would be typed: a number is in seconds."""
    return given if isinstance(given, str) else f"{seconds(given) * 1000:.0f}ms"


def seconds(given: Union[str, float, timedelta]) -> float:
    """A time in seconds: a number, or as it would be typed, such as 90s or 1h30m."""
    if isinstance(given, timedelta):
        return given.total_seconds()
    if isinstance(given, str):
        return _native.seconds(given)
    if isinstance(given, bool) or not hasattr(given, "__float__"):
        kind = type(given).__name__
        raise TypeError(f"a length of time is seconds, a text like '1h30m' or a timedelta, not {kind}")
    return float(given)


def time(given: Union[str, date]) -> str:
    """A moment as it would be typed: a date is its first one."""
    if isinstance(given, str):
        return given
    if isinstance(given, datetime):
        return given.isoformat() if given.tzinfo else given.isoformat(" ")
    if isinstance(given, date):
        return given.isoformat()
    kind = type(given).__name__
    raise TypeError(f"a moment is a text, a datetime or a date, not {kind}")


def frame(rows: Any, columns: Optional[List[str]] = None) -> Any:
    """A table for pandas; the columns of one that may have no rows."""
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas") from error
    return pandas.DataFrame(rows, columns=columns)
