"""The part of a hook that saves statistics, and tensors after their step has ended."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from smdebug import _raw
from smdebug._arrays import view_of
from smdebug._handles import check
from smdebug.core.given_statistics import FIGURES, given_arguments

__all__ = ["FIGURE_BITS", "WANTS_SHAPE", "WANTS_STATISTICS", "WANTS_VALUE", "LateTensors"]

# What `LateTensors.expect` returns.
WANTS_VALUE = _raw.SMD_WANTS_VALUE
WANTS_STATISTICS = _raw.SMD_WANTS_STATISTICS
WANTS_SHAPE = _raw.SMD_WANTS_SHAPE
# The bits of figures, by their names in `LateTensors.save_statistics`.
FIGURE_BITS = {each: 1 << i for i, each in enumerate(FIGURES)}


class LateTensors:
    """The part of a hook that saves what the caller computed, in time or late."""

    _handle: Any

    def save_statistics(
        self,
        name: str,
        shape: Sequence[int],
        dtype: object,
        statistics: Mapping[str, float],
        sample: Any = None,
    ) -> None:
        """Saves the selected reductions of a tensor from figures that the caller computed.

        For a tensor of an accelerator, which then need not be copied.  Attached rules get
        the figures too, and statistics of the elements if the three counts, "variance",
        "sum", "l1", "l2", "min" and "max" are given.

        Parameters
        ----------
        name : str
            The tensor's name.
        shape : sequence of int
            The tensor's shape.
        dtype
            The tensor's element type: a name such as "float32", or a dtype of numpy or of
            the framework.
        statistics : mapping of str to float
            Of the elements: "min", "max", "median", "mean", "variance" (ddof 0), "sum",
            "prod", "l1", "l2"; of their absolute values: "abs_min", "abs_max", "abs_median",
            "abs_mean", "abs_variance"; all three of "nan_count", "inf_count", "zero_count".
            The standard deviation and the other reductions follow from these.
        sample
            Elements of the tensor in one dimension, spread evenly, for rules that compare
            elements; in host memory.

        Raises
        ------
        SMDebugValueError
            If a figure is unknown, or one that a collection selects is missing.
        SMDebugNotImplementedError
            If a collection selects the tensor's raw value.
        """
        _raw.save_statistics(
            *given_arguments(self._handle, name, shape, dtype, statistics, sample)
        )

    def expect(self, name: str) -> int:
        """Expects a tensor of the open step to come late; see `save_late`.

        An accelerator computes behind the host.  Call this within the step, end the step,
        and save the tensor when it has arrived.  The step is written, and evaluated by
        attached rules, when all its expected tensors have come; later steps wait for it.
        At most 16 ended steps wait: then the oldest is completed without what is missing.

        Returns
        -------
        int
            0 if the step neither saves nor evaluates the tensor: do not send it.  Else bits:
            `WANTS_VALUE`, `WANTS_SHAPE`, `WANTS_STATISTICS` (for attached rules), and those
            of the figures that its collections save, see `FIGURE_BITS`; all in
            `smdebug.core.late_tensors`.

        Raises
        ------
        SMDebugRuntimeError
            If no step is open.
        """
        return _raw.expect(self._handle, name)

    def save_late(self, name: str, step: int, value: Any) -> None:
        """Saves an expected tensor of a step that may have ended.

        Parameters
        ----------
        name : str
            The tensor's name, as given to `expect`.
        step : int
            The global step, as `begin_step` returned it.
        value
            As `save` takes it.

        Raises
        ------
        SMDebugRuntimeError
            If the step does not wait for the tensor.
        """
        if not _raw.save_late(self._handle, name, step, value):
            check(_raw.smd_hook_save_late(self._handle, name, step, view_of(value)))

    def save_late_statistics(
        self,
        name: str,
        step: int,
        shape: Sequence[int],
        dtype: object,
        statistics: Mapping[str, float],
        sample: Any = None,
    ) -> None:
        """Saves the figures of an expected tensor; the other parameters as `save_statistics`.

        Parameters
        ----------
        name : str
            The tensor's name, as given to `expect`.
        step : int
            The global step, as `begin_step` returned it.

        Raises
        ------
        SMDebugRuntimeError
            If the step does not wait for the tensor.
        SMDebugValueError
            If a figure is unknown, or one that a collection selects is missing.
        SMDebugNotImplementedError
            If a collection selects the tensor's raw value.
        """
        _raw.save_late_statistics(
            step, *given_arguments(self._handle, name, shape, dtype, statistics, sample)
        )

    def forgo(self, name: str, step: int) -> None:
        """Gives up an expected tensor: its step is recorded without it.

        Raises
        ------
        SMDebugRuntimeError
            If the step does not wait for the tensor.
        """
        _raw.forgo(self._handle, name, step)
