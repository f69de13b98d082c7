"""Tests smdebug rules."""

import json
import re
import subprocess
import time

import numpy as np
import pytest
from cli_program import Program

import smdebug as smd

KEYS = {"rule", "status", "step", "mode", "worker", "tensor", "value", "limit", "message"}
RULE = "--profile aws --rule VanishingGradient"


def test_json_has_an_object_for_each_finding_and_a_summary(smdebug):
    *findings, last = smdebug.objects(f"rules run {RULE} --json", 10)
    assert all(KEYS <= set(finding) for finding in findings)
    assert last["summary"]["findings"] == len(findings) > 0
    first = findings[0]
    # Gradients halve at each step, and fall below 1e-7 at step 24, which is step 20 of the mode.
    assert (first["rule"], first["status"], first["step"]) == ("VanishingGradient", "finding", 24)
    assert (first["mode"], first["mode_step"], first["worker"]) == ("TRAIN", 20, "worker_0")
    assert (first["tensor"], first["value"], first["limit"]) == (
        "gradient/fc1.weight", pytest.approx(0.5**24), 1e-7,
    )  # fmt: skip


def test_parameters(smdebug):
    findings = smdebug.objects(f"rules run {RULE},threshold=1e-3 --json", 10)
    assert findings[0]["step"] == 10
    as_json = smdebug.objects("rules run --profile aws --rule 'VanishingGradient,{\"threshold\": \"1e-3\"}' --json", 10)
    assert as_json == findings


def test_no_findings(smdebug):
    [finding, last] = smdebug.objects(f"rules run {RULE},threshold=1e-30 --json")
    assert (finding["status"], finding["step"], finding["value"]) == ("passed", None, None)
    assert last["summary"]["findings"] == 0


def test_a_rule_without_tensors_reports_that(smdebug):
    [finding, last] = smdebug.objects(f"rules workers {RULE} --json")
    assert finding["status"] == "no_tensors" and finding["message"]
    assert last["summary"]["rules_by_status"]["no_tensors"] == 1


def test_all_rules_run_by_default(smdebug):
    listed = json.loads(smdebug("rules --list --json"))
    last = json.loads(smdebug.run("rules run --json").stdout.splitlines()[-1])
    summary = last["summary"]
    asked = [rule for rule in listed if not rule["set"]]
    assert summary["rules"] + len(summary["skipped"]) == len(asked)
    assert summary["rules"] > len(summary["skipped"])
    [why] = summary["skipped"]
    assert why.startswith("SimilarAcrossRuns: other_trials is missing")
    assert "without their parameters: SimilarAcrossRuns\n" in smdebug.run("rules run").stdout
    for profile in ("calibrated", "aws", "llm"):
        *_, last = smdebug.run(f"rules run --json --profile {profile}").stdout.splitlines()
        rules = smd.rules.RuleSet(profile).add_all()
        assert json.loads(last)["summary"]["rules"] == len(rules.results())


def test_the_profile_llm_is_the_rules_for_large_trainings(smdebug):
    summary = json.loads(smdebug.run("rules run --json --profile llm").stdout.splitlines()[-1])["summary"]
    assert (summary["profile"], summary["rules"], summary["skipped"]) == ("llm", 23, [])
    one = smdebug.run("rules run --json --profile llm --rule LossSpike").stdout.splitlines()
    assert json.loads(one[-1])["summary"]["rules"] == 1
    assert "TiedWeightsBroken" in smdebug.run("report run -o - --profile llm").stdout
    assert "TiedWeightsBroken" not in smdebug.run("report run -o -").stdout


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
    some = program(f"rules run {RULE}", 10)
    assert some.count("VanishingGradient  step") == 1
    assert "(11 further findings; --all prints each)" in some
    assert re.search(r"^VanishingGradient +0 +12  gradient/w$", some, re.MULTILINE)
    assert "12 findings: 1 rule evaluated over 12 steps" in some
    followed = program(f"rules run {RULE} --follow", 10)
    assert followed.count("VanishingGradient  step") == 1 and "further" not in followed
    assert "VanishingGradient  10 times up to step 9 (TRAIN 9)  gradient/w\n" in followed
    every = program(f"rules run {RULE} --all", 10)
    assert every.count("VanishingGradient  step") == 12 and "further" not in every


def test_tensors_that_differ_are_printed_apart(tmp_path):
    with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1),
                  include_collections=["gradients"]) as hook:  # fmt: skip
        for number in range(7):
            with hook.step(smd.modes.TRAIN):
                hook.save(f"gradient/w{number}", np.zeros(3))
    program = Program(tmp_path)
    some = program(f"rules run {RULE}", 10)
    assert some.count("VanishingGradient  step") == 5 and "(2 further findings;" in some
    assert some.count("zero at every step") == 1 and some.count("also in 'gradient/") == 4
    assert program(f"rules run {RULE} --follow", 10).count("VanishingGradient  step") == 7


