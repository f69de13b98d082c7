"""Tests smdebug report."""

import json
import os
import re
import resource
import subprocess

import numpy as np
import pytest
from cli_program import PROGRAM, Program
from cli_trials import record_workers
from report_page import Page, report
from report_trials import record_booster, record_hostile, record_reductions, record_training, record_uneven

import smdebug as smd

MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the trials training, booster, workers and hostile."""
    folder = tmp_path_factory.mktemp("reports")
    record_training(str(folder / "training"))
    record_booster(str(folder / "booster"), [0, 0, 1, 1, 1], [0.1, 0.6, 0.4, 0.8, 0.9])
    record_workers(folder / "workers")
    record_hostile(str(folder / "a \"<b>'hostile'"))
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return report(folder, "training", "--profile aws")


# ---- the file ----


def test_the_page_needs_no_other_file(page):
    for name, attributes in page.elements:
        for key in ("src", "href", "action", "data", "srcset"):
            assert attributes.get(key, "#").startswith(("#", "data:,")), (name, attributes)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", page.text)
    [policy] = [each["content"] for each in page.all("meta") if "http-equiv" in each]
    assert policy.startswith("default-src 'none'")


def test_the_culprit_comes_first(page):
    said = page.words()
    assert said.index("VanishingGradient in gradient/layer1.weight , step 23") < said.index("Findings")
    [first, *_] = page.data["rules"]
    assert (first["rule"], first["findings"][0]["step"]) == ("VanishingGradient", 23)
    assert first["findings"][0]["tensor"] == "gradient/layer1.weight"
    # Symptoms come last, even if they were found earlier.
    rules = [rule["rule"] for rule in page.data["rules"]]
    assert rules.index("FirstNonFinite") < rules.index("ExplodingTensor") < rules.index("Overtraining")


def test_every_rule_has_its_result(folder, page):
    lines = Program(folder).run("rules training --profile aws --json").stdout.splitlines()
    *findings, last = [json.loads(line) for line in lines]
    found = {finding["rule"] for finding in findings if finding["status"] == "finding"}
    assert {rule["rule"] for rule in page.data["rules"]} == found
    assert {rule["rule"]: rule["count"] for rule in page.data["rules"]} == {
        rule: sum(finding["rule"] == rule and finding["status"] == "finding" for finding in findings) for rule in found
    }
    said = page.words()
    for finding in findings:
        if finding["status"] != "finding":
            words = finding["status"].replace("_", " ")
            [line] = re.findall(rf"[✓–…] {words} ((?:\w+(?: \(.*?\))? ?, )*\w+(?: \(.*?\))?)", said)
            reason = finding["message"].removeprefix("not enough data: ")
            reason = f" ({reason})" if words == "not enough data" else ""
            assert finding["rule"] + reason in line
    for message in last["summary"]["skipped"]:
        rule, _, why = message.partition(": ")
        assert f"{rule} ({why})" in said


def test_the_page_says_when_the_documented_limits_decide(page):
    assert "Limits are those that the training service documents (--profile aws)" in page.words()


def test_no_findings_and_no_evaluated_rule(folder):
    assert "No findings" in report(folder, "training", "--profile aws -r VanishingGradient,threshold=1e-30").words()
    assert "No rule could be evaluated" in report(folder, "booster", "-r VanishingGradient").words()


def test_parameters_and_facts_are_shown(folder):
    said = report(folder, "training", "--rule VanishingGradient,threshold=1e-3 --profile calibrated").words()
    assert "VanishingGradient threshold 1e-3" in said and "the profile calibrated" in said
    assert "--profile aws" not in said
    assert "Steps 60 (0 to 59) Modes TRAIN 54, EVAL 6" in said
    assert "gradients 12" in said and "^gradient" in said and "every step" in said
    said = report(folder, "training", """--rule 'VanishingGradient,{"threshold": "1e-3"}'""").words()
    assert 'VanishingGradient JSON {"threshold": "1e-3"}' in said


def test_save_configs_of_collections(tmp_path):
    with smd.Hook(str(tmp_path / "trial"), save_config=smd.SaveConfig(save_interval=1), save_all=True) as hook:
        hook.get_collection("weights").save_config = smd.SaveConfig(
            {
                smd.modes.TRAIN: smd.SaveConfigMode(save_interval=7, start_step=2, end_step=90, save_steps=[0, 5]),
                smd.modes.EVAL: smd.SaveConfigMode(save_interval=1),
            }
        )
        hook.get_collection("biases").save_config = smd.SaveConfig(save_interval=3)
        for _ in range(3):
            with hook.step(smd.modes.TRAIN):
                hook.save("w", np.ones(3, "float32"))
    said = report(tmp_path, "trial").words()
    assert "TRAIN: every 7 steps from 2 before 90, and 0, 5 EVAL: every step" in said
    assert "every 3 steps" in said and "TRAIN: every 3 steps" not in said


def test_exit_codes_and_output(folder, tmp_path):
    program = Program(folder)
    assert program("report training -o page.html", 10).startswith("wrote page.html: ")
    assert program("report training --profile aws -r VanishingGradient,threshold=1e-30 -o -").startswith("<!DOCTYPE html>")
    assert "folder does not exist" in program.complaint("report nowhere", 3)
    assert "cannot write the file" in program.complaint("report training -o nowhere/page.html", 5)
    assert "did you mean" in program.complaint("report training -r VanishingGradients", 2)


def test_the_page_replaces_a_link(folder, tmp_path):
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "page.html").symlink_to(tmp_path / "precious")
    Program(folder).run(f"report training -o {tmp_path}/page.html")
    assert (tmp_path / "precious").read_text() == "kept"
    assert not (tmp_path / "page.html").is_symlink()
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o666 & ~mask
    assert {each.name for each in tmp_path.iterdir()} == {"precious", "page.html"}


def test_a_page_keeps_the_mode_of_the_one_it_replaces(folder, tmp_path):
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "page.html").chmod(0o640)
    Program(folder).run(f"report training -o {tmp_path}/page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o640


def test_a_page_that_cannot_be_written_leaves_the_old_one(folder, tmp_path):
    (tmp_path / "page.html").mkdir()
    assert "cannot write the file" in Program(folder).complaint(
        f"report training -o {tmp_path}/page.html", 5
    )
    assert {each.name for each in tmp_path.iterdir()} == {"page.html"}
    assert Program(folder).run("report training -o /dev/stdout").stdout.startswith("<!DOCTYPE")


# ---- what it shows ----


def test_curves(page):
    charts = {chart["title"]: chart for chart in page.data["charts"]}
    assert list(charts) == ["loss", "scalar/accuracy"] and charts["loss"]["is_loss"]
    lines = {line["mode"]: line for line in charts["loss"]["lines"]}
    assert lines["TRAIN"]["values"][:3] == [2, 1.905, 1.818]
    assert lines["TRAIN"]["values"][-1] == "NaN" and lines["EVAL"]["steps"] == [9, 19, 29, 39, 49, 59]


def test_a_long_curve_keeps_what_stands_out(tmp_path):
    with smd.Hook(str(tmp_path / "long"), save_config=smd.SaveConfig(save_interval=1)) as hook:
        for step in range(5000):
            with hook.step():
                hook.save("loss", np.float32({1234: 99, 3210: np.nan, 4321: -99}.get(step, 1 + step % 2)))
    [chart] = report(tmp_path, "long").data["charts"]
    [line] = chart["lines"]
    values = dict(zip(line["steps"], line["values"], strict=True))
    assert (values[1234], values[3210], values[4321]) == (99, "NaN", -99)
    assert 100 < len(values) <= 650 and {0, 4999} <= values.keys()


def test_statistics(page):
    statistics = page.data["statistics"]
    assert statistics["statistics"] == ["l2", "abs_mean", "abs_max"]
    assert statistics["steps"] == [step for step in range(60) if step % 10 != 9]
    names = [layer["tensor"] for layer in statistics["layers"]]
    assert names[:3] == ["gradient/layer1.weight", "gradient/layer2.weight", "gradient/layer3.weight"]
    assert names[11] == "gradient/layer12.weight" and len(names) == 24
    gradient = statistics["layers"][0]
    [[l2, mean, most]] = gradient["numbers"]
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype("float32")
    assert l2[3] == pytest.approx(np.linalg.norm(weight) / 8, rel=1e-3)
    assert mean[3] == pytest.approx(np.abs(weight).mean() / 8, rel=1e-3)
    assert most[3] == pytest.approx(np.abs(weight).max() / 8, rel=1e-3)
    assert l2[-1] == "NaN"
    assert gradient["found"][0] == statistics["steps"].index(23)


def test_histograms(page):
    histograms = {each["tensor"]: each for each in page.data["histograms"]}
    assert "gradient/layer1.weight" in histograms and len(histograms) == 12
    for each in histograms.values():
        assert each["edges"] == sorted(each["edges"]) and each["elements"] == 64
        for row in each["rows"]:
            assert sum(row["counts"]) + row["odd"] == 64


def test_saved_reductions_are_enough(tmp_path):
    record_reductions(str(tmp_path / "reductions"), steps=5, tensors=4)
    page = report(tmp_path, "reductions")
    assert "biases 0 ^(?!gradient).*bias every step none min, max, mean, std, l2_norm, abs_mean" in page.words()
    [layer] = [each for each in page.data["statistics"]["layers"] if each["tensor"] == "layer0.weight"]
    value = np.random.default_rng(0).standard_normal(64).astype("float32")
    wanted = [np.linalg.norm(value), np.abs(value).mean(), np.abs(value).max()]
    assert [numbers[0] for numbers in layer["numbers"][0]] == pytest.approx(wanted, rel=1e-3)
    assert page.data["histograms"] == [] and "histograms" not in page.ids()


def test_workers(folder):
    page = report(folder, "workers")
    assert [worker["name"] for worker in page.data["workers"]] == ["worker_0", "worker_1"]
    [layer] = [each for each in page.data["statistics"]["layers"] if each["tensor"] == "w"]
    l2 = [numbers[0] for numbers in layer["numbers"]]
    assert l2 == [[0, pytest.approx(2.236), pytest.approx(4.472)], [pytest.approx(2.236), pytest.approx(4.472), "NaN"]]


def test_a_booster(folder):
    page = report(folder, "booster")
    [chart] = [each for each in page.data["charts"] if each["title"] == "error"]
    assert [line["tensor"] for line in chart["lines"]] == ["test-error", "train-error"]
    [gain] = page.data["booster"]["importances"]
    assert (gain["kind"], gain["step"]) == ("gain", 5)
    assert (gain["features"], gain["values"]) == (["<i>tax</i>", "age"], [0.75, 0.25])
    assert page.data["booster"]["trees"] == {"steps": [0, 5], "depths": [2, 2], "nodes": [7, 7]}
    predictions = page.data["predictions"]
    assert predictions["confusion"] == {"classes": [0, 1], "counts": [[1, 1], [1, 2]]}
    [roc] = predictions["roc"]
    assert roc["area"] == pytest.approx(5 / 6, rel=1e-3) and (roc["x"][-1], roc["y"][-1]) == (1, 1)
    assert "max_depth 3" in page.words()


def test_scores_of_several_classes(tmp_path):
    scores = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.5, 0.1, 0.4], [0.2, 0.2, 0.6]])
    record_booster(str(tmp_path / "classes"), [0, 1, 2, 2], scores)
    predictions = report(tmp_path, "classes").data["predictions"]
    assert predictions["confusion"]["counts"] == [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    assert [curve["area"] for curve in predictions["roc"]] == [1, 1, 1]


def test_residuals(tmp_path):
    record_booster(str(tmp_path / "numbers"), [1.5, 2.5, -1.0], [1.0, 3.0, -1.0])
    residuals = report(tmp_path, "numbers").data["predictions"]["residuals"]
    assert residuals["rms"] == pytest.approx((0.5 / 3) ** 0.5, rel=1e-3)
    assert (residuals["mean_absolute"], residuals["bias"]) == (pytest.approx(1 / 3, rel=1e-3), 0)


def test_saved_forms_without_reduction_configs(tmp_path):
    record_reductions(str(tmp_path / "reductions"), steps=2, tensors=4)
    [collections] = (tmp_path / "reductions/collections").rglob("*.json")
    document = json.loads(collections.read_text())
    for collection in document["collections"].values():
        collection["reduction_config"] = None
    collections.write_text(json.dumps(document))
    said = report(tmp_path, "reductions").words()
    assert "^gradient every step TRAIN 2 min, max, mean, abs_mean, std, l2" in said
    assert "biases 0 ^(?!gradient).*bias every step none same as the hook" in said and "every step TRAIN 2 values" in said


def test_an_empty_trial(tmp_path):
    smd.Hook(str(tmp_path / "empty")).close()
    with smd.Hook(str(tmp_path / "nothing_saved"), save_config=smd.SaveConfig(save_interval=1)) as hook, hook.step():
        pass
    said = report(tmp_path, "nothing_saved").words()
    assert "No rule could be evaluated" in said and "Steps none Modes none" in said


def test_unreadable_parts_are_listed(tmp_path):
    record_training(str(tmp_path / "damaged"), steps=30, nan_from=99)
    [event_file] = (tmp_path / "damaged/events/000000000007").iterdir()
    event_file.write_bytes(event_file.read_bytes()[:900])
    done = Program(tmp_path).run("report damaged -o page.html")
    assert done.returncode in (4, 10) and "smdebug verify damaged" in done.stderr
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Parts of the trial could not be read." in page.words() and event_file.name in page.words()
    [layer] = [each for each in page.data["statistics"]["layers"] if each["tensor"] == "layer12.weight"]
    assert layer["numbers"][0][0].count(None) == 1


def test_a_file_that_cannot_be_opened_is_no_green_page(tmp_path):
    record_training(str(tmp_path / "run"), steps=5, nan_from=99)
    for event_file in (tmp_path / "run/events").rglob("*.tfevents"):
        event_file.unlink()
        event_file.mkdir()
    done = Program(tmp_path).run("report run -o page.html")
    assert done.returncode == 4, done.stderr
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Parts of the trial could not be read." in page.words()


def test_names_do_no_harm(folder):
    page = report(folder, "'a \"<b>'\"'\"'hostile'\"'\"''")
    assert len(page.scripts) == 2
    assert not {tag for tag, _ in page.elements} & {"img", "b", "i", "iframe", "object"} - {"b"}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    said = page.words()
    control = "new\\x0aline \\xe2\\x80\\xae\\xe2\\x80\\xa8\\x07"
    for name in ["</script><script>window.harmed = 1</script>", "{{data}} & <b>bold</b>", control]:
        assert name in said, name


def test_what_was_saved_in_which_mode(page):
    said = page.words()
    assert "^gradient every step TRAIN 54, EVAL none values" in said
    assert "[Ll]oss every step TRAIN 54, EVAL 6 values" in said


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uneven")
    record_uneven(str(folder / "uneven"))
    return report(folder, "uneven")


def test_training_and_validation_share_a_chart(uneven):
    charts = {chart["title"]: [line["tensor"] for line in chart["lines"]] for chart in uneven.data["charts"]}
    assert charts == {
        "epoch_loss": ["epoch_loss/train", "epoch_loss/val"], "loss": ["train_loss", "val_loss"], "scalar/once": ["scalar/once"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["loss", "eval_loss"], "loss"), (["Loss/train", "Loss/test"], "Loss"), (["train/loss", "validation/loss"], "loss"),
        (["loss_train", "loss_dev"], "loss"), (["training_loss", "val.loss"], "loss"),
    ],
)  # fmt: skip
def test_names_of_data_sets(names, title, tmp_path):
    with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1)) as hook, hook.step():
        for name in [*names, "retrain_loss", "loss_of_testers", "val_"]:
            hook.save_scalar(name, 1.0)
    charts = report(tmp_path, "run").data["charts"]
    assert {chart["title"] for chart in charts} == {title, "scalar/retrain_loss", "scalar/loss_of_testers", "scalar/val_"}


def test_lines_that_are_not_shown_are_counted(tmp_path):
    with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1)) as hook, hook.step():
        for i in range(45):
            hook.save_scalar(f"metric{i}", 1.0)
    page = report(tmp_path, "run")
    assert (len(page.data["charts"]), page.data["hidden_charts"]) == (40, 5)
    hooks = [
        smd.Hook(str(tmp_path / "many"), save_config=smd.SaveConfig(save_interval=1), include_workers="all", worker=f"worker_{i}", num_workers=5)
        for i in range(5)
    ]  # fmt: skip
    for hook in hooks:
        for mode in (smd.modes.TRAIN, smd.modes.EVAL, smd.modes.PREDICT, smd.modes.GLOBAL):
            with hook.step(mode):
                hook.save_scalar("loss", 1.0)
        hook.close()
    [chart] = report(tmp_path, "many").data["charts"]
    assert (len(chart["lines"]), chart["hidden_lines"]) == (16, 4)


def test_findings_have_advice(page):
    said = page.words()
    for rule in json.loads(subprocess.run([PROGRAM, "rules", "--list", "--json"], check=True, capture_output=True, text=True).stdout):
        assert re.search(r"[.!] .+\.$", rule["advice"]), rule
        if rule["name"] in {found["rule"] for found in page.data["rules"]}:
            assert "What to do: " + rule["advice"].replace("'", "'") in said


def test_what_the_job_recorded_of_itself(uneven):
    said = uneven.words()
    assert "learning_rate 0.1" in said and "data <i>digits</i>" in said
    assert re.search(r"Begin 20\d\d-\d\d-\d\d \d\d:\d\d UTC Duration (under )?\d+ s Host \S+ ", said)
    assert re.search(rf"libsmdebug [\d.]+\S*, .*numpy {np.__version__}", said)


def test_a_commit_is_shown(tmp_path, monkeypatch):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", tmp_path]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    monkeypatch.chdir(tmp_path)
    with smd.Hook("run", save_config=smd.SaveConfig(save_interval=1)) as hook, hook.step():
        hook.save_scalar("loss", 1.0)
    page = report(tmp_path, "run")
    assert f"Commit {commit[:12]} " in page.words() and commit in page.text


# ---- several runs ----


@pytest.fixture(scope="module")
def several(folder):
    record_training(str(folder / "other"), nan_from=99)
    record_uneven(str(folder / "uneven"))
    return report(folder, "training other uneven")


def test_findings_are_side_by_side(several, folder):
    said = several.words()
    told = Program(folder)("rules training", code=10)
    [cause] = re.findall(r"(?m)^(?:likely|possible) cause \(\d+ %\): (.+)$", told)
    assert "✕ 2 of 3 runs with findings" in said
    assert "FirstNonFinite Check what computes that tensor" in said
    assert "✕ from step 50 in loss , 1 finding ✓ passed ✓ passed" in said
    assert f"Likely cause {cause} (" in said
    assert "Last loss NaN loss, step 58 0.5128 loss, step 58" in said


def test_curves_of_several_runs_share_charts(several):
    charts = {chart["title"]: chart["lines"] for chart in several.data["charts"]}
    assert {line["run"] for line in charts["loss"]} == {"training", "other", "uneven"}
    assert {line["colour"] for line in charts["loss"] if line["run"] == "other"} == {1}
    assert {line["run"] for line in charts["epoch_loss"]} == {"uneven"}


def test_what_differs_is_shown(several):
    said = several.words().partition("What differs in the configuration")[2]
    assert "steps 60 (0 to 59) 60 (0 to 59) 14 (0 to 1000)" in said
    assert "learning_rate – – 0.1" in said and "collection losses: save config every step every step TRAIN: every 100 steps" in said
    assert "collection losses: expressions" not in said and re.search(r"\d+ settings are equal in all runs", said)


def test_comparisons_of_equal_and_of_too_many_runs(folder):
    page = report(folder, "training training --profile aws -r VanishingGradient,threshold=1e-30")
    said = page.words()
    assert "No findings in 2 runs" in said and "The configurations do not differ." in said
    done = Program(folder).run("report " + "training " * 17)
    assert done.returncode == 2 and "compares up to 16 trials, not 17" in done.stderr
    assert "folder does not exist" in Program(folder).complaint("report training nowhere", 3)


def test_a_comparison_of_many_curves_is_small(tmp_path):
    with smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=1)) as hook:
        for step in range(1000):
            with hook.step(smd.modes.TRAIN):
                for metric in range(40):
                    hook.save_scalar(f"metric{metric}", -1.2345e-5 * step)
    page = report(tmp_path, "run " * 16)
    assert os.path.getsize(tmp_path / "page.html") < MOST_BYTES
    assert {len(chart["lines"]) for chart in page.data["charts"]} == {16}
    assert page.data["charts"][0]["lines"][3]["run"] == "run (4)"


def test_names_do_no_harm_in_comparisons(folder):
    page = report(folder, "'a \"<b>'\"'\"'hostile'\"'\"'' training")
    assert len(page.scripts) == 2 and not {tag for tag, _ in page.elements} & {"img", "i", "iframe"}


# ---- size and time ----


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """1,000 steps of 200 tensors."""
    folder = tmp_path_factory.mktemp("large")
    record_reductions(str(folder / "large"), steps=1000, tensors=200)
    return folder


def test_a_large_trial_is_fast(large):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, "report", "large"], cwd=large, check=False, capture_output=True, timeout=100)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time does not depend on other processes.  A report takes one or two seconds.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 6


def test_a_large_trial_makes_a_small_page(large):
    page = report(large, "large")
    assert os.path.getsize(large / "page.html") < MOST_BYTES
    statistics = page.data["statistics"]
    assert len(statistics["layers"]) == 200 and 100 <= len(statistics["steps"]) <= 160
    assert f"It shows {len(statistics['steps'])} of 1000 steps" in page.words()


def test_many_tensors_and_workers_make_a_small_page(tmp_path):
    hooks = [
        smd.Hook(str(tmp_path / "many"), save_all=True, save_config=smd.SaveConfig(save_interval=1),
                 include_workers="all", worker=f"worker_{rank}", num_workers=10)
        for rank in range(10)
    ]  # fmt: skip
    values = np.random.default_rng(0).standard_normal((40, 500, 3)).astype("float32")
    for step in range(40):
        for hook in hooks:
            with hook.step(smd.modes.TRAIN):
                for tensor in range(500):
                    hook.save(f"tensor_{tensor}_{'x' * 500}", values[step, tensor] * (np.nan if step > 30 else 1))
    for hook in hooks:
        hook.close()
    page = report(tmp_path, "many")
    assert os.path.getsize(tmp_path / "page.html") < MOST_BYTES
    assert len(page.data["statistics"]["layers"]) in (299, 300) and len(page.data["workers"]) == 8
    assert re.search(r"It shows (299|300) of 500 tensors", page.words())
    statistics = page.data["statistics"]
    assert statistics["hidden_count"] in (200, 201) and len(statistics["hidden"]) == statistics["hidden_count"]
    assert not set(statistics["hidden"]) & {layer["tensor"] for layer in statistics["layers"]}
