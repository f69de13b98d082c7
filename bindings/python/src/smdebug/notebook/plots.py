"""Plots of tensors, by matplotlib."""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Any, List, Optional, Set, Tuple

from smdebug.core.modes import ModeKeys
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.notebook.curves import Curve, curve_of, natural_key
from smdebug.notebook.html import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_tensor", "plot_trial"]

_MOST = 20  # tensors in one plot
_LARGEST = 1e300  # an axis whose length overflows cannot be drawn


def plot_tensor(
    tensor: Any,
    reduction: Optional[str],
    mode: Optional[ModeKeys],
    worker: Optional[str],
    axes: Optional[Axes],
) -> Axes:
    """Draws a tensor over the steps: one line for each mode, unless one is given."""
    axes = axes or _new_axes("Tensor.plot")
    lines = _lines(tensor, reduction, mode, worker)
    drawn = [(curve, _draw(axes, curve, name or tensor.name)) for curve, name in lines]
    reductions = {curve.reduction for curve, _ in lines}
    if reduction is None and reductions == {"mean"}:
        _draw_band(axes, tensor, mode, worker, drawn)
    axes.set_title(_plain(tensor.name))
    has_odd = any(not math.isfinite(each) for curve, _ in lines for each in curve.numbers)
    _finish(axes, reductions, mode, len(lines) > 1 or has_odd)
    return axes


def plot_trial(
    trial: Any,
    regex: str,
    reduction: Optional[str],
    mode: Optional[ModeKeys],
    worker: Optional[str],
    axes: Optional[Axes],
) -> Axes:
    """Draws the tensors whose names match."""
    names = sorted(trial.tensor_names(regex=regex), key=natural_key)
    if not names:
        raise SMDebugValueError(_no_match(trial, regex))
    reductions: Set[str] = set()
    numbers = []
    for name in names:
        try:
            lines = _lines(trial.tensor(name), reduction, mode, worker)
        except SMDebugTypeError:  # texts have no curve
            if len(names) == 1:
                raise
            continue
        numbers.append((name, lines))
        if len(numbers) > _MOST:
            break
    if not numbers:
        raise SMDebugValueError(
            f"no tensor of trial {trial.name} that matches {regex!r} holds numbers"
        )
    axes = axes or _new_axes("Trial.plot")
    for name, lines in numbers[:_MOST]:
        for curve, of_mode in lines:
            _draw(axes, curve, f"{name} {of_mode}".rstrip())
            reductions.add(curve.reduction)
    count = sum(len(lines) for _, lines in numbers)
    more = f": {_MOST} of {len(names)} tensors" if len(numbers) > _MOST else ""
    axes.set_title(_plain(trial.name) + more)
    _finish(axes, reductions, mode, count > 0)
    return axes


def _no_match(trial: Any, regex: str) -> str:
    message = f"no tensor of trial {trial.name} matches {regex!r}"
    close = difflib.get_close_matches(regex, trial.tensor_names(), 3)
    return f"{message}; did you mean {' or '.join(map(repr, close))}?" if close else message


def _new_axes(user: str) -> Axes:
    pyplot = import_framework("matplotlib.pyplot", "'libsmdebug[plot]'", user)
    _, axes = pyplot.subplots(figsize=(8, 3.5), layout="constrained")
    made: Axes = axes
    return made


def _lines(
    tensor: Any, reduction: Optional[str], mode: Optional[ModeKeys], worker: Optional[str]
) -> List[Tuple[Curve, str]]:
    """Returns the curves of a tensor, each with the name of its mode if there are several.

    Several modes share an axis, so their steps are global ones.
    """
    if mode is not None:
        return [(curve_of(tensor, mode, reduction, worker), "")]
    whole = curve_of(tensor, None, reduction, worker)
    of_modes = [(tensor.trial.mode(step), step) for step in whole.steps]
    modes = list(dict.fromkeys(of for of, _ in of_modes))
    if len(modes) < 2:
        return [(whole, "")]
    numbers = dict(zip(whole.steps, whole.numbers))
    lines = []
    for each in modes:
        steps = tuple(step for of, step in of_modes if of is each)
        curve = Curve(whole.reduction, steps, tuple(numbers[step] for step in steps))
        lines.append((curve, each.name if each is not None else "no mode"))
    return lines


def _draw(axes: Axes, curve: Curve, label: str) -> Any:
    """Draws a line, with crosses where the number is not finite.  Returns its color."""
    numbers = [_finite(number) for number in curve.numbers]
    marker = "o" if len(numbers) < 2 else ""
    [line] = axes.plot(curve.steps, numbers, label=_plain(label), marker=marker, linewidth=1.3)
    odd = [step for step, number in zip(curve.steps, curve.numbers) if not math.isfinite(number)]
    if odd:
        axes.plot(
            odd, [0.02] * len(odd), "x", color=line.get_color(), transform=axes.get_xaxis_transform(),
            label=f"not finite: {len(odd)} step{'s' * (len(odd) > 1)}, from {odd[0]}",
        )  # fmt: skip
    return line.get_color()


def _draw_band(
    axes: Axes,
    tensor: Any,
    mode: Optional[ModeKeys],
    worker: Optional[str],
    lines: List[Tuple[Curve, Any]],
) -> None:
    """Shades what lies between the least and the largest element, if both can be had."""
    try:
        low, high = (curve_of(tensor, mode, name, worker) for name in ("min", "max"))
    except (SMDebugError, OSError):
        return
    least = dict(zip(low.steps, low.numbers))
    most = dict(zip(high.steps, high.numbers))
    for curve, color in lines:
        steps = [step for step in curve.steps if step in least and step in most]
        axes.fill_between(
            steps, [_finite(least[step]) for step in steps], [_finite(most[step]) for step in steps],
            color=color, alpha=0.15, linewidth=0,
        )  # fmt: skip


def _finite(number: float) -> float:
    return max(-_LARGEST, min(number, _LARGEST)) if math.isfinite(number) else math.nan


def _finish(axes: Axes, reductions: Set[str], mode: Optional[ModeKeys], has_legend: bool) -> None:
    """Sets the titles of the axes."""
    axes.set_xlabel("step" if mode is None else f"{mode.name} step")
    axes.set_ylabel(", ".join(sorted(name or "value" for name in reductions)))
    if has_legend:
        axes.legend(fontsize="small")


def _plain(name: str) -> str:
    """Returns a name as matplotlib draws it: "$" begins a formula, "_" at the start hides a line."""
    text = printable(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
