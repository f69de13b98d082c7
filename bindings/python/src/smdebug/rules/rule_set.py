"""Rules that evaluate a job together."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar, Deque, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from smdebug import _raw
from smdebug._handles import RuleSetHandle, check, out, text
from smdebug.core.diagnosis import Cause, diagnosis
from smdebug.core.finding import (
    Action,
    Finding,
    RuleResult,
    action_of,
    finding_of,
    rule_results,
)
from smdebug.core.save_config import SaveConfig, SaveSettings
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugTypeError
from smdebug.rules.following import new_steps
from smdebug.rules.function_calls import (
    Evaluating,
    Finished,
    RuleFunction,
    of_function,
    of_rule,
)
from smdebug.rules.rule import Rule
from smdebug.trials.trial import Trial

__all__ = ["RuleInfo", "RuleParameter", "RuleSet", "builtin_rules"]

# How many steps one call evaluates: Python handles its signals between calls.
_AT_ONCE = 64


@dataclass(frozen=True)
class RuleParameter:
    """A parameter of a built-in rule; a default of "" means none."""

    name: str
    aws: str
    calibrated: str
    meaning: str


@dataclass(frozen=True)
class RuleInfo:
    """A built-in rule, with a sentence that says when it finds something.

    `set` is "llm" for a rule of that set, which other sets have only if it is added.
    """

    name: str
    summary: str
    parameters: Tuple[RuleParameter, ...]
    set: str = ""


def builtin_rules() -> List[RuleInfo]:
    """Returns all built-in rules."""
    return [
        RuleInfo(name, summary, tuple(RuleParameter(*each) for each in parameters), of_set)
        for name, summary, parameters, of_set in _raw.builtin_rules()
    ]


class RuleSet:
    """Rules that evaluate a stored trial, or a job from within.

    Built-in rules share what they read.  Rules written in Python take part in evaluating a
    trial; a rule set with one cannot be attached to a hook.  A rule set belongs to the first
    trial or hook of which it evaluates a step.

    Parameters
    ----------
    profile : str
        Which defaults parameters have: "calibrated", which rarely report anything on a healthy
        run, or "aws", as the training service documents them.  "llm" makes a set that holds
        the rules for large trainings; rules that are added have calibrated defaults.
    save_config : SaveConfig, SaveConfigMode or dict, optional
        Which steps are evaluated, as if the job had saved no others.  Without it, or for a
        mode that a dict leaves out, every step.  Other steps cost a job next to nothing.

    Raises
    ------
    SMDebugValueError
        If the profile is unknown.

    Examples
    --------
    >>> rules = RuleSet().add("VanishingGradient").add("ExplodingTensor")
    >>> for finding in rules.evaluate(trial):
    ...     print(finding)
    """

    #: A function returns this, alone or in an iterable, where its rule has nothing more to
    #: evaluate: it is not called again until `reset`.
    FINISHED: ClassVar[Finished] = Finished.FINISHED

    def __init__(self, profile: str = "calibrated", save_config: SaveSettings = None) -> None:
        self._handle = RuleSetHandle(
            out("rule_set", _raw.smd_rule_set_new, text(profile, "profile"))
        )
        self._profile = profile
        self._save_config = save_config
        # As add() takes them; without a rule, as add_all() does.
        self._added: List[Tuple[Any, Dict[str, str], Action, Optional[str]]] = []
        if save_config is not None:
            settings = SaveConfig.parse(save_config)
            check(_raw.smd_rule_set_set_save_config(self._handle, settings._handle()))
        self._last = -1  # of the steps that were evaluated
        # The findings that loops did not take, and failures after them.
        self._left: Deque[Union[Finding, BaseException]] = deque()
        self._evaluating = Evaluating()

    def add(
        self,
        rule: Union[str, Rule, RuleFunction],
        parameters: Optional[Mapping[str, object]] = None,
        action: Union[Action, str] = Action.WARN,
        name: Optional[str] = None,
    ) -> RuleSet:
        """Adds a rule.

        Parameters
        ----------
        rule : str, Rule or callable
            The name of a built-in rule (`builtin_rules` lists them); a rule written in
            Python; or a function of a trial and a global step.  Where it finds something, the
            function returns True, a message, a `Finding`, or an iterable of messages and
            Findings; it may be a generator.  See `FINISHED`, too.
        parameters : mapping of str to str, number or bool, optional
            Parameters of a built-in rule; the others have their defaults.
        action : Action or str
            The action that its findings recommend: "continue", "warn" or "stop".
        name : str, optional
            The name in findings of a rule written in Python; by default that of its class
            or function.

        Returns
        -------
        RuleSet
            This one.

        Raises
        ------
        SMDebugValueError
            If the rule or a parameter is unknown, or the value of a parameter is bad.
        SMDebugRuntimeError
            If a step was evaluated.
        """
        severity = action_of(action)
        number = int(severity)
        given = {key: str(value) for key, value in (parameters or {}).items()}
        if isinstance(rule, str):
            passed = json.dumps(given)
            check(_raw.smd_rule_set_add(self._handle, text(rule, "rule"), passed, number))
            self._added.append((rule, given, severity, None))
            return self
        if parameters:
            raise SMDebugTypeError("only built-in rules take parameters here")
        if isinstance(rule, Rule):
            known = text(name or rule.rule_name)
            reports = of_rule(rule)
        elif callable(rule):
            known = text(name or getattr(rule, "__name__", "function"))
            reports = of_function(rule, known)
        else:
            raise SMDebugTypeError(f"expected a rule, not a {type(rule).__name__}")
        _raw.add_function(self._handle, known, self._evaluating.caller(known, reports), number)
        self._added.append((rule, {}, severity, name))
        return self

    def add_all(self, action: Union[Action, str] = Action.WARN) -> RuleSet:
        """Adds every built-in rule that needs no parameter and that the set does not hold.

        These are the rules that ``smdebug rules`` evaluates without ``--rule``.  A rule that was
        added before keeps its parameters, and the more severe of both actions.  A set for "llm"
        holds all of them from the beginning.

        Parameters
        ----------
        action : Action or str
            The action that their findings recommend: "continue", "warn" or "stop".

        Returns
        -------
        RuleSet
            This one.

        Raises
        ------
        SMDebugRuntimeError
            If a step was evaluated, or a hook has the rule set.

        Examples
        --------
        >>> hook.attach(RuleSet().add("DeadRelu", {"threshold_layer": 0.5}).add_all())
        """
        severity = action_of(action)
        check(_raw.smd_rule_set_add_all(self._handle, int(severity)))
        self._added.append((None, {}, severity, None))
        return self

    def evaluate(
        self,
        trial: Trial,
        start_step: int = 0,
        end_step: Optional[int] = None,
        wait: bool = True,
    ) -> Iterator[Finding]:
        """Evaluates the steps of a trial that were not evaluated yet, one after the other.

        The next call first yields what a loop that was left early did not take.

        Parameters
        ----------
        trial : Trial
            The trial.
        start_step : int
            The first global step to report on; built-in rules also observe earlier ones.
        end_step : int, optional
            The step to stop before.
        wait : bool
            Whether to continue until the job ends; else until the last known step.

        Yields
        ------
        Finding
            Each finding, as it is found.

        Raises
        ------
        SMDebugRuntimeError
            If the rule set belongs to another trial or to a hook.
        """
        if not isinstance(trial, Trial):
            raise SMDebugTypeError(f"expected a Trial, not a {type(trial).__name__}")
        _, error = _raw.evaluate(self._handle, trial._handle, start_step, 0, 0)
        if error is not None:  # for another trial
            raise error
        yield from self._deliver(deque())
        for steps in new_steps(trial, max(self._last, start_step - 1), end_step, wait):
            for first in range(0, len(steps), _AT_ONCE):
                last = steps[first : first + _AT_ONCE][-1]
                yield from self._evaluate(trial, start_step, last)
        if self._last >= start_step:  # the job may have ended since
            yield from self._evaluate(trial, start_step, self._last)

    def _evaluate(
        self, trial: Trial, start_step: int, last_step: int, flags: int = 0
    ) -> Iterator[Finding]:
        """Evaluates the steps up to `last_step` that were not evaluated yet."""
        evaluation = self._evaluating.begin(trial)
        try:
            end_step = last_step + 1
            found, error = _raw.evaluate(self._handle, trial._handle, start_step, end_step, flags)
        finally:
            self._evaluating.end()
        if error is None:  # a later call evaluates the steps after one that failed
            self._last = max(self._last, last_step)
        results: Deque[Union[Finding, BaseException]] = deque(map(finding_of, found))
        failure: Optional[BaseException] = evaluation.raised or error
        if isinstance(error, RuleEvaluationConditionMet) and error is not failure:
            error.__cause__ = failure  # the finding came before the failure
            failure = error
        if failure is not None:
            results.append(failure)
        yield from self._deliver(results)

    def _deliver(self, results: Deque[Union[Finding, BaseException]]) -> Iterator[Finding]:
        """Yields what earlier loops left, then these findings; raises the failure after them."""
        left = self._left
        results.extendleft(reversed(left))
        left.clear()
        try:
            while results:
                result = results.popleft()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            left.extendleft(reversed(results))

    def results(self) -> List[RuleResult]:
        """Returns the summary of each rule, in the order in which they were added."""
        return rule_results(self._handle)

    def diagnose(self) -> List[Cause]:
        """Returns the likely causes of what was found so far.

        May be called while the rule set is attached to a hook.

        Returns
        -------
        list of Cause
            At most three, the likeliest first.  None if nothing was found, if it speaks for no
            known cause, or if the rule set has the profile "aws".

        Examples
        --------
        >>> list(rules.evaluate(trial, wait=False))
        >>> for cause in rules.diagnose():
        ...     print(cause.title, cause.confidence, cause.advice)
        """
        return diagnosis(self._handle)

    def reset(self) -> None:
        """Forgets the trial and all results; keeps the rules.

        Raises
        ------
        SMDebugRuntimeError
            If the rule set is attached to a hook.
        """
        check(_raw.smd_rule_set_reset(self._handle))
        self._last = -1
        self._left = deque()

    def _repr_html_(self) -> str:
        from smdebug.notebook.cards import rule_set_card

        return rule_set_card(self)

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickles the rules, without the trial and the results.

        Functions are pickled as Python does.  A `Rule` belongs to its trial, and is refused.
        """
        for rule, _, _, name in self._added:
            if isinstance(rule, Rule):
                raise SMDebugTypeError(
                    f"the rule {name or rule.rule_name} belongs to one trial, so its rule set"
                    " cannot be pickled; add a function of a trial and a step instead"
                )
        return _with_rules, (self._profile, self._save_config, list(self._added))


def _with_rules(
    profile: str,
    save_config: SaveSettings,
    added: List[Tuple[Any, Dict[str, str], Action, Optional[str]]],
) -> RuleSet:
    """Makes a rule set of what another one held."""
    rules = RuleSet(profile, save_config)
    for rule, parameters, action, name in added:
        if rule is None:
            rules.add_all(action)
        else:
            rules.add(rule, parameters, action, name)
    return rules
