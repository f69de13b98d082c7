"""Writes the files of one step without a hook."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Type, Union

from smdebug import _raw
from smdebug._arrays import view_of
from smdebug._handles import Numbers, StepFileHandle, check, out, text
from smdebug.core.locations import TensorboardFileLocation
from smdebug.core.logger import get_logger, log_ignored
from smdebug.core.modes import ModeKeys
from smdebug.core.summaries import Bins, SummaryFile, encode_histogram, encode_scalar
from smdebug.core.tensor import mode_number
from smdebug.exceptions import SMDebugRuntimeError, SMDebugValueError

__all__ = ["FileWriter"]


class FileWriter:
    """Writes the event file and the index file of one step and worker.

    Readers see them once the writer is closed; as a context manager it closes itself.  If the
    block raises, nothing is written.  With `wtype` "tensorboard" it writes a file of scalars and
    histograms for TensorBoard.

    Parameters
    ----------
    trial_dir : str
        Folder of the trial.
    worker : str
        The worker's name.
    step : int
        The global step.
    wtype : str
        "events", or "tensorboard".
    mode : ModeKeys
        The folder of TensorBoard's file.  Tensors have modes of their own.
    max_queue, flush_secs, verbose, write_checksum
        Ignored.
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
        if wtype not in ("events", "tensorboard"):
            raise SMDebugValueError(f"there is no writer of type {wtype!r}")
        log_ignored(
            "FileWriter",
            max_queue=max_queue != 10,
            flush_secs=flush_secs != 120,
            verbose=verbose,
            write_checksum=write_checksum,
        )
        self.trial_dir = os.path.expanduser(os.fspath(trial_dir))
        self.worker = worker
        self.step = step
        self.wtype = wtype
        self.mode = mode
        self._has_tensor = False
        self._summaries: Optional[SummaryFile] = None
        self._step_file: Optional[StepFileHandle] = None
        if wtype == "tensorboard":
            place = TensorboardFileLocation(step, worker, mode)
            self.event_file_path: str = place.get_file_location(self.trial_dir)
            self._summaries = SummaryFile(self.event_file_path)
            return
        self._step_file = StepFileHandle(
            out(
                "step_file",
                _raw.smd_step_file_open,
                text(self.trial_dir, "trial_dir"),
                step,
                text(worker, "worker"),
            )
        )
        self.event_file_path = _raw.smd_step_file_path(self._step_file)

    @property
    def _handle(self) -> StepFileHandle:
        if self._summaries is not None:
            raise SMDebugRuntimeError("tensors and shapes take a writer of type 'events'")
        if self._step_file is None:
            raise SMDebugRuntimeError("the writer was left by an exception; its files are gone")
        return self._step_file

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
            Ignored: each tensor is in the index.
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
        log_ignored("FileWriter.write_tensor", write_index=not write_index)
        check(
            _raw.smd_step_file_add_tensor(
                self._handle,
                text(tname, "tensor name"),
                view_of(tdata),
                -1 if mode_step is None else mode_step,
                mode_number(mode),
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
                -1 if mode_step is None else mode_step,
                mode_number(mode),
                None if original_name is None else text(original_name),
            )
        )

    def write_scalar_summary(
        self, name: str, value: Any, global_step: int, timestamp: Optional[float] = None
    ) -> None:
        """Appends a scalar for TensorBoard.

        Raises
        ------
        SMDebugRuntimeError
            If the value does not have exactly one element, the writer is closed, or it is
            not of type "tensorboard".
        """
        self._board().add(encode_scalar(name, value), global_step, timestamp)

    def write_histogram_summary(
        self, tdata: Any, tname: str, global_step: int, bins: Bins = "default"
    ) -> None:
        """Appends a histogram for TensorBoard.

        Skips a tensor that is empty or has an element that is not finite, with a warning.

        Parameters
        ----------
        tdata
            The tensor.
        tname : str
            The histogram's name.
        global_step : int
            The step.
        bins : int, str or sequence of float
            "default" for TensorFlow's own, or as `numpy.histogram` takes it.
        """
        board = self._board()
        try:
            board.add(encode_histogram(tname, tdata, bins), global_step)
        except ValueError as error:
            get_logger().warning("no histogram is written: %s", error)

    def write_summary(
        self, summ: Any, global_step: int, timestamp: Optional[float] = None
    ) -> None:
        """Appends a Summary, a protocol buffer of TensorFlow's or of TensorBoard's package."""
        self._board().add(summ.SerializeToString(), global_step, timestamp)

    def write_graph(self, graph: Any) -> None:
        """Appends a GraphDef, a protocol buffer."""
        self._board().add_graph(graph.SerializeToString())

    def write_pytorch_graph(self, graph_profile: Any) -> None:
        """Appends the GraphDef and the step statistics that PyTorch makes of a model."""
        graph, statistics = graph_profile[0], graph_profile[1]
        self.write_graph(graph)
        self._board().add_run_metadata("step1", statistics.SerializeToString())

    def _board(self) -> SummaryFile:
        if self._summaries is None:
            raise SMDebugRuntimeError("summaries take a writer of type 'tensorboard'")
        return self._summaries

    def name(self) -> str:
        """The path of the event file.

        Raises
        ------
        SMDebugRuntimeError
            Before the first tensor, which makes the file.
        """
        if not self._has_tensor and self._summaries is None:
            raise SMDebugRuntimeError("the event file is made with the first tensor")
        return self.event_file_path

    def flush(self) -> None:
        """Writes TensorBoard's file so far.  Files of a trial become visible with `close`."""
        if self._summaries is not None:
            self._summaries.flush()

    def close(self) -> None:
        """Makes the files visible to readers.  A second call does nothing."""
        if self._summaries is not None:
            self._summaries.close()
        elif self._step_file is not None:
            check(_raw.smd_step_file_close(self._step_file))

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, error_type: Optional[Type[BaseException]], *unused: object) -> None:
        if error_type is None:
            self.close()
        else:
            self._step_file = None  # freed without being closed, it removes what it wrote
