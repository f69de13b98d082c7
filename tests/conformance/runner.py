"""Runs the conformance scenario through the Python package; see README.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping

import ml_dtypes
import numpy as np

import smdebug as smd
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import SMDebugError
from smdebug.rules import Action, BuiltinRule, Cause, Finding, Level, RuleResult, RuleSet

Query = Mapping[str, Any]


def array_of(tensor: Mapping[str, Any], worker: str) -> np.ndarray:
    if tensor["dtype"] == "string":
        return np.array(tensor["strings"][worker]).reshape(tensor["shape"])
    name = tensor["dtype"]
    kind = getattr(ml_dtypes, name, None) if "float8" in name or name == "bfloat16" else name
    return np.frombuffer(bytes.fromhex(tensor["data"][worker]), kind).reshape(tensor["shape"])


def save_config(every: Mapping[str, int]) -> smd.SaveConfig:
    return smd.SaveConfig({smd.modes[mode]: smd.SaveConfigMode(n) for mode, n in every.items()})


def collection_of(settings: Mapping[str, Any]) -> smd.Collection:
    collection = smd.Collection(settings["name"], include_regex=settings["regexes"])
    if "save_every" in settings:
        collection.save_config = save_config(settings["save_every"])
    if "reductions" in settings:
        names = {"reductions": settings["reductions"], "save_shape": settings["shape"]}
        collection.reduction_config = smd.ReductionConfig.from_dict(names)
    return collection


def hook_of(options: Mapping[str, str], **more: Any) -> smd.Hook:
    own = dict(options)
    named: Dict[str, Any] = {"out_dir": own.pop("out_dir")}
    if "include_collections" in own:
        named["include_collections"] = own.pop("include_collections").split(",")
    if "num_workers" in own:
        named["num_workers"] = int(own.pop("num_workers"))
    if "include_workers" in own:
        named["include_workers"] = own.pop("include_workers")
    return smd.Hook(**named, **more, options=own)


def name_of(reduction: str, absolute: bool) -> str:
    return f"abs_{reduction}" if absolute else reduction


def hook_for(scenario: Mapping[str, Any], out_dir: str, worker: str) -> smd.Hook:
    options = {**scenario["options"], "out_dir": out_dir}
    hook = hook_of(options, worker=worker, save_config=save_config(scenario["save_every"]))
    for settings in scenario["collections"]:
        hook.add_collection(collection_of(settings))
    hook.attach(rule_set_of(scenario["attach"]))
    return hook


def rule_set_of(settings: Mapping[str, Any]) -> RuleSet:
    rules = RuleSet(settings["profile"], save_config(settings.get("save_every", {})))
    for rule in settings["rules"]:
        if "function" in rule:
            rules.add(saved(rule), action=rule["action"], name=rule["function"])
        else:
            rules.add(rule["rule"], rule["parameters"], rule["action"])
    return rules


def saved(rule: Mapping[str, Any]) -> Callable[[smd.Trial, int], Any]:
    """Finds the steps at which a tensor was saved."""

    def find(trial: smd.Trial, step: int) -> Iterator[Any]:
        trial.tensor(rule["tensor"]).buffer(step, smd.modes.GLOBAL)
        yield "it was saved"
        yield Finding(
            tensor=rule["tensor"],
            check="place",
            worker="worker_1",
            message="it has a step",
            action=Action.WARN,
            value=step,
            limit=0.5,
        )
        yield Finding(message="it is large", action=Action.STOP, level=Level.WORTH_A_LOOK)
        if step == rule.get("until"):
            yield RuleSet.FINISHED

    return find


def described(finding: Finding) -> Dict[str, Any]:
    names = {"action": finding.action.name, "mode": finding.mode.name, "level": finding.level.name}
    return {**vars(finding), **names}


def summarized(result: RuleResult) -> Dict[str, Any]:
    first = result.first and described(result.first)
    return {**vars(result), "status": result.status.name, "first": first}


def diagnosed(cause: Cause) -> Dict[str, Any]:
    evidence = [{**vars(each), "first": described(each.first)} for each in cause.evidence]
    return {**vars(cause), "evidence": evidence, "missing": list(cause.missing)}


def record(step: Mapping[str, Any], hook: smd.Hook, worker: str) -> None:
    hook.begin_step(smd.modes[step["mode"]])
    for tensor in step["tensors"]:
        hook.save(tensor["name"], array_of(tensor, worker))
    for scalar in step.get("scalars", ()):
        hook.save_scalar(scalar["name"], scalar["value"])
    for tensor in step.get("custom", ()):
        hook.save_tensor(tensor["name"], array_of(tensor, worker), tensor["collections"])
    hook.end_step()


class Reader:
    """Answers the queries; each method has the name of a call."""

    def __init__(self, out_dir: str, attached: Mapping[str, Any]) -> None:
        self._out_dir = out_dir
        self._attached = attached
        self._trial = smd.create_trial(out_dir)

    def answer(self, query: Query) -> Dict[str, Any]:
        call: Callable[[Query], Any] = getattr(self, query["call"])
        try:
            return {"value": call(query)}
        except SMDebugError as error:
            return {"code": error.code}

    def workers(self, query: Query) -> Any:
        return self._trial.workers()

    def collections(self, query: Query) -> Any:
        return list(self._trial.collections())

    def modes(self, query: Query) -> Any:
        return [mode.name for mode in self._trial.modes()]

    def steps(self, query: Query) -> Any:
        return self._trial.steps(_mode(query))

    def tensor_names(self, query: Query) -> Any:
        return self._trial.tensor_names(
            step=query.get("step"),
            mode=_mode(query),
            regex=query.get("regexes"),
            collection=query.get("collection"),
        )

    def recorded_names(self, query: Query) -> Any:
        return self._trial.recorded_names(query["step"], _mode(query))

    def mode_step(self, query: Query) -> Any:
        mode, step = self._trial.mode_modestep(query["step"])
        return None if mode is None else [mode.name, step]

    def global_step(self, query: Query) -> Any:
        return self._trial.global_step(_mode(query), query["step"])

    def step_state(self, query: Query) -> Any:
        return self._trial.has_passed_step(query["step"], _mode(query)).name

    def tensor_steps(self, query: Query) -> Any:
        return self._tensor(query).steps(_mode(query))

    def prev_steps(self, query: Query) -> Any:
        return self._tensor(query).prev_steps(query["step"], query["count"], _mode(query))

    def tensor_workers(self, query: Query) -> Any:
        return self._tensor(query).workers(query["step"], _mode(query))

    def value(self, query: Query) -> Any:
        value = self._tensor(query).buffer(*_place(query))
        described: Dict[str, Any] = {"dtype": value.dtype, "shape": list(value.shape)}
        if value.dtype == "string":
            return {**described, "strings": value.strings()}
        return {**described, "data": bytes(value).hex()}

    def reduction(self, query: Query) -> Any:
        number = self._tensor(query).reduction_value(
            query["step"], query["reduction"], _mode(query), query.get("worker"), query["absolute"]
        )
        array = {"dtype": number.dtype.name, "shape": list(number.shape)}
        return {**array, "data": number.tobytes().hex()}

    def reductions(self, query: Query) -> Any:
        return [name_of(*key) for key in self._tensor(query).reduction_values(*_place(query))]

    def shape(self, query: Query) -> Any:
        return list(self._tensor(query).shape(*_place(query)))

    def rule(self, query: Query) -> Any:
        rule = BuiltinRule(self._trial, query["rule"], query["parameters"])
        return [step for step in self._trial.steps() if rule.invoke_at_step(step)]

    def findings(self, query: Query) -> Any:
        rules = rule_set_of(query["rule_set"])
        return [described(finding) for finding in rules.evaluate(self._trial)]

    def results(self, query: Query) -> Any:
        rules = rule_set_of(query["rule_set"])
        list(rules.evaluate(self._trial))
        return [summarized(result) for result in rules.results()]

    def diagnosis(self, query: Query) -> Any:
        rules = rule_set_of(query["rule_set"])
        list(rules.evaluate(self._trial))
        return [diagnosed(cause) for cause in rules.diagnose()]

    def attached(self, query: Query) -> Any:
        return self._attached[query["worker"]]

    def wait(self, query: Query) -> Any:
        self._trial.wait_for_steps([query["step"]], _mode(query))

    def include(self, query: Query) -> Any:
        smd.Collection("c").include(query["regex"])

    def hook(self, query: Query) -> Any:
        hook_of(self._placed(query["options"])).close()

    def open(self, query: Query) -> Any:
        smd.create_trial(self._placed(query)["path"], options=query["options"])

    def _tensor(self, query: Query) -> smd.Tensor:
        return self._trial.tensor(query["tensor"])

    def _placed(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            name: value.replace("<trial>", self._out_dir) if isinstance(value, str) else value
            for name, value in options.items()
        }


def _mode(query: Query) -> ModeKeys:
    return smd.modes[query.get("mode", "GLOBAL")]


def _place(query: Query) -> Any:
    return query["step"], _mode(query), query.get("worker")


def main(scenario_path: str, out_dir: str, result_path: str) -> None:
    scenario = json.loads(Path(scenario_path).read_text(encoding="utf-8"))
    hooks = {worker: hook_for(scenario, out_dir, worker) for worker in scenario["workers"]}
    attached: Dict[str, Any] = {worker: {"actions": [], "findings": []} for worker in hooks}
    for step in scenario["steps"]:
        for worker, hook in hooks.items():
            record(step, hook, worker)
            attached[worker]["actions"].append(hook.action.name)
            attached[worker]["findings"] += map(described, hook.take_findings())
    for hook in hooks.values():
        hook.close()
    reader = Reader(out_dir, attached)
    results = {query["id"]: reader.answer(query) for query in scenario["queries"]}
    Path(result_path).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
