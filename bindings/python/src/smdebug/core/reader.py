"""Reads one event file without a trial."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from smdebug import _raw
from smdebug._handles import EventFileHandle, out, text
from smdebug.core.logger import log_ignored
from smdebug.core.modes import ModeKeys
from smdebug.core.utils import match_inc
from smdebug.exceptions import SMDebugNotImplementedError

__all__ = ["FileReader"]


class FileReader:
    """Reads the tensors of an event file; each call starts at the beginning.

    Parameters
    ----------
    fname : str or path
        The file.
    wtype : str
        Must be "tfevent".

    Raises
    ------
    SMDebugFileNotFoundError
        If there is no such file.
    """

    def __init__(self, fname: Union[str, os.PathLike[str]], wtype: str = "tfevent") -> None:
        if wtype != "tfevent":
            raise SMDebugNotImplementedError(f"files of type {wtype!r} are not supported")
        self._path = text(os.fspath(fname), "file name")
        self._open()

    def read_tensors(
        self, check: Union[bool, str] = "minimal"
    ) -> Iterator[Tuple[str, int, Any, ModeKeys, int]]:
        """Returns the tensors in the file as (name, global step, array, mode, mode step).

        Parameters
        ----------
        check : bool or str
            Ignored: checksums are always verified.
        """
        log_ignored("FileReader.read_tensors", check=check not in ("minimal", True))
        for file in self._moves():
            yield (
                _raw.smd_event_file_tensor(file),
                _raw.smd_event_file_step(file),
                _raw.take_array(out("value", _raw.smd_event_file_value, file)),
                ModeKeys(_raw.smd_event_file_mode(file)),
                _raw.smd_event_file_mode_step(file),
            )

    def read_events(
        self, check: Union[bool, str] = "minimal", regex_list: Optional[Sequence[str]] = None
    ) -> List[Dict[str, Any]]:
        """Returns the tensors as dicts of "timestamp", "step", "name" and "value".

        Parameters
        ----------
        check : bool or str
            Ignored: checksums are always verified.
        regex_list : list of str, optional
            Selects tensors whose names contain a match of one of these.
        """
        log_ignored("FileReader.read_events", check=check not in ("minimal", True))
        return [
            {
                "timestamp": _raw.smd_event_file_timestamp(file),
                "step": _raw.smd_event_file_step(file),
                "name": _raw.smd_event_file_tensor(file),
                "value": _raw.take_array(out("value", _raw.smd_event_file_value, file)),
            }
            for file in self._moves()
            if regex_list is None or match_inc(_raw.smd_event_file_tensor(file), regex_list)
        ]

    def _open(self) -> EventFileHandle:
        return EventFileHandle(out("event_file", _raw.smd_event_file_open, self._path))

    def _moves(self) -> Iterator[EventFileHandle]:
        file = self._open()
        while out("int32", _raw.smd_event_file_next, file):
            yield file

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *unused: object) -> None:
        return None
