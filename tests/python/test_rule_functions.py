"""Functions as rules of a rule set: what they may report, and how they may fail."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers import record

from smdebug import _raw, modes
from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.rules import Action, Finding, Level, RuleSet, RuleStatus


def trained(out_dir, gradients):
    """A trial with a step for each gradient."""
    steps = [{"gradient/w": np.full(3, gradient, "float32")} for gradient in gradients]
    return record(out_dir, steps, modes.TRAIN)


def test_an_evaluation_refused_inside_a_function_changes_nothing(out_dir, tmp_path):
    trial, other = trained(out_dir, [1, 1]), trained(str(tmp_path / "other"), [1])
    rules, seen = RuleSet("aws"), []

    def asks(trial, step):
        seen.append(trial)
        with pytest.raises(SMDebugRuntimeError, match="being evaluated"):
            next(rules.evaluate(other))

    assert list(rules.add(asks).evaluate(trial)) == []
    assert seen == [trial, trial]


def test_an_evaluation_refused_on_another_thread_changes_nothing(out_dir, tmp_path):
    trial, other = trained(out_dir, [1, 1]), trained(str(tmp_path / "other"), [1])
    rules, seen = RuleSet("aws"), []

    def refused():
        with pytest.raises(SMDebugRuntimeError, match="being evaluated"):
            next(rules.evaluate(other))

    def fails(trial, step):
        seen.append(trial)
        with ThreadPoolExecutor() as threads:
            threads.submit(refused).result()
        if step == 1:
            raise KeyError("as told")

    with pytest.raises(KeyError, match="as told"):
        list(rules.add(fails).evaluate(trial))
    assert seen == [trial, trial]


def test_stopping_at_a_finding_keeps_what_is_raised_after_it(out_dir):
    trial = trained(out_dir, [0])

    def fails(trial, step):
        raise KeyError("as told")

    rules, found = RuleSet("aws").add("VanishingGradient").add(fails), []
    stopping = rules._evaluate(trial, 0, 0, _raw.SMD_EVALUATE_STOP_AT_FINDING)
    with pytest.raises(RuleEvaluationConditionMet) as met:
        found.extend(stopping)
    assert [finding.rule for finding in found] == ["VanishingGradient"]
    assert met.value.rule_name == "VanishingGradient"
    assert isinstance(met.value.__cause__, KeyError)


def test_a_function_reports_findings(out_dir):
    trial = trained(out_dir, [1, 1])

    def reports(trial, step):
        value = trial.tensor("gradient/w").reduction_value(step, "mean")
        return Finding(
            tensor="gradient/w",
            worker="worker_0",
            check="mean",
            message="too large",
            value=value,
            limit=Fraction(1, 2),
            action=Action.STOP,
            rule="ignored",
            step=7,
            mode=modes.PREDICT,
        )

    first, second = RuleSet("aws").add(reports, name="Mean").evaluate(trial)
    assert first == Finding(
        rule="Mean",
        check="mean",
        tensor="gradient/w",
        worker="worker_0",
        message="too large",
        step=0,
        mode=modes.TRAIN,
        mode_step=0,
        action=Action.STOP,
        value=1.0,
        limit=0.5,
    )
    assert second == replace(first, step=1, mode_step=1)


def test_a_finding_worth_a_look_recommends_nothing_and_stops_nothing(out_dir):
    trial = trained(out_dir, [1, 1, 1])

    def reports(trial, step):
        look = Finding(message="large", action=Action.STOP, level=Level.WORTH_A_LOOK)
        return [look] if step < 2 else [look, "too large"]

    rules = RuleSet("aws").add(reports, name="Own", action="stop")
    looks = list(rules.evaluate(trial, end_step=2))
    assert [(each.level, each.action) for each in looks] == [(Level.WORTH_A_LOOK, Action.CONTINUE)] * 2
    assert str(looks[0]) == "worth a look: Own at step 0: large"
    [result] = rules.results()
    assert (result.status, result.finding_count, result.look_count) == (RuleStatus.WORTH_A_LOOK, 0, 2)
    assert result.first == looks[0] and str(result) == "Own: worth a look 2 times, first: large"
    with pytest.raises(RuleEvaluationConditionMet, match="rule Own is met at step 2"):
        list(rules._evaluate(trial, 0, 2, _raw.SMD_EVALUATE_STOP_AT_FINDING))
    [result] = rules.results()
    assert (result.status, result.finding_count, result.look_count) == (RuleStatus.HAS_FINDINGS, 1, 3)
    assert result.first.step == 2 and result.first.level is Level.FINDING


@pytest.mark.parametrize("kind", [list, tuple, iter], ids=["list", "tuple", "iterator"])
def test_a_function_reports_several_findings(out_dir, kind):
    trial = trained(out_dir, [1])
    mixed = ["one", Finding(message="two", tensor="w", action="stop")]
    found = list(RuleSet("aws").add(lambda trial, step: kind(mixed)).evaluate(trial))
    assert [(each.message, each.tensor) for each in found] == [("one", ""), ("two", "w")]
    assert [each.action for each in found] == [Action.WARN, Action.STOP]
    assert [(each.value, each.limit) for each in found] == [(None, None)] * 2


@pytest.mark.parametrize("answer", [None, False, np.bool_(False), "", [], iter(())], ids=repr)
def test_a_function_may_find_nothing(out_dir, answer):
    trial = trained(out_dir, [1])
    rules = RuleSet("aws").add(lambda trial, step: answer)
    assert list(rules.evaluate(trial)) == []
    assert rules.results()[0].status is RuleStatus.PASSED


@pytest.mark.parametrize("answer", [True, np.bool_(True)], ids=repr)
def test_a_condition_that_holds_is_a_finding(out_dir, answer):
    trial = trained(out_dir, [1])
    (finding,) = RuleSet("aws").add(lambda trial, step: answer).evaluate(trial)
    assert finding.message == "the condition holds"


def test_a_generator_keeps_what_it_found_before_it_failed(out_dir):
    trial = trained(out_dir, [1, 1, 1])

    def finds(trial, step):
        yield f"at {step}"
        if step == 0:
            trial.tensor("missing")
        if step == 1:
            raise KeyError("as told")

    rules, found = RuleSet("aws").add(finds), []
    with pytest.raises(KeyError, match="as told"):
        for finding in rules.evaluate(trial):
            found.append(finding.message)
    assert found == ["at 0", "at 1"]


def test_a_generator_that_reports_nonsense_is_closed(out_dir):
    trial, closed = trained(out_dir, [1]), []

    def finds(trial, step):
        try:
            yield 7
        finally:
            closed.append(step)

    with pytest.raises(SMDebugTypeError) as error:
        list(RuleSet("aws").add(finds).evaluate(trial))
    assert closed == [0] and error.value.__context__ is None


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_function_may_finish(out_dir, is_alone):
    trial, seen = trained(out_dir, [1, 1, 1]), []

    def ends(trial, step):
        seen.append(step)
        if step < 1:
            return None
        return RuleSet.FINISHED if is_alone else [RuleSet.FINISHED, "last"]

    rules = RuleSet("aws").add(ends)
    found = [(each.step, each.message) for each in rules.evaluate(trial)]
    assert found == ([] if is_alone else [(1, "last")])
    assert seen == [0, 1]
    rules.reset()
    list(rules.evaluate(trial))
    assert seen == [0, 1, 0, 1]


def endless():
    while True:
        yield "found"


@pytest.mark.parametrize(
    "answer, kind, message",
    [
        (7, SMDebugTypeError, "rule 'Own' returned 7 (int) at step 0; return None, True, a message"),
        (b"text", SMDebugTypeError, "returned b'text' (bytes) at step 0"),
        ({"w": 1}, SMDebugTypeError, "returned {'w': 1} (dict) at step 0"),
        (["text", 7], SMDebugTypeError, "reported 7 (int) at step 0; report messages"),
        ([["text"]], SMDebugTypeError, "reported ['text'] (list) at step 0"),
        ([None], SMDebugTypeError, "reported None (NoneType) at step 0"),
        ([True], SMDebugTypeError, "reported True (bool) at step 0"),
        ("a\0b", SMDebugValueError, "rule 'Own' at step 0: the message 'a\\x00b' holds a NUL"),
        ("a\ud800", SMDebugValueError, "the message 'a\\ud800' is not valid Unicode"),
        (Finding(tensor="\0"), SMDebugValueError, "the tensor '\\x00' holds a NUL"),
        (Finding(worker="\udfff"), SMDebugValueError, "the worker '\\udfff' is not valid"),
        (Finding(check=7), SMDebugTypeError, "the check must be a str, not int"),
        (Finding(message=None), SMDebugTypeError, "the message must be a str, not NoneType"),
        (Finding(value="7"), SMDebugTypeError, "the value must be a number, not '7' (str)"),
        (Finding(limit=[7]), SMDebugTypeError, "the limit must be a number, not [7] (list)"),
        (Finding(value=np.ones(2)), SMDebugTypeError, "the value must be a number, not array"),
        (Finding(value=10**400), SMDebugValueError, "the value is too large for a float"),
        (Finding(action="halt"), SMDebugValueError, "'halt' is not 'continue', 'warn' or 'stop'"),
        (Finding(level=1), SMDebugTypeError, "the level is 1 (int); use smdebug.rules.Level"),
        (Finding(action=7), SMDebugValueError, "7 is not 'continue', 'warn' or 'stop'"),
        (endless(), SMDebugValueError, "more than 100000 findings at step 0"),
    ],
    ids=lambda each: each if isinstance(each, str) and each.isprintable() else "",
)
def test_what_a_function_reports_is_checked(out_dir, answer, kind, message):
    trial = trained(out_dir, [1])
    rules = RuleSet("aws").add(lambda trial, step: answer, name="Own")
    with pytest.raises(kind, match=re.escape(message)):
        list(rules.evaluate(trial))
