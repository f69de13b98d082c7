"""Tests the lists in docs/migration.md."""

import importlib
import re
from pathlib import Path

import pytest
from smdebug.exceptions import SMDebugError, SMDebugValueError
from smdebug.rules import BuiltinRule
from smdebug.trials import create_trial

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/migration.md").read_text(encoding="utf-8")
# The required parameters of rules.
NEEDED = {
    "AllZero": {"collection_names": "weights"},
    "TensorVariance": {"collection_names": "weights", "max_threshold": "10"},
    "UnchangedTensor": {"collection_names": "weights"},
}


def rows(heading):
    """Returns the rows below a heading: the names in the first cell, and the last cell."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [
        re.split(r"(?<!\\) \| ", row.strip("| ")) for row in re.findall(r"^\|.*", section, re.M)
    ]
    return [(re.findall(r"`([^`]+)`", row[0]), row[-1]) for row in cells[2:]]


def sources(*folders):
    return "\n".join(
        path.read_text(encoding="utf-8")
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".cc", ".h", ".py"}
    )


def test_variables_are_read_or_not_as_the_page_says():
    read = sources("cpp_impl", "capi/src", "bindings/python/src")
    defined = (ROOT / "bindings/python/src/smdebug/core/config_constants.py").read_text()
    listed = rows("Environment variables")
    assert len(listed) == 9
    for names, answer in listed:
        for name in names:
            uses = read.count(f'"{name}"')
            # config_constants only defines names for scripts; it does not read the variables.
            constants = len(re.findall(rf'^\w+ = "{name}"', defined, re.MULTILINE))
            assert (uses > constants) == answer.startswith("yes"), name


def test_built_in_rules_can_be_created(resnet):
    built_in = [name for names, state in rows("Rules") for name in names if state == "built in"]
    assert "VanishingGradient" in built_in
    trial = create_trial(resnet)
    # As in the original, this one has to be told what to compare with.
    needed = {**NEEDED, "SimilarAcrossRuns": {"other_trials": resnet}}
    for name in built_in:
        assert BuiltinRule(trial, name, needed.get(name)).rule_name == name
    for name in NEEDED:
        assert f"`{name}`" in PAGE.split("three rules have to be told")[1].split("|")[0]
        with pytest.raises(SMDebugValueError, match=f"^{name}: give "):
            BuiltinRule(trial, name, profile="aws")


def test_removed_modules_do_not_exist():
    [internals] = [names for names, _ in rows("Gone") if "smdebug.core.tfrecord" in names]
    gone = [name if name.startswith("smdebug") else f"smdebug.core{name}" for name in internals]
    assert len(gone) == 8
    for name in gone:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


@pytest.mark.parametrize(
    "name",
    "trials rules exceptions analysis.utils core.modes core.save_config core.reduction_config "
    "core.collection core.collection_manager core.hook core.tensor core.writer core.reader "
    "core.index_reader core.locations core.reductions core.utils core.singleton_utils "
    "rules.rule rules.rule_invoker trials.local_trial trials.s3_trial trials.trial "
    "core.sagemaker_utils core.access_layer core.config_constants core.logger".split(),
)
def test_modules_that_scripts_import_exist(name):
    importlib.import_module(f"smdebug.{name}")


def test_a_trial_of_tensors_is_none_of_the_profiler(resnet):
    with pytest.raises(SMDebugError, match="holds no files of a profiler, and none will come"):
        create_trial(resnet, profiler=True)
