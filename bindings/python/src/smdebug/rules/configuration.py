"""Rules, built-in and written in Python, and reports, as a configuration file lists them."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import json
import os
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from smdebug.core.modes import ModeKeys
from smdebug.core.verdict import Action, Verdict, VerdictStatus
from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.rules.actions import Act, make_action
from smdebug.rules.following import new_steps
from smdebug.rules.panel import Panel
from smdebug.rules.report import write_report
from smdebug.rules.rule import Rule
from smdebug.trials.trial import Trial
from smdebug.trials.utils import create_trial

__all__ = ["RuleSet"]

# What the service adds, and what says nothing here.
_SERVICE_KEYS = {
    "RuleEvaluatorImage",
    "LocalPath",
    "S3OutputPath",
    "InstanceType",
    "VolumeSizeInGB",
    "CollectionConfigurations",
}
_KEYS = {"RuleConfigurationName", "RuleParameters", "Actions", *_SERVICE_KEYS}

# What the service counts among the rules, and the page that it leaves.
_REPORT = "CreateXgboostReport"
_REPORT_PAGE = "xgboost_report.html"


@dataclass
class _PythonRule:
    """A rule written in Python, with the name it has in the configuration."""

    name: str
    rule: Rule
    action: Action
    has_seen_tensors: bool = False
    first: Optional[Verdict] = None
    findings: int = 0


@dataclass
class RuleSet:
    """Rules that judge one trial together.

    A built-in rule that is there twice shares its actions with itself.

    Attributes
    ----------
    trial : Trial
        What they judge.
    profile : str
        Which defaults built-in rules have, as `Panel` takes it.
    """

    trial: Trial
    profile: str = "aws"
    _panel: Panel = field(init=False)
    _builtin: List[str] = field(default_factory=list)
    _python: List[_PythonRule] = field(default_factory=list)
    _actions: Dict[str, List[Act]] = field(default_factory=dict)
    _pages: List[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._panel = Panel(self.profile)

    @classmethod
    def from_file(cls, path: str, trial: Trial, profile: str = "aws") -> RuleSet:
        """The rules of a file: a list of configurations as the training service takes them.

        Each is {"RuleConfigurationName", "RuleParameters": {"rule_to_invoke", ...},
        "Actions": [...]}.  A rule in Python names its file by the parameter "source";
        other trials are paths in "other_trials", separated by commas.  All other
        parameters are the rule's own, as texts.  CreateXgboostReport is a page that
        `write_reports` leaves in its "LocalPath".

        Raises
        ------
        SMDebugValueError
            If something in it means nothing; the message names file and key.
        """
        with open(path, encoding="utf-8") as file:
            text = file.read()
        rules = cls(trial, profile)
        try:
            for configuration in _configurations(text):
                rules.add(configuration, os.path.dirname(os.path.abspath(path)))
        except SMDebugValueError as error:
            raise SMDebugValueError(f"{path}: {error}") from error
        return rules

    def add(self, configuration: Mapping[str, Any], folder: str = ".") -> None:
        """Adds the rule of one configuration; relative sources are below `folder`."""
        _check_keys(configuration)
        name = str(configuration.get("RuleConfigurationName") or "")
        parameters = {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in (configuration.get("RuleParameters") or {}).items()
        }
        rule_name = parameters.pop("rule_to_invoke", name)
        if not rule_name:
            raise SMDebugValueError("a rule has a RuleConfigurationName or a rule_to_invoke")
        action, acts = _actions(configuration.get("Actions") or [])
        source = parameters.pop("source", None)
        if source is None and rule_name == _REPORT:
            self._add_report(configuration, parameters)
            return
        self._actions.setdefault(rule_name if source is None else name or rule_name, []).extend(acts)
        if source is None:
            self._panel.add(rule_name, parameters, action)
            self._builtin.append(rule_name)
            return
        rule = _load(os.path.join(folder, source), rule_name, self.trial, parameters)
        self._python.append(_PythonRule(name or rule_name, rule, action))

    def _add_report(self, configuration: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        for name in parameters:
            raise SMDebugValueError(f"{_REPORT} has no parameter {name!r}; it has none")
        folder = str(configuration.get("LocalPath") or "")
        if "://" in folder:
            raise SMDebugValueError(f"{_REPORT}: LocalPath is a folder here, not {folder!r}")
        page = os.path.join(folder, _REPORT_PAGE)
        if page not in self._pages:
            self._pages.append(page)

    def run(self, wait: bool = True) -> Iterator[Verdict]:
        """Judges step after step, and takes the actions of what is found.

        Parameters
        ----------
        wait : bool
            Whether to go on until the job ends; else until the last step that is there.

        Yields
        ------
        Verdict
            What is found; after one whose action is to stop, nothing more.
        """
        for steps in new_steps(self.trial, -1, None, wait):
            for step in steps:
                for verdict in self._judge(step):
                    for act in self._actions.get(verdict.rule, ()):
                        act(verdict)
                    yield verdict
                    if verdict.action is Action.STOP:
                        return

    def write_reports(self) -> List[str]:
        """Writes the pages that were asked for, of what is there by now; returns their paths.

        Raises
        ------
        SMDebugRuntimeError
            If one cannot be written; the message says why.
        """
        for page in self._pages:
            os.makedirs(os.path.dirname(page) or ".", exist_ok=True)
            write_report(self.trial.path, page, self.profile)
        return list(self._pages)

    def _judge(self, step: int) -> Iterator[Verdict]:
        if self._builtin:
            yield from self._panel._judge(self.trial, 0, step + 1)
        for each in self._python:
            yield from _ask(each, self.trial, step)

    def outcomes(self) -> List[Verdict]:
        """What each rule has to say of all it has seen: one verdict each."""
        return self._panel.outcomes() + [_outcome(each) for each in self._python]


def _configurations(text: str) -> List[Mapping[str, Any]]:
    try:
        loaded = json.loads(text)
    except ValueError as error:
        raise SMDebugValueError(f"not valid JSON: {error}") from error
    if isinstance(loaded, Mapping) and "DebugRuleConfigurations" in loaded:
        loaded = loaded["DebugRuleConfigurations"]
    if not isinstance(loaded, list) or not all(isinstance(each, Mapping) for each in loaded):
        raise SMDebugValueError("not a list of rule configurations")
    return loaded


def _check_keys(configuration: Mapping[str, Any]) -> None:
    for key in configuration:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SMDebugValueError(f"a rule configuration has no key {key!r}{hint}")
    if not isinstance(configuration.get("RuleParameters") or {}, Mapping):
        raise SMDebugValueError("RuleParameters is an object")


def _actions(settings: Sequence[Mapping[str, Any]]) -> Tuple[Action, List[Act]]:
    """What findings ask for, and what is done about them."""
    action, acts = Action.WARN, []
    for each in settings:
        if isinstance(each, Mapping) and str(each.get("name")).lower() in ("stop", "stoptraining"):
            action = Action.STOP
        else:
            acts.append(make_action(each))
    return action, acts


def _load(path: str, class_name: str, trial: Trial, parameters: Dict[str, str]) -> Rule:
    """An instance of a rule's class from a Python file."""
    spec = importlib.util.spec_from_file_location(f"smdebug_rule_{class_name}", path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise SMDebugValueError(f"there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rule_class = getattr(module, class_name, None)
    if not (inspect.isclass(rule_class) and issubclass(rule_class, Rule)):
        raise SMDebugValueError(f"{path} has no rule {class_name!r}")
    arguments: Dict[str, Any] = dict(parameters)
    if "other_trials" in arguments:
        paths = [each.strip() for each in arguments["other_trials"].split(",") if each.strip()]
        arguments["other_trials"] = [create_trial(each) for each in paths]
    try:
        rule: Rule = rule_class(trial, **arguments)
    except TypeError as error:
        raise SMDebugValueError(f"{class_name} of {path}: {error}") from error
    return rule


def _ask(each: _PythonRule, trial: Trial, step: int) -> Iterator[Verdict]:
    try:
        each.rule.invoke(step)
        each.has_seen_tensors = True
    except (TensorUnavailable, TensorUnavailableForStep, StepUnavailable):
        return
    except RuleEvaluationConditionMet as finding:
        each.has_seen_tensors = True
        mode_step = trial.mode_step(step)
        verdict = Verdict(
            rule=each.name,
            status=VerdictStatus.FINDING,
            action=each.action,
            step=step,
            mode=trial.mode(step) or ModeKeys.GLOBAL,
            mode_step=step if mode_step is None else mode_step,
            worker="",
            tensor="",
            value=None,
            limit=None,
            label="",
            message=str(finding),
        )
        each.findings += 1
        each.first = each.first or verdict
        yield verdict


def _outcome(each: _PythonRule) -> Verdict:
    if each.first is not None:
        return replace(each.first, message=f"{each.findings} findings, first: {each.first.message}")
    status = VerdictStatus.NO_ISSUE if each.has_seen_tensors else VerdictStatus.NO_TENSOR
    message = "nothing found" if each.has_seen_tensors else "what it needs was never there"
    return Verdict(
        each.name, status, Action.CONTINUE, -1, ModeKeys.GLOBAL, -1, "", "", None, None, "", message
    )
