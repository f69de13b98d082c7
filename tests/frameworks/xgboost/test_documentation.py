"""The page on XGBoost, and the example."""

import re

from pages import ROOT, run_page, run_script


def test_the_page(tmp_path):
    run_page("xgboost.md", tmp_path)


def test_the_example(tmp_path):
    printed = run_script(ROOT / "examples/xgboost/train_diabetes.py", tmp_path, "run")
    lines = printed.splitlines()
    # 2 metrics, 5 hyperparameters, 11 columns of trees; 10 features, some of them not in trees.
    [tensors] = re.findall(r"^recorded 30 rounds of (\d+) tensors$", lines[0])
    assert 2 + 5 + 11 + 10 + 5 * 5 <= int(tensors) <= 2 + 5 + 11 + 10 + 5 * 10
    errors = {
        name: (int(first), int(last))
        for name, first, last in re.findall(r"^(\S+) (\d+) at first, (\d+) at last$", printed, re.M)
    }
    assert errors["train-rmse"][1] < 0.5 * errors["train-rmse"][0]
    assert errors["test-rmse"][1] < errors["test-rmse"][0]
    assert set(lines[3].removeprefix("most is gained by ").split(", ")) >= {"bmi", "s5"}
    [step] = re.findall(r"^Overfit: met at round (\d+)$", printed, re.M)
    assert 10 <= int(step) < 60
