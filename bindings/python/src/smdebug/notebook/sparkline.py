"""Small pictures of numbers, as SVG."""

from __future__ import annotations

import math
from typing import List, Sequence

from smdebug.notebook.html import Html

__all__ = ["number_text", "sparkline"]

_WIDTH, _HEIGHT, _MARGIN = 140, 22, 3


def number_text(number: float) -> str:
    """Returns a number with four digits."""
    return f"{number:.4g}"


def sparkline(steps: Sequence[int], numbers: Sequence[float]) -> Html:
    """Returns a curve; numbers that are not finite are red dots at the bottom.

    Parameters
    ----------
    steps, numbers : sequence
        The points, in the order of their steps.
    """
    finite = [number for number in numbers if math.isfinite(number)]
    if not steps:
        return Html("")
    least, most = (min(finite), max(finite)) if finite else (0.0, 0.0)
    middle = least / 2 + most / 2  # their difference may overflow
    half = most / 2 - least / 2

    def across(step: int) -> float:
        whole = steps[-1] - steps[0]
        share = (step - steps[0]) / whole if whole else 0.5
        return _MARGIN + share * (_WIDTH - 2 * _MARGIN)

    def down(number: float) -> float:
        share = (number - middle) / half / 2 if half else 0.0
        return _HEIGHT / 2 - share * (_HEIGHT - 2 * _MARGIN)

    marks: List[str] = []
    line: List[str] = []
    for step, number in zip(steps, numbers):
        if math.isfinite(number):
            line.append(f"{across(step):.1f},{down(number):.1f}")
            continue
        marks.extend(_drawn(line))
        line = []
        marks.append(_dot(f"{across(step):.1f},{_HEIGHT - _MARGIN}", "#d33"))
    marks.extend(_drawn(line))
    title = f"{number_text(least)} to {number_text(most)}" if finite else "no finite number"
    return Html(
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{title}" style="vertical-align:middle"><title>{title}</title>{"".join(marks)}</svg>'
    )


def _drawn(points: Sequence[str]) -> List[str]:
    if not points:
        return []
    if len(points) == 1:
        return [_dot(points[0], "currentColor")]
    joined = " ".join(points)
    return [f'<polyline points="{joined}" fill="none" stroke="currentColor" stroke-width="1.3"/>']


def _dot(place: str, color: str) -> str:
    x, _, y = place.partition(",")
    return f'<circle cx="{x}" cy="{y}" r="2" fill="{color}"/>'
