"""Every engine evaluates the same rules over the same trials to the same rows."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path
from typing import Any, Callable

import farm as farms
import pyarrow as pa
import pytest

import smdebug
from smdebug.rules import Rule, RuleSet, evaluate_many

PARAMETERS = {"growth": 50}


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """The engine, with its cluster running."""
    clusters = {"spark": "spark", "ray": "ray_cluster", "dask": "dask_client"}
    request.getfixturevalue(clusters[request.param])
    return request.param


on_each_engine = pytest.mark.parametrize("engine", ["spark", "ray", "dask"], indirect=True)


def check_farm(found: pa.Table, trials: int) -> None:
    """The findings, and the problems of the trials that cannot be read."""
    rows = found.to_pylist()
    assert rows == sorted(rows, key=lambda row: row["trial"])
    named = ("trial", "rule", "step", "tensor")
    findings = [tuple(row[name] for name in named) for row in rows if row["rule"]]
    assert findings == [
        (f"run-{number:04}", "ExplodingTensor", step, "output/b")
        for number in range(3, trials, 10)
        for step in range(farms.NAN_FROM, farms.STEPS)
    ]
    problems = {row["trial"]: row["problem"] for row in rows if row["problem"]}
    torn = {f"run-{number:04}" for number in range(5, trials, 10)}
    broken = {f"run-{number:04}" for number in range(7, trials, 50)}
    assert problems.keys() == torn | broken | {"run-hostile"}
    assert "empty or cut index file" in problems["run-0005"]
    assert "not valid JSON" in problems["run-0007"]
    assert len(problems) + len(findings) == len(rows)


def test_local(farm):
    check_farm(evaluate_many(farm, RuleSet().add("ExplodingTensor", PARAMETERS)), farms_in(farm))


def farms_in(farm: Path) -> int:
    return sum(each.name[4:].isdigit() for each in farm.glob("run-*"))


@on_each_engine
def test_same_rows(engine, farm):
    """Parameters reach the rules wherever they run."""
    rules = RuleSet().add("ExplodingTensor", PARAMETERS)
    found = evaluate_many(farm, rules, engine)
    check_farm(found, farms_in(farm))
    assert found.equals(evaluate_many(farm, rules))


@pytest.mark.whole
@pytest.mark.timeout(600)
@on_each_engine
def test_same_rows_of_a_thousand_trials(engine, thousand):
    found = evaluate_many(thousand, RuleSet().add("ExplodingTensor", PARAMETERS), engine)
    check_farm(found, 1_000)
    assert found.equals(evaluate_many(thousand, RuleSet().add("ExplodingTensor", PARAMETERS)))


def test_all_rules_by_default(farm):
    rules = set(evaluate_many(farm)["rule"].to_pylist())
    assert {"ExplodingTensor", "FirstNonFinite"} <= rules


def test_sets_are_evaluated_alike(farm, monkeypatch):
    """A set that the scan evaluates, and the same set step by step, give the same rows."""
    rules = RuleSet().add("ExplodingTensor", PARAMETERS).add("FirstNonFinite")
    by_scan = evaluate_many(farm, rules)
    monkeypatch.setattr("smdebug.rules.evaluate_many_trials._suits_scan", lambda rules: False)
    assert evaluate_many(farm, rules).equals(by_scan)


def large_loss(trial: Any, step: int) -> object:
    loss = trial.tensor("scalar/loss").value(step)[0]
    return f"the loss is {loss:.2f}" if loss > 0.4 else None


@on_each_engine
def test_rules_in_python(engine, farm):
    """Functions, actions and save configs work everywhere; closures are pickled."""
    limit = 0.4

    def large(trial: Any, step: int) -> object:
        return bool(trial.tensor("scalar/loss").value(step)[0] > limit)

    rules = RuleSet(save_config=smdebug.SaveConfig(save_interval=2))
    rules.add(large, action="stop", name="Large").add("ExplodingTensor", action="stop")
    found = evaluate_many(farm, rules, engine, trials="run-000[0-4]")
    assert found.equals(evaluate_many(farm, rules, trials="run-000[0-4]"))
    assert {row["action"] for row in found.to_pylist()} == {"stop"}
    assert {row["step"] for row in found.to_pylist() if row["rule"] == "Large"} == {0}
    assert {row["step"] for row in found.to_pylist() if row["rule"] != "Large"} == {4}


def test_a_rule_that_raises_is_a_problem_of_its_trial(farm):
    def raises(trial: Any, step: int) -> object:
        if trial.name == "run-0002" and step == 3:
            raise ZeroDivisionError("no loss here")
        return step == 1

    rows = evaluate_many(farm, RuleSet().add(raises), trials="run-000[0-3]").to_pylist()
    problems = [row for row in rows if row["problem"]]
    assert [row["trial"] for row in problems] == ["run-0002"]
    assert "no loss here" in problems[0]["problem"]
    assert [row["trial"] for row in rows if row["rule"]] == [f"run-000{i}" for i in range(4)]


def dies_once(flag: str) -> Callable[[Any, int], object]:
    """A rule that kills its process at the first step that it sees at all."""

    def check(trial: Any, step: int) -> object:
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return step == 1
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    return check


@on_each_engine
def test_worker_that_dies(engine, farm, tmp_path):
    """The engine evaluates the trials of a process that was killed again, elsewhere."""
    flag = tmp_path / "died"
    found = evaluate_many(farm, RuleSet().add(dies_once(str(flag)), name="Once"), engine,
                          trials="run-00[01][0-4]")  # fmt: skip
    assert flag.exists()
    rules = RuleSet().add(dies_once(str(flag)), name="Once")
    assert found.equals(evaluate_many(farm, rules, trials="run-00[01][0-4]"))
    assert [row["step"] for row in found.to_pylist()] == [1] * 10


def test_several_paths_are_in_order(tmp_path):
    for name in ("b/x", "a/x"):
        farms.record(tmp_path / name, bad=True)
    rules = RuleSet().add("ExplodingTensor")
    found = evaluate_many([tmp_path / "b", tmp_path / "a"], rules)
    again = evaluate_many([tmp_path / "a", tmp_path / "b"], rules)
    assert found.equals(again) and found.num_rows == 6


def test_steps(farm):
    rules = RuleSet().add("ExplodingTensor")
    found = evaluate_many(farm, rules, trials="run-0003", first=4, end=5)
    assert found["step"].to_pylist() == [4]
    assert evaluate_many(farm, RuleSet().add("ExplodingTensor", action="stop"), trials="run-0003",
                         first=4, end=5)["step"].to_pylist() == [4]  # fmt: skip


def test_no_trials_leave_an_empty_table(farm):
    found = evaluate_many(farm, trials="none of them")
    assert found.num_rows == 0 and "problem" in found.column_names


def test_sets_remember_their_rules(farm):
    """A pickled rule set holds the rules, not the results."""
    rules = RuleSet("aws", {"TRAIN": smdebug.SaveConfigMode(save_interval=3)})
    rules.add("ExplodingTensor", {"max_abs": 1}, "stop").add(large_loss, name="Large")
    copied = pickle.loads(pickle.dumps(rules))
    with smdebug.create_trial(str(farm / "run-0003")) as trial:
        first = list(rules.evaluate(trial, wait=False))
        assert list(copied.evaluate(trial, wait=False)) == first and first
        assert list(pickle.loads(pickle.dumps(rules)).evaluate(trial, wait=False)) == first


class OfTrial(Rule):
    def invoke_at_step(self, step: int) -> bool:
        return False


def test_bad_input(farm):
    with pytest.raises(ValueError, match="no engine 'flink'; there are 'local', 'spark', 'r"):
        evaluate_many(farm, engine="flink")
    with pytest.raises(TypeError, match="expected a RuleSet, not a list"):
        evaluate_many(farm, [])
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        evaluate_many("/nowhere/at/all")
    with smdebug.create_trial(str(farm / "run-0000")) as trial:
        rules = RuleSet().add(OfTrial(trial))
        with pytest.raises(TypeError, match="the rule OfTrial belongs to one trial"):
            evaluate_many(farm, rules)


@pytest.mark.parametrize(
    ("engine", "module", "extra"),
    [("spark", "pyspark", "spark"), ("ray", "ray", "ray"), ("dask", "dask", "dask")],
)
def test_engine_that_is_not_installed(farm, monkeypatch, engine, module, extra):
    import importlib
    import sys

    for name in list(sys.modules):
        if name.partition(".")[0] == module:
            monkeypatch.delitem(sys.modules, name)
    found = importlib.import_module

    def missing(name: str, *more: Any) -> Any:
        if name.partition(".")[0] == module:
            raise ModuleNotFoundError(f"No module named '{module}'", name=module)
        return found(name, *more)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'libsmdebug\[{extra}\]'"):
        evaluate_many(farm, engine=engine)
