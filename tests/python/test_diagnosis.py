"""The likely causes of what rules have found."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from smdebug import Hook, SaveConfig, create_trial
from smdebug.rules import Cause, RuleSet

ROOT = Path(__file__).resolve().parents[2]
RULES = ("ExplodingTensor", "FirstNonFinite", "WeightUpdateRatio")


def rule_set(profile: str = "calibrated") -> RuleSet:
    rules = RuleSet(profile)
    for rule in RULES:
        rules.add(rule)
    return rules


def record(hook: Hook, steps: int, broken: int) -> None:
    """Runs steps; the output of a layer is infinite from the step `broken` on."""
    for step in range(steps):
        with hook.step():
            second = math.inf if step >= broken else 1.0
            hook.save("log_output_0", np.array([0.5, second], "float32"))


@pytest.fixture
def trial_dir(out_dir):
    with Hook(out_dir, save_config=SaveConfig(save_interval=1), save_all=True) as hook:
        record(hook, 40, 33)
    return out_dir


def check(causes: list[Cause]) -> None:
    assert 1 <= len(causes) <= 3
    first = causes[0]
    assert first.id == "undefined_operation"
    assert [each.confidence for each in causes] == sorted(
        (each.confidence for each in causes), reverse=True
    )
    assert 0 < first.confidence < 1
    assert first.title in str(first)
    for evidence in first.evidence:
        assert (evidence.first.step, evidence.first.tensor) == (33, "log_output_0")
        assert evidence.tensor_count == 1
        assert evidence.finding_count >= 1
    assert set(first.missing) <= {"WeightUpdateRatio"}


def test_the_cause_of_a_stored_trial_is_named(trial_dir):
    rules = rule_set()
    trial = create_trial(trial_dir)
    assert list(rules.evaluate(trial, end_step=20)) == []
    assert rules.diagnose() == []
    assert list(rules.evaluate(trial))
    check(rules.diagnose())
    rules.reset()
    assert rules.diagnose() == []


def test_a_clue_is_evidence_but_no_finding(out_dir):
    rules = rule_set()
    with Hook(out_dir) as hook:
        hook.attach(rules)
        for step in range(9):
            with hook.step():
                size = 1.9 ** min(step, 5) if step < 7 else math.inf
                hook.save("fc1.weight", np.full((4, 4), size, "float32"))
        found = hook.take_findings()
    assert {each.check for each in found} == {"inf"}
    assert [each.finding_count for each in rules.results()][2] == 0
    checks = {each.first.check for cause in rules.diagnose() for each in cause.evidence}
    assert "large_first_updates" in checks


def test_what_is_only_worth_a_look_has_no_cause(out_dir):
    rules = RuleSet().add("InputScale")
    with Hook(out_dir) as hook:
        hook.attach(rules)
        for _ in range(9):
            with hook.step():
                hook.save("Model_input_0", np.full((8, 4), 200, "float32"))
        assert {each.level.name for each in hook.take_findings()} == {"WORTH_A_LOOK"}
    assert rules.diagnose() == []


def test_the_cause_in_a_running_job_is_named(out_dir):
    rules = rule_set()
    with Hook(out_dir) as hook:
        hook.attach(rules)
        assert rules.diagnose() == []
        record(hook, 40, 33)
        check(rules.diagnose())


def test_the_profile_aws_has_no_diagnosis(trial_dir):
    rules = rule_set("aws")
    assert list(rules.evaluate(create_trial(trial_dir)))
    assert rules.diagnose() == []


@pytest.fixture
def repeated_dir(out_dir):
    """A job of which the ninth batch comes again at each later step."""
    batches = np.random.default_rng(0).standard_normal((9, 8, 4)).astype("float32")
    with Hook(out_dir, save_config=SaveConfig(save_interval=1), save_all=True) as hook:
        for step in range(20):
            with hook.step():
                hook.save("Model_input_0", batches[min(step, 8)])
    return out_dir


def test_the_rules_for_large_trainings_have_causes_of_their_own(repeated_dir):
    rules = RuleSet("llm")
    assert {each.rule for each in rules.evaluate(create_trial(repeated_dir))} == {"RepeatedBatch"}
    assert rules.diagnose()[0].id == "batches_repeated"
    lines = smdebug(repeated_dir, "--profile", "llm").splitlines()
    assert any(re.fullmatch(r"likely cause \(\d\d %\): batches repeat", each) for each in lines)
    # One rule alone says too little: a table is of all rules of a set.
    assert "cause (" not in smdebug(repeated_dir, "--profile", "llm", "--rule", "RepeatedBatch")


def smdebug(*arguments: str) -> str:
    command = [sys.executable, "-m", "smdebug", "rules", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 10, done.stderr
    return done.stdout


def test_the_last_lines_of_the_command_name_the_cause(trial_dir):
    lines = smdebug(trial_dir).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(("likely cause (", "possible cause (")))
    assert lines[begin].endswith("%): an operation has no finite result")
    said = "\n".join(lines[begin:])
    assert "  finding  FirstNonFinite  step 33  worker_0  'log_output_0' is the first" in said
    assert "to do: Check the operation whose output or gradient is named" in said
    assert "see docs/diagnosis.md#undefined_operation" in said


def test_the_json_of_the_command_names_the_cause(trial_dir):
    summary = json.loads(smdebug(trial_dir, "--json").splitlines()[-1])["summary"]
    first = summary["diagnosis"][0]
    assert first["cause"] == "undefined_operation"
    assert first["evidence"][0]["step"] == 33
    assert 0 < first["confidence"] < 1


def test_the_headline_of_the_report_names_the_cause(trial_dir):
    command = [sys.executable, "-m", "smdebug", "report", trial_dir, "-o", "-"]
    page = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    headline = page[page.index('class="headline"') :][:2000]
    assert "an operation has no finite result" in headline
    assert "Check the operation whose output or gradient is named" in headline
    assert "docs/diagnosis.md#undefined_operation" in headline


def test_calibrated_defaults_decide_unless_aws_is_requested(out_dir):
    with Hook(out_dir, save_config=SaveConfig(save_interval=1), save_all=True) as hook:
        record(hook, 8, 99)
    command = [sys.executable, "-m", "smdebug", "rules", out_dir]

    def lines(*more: str) -> list[str]:
        done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=60)
        return done.stdout.splitlines()

    about_aws = "that the training service documents (--profile aws)"
    assert json.loads(lines("--json")[-1])["summary"]["profile"] == "calibrated"
    assert not any(about_aws in line for line in lines())
    assert sum(about_aws in line for line in lines("--profile", "aws")) == 1


def test_the_command_names_no_cause_for_some_of_the_rules(trial_dir):
    assert "cause (" not in smdebug(trial_dir, "--rule", "FirstNonFinite")


def test_the_page_has_a_section_for_each_cause():
    page = (ROOT / "docs/diagnosis.md").read_text()
    source = (ROOT / "cpp_impl/diagnose/cause.cc").read_text()
    links = re.findall(r'"docs/diagnosis.md#(\w+)"', source)
    assert len(links) > 10
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == links
