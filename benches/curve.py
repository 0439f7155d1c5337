"""A curve: a figure over sizes, and how steeply it grows."""

import math
from dataclasses import dataclass

from table import Missing


@dataclass(frozen=True)
class Curve:
    """Points of (size, figure); a figure may be missing."""

    points: list

    def exponent(self):
        """The slope of the least squares in log–log: 1 is linear, 0 does not grow."""
        missing = [figure for _, figure in self.points if isinstance(figure, Missing)]
        if missing:
            return missing[0]
        if len(self.points) < 2 or any(figure <= 0 for _, figure in self.points):
            return Missing(f"no slope through {self.points}")
        logs = [(math.log(size), math.log(figure)) for size, figure in self.points]
        mean_x = sum(x for x, _ in logs) / len(logs)
        mean_y = sum(y for _, y in logs) / len(logs)
        across = sum((x - mean_x) ** 2 for x, _ in logs)
        if across == 0:
            return Missing("no slope: all sizes are the same")
        return sum((x - mean_x) * (y - mean_y) for x, y in logs) / across
