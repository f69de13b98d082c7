"""smdebug rules."""

import json
import re
import subprocess

import numpy as np
import pytest
from cli_program import Program

import smdebug as smd

KEYS = {"rule", "status", "step", "mode", "worker", "tensor", "value", "limit", "message"}
RULE = "--rule VanishingGradient"


def test_an_object_a_verdict_and_a_summary(smdebug):
    *verdicts, last = smdebug.objects(f"rules run {RULE} --json", 10)
    assert all(KEYS <= set(verdict) for verdict in verdicts)
    assert last["summary"]["findings"] == len(verdicts) > 0
    first = verdicts[0]
    # Halved at each step, a gradient is below 1e-7 at step 24; that is the mode's step 20.
    assert (first["rule"], first["status"], first["step"]) == ("VanishingGradient", "finding", 24)
    assert (first["mode"], first["mode_step"], first["worker"]) == ("TRAIN", 20, "worker_0")
    assert (first["tensor"], first["value"], first["limit"]) == (
        "gradient/fc1.weight", pytest.approx(0.5**24), 1e-7,
    )  # fmt: skip


def test_parameters(smdebug):
    verdicts = smdebug.objects(f"rules run {RULE},threshold=1e-3 --json", 10)
    assert verdicts[0]["step"] == 10
    as_json = smdebug.objects("rules run --rule 'VanishingGradient,{\"threshold\": \"1e-3\"}' --json", 10)
    assert as_json == verdicts


def test_nothing_found(smdebug):
    [verdict, last] = smdebug.objects(f"rules run {RULE},threshold=1e-30 --json")
    assert (verdict["status"], verdict["step"], verdict["value"]) == ("no_issue", None, None)
    assert last["summary"]["findings"] == 0


def test_a_rule_without_tensors_says_so(smdebug):
    [verdict, last] = smdebug.objects(f"rules workers {RULE} --json")
    assert verdict["status"] == "no_tensor" and verdict["message"]
    assert last["summary"]["rules_by_status"]["no_tensor"] == 1


def test_all_rules_without_naming_any(smdebug):
    listed = json.loads(smdebug("rules --list --json"))
    last = json.loads(smdebug.run("rules run --json").stdout.splitlines()[-1])
    summary = last["summary"]
    assert summary["rules"] + len(summary["not_asked"]) == len(listed)
    assert summary["rules"] > len(summary["not_asked"])
    text = smdebug.run("rules run").stdout
    for why in summary["not_asked"]:
        assert f"not asked: {why}\n" in text


def test_the_list(smdebug):
    told = smdebug("rules --list")
    for rule in json.loads(smdebug("rules --list --json")):
        assert f"{rule['name']}\n  " in told and rule["summary"] in " ".join(told.split())
        for parameter in rule["parameters"]:
            assert re.search(rf"^    {parameter['name']}( |$)", told, re.MULTILINE)
            assert parameter["meaning"] in " ".join(told.split())


def test_findings_beyond_the_first_are_counted(tmp_path):
    with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1),
                  include_collections=["gradients"]) as hook:  # fmt: skip
        for _ in range(12):
            with hook.step(smd.modes.TRAIN):
                hook.save("gradient/w", np.zeros(3))
    program = Program(tmp_path)
    assert program(f"rules run {RULE}", 10).count("VanishingGradient  step") == 5
    assert "(7 further findings; --all shows each)" in program(f"rules run {RULE}", 10)
    every = program(f"rules run {RULE} --all", 10)
    assert every.count("VanishingGradient  step") == 12 and "further" not in every


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("NoSuchRule", "NoSuchRule"),
        ("VanishingGradient,treshold=1", "threshold"),
        ("VanishingGradient,threshold=x", "threshold"),
        ("VanishingGradient,1e-3", "wants NAME=VALUE"),
        ("VanishingGradient,", "wants NAME=VALUE"),
        (",threshold=1", "a rule's name"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(rule, sentence, smdebug):
    assert sentence in smdebug.complaint(f"rules run --rule {rule}", 2)


def test_following_a_job(tmp_path):
    """Findings come while the job runs; the program ends when it does."""
    program = Program(tmp_path)
    process = program.start(f"rules run {RULE} --follow --json", stdout=subprocess.PIPE, text=True)
    try:
        with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1),
                      include_collections=["gradients"]) as hook:  # fmt: skip
            for step in range(4):
                with hook.step(smd.modes.TRAIN):
                    hook.save("gradient/w", np.full(3, 0.0 if step == 1 else 1.0))
            first = json.loads(process.stdout.readline())
            assert (first["status"], first["step"]) == ("finding", 1)
            assert process.poll() is None
            with hook.step(smd.modes.TRAIN):
                hook.save("gradient/w", np.zeros(3))
        rest = [json.loads(line) for line in process.stdout]
        assert [verdict.get("step") for verdict in rest] == [4, None]
        assert rest[-1]["summary"]["steps"] == 5
        assert process.wait(30) == 10
    finally:
        process.kill()
        process.wait()
