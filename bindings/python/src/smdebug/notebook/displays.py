"""The parts of trials and tensors that notebooks use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, Iterable, Mapping, Optional, Tuple, Union

from smdebug.core.modes import ModeKeys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from smdebug.notebook.report_page import ReportPage

__all__ = ["TensorDisplay", "TrialDisplay"]


class TrialDisplay:
    """The part of a trial that notebooks use."""

    path: str
    _store_options: Callable[[], Dict[str, str]]

    def plot(
        self,
        regex: str,
        reduction: Optional[str] = None,
        mode: Optional[ModeKeys] = None,
        worker: Optional[str] = None,
        *,
        axes: Optional[Axes] = None,
    ) -> Axes:
        """Plots the tensors whose names contain a match of a regular expression.

        Of a tensor with several elements, plots the mean.  At most 20 tensors are drawn.  Needs
        matplotlib: ``pip install 'libsmdebug[plot]'``.

        Parameters
        ----------
        regex : str
            Selects the tensors.
        reduction, mode, worker, axes
            As `Tensor.plot` takes them.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        SMDebugValueError
            If no tensor matches, or the regular expression or the reduction is invalid.
        ModuleNotFoundError
            If matplotlib is missing.
        """
        from smdebug.notebook.plots import plot_trial

        return plot_trial(self, regex, reduction, mode, worker, axes)

    def report(
        self,
        rules: Iterable[Union[str, Tuple[str, Mapping[str, object]]]] = (),
        profile: str = "calibrated",
        *,
        height: int = 800,
    ) -> ReportPage:
        """Makes the page of `smdebug report`; as the last line of a cell, it is shown inline.

        The page is about the whole trial, whatever its `range_steps`.

        Parameters
        ----------
        rules : iterable of str or (str, mapping)
            The rules to evaluate, by name, with parameters if wanted.  Defaults to all that need no
            parameter.
        profile : str
            "calibrated", "aws" or "llm": the defaults of the rules, and which there are.
        height : int
            The height of the page in the notebook, in pixels.

        Returns
        -------
        ReportPage
            `html` is the page, and `save(path)` writes it to a file.

        Raises
        ------
        SMDebugRuntimeError
            If the page cannot be made.
        """
        from smdebug.notebook.report_page import make_report

        return make_report(self.path, self._store_options(), rules, profile, height)

    def _repr_html_(self) -> str:
        from smdebug.notebook.cards import trial_card

        return trial_card(self)


class TensorDisplay:
    """The part of a tensor that notebooks use."""

    def plot(
        self,
        reduction: Optional[str] = None,
        mode: Optional[ModeKeys] = None,
        worker: Optional[str] = None,
        *,
        axes: Optional[Axes] = None,
    ) -> Axes:
        """Plots the tensor over the steps.

        A tensor with several elements is drawn as its mean, with a band from the least to the
        largest element.  Steps whose number is not finite are crosses at the bottom.  Needs
        matplotlib: ``pip install 'libsmdebug[plot]'``.

        Parameters
        ----------
        reduction : str, optional
            The reduction to draw, such as "l2" or "abs_max".
        mode : ModeKeys, optional
            The mode whose steps are drawn, by its own numbers.  Defaults to all modes by global
            steps, one line for each.
        worker : str, optional
            The worker.  Defaults to the first that saved the tensor.
        axes : matplotlib.axes.Axes, optional
            Where to draw.  Defaults to a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        SMDebugValueError
            If no reduction has that name.
        SMDebugTypeError
            If the elements are text.
        ModuleNotFoundError
            If matplotlib is missing.
        """
        from smdebug.notebook.plots import plot_tensor

        return plot_tensor(self, reduction, mode, worker, axes)

    def _repr_html_(self) -> str:
        from smdebug.notebook.cards import tensor_card

        return tensor_card(self)
