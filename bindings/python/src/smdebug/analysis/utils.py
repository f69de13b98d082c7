"""Helpers for code that analyses trials."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional, Protocol, Sequence, TypeVar, Union

from smdebug.exceptions import SMDebugValueError

__all__ = ["no_refresh", "parse_bool", "parse_list_from_str", "refresh"]


class Refreshed(Protocol):
    """The part of a trial that this module uses."""

    dynamic_refresh: bool


Trials = TypeVar("Trials", bound=Union[Refreshed, Sequence[Refreshed]])


@contextmanager
def no_refresh(trials: Trials) -> Iterator[Trials]:
    """Freezes trials: queries in this block read no new data.

    Parameters
    ----------
    trials : Trial or sequence of Trial
        One trial or several.  Each is restored to its former state after the block.
    """
    with _refreshing(trials, False):
        yield trials


@contextmanager
def refresh(trials: Trials) -> Iterator[Trials]:
    """Unfreezes trials: each query in this block reads new data first.

    Parameters
    ----------
    trials : Trial or sequence of Trial
        One trial or several.  Each is restored to its former state after the block.
    """
    with _refreshing(trials, True):
        yield trials


@contextmanager
def _refreshing(trials: Any, on: bool) -> Iterator[None]:
    each: List[Refreshed] = list(trials) if isinstance(trials, (list, tuple, set)) else [trials]
    before = [trial.dynamic_refresh for trial in each]
    try:
        for trial in each:
            trial.dynamic_refresh = on
        yield
    finally:
        for trial, was_on in zip(each, before):
            trial.dynamic_refresh = was_on


def parse_list_from_str(arg: Union[str, List[str], None], delimiter: str = ",") -> List[str]:
    """Returns the parts of a delimited text; a list unchanged; [] for None and ""."""
    if not arg:
        return []
    return arg.split(delimiter) if isinstance(arg, str) else arg


def parse_bool(arg: Any, default: Optional[bool]) -> Optional[bool]:
    """Returns the bool that `arg` is or spells ("True", "true", ...); `default` for None.

    Raises
    ------
    SMDebugValueError
        For anything else.
    """
    if arg is None:
        return default
    for value in (False, True):
        if arg == value or arg in (str(value), str(value).lower()):
            return value
    raise SMDebugValueError(f"neither true nor false: {arg!r}")


def _tensor_name_sorter(t_name: str) -> int:
    """Returns the number at the end of a tensor's name, for sorting; 0 without one."""
    match = re.search(r"_(\d+)$", t_name)
    return int(match.group(1)) if match else 0
