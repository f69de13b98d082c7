"""The rules and reports that a configuration file lists."""

from __future__ import annotations

import difflib
import inspect
import json
import os
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from smdebug.core.finding import Action, Finding, Level, RuleResult
from smdebug.core.utils import is_s3, read_file
from smdebug.exceptions import SMDebugValueError
from smdebug.rules.actions import Act, make_action
from smdebug.rules.following import new_steps
from smdebug.rules.report import write_report
from smdebug.rules.rule import Rule
from smdebug.rules.rule_set import RuleSet
from smdebug.trials.trial import Trial
from smdebug.trials.utils import create_trial

__all__ = ["ConfiguredRules"]

# Keys that the service adds.  They have no effect here.
_SERVICE_KEYS = {
    "RuleEvaluatorImage",
    "LocalPath",
    "S3OutputPath",
    "InstanceType",
    "VolumeSizeInGB",
    "CollectionConfigurations",
}
_KEYS = {"RuleConfigurationName", "RuleParameters", "Actions", *_SERVICE_KEYS}

# The report that the service lists among the rules, and the name of its page.
_REPORT = "CreateXgboostReport"
_REPORT_PAGE = "xgboost_report.html"


@dataclass
class ConfiguredRules:
    """The rules of a configuration, which evaluate one trial together.

    If a built-in rule is listed twice, both entries share all of its actions.

    Attributes
    ----------
    trial : Trial
        The trial to evaluate.
    profile : str
        The defaults of built-in rules, as `RuleSet` accepts it.
    """

    trial: Trial
    profile: str = "calibrated"
    _rules: RuleSet = field(init=False)
    _actions: Dict[str, List[Act]] = field(default_factory=dict)
    _pages: List[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rules = RuleSet(self.profile)

    @classmethod
    def from_file(cls, path: str, trial: Trial, profile: str = "calibrated") -> ConfiguredRules:
        """Reads the rules of a file: a list of configurations in the training service's format.

        Each is {"RuleConfigurationName", "RuleParameters": {"rule_to_invoke", ...},
        "Actions": [...]}.  The parameter "source" names the file of a rule in Python.
        "other_trials" lists paths of other trials, separated by commas.  All other parameters
        are passed to the rule as text.  CreateXgboostReport is a page that `write_reports`
        writes into its "LocalPath".

        Raises
        ------
        SMDebugValueError
            If an entry is invalid; the message names the file and the key.
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
        # The service's own files use this key for an uploaded source.
        uploaded = parameters.pop("source_s3_uri", None)
        source = parameters.pop("source", uploaded)
        if source is None and rule_name == _REPORT:
            self._add_report(configuration, parameters)
            return
        self._actions.setdefault(rule_name if source is None else name or rule_name, []).extend(acts)
        if source is None:
            self._rules.add(rule_name, parameters, action)
            return
        path = source if is_s3(source)[0] else os.path.join(folder, source)
        rule = _load(path, rule_name, self.trial, parameters)
        self._rules.add(rule, action=action, name=name or rule_name)

    def _add_report(self, configuration: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        for name in parameters:
            raise SMDebugValueError(f"{_REPORT} has no parameter {name!r}; it takes none")
        folder = str(configuration.get("LocalPath") or "")
        if "://" in folder:
            raise SMDebugValueError(f"{_REPORT}: LocalPath must be a folder, not {folder!r}")
        page = os.path.join(folder, _REPORT_PAGE)
        if page not in self._pages:
            self._pages.append(page)

    def run(self, wait: bool = True) -> Iterator[Finding]:
        """Evaluates one step after the other, and runs the actions of the findings.

        A finding worth a look runs no action.

        Parameters
        ----------
        wait : bool
            Whether to continue until the job ends, or stop after the last known step.

        Yields
        ------
        Finding
            Each finding.  A finding that recommends to stop is the last one.
        """
        for steps in new_steps(self.trial, -1, None, wait):
            for step in steps:
                for finding in self._rules._evaluate(self.trial, 0, step):
                    if finding.level is Level.FINDING:
                        for act in self._actions.get(finding.rule, ()):
                            act(finding)
                    yield finding
                    if finding.action is Action.STOP:
                        return

    def write_reports(self) -> List[str]:
        """Writes the selected pages from the current data, and returns their paths.

        Raises
        ------
        SMDebugRuntimeError
            If a page cannot be written; the message says why.
        """
        for page in self._pages:
            os.makedirs(os.path.dirname(page) or ".", exist_ok=True)
            write_report(self.trial.path, page, self.profile)
        return list(self._pages)

    def results(self) -> List[RuleResult]:
        """Returns the summary of each rule."""
        return self._rules.results()


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
    """Returns the action that findings recommend, and the functions that act on them."""
    action, acts = Action.WARN, []
    for each in settings:
        if isinstance(each, Mapping) and str(each.get("name")).lower() in ("stop", "stoptraining"):
            action = Action.STOP
        else:
            acts.append(make_action(each))
    return action, acts


def _load(path: str, class_name: str, trial: Trial, parameters: Dict[str, str]) -> Rule:
    """Creates a rule from a class in a Python file, which is in a folder or a bucket."""
    module = ModuleType(f"smdebug_rule_{class_name}")
    module.__file__ = path
    exec(compile(_read_source(path), path, "exec"), module.__dict__)
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


def _read_source(path: str) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise SMDebugValueError(f"there is no Python file {path}: {error}") from error
