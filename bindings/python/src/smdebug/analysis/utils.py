"""Helpers for code that analyses trials."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Sequence, TypeVar, Union

from smdebug.exceptions import SMDebugValueError

if TYPE_CHECKING:
    from smdebug.trials.trial import Trial

__all__ = ["no_refresh", "parse_bool", "parse_list_from_str", "refresh"]

Trials = TypeVar("Trials", bound=Union["Trial", Sequence["Trial"]])


@contextmanager
def no_refresh(trials: Trials) -> Iterator[Trials]:
    """Queries in this block see what is known, and read nothing new.

    Parameters
    ----------
    trials : Trial or sequence of Trial
        One trial or several.  After the block each is as it was before.
    """
    with _refreshing(trials, False):
        yield trials


@contextmanager
def refresh(trials: Trials) -> Iterator[Trials]:
    """Queries in this block read what was recorded since the last one.

    Parameters
    ----------
    trials : Trial or sequence of Trial
        One trial or several.  After the block each is as it was before.
    """
    with _refreshing(trials, True):
        yield trials


@contextmanager
def _refreshing(trials: Any, on: bool) -> Iterator[None]:
    each: List[Trial] = list(trials) if isinstance(trials, (list, tuple, set)) else [trials]
    before = [trial.dynamic_refresh for trial in each]
    try:
        for trial in each:
            trial.dynamic_refresh = on
        yield
    finally:
        for trial, was_on in zip(each, before):
            trial.dynamic_refresh = was_on


def parse_list_from_str(arg: Union[str, List[str], None], delimiter: str = ",") -> List[str]:
    """The parts of a delimited text; a list as it is; an empty one for None and ""."""
    if not arg:
        return []
    return arg.split(delimiter) if isinstance(arg, str) else arg


def parse_bool(arg: Any, default: Optional[bool]) -> Optional[bool]:
    """A bool, or one of the texts "True", "true", "False", "false"; `default` for None.

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
    """The number that ends a tensor's name, for sorting; 0 without one."""
    match = re.search(r"_(\d+)$", t_name)
    return int(match.group(1)) if match else 0
