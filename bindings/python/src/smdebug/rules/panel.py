"""Built-in rules that look at a job together."""

from __future__ import annotations

import json
import operator
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from smdebug import _raw
from smdebug._handles import PanelHandle, check, out, out_text, text
from smdebug.core.save_config import SaveConfig, SaveSettings
from smdebug.core.verdict import Action, Verdict, take_verdicts
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.rules.following import new_steps
from smdebug.trials.trial import Trial

__all__ = ["Panel"]

# How many steps one call judges: between them Python looks at its signals too.
_AT_ONCE = 64


class Panel:
    """Built-in rules that look at a stored trial, or at a job from within.

    Each tensor is read and summed up once for all of them.

    Parameters
    ----------
    profile : str
        Which defaults the rules' parameters have: "aws", as the training service
        documents them, or "calibrated", which leave healthy runs alone.
    save_config : SaveConfig, SaveConfigMode or dict, optional
        At which steps it looks, as if the job had been saved so: at all, if not given, or
        where a dict does not say it of a mode.  Other steps cost a job next to nothing.

    Raises
    ------
    SMDebugValueError
        If there is no such profile.

    Examples
    --------
    >>> panel = Panel("calibrated").add("VanishingGradient").add("ExplodingTensor")
    >>> for verdict in panel.run(trial):
    ...     print(verdict)
    """

    def __init__(self, profile: str = "aws", save_config: SaveSettings = None) -> None:
        self._handle = PanelHandle(out("panel", _raw.smd_panel_new, text(profile, "profile")))
        if save_config is not None:
            settings = SaveConfig.parse(save_config)
            check(_raw.smd_panel_set_save_config(self._handle, settings._handle()))
        self._last = -1  # of the steps that were judged

    def add(
        self,
        rule: str,
        parameters: Optional[Mapping[str, object]] = None,
        action: Union[Action, str] = Action.WARN,
    ) -> Panel:
        """Adds a rule.

        Parameters
        ----------
        rule : str
            Its name; `rules` lists them.
        parameters : mapping of str to str, number or bool, optional
            Those that are not to have their defaults.
        action : Action or str
            What its findings will ask for: "continue", "warn" or "stop".

        Returns
        -------
        Panel
            This one.

        Raises
        ------
        SMDebugValueError
            If there is no such rule, or it has no such parameter, or not with that value.
        """
        given = json.dumps({name: str(value) for name, value in (parameters or {}).items()})
        check(_raw.smd_panel_add(self._handle, text(rule, "rule"), given, int(_action(action))))
        return self

    def run(
        self,
        trial: Trial,
        start_step: int = 0,
        end_step: Optional[int] = None,
        wait: bool = True,
    ) -> Iterator[Verdict]:
        """Judges the steps of a trial, one after the other.

        Parameters
        ----------
        trial : Trial
            The trial.
        start_step : int
            The first global step to report on; earlier ones are looked at.
        end_step : int, optional
            The step to stop before.
        wait : bool
            Whether to go on until the job ends; else until the last step that is there.

        Yields
        ------
        Verdict
            What is found, as it is found.
        """
        if not isinstance(trial, Trial):
            raise SMDebugTypeError(f"a Trial is judged, not a {type(trial).__name__}")
        for steps in new_steps(trial, max(self._last, start_step - 1), end_step, wait):
            for first in range(0, len(steps), _AT_ONCE):
                last = steps[first : first + _AT_ONCE][-1]
                yield from self._judge(trial, start_step, last + 1)

    def _judge(self, trial: Trial, start_step: int, end_step: int) -> List[Verdict]:
        """Judges the steps before `end_step` that were not judged yet."""
        handles = self._handle, trial._handle
        found = out("verdicts", _raw.smd_panel_run, *handles, start_step, end_step, 0)
        self._last = end_step - 1
        return take_verdicts(found)

    def outcomes(self) -> List[Verdict]:
        """What each rule has to say of all it has seen: one verdict each, in order."""
        return take_verdicts(out("verdicts", _raw.smd_panel_outcomes, self._handle))

    @staticmethod
    def rules() -> List[Dict[str, Any]]:
        """The built-in rules, each with "name", "summary" and "parameters"."""
        rules: List[Dict[str, Any]] = json.loads(out_text(_raw.smd_panel_rules))
        return rules


def _whole(number: int, what: str) -> int:
    try:
        return operator.index(number)
    except TypeError as error:
        raise SMDebugTypeError(f"{what}={number!r} is not a whole number") from error


def _action(action: Union[Action, str]) -> Action:
    if isinstance(action, str):
        if action.upper() not in Action.__members__:
            raise SMDebugValueError(f"{action!r} is not 'continue', 'warn' or 'stop'")
        return Action[action.upper()]
    return Action(action)
