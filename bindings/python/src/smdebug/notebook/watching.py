"""Shows a job in a notebook while it runs."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Iterator, Optional, Tuple, Union

from smdebug.core.finding import Finding
from smdebug.core.utils import import_framework
from smdebug.exceptions import (
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.notebook.cards import cause_parts, findings_table, trial_parts
from smdebug.notebook.curves import Samples
from smdebug.notebook.html import card, join
from smdebug.rules.rule_set import RuleSet
from smdebug.trials.trial import Trial
from smdebug.trials.utils import create_trial

__all__ = ["watch"]

_MOST_SHOWN = 10
_MOST_KINDS = 1000
_EXTRA = "'libsmdebug[notebook]'"


def watch(
    trial: Union[Trial, str, os.PathLike[str]],
    rules: Optional[RuleSet] = None,
    every: float = 2.0,
) -> None:
    """Shows a job in a notebook: its steps, curves and findings, until the job ends.

    The picture updates by itself.  Interrupting the cell stops it, and the later cells still run;
    the last picture stays in the notebook.  Starts no thread.  Needs ipywidgets:
    ``pip install 'libsmdebug[notebook]'``.

    Parameters
    ----------
    trial : Trial, str or path
        The trial, or where the job will record it.
    rules : RuleSet, optional
        The rules to evaluate.  Defaults to all built-in rules that need no parameter.
    every : float
        How many seconds lie between two pictures.

    Raises
    ------
    SMDebugRuntimeError
        If this is not a notebook.
    MissingCollectionFiles
        If the job has not begun in time; see `create_trial`.
    ModuleNotFoundError
        If ipywidgets is missing.

    Examples
    --------
    >>> smdebug.watch("run")
    """
    if not every > 0:
        raise SMDebugValueError(f"every={every!r} is not a positive number of seconds")
    if rules is not None and not isinstance(rules, RuleSet):
        raise SMDebugTypeError(f"expected a RuleSet, not a {type(rules).__name__}")
    widgets = import_framework("ipywidgets", _EXTRA, "smdebug.watch")
    display = import_framework("IPython.display", _EXTRA, "smdebug.watch")
    if (
        getattr(import_framework("IPython", _EXTRA, "smdebug.watch").get_ipython(), "kernel", None)
        is None
    ):
        raise SMDebugRuntimeError(
            "smdebug.watch draws in a notebook; in a terminal: smdebug rules --follow PATH"
        )
    opened = trial if isinstance(trial, Trial) else create_trial(trial)
    try:
        _Watch(opened, rules or RuleSet().add_all(), every, widgets, display).run()
    finally:
        if opened is not trial:
            opened.close()


class _Watch:
    """One call of `watch`."""

    def __init__(
        self, trial: Trial, rules: RuleSet, every: float, widgets: Any, display: Any
    ) -> None:
        self._trial = trial
        self._rules = rules
        self._every = every
        self._display = display
        self._box = widgets.HTML()
        # The first of those that differ in more than the step: repeats push none off the screen.
        self._findings: Dict[Tuple[str, str, str, str], Finding] = {}
        self._count = 0
        self._samples = Samples()
        self._trouble = ""
        self._drawn_at = float("-inf")

    def run(self) -> None:
        self._display.display(self._box)
        state = "interrupted"
        try:
            self._follow()
            state = "the job has ended"
        except KeyboardInterrupt:
            pass  # it ends the picture, not the notebook
        finally:
            # Plain HTML stays in the saved notebook; a widget does not.
            self._box.close()
            self._display.display(self._display.HTML(self._picture(state)))

    def _follow(self) -> None:
        while True:
            has_ended = self._trial.loaded_all_steps  # before the last steps are read
            for finding in self._new_findings():
                kind = (finding.rule, finding.check, finding.tensor or "", finding.worker or "")
                if len(self._findings) < _MOST_KINDS:
                    self._findings.setdefault(kind, finding)
                self._count += 1
                self._draw()
            self._draw(at_once=True)
            if has_ended:
                return
            time.sleep(self._every)
            self._refresh()

    def _new_findings(self) -> Iterator[Finding]:
        try:
            yield from self._rules.evaluate(self._trial, wait=False)
        except (SMDebugError, OSError) as error:  # one bad step must not end the picture
            self._trouble = str(error)

    def _refresh(self) -> None:
        try:
            self._trial.maybe_refresh()
            self._trouble = ""
        except (SMDebugError, OSError) as error:
            self._trouble = str(error)

    def _draw(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._drawn_at >= self._every:
            self._box.value = self._picture("watching")
            self._drawn_at = time.monotonic()

    def _picture(self, state: str) -> str:
        parts = []
        try:
            parts.extend(trial_parts(self._trial, self._samples))
            parts.extend(cause_parts(self._rules))
        except (SMDebugError, OSError) as error:
            self._trouble = str(error)
        if self._findings:
            parts.append(join(f"{self._count} findings, the first of each rule and tensor:"))
            parts.append(findings_table(list(self._findings.values()), _MOST_SHOWN))
        elif not self._trouble:
            parts.append(join("no findings"))
        if self._trouble:
            parts.append(join("last error: ", self._trouble))
        return card(self._trial.name, state, *parts)
