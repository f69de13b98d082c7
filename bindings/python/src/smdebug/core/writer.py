"""Writing one step's files, without a hook."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

from smdebug import _raw
from smdebug._arrays import view_of
from smdebug._handles import Numbers, StepFileHandle, check, out, text
from smdebug.core.modes import ModeKeys
from smdebug.core.tensor import mode_number
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugValueError,
)

__all__ = ["FileWriter"]


class FileWriter:
    """Writes the event file and the index file of one step and worker.

    Readers see them once the writer is closed; as a context manager it closes itself.

    Parameters
    ----------
    trial_dir : str
        Folder of the trial.
    worker : str
        The worker's name.
    step : int
        The global step.
    wtype : str
        Must be "events".
    mode : ModeKeys
        Not looked at: each tensor has its own.
    max_queue, flush_secs, verbose, write_checksum
        Not looked at.
    """

    def __init__(
        self,
        trial_dir: Union[str, os.PathLike[str]],
        worker: str,
        step: int = 0,
        wtype: str = "events",
        mode: ModeKeys = ModeKeys.GLOBAL,
        max_queue: int = 10,
        flush_secs: int = 120,
        verbose: bool = False,
        write_checksum: bool = False,
    ) -> None:
        if wtype == "tensorboard":
            raise SMDebugNotImplementedError("TensorBoard files are not written yet")
        if wtype != "events":
            raise SMDebugValueError(f"there is no writer of type {wtype!r}")
        self.trial_dir = os.path.expanduser(os.fspath(trial_dir))
        self.worker = worker
        self.step = step
        self.wtype = wtype
        self.mode = mode
        self._has_tensor = False
        self._handle = StepFileHandle(
            out(
                "step_file",
                _raw.smd_step_file_open,
                text(self.trial_dir, "trial_dir"),
                step,
                text(worker, "worker"),
            )
        )
        self.event_file_path: str = _raw.smd_step_file_path(self._handle)

    def write_tensor(
        self,
        tdata: Any,
        tname: str,
        write_index: bool = True,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        mode_step: Optional[int] = None,
        timestamp: Optional[float] = None,
    ) -> None:
        """Appends a tensor.

        Parameters
        ----------
        tdata
            The tensor, as `Hook.save` takes it.
        tname : str
            Its name.
        write_index : bool
            Must be True.
        mode : ModeKeys
            The mode; of the first tensor, it is the mode of the files.
        mode_step : int, optional
            The mode's own number of the step; the global one, if not given.
        timestamp : float, optional
            When it was taken, in seconds since 1970; now, if not given.

        Raises
        ------
        SMDebugTypeError
            If it is no tensor, or of an element type that cannot be saved.
        SMDebugRuntimeError
            If the writer is closed.
        """
        if not write_index:
            raise SMDebugNotImplementedError("every tensor is written to the index")
        check(
            _raw.smd_step_file_add_tensor(
                self._handle,
                text(tname, "tensor name"),
                view_of(tdata),
                mode_number(mode),
                -1 if mode_step is None else mode_step,
                timestamp or 0.0,
            )
        )
        self._has_tensor = True

    def write_shape(
        self,
        name: str,
        shape: Sequence[int],
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        mode_step: Optional[int] = None,
        original_name: Optional[str] = None,
    ) -> None:
        """Appends a tensor's shape to the index.

        Parameters
        ----------
        name : str
            The tensor's name.
        shape : sequence of int
            Its shape.
        mode, mode_step
            As in `write_tensor`.
        original_name : str, optional
            The name the framework gave it.
        """
        check(
            _raw.smd_step_file_add_shape(
                self._handle,
                text(name, "tensor name"),
                Numbers(list(shape)),
                len(shape),
                mode_number(mode),
                -1 if mode_step is None else mode_step,
                None if original_name is None else text(original_name),
            )
        )

    def name(self) -> str:
        """The path of the event file.

        Raises
        ------
        SMDebugRuntimeError
            Before the first tensor, which makes the file.
        """
        if not self._has_tensor:
            raise SMDebugRuntimeError("the event file is made with the first tensor")
        return self.event_file_path

    def flush(self) -> None:
        """Does nothing: what was written becomes visible with `close`."""

    def close(self) -> None:
        """Makes both files visible to readers.  A second call does nothing."""
        check(_raw.smd_step_file_close(self._handle))

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()