def test_a_trial_without_steps_is_not_called_free_of_findings(tmp_path):
    smd.Hook(str(tmp_path / "run")).close()
    told = Program(tmp_path)("rules run")
    assert told.splitlines()[-1] == "nothing was checked: the trial has no steps"


def record_overfit(folder):
    """Validation at 63.8 and training down to 16: no rise of 10 %, but a gap that grows."""
    with smd.Hook(str(folder / "run"), save_config=smd.SaveConfig(save_interval=1),
                  include_collections=["losses"]) as hook:  # fmt: skip
        for epoch in range(14):
            for mode, loss in ((smd.modes.TRAIN, 100 * 0.85**epoch), (smd.modes.EVAL, max(63.8, 102 * 0.9**epoch))):
                with hook.step(mode):
                    hook.save("CrossEntropyLoss_output_0", np.array([loss]))


def test_worth_a_look_is_neither_a_finding_nor_nothing(tmp_path):
    record_overfit(tmp_path)
    program = Program(tmp_path)
    *_, look, last = [
        each for each in program.objects("rules run --json") if each.get("status") != "passed"
        and each.get("status") not in ("no_tensors", "not_enough_data")
    ]  # fmt: skip
    assert (look["rule"], look["status"], look["action"]) == ("Overfit", "worth_a_look", "continue")
    summary = last["summary"]
    assert summary["findings"] == 0 and summary["worth_a_look"] > 0
    assert summary["rules_by_status"]["worth_a_look"] == 1
    text = program("rules run")
    assert "worth a look  Overfit  step" in text and "no findings, but worth a look: " in text
    shown = program.on_terminal("rules run", 80)
    assert "\x1b[33mno findings, but worth a look\x1b[0m" in shown
    assert "\x1b[33mworth a look\x1b[0m" in shown and "\x1b[31m" not in shown
    told = program("report run -o page.html")
    assert "no findings, 1 rule with something worth a look" in told
    page = (tmp_path / "page.html").read_text()
    assert 'class="headline look"' in page and 'class="headline good"' not in page
    assert "<title>! Overfit" in page and "Worth a look: Overfit in" in page


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_culprit_and_the_step_stay_visible(columns, tmp_path):
    name = "gradient/Transformer_encoder.layers.0.self_attention.out_projection.weight"
    with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1),
                  include_collections=["gradients"]) as hook:  # fmt: skip
        for step in range(3):
            with hook.step(smd.modes.TRAIN):
                hook.save(name, np.full(3, float(step < 2)))
    shown = Program(tmp_path).on_terminal("rules run --profile aws", columns)
    lines = re.sub(r"\x1b\[[0-9;]*[mK]", "", shown).replace("\r\n", "\n").splitlines()
    [head] = [line for line in lines if line.startswith("finding  VanishingGradient  step 2")]
    assert max(map(len, lines[: lines.index("")])) <= columns or columns > 80
    # A name that is longer than a line is split, and nothing of it is dropped.
    assert len(head) <= columns and name in "".join(map(str.strip, lines))
    [row] = [line for line in lines if re.match(r"VanishingGradient +2 +1  gradient/\S+weight$", line)]
    assert len(row) <= columns
    # Rules without findings take a word each.
    for word in ("passed: ", "no matching tensors: "):
        assert sum(line.startswith(word) for line in lines) == 1
    assert not any(line.startswith(("passed  ", "no tensors  ")) for line in lines)


@pytest.mark.parametrize("columns", [60, 80])
def test_findings_of_a_cause_are_folded(columns, tmp_path):
    with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1), save_all=True) as hook:
        for step in range(40):
            with hook.step(smd.modes.TRAIN):
                hook.save("log_output_0", np.array([0.5, -np.inf if step >= 33 else 0.1], "float32"))
                hook.save("other_output_0", np.array([0.5, -np.inf if step >= 34 else 0.1], "float32"))
    program = Program(tmp_path)
    shown = re.sub(r"\x1b\[[0-9;]*[mK]", "", program.on_terminal("rules run", columns)).replace("\r\n", "\n")
    _, cause = shown.split("\nlikely cause (")
    assert max(map(len, shown.splitlines())) <= columns
    assert shown.startswith("passed: "), "no finding stands apart from its cause"
    # The first finding of each rule, once, with how many more there are.
    text = " ".join(cause.split())
    assert text.count("finding ExplodingTensor step 33 (TRAIN 33)") == 1
    assert "'log_output_0' are infinite (and 6 more, to step 39 (TRAIN 39))" in text
    assert text.count("finding FirstNonFinite step 33") == 1
    assert "because:" not in text and "FINDINGS OF" not in shown and "also in" not in shown
    assert cause.index("FirstNonFinite") < cause.index("to do: ") < cause.index("see docs/diagnosis.md")
    every = program("rules run --all", 10)
    assert every.count("finding  ExplodingTensor  step") == 7 and "FINDINGS OF" in every
    assert "because: ExplodingTensor" in every
    findings = [each for each in program.objects("rules run --json", 10) if each.get("status") == "finding"]
    assert len(findings) == 8


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("NoSuchRule", "NoSuchRule"),
        ("VanishingGradient,treshold=1", "threshold"),
        ("VanishingGradient,threshold=x", "threshold"),
        ("VanishingGradient,1e-3", "needs NAME=VALUE"),
        ("VanishingGradient:threshold=1", "a comma comes before each parameter, as in VanishingGradient,NAME"),
        ("'VanishingGradient threshold=1'", "as in VanishingGradient,NAME=VALUE"),
        ("VanishingGradient,", "needs NAME=VALUE"),
        (",threshold=1", "a rule's name"),
    ],
)
def test_invalid_rules_are_named(rule, sentence, smdebug):
    assert sentence in smdebug.complaint(f"rules run --rule {rule}", 2)


