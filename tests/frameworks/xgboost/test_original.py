"""The same seeded trainings, recorded by the original and by this library.

Both run with XGBoost 1.5, the last that also calls plain functions; the trials are read
by both.
"""

import json
from pathlib import Path

import pytest
import smdebug.xgboost as smd
from described import described
from trainings import BINARY, CASES, train

# The original's expressions drop features whose names end in a letter of "/bias".
MORE_IN_COLLECTIONS = {
    "names_of_features": {
        "average_shap": ["average_shap/a b"],
        "full_shap": ["full_shap/a b"],
    }
}
# The two numbers of a pair that xgboost.cv reports: rules evaluate them.
PARTS = ("-mean", "-std")
GOLDEN = Path(__file__).parents[2] / "golden" / "xgboost_default" / "trial"


def without_parts(names):
    return [name for name in names if not name.endswith(PARTS)]


def without_losses(regexes):
    # The original's expression selects metrics that should rise.
    return {name: regex for name, regex in regexes.items() if name != "losses"}


def tensors_of_collections(description, more):
    return {
        name: sorted({*tensors, *more.get(name, ())})
        for name, tensors in description["collections"].items()
    }


@pytest.mark.parametrize("writer", ["ours", "plain"])
@pytest.mark.parametrize("case", [case for case in CASES if case != "early_stopping"])
def test_names_steps_and_values_are_the_originals(trainings, case, writer):
    ours = described(str(trainings[writer] / case))
    originals = described(str(trainings["original"] / case))
    assert ours["tensors"]
    more = MORE_IN_COLLECTIONS.get(case, {})
    assert {
        name: without_parts(tensors) for name, tensors in ours.pop("collections").items()
    } == tensors_of_collections(originals, more)
    originals.pop("collections")
    ours["tensors"] = {name: ours["tensors"][name] for name in without_parts(ours["tensors"])}
    for each in ours, originals:
        each["regexes"] = without_losses(each["regexes"])
    assert ours == originals


def test_the_last_round_before_an_early_stop_is_always_recorded(trainings):
    original, ours, plain = (
        described(str(trainings[writer] / "early_stopping"))
        for writer in ("original", "ours", "plain")
    )
    assert ours == plain
    # XGBoost 1.5 calls callbacks in any order; a callback that it skips records nothing.
    assert original["steps"] in (ours["steps"], ours["steps"][:-1])


@pytest.mark.parametrize("writer", ["original", "ours", "plain"])
@pytest.mark.parametrize("case", CASES)
def test_the_original_reads_what_we_read(trainings, read_by_original, case, writer):
    ours = json.loads(json.dumps(described(str(trainings[writer] / case))))
    assert ours == read_by_original[writer][case]


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))


def test_a_default_trial_looks_as_one_of_the_original_with_an_older_xgboost(out_dir):
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=2)) as hook:
        train(hook, {**BINARY, "eval_metric": ["logloss", "auc"]}, rounds=5)
    ours, originals = described(out_dir), described(str(GOLDEN))
    assert [name for name in files(out_dir) if not name.startswith("rows")] == files(GOLDEN)
    assert list(ours["tensors"]) == list(originals["tensors"])
    for fact in ("steps", "modes", "workers", "collections"):
        assert ours[fact] == originals[fact]
    assert without_losses(ours["regexes"]) == without_losses(originals["regexes"])
