"""From the native half's dictionaries to classes: the names of ``--json`` are the names of fields."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Mapping, Optional, Type, TypeVar, Union

T = TypeVar("T")

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
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
    if not isinstance(given, str):
        return float(given)
    parts = _PART.findall(given)
    if not parts or "".join(number + unit for number, unit in parts) != given.replace(" ", ""):
        raise ValueError(f"{given!r} is no time. Write a number and ms, s, m, h or d, as in 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def time(given: Union[str, datetime]) -> str:
    """A moment as it would be typed."""
    if isinstance(given, str):
        return given
    return given.isoformat() if given.tzinfo else given.isoformat(" ")


def frame(rows: Any) -> Any:
    """A table for pandas."""
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas") from error
    return pandas.DataFrame(rows)