def test_following_a_job(tmp_path):
    """Prints findings while the job runs, and exits when the job ends."""
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
        assert [finding.get("step") for finding in rest] == [4, None]
        assert rest[-1]["summary"]["steps"] == 5
        assert process.wait(30) == 10
    finally:
        process.kill()
        process.wait()



def test_following_tells_what_the_end_of_the_job_tells(tmp_path):
    program = Program(tmp_path)
    words = "rules run --rule UnusualSettings --follow --json"
    process = program.start(words, stdout=subprocess.PIPE, text=True)
    try:
        with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1), save_all=True) as hook:
            for step in range(80):
                with hook.step(smd.modes.TRAIN):
                    hook.save("learning_rate/SGD_0", np.float32(step))
            hook.flush()
            time.sleep(0.5)  # all steps are evaluated before the job ends
        rest = [json.loads(line) for line in process.stdout]
        assert [(each.get("check"), each.get("step")) for each in rest][0] == ("warmup", 79)
        assert rest[-1]["summary"]["steps"] == 80
        assert process.wait(30) == 10
    finally:
        process.kill()
        process.wait()


def test_following_goes_on_past_a_damaged_index(tmp_path):
    program = Program(tmp_path)
    process = program.start(
        f"rules run {RULE} --follow --json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1),
                      include_collections=["gradients"]) as hook:  # fmt: skip
            with hook.step(smd.modes.TRAIN):
                hook.save("gradient/w", np.zeros(3))
            assert json.loads(process.stdout.readline())["step"] == 0
            damaged = tmp_path / "run/index/000000000/000000000001_worker_0.json"
            damaged.write_text("{")
            time.sleep(1.5)
            assert process.poll() is None, process.stderr.read()
        _, said = process.communicate(timeout=60)
        assert process.returncode == 10 and damaged.name in said and "smdebug verify run" in said
    finally:
        process.kill()
        process.wait()


def record_zeros(folder, steps):
    with smd.Hook(str(folder), save_config=smd.SaveConfig(save_interval=1),
                  include_collections=["gradients"]) as hook:  # fmt: skip
        for _ in range(steps):
            with hook.step(smd.modes.TRAIN):
                hook.save("gradient/w", np.zeros(3000))


def test_a_damaged_step_is_skipped_and_listed(tmp_path):
    record_zeros(tmp_path / "run", 3)
    [event_file] = (tmp_path / "run/events/000000000001").iterdir()
    content = bytearray(event_file.read_bytes())
    content[len(content) // 2] ^= 1
    event_file.write_bytes(content)
    program = Program(tmp_path)
    done = program.run(f"rules run {RULE}")
    assert done.returncode == 10
    assert "1 damaged part; to see all of it: smdebug verify run" in done.stderr
    assert re.search(r"^VanishingGradient +0 +2 ", done.stdout, re.MULTILINE)
    # Without findings, the damage decides the exit code.
    done = program.run(f"rules run {RULE},threshold=1e-300 --rule DeadRelu --json")
    assert done.returncode == 10
    assert len(json.loads(done.stdout.splitlines()[-1])["summary"]["not_read"]) == 1
    without = "TensorVariance,collection_names=gradients,max_threshold=9"
    assert program.run(f"rules run --rule {without}").returncode == 4


def test_the_largest_step_number_is_the_last(tmp_path):
    """The number has no successor in 64 bits."""
    record_zeros(tmp_path / "run", 1)
    largest = 2**63 - 1
    for folder, pattern in (("index", "{}_worker_0.json"), ("events", "{}_worker_0.tfevents")):
        [first] = [each for each in (tmp_path / "run" / folder).rglob("*") if each.is_file()]
        step_folder = largest // 1000 * 1000 if folder == "index" else largest
        target = tmp_path / "run" / folder / f"{step_folder:012}" / pattern.format(largest)
        target.parent.mkdir()
        content = first.read_bytes()
        if folder == "index":
            old = "events/000000000000/000000000000_worker_0"
            content = content.replace(old.encode(), f"events/{largest}/{largest}_worker_0".encode())
        target.write_bytes(content)
    program = Program(tmp_path)
    for command in ("rules run", "rules run --follow", f"rules run {RULE} --json", "report run"):
        assert program.run(command).returncode in (0, 4, 10), command
