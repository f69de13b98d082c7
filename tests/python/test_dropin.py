"""Behaviour that could surprise a script of the original, in addition to tests/interop."""

import ast
import importlib.util
import json
import logging
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from helpers import EVERY_STEP, record
from smdebug import Hook, SaveConfig, SaveConfigMode, create_trial, modes
from smdebug.core import logger, singleton_utils
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.reader import FileReader
from smdebug.core.utils import error_handling_agent
from smdebug.core.writer import FileWriter
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError


@pytest.fixture
def configuration(tmp_path, out_dir, monkeypatch):
    """Writes a configuration, and names it in the environment."""

    def write(text):
        path = tmp_path / "hook.json"
        path.write_text(text if isinstance(text, str) else json.dumps({"LocalPath": out_dir, **text}))
        monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(path))
        return path

    singleton_utils.del_hook()
    yield write
    singleton_utils.del_hook()


def made():
    return singleton_utils.get_hook(hook_class=Hook, create_if_not_exists=True)


# ---- configurations ------------------------------------------------------------------------


def test_an_unknown_key_is_a_warning_that_names_key_and_file(configuration, caplog):
    path = configuration({"S3Path": "s3://b/p", "HookParameters": {"save_al": True}})
    with made() as hook:
        assert hook.out_dir
    lines = [line.message for line in caplog.records if line.levelno == logging.WARNING]
    assert len(lines) == 2 and all(str(path) in line for line in lines)
    assert "'S3Path'" in lines[0] and "did you mean 'save_all'?" in lines[1]


@pytest.mark.parametrize("text", ["{", "[]", '"text"', ""])
def test_get_hook_never_ends_a_training(configuration, caplog, text):
    path = configuration(text)
    assert made() is None
    assert str(path) in caplog.text


def test_get_hook_of_a_finished_trial_ends_no_training(configuration, caplog, out_dir):
    record(out_dir, [{"t": np.zeros(2)}])
    configuration({})
    assert made() is None
    assert "a finished trial is already there" in caplog.text


@pytest.mark.parametrize("variable", ["SMDEBUG_STRICT_CONFIG", "SMDEBUG_RAISE_ERRORS"])
def test_get_hook_raises_if_that_is_asked_for(configuration, monkeypatch, variable):
    configuration("{")
    monkeypatch.setenv(variable, "1")
    with pytest.raises(SMDebugValueError):
        made()


def test_strict_configurations_raise_for_every_problem(configuration, monkeypatch):
    path = configuration({"S3Path": 1, "HookParameters": {"save_all": ["true"]}})
    monkeypatch.setenv("SMDEBUG_STRICT_CONFIG", "1")
    with pytest.raises(SMDebugValueError, match="'S3Path'.*save_all is a list"):
        Hook.create_from_json_file(str(path))


@pytest.mark.parametrize("value", [["true"], 1, "True", [True]])
def test_templates_of_switches_are_read(configuration, value):
    configuration({"HookParameters": {"save_all": value}})
    with made() as hook:
        assert hook.save_all is True


# ---- save configs ----------------------------------------------------------------------------


def test_a_mode_that_is_not_given_has_the_defaults():
    config = SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=3)})
    assert config.get_save_config(modes.EVAL) == SaveConfigMode()
    assert config.should_save_step(modes.EVAL, 500) and not config.should_save_step(modes.EVAL, 3)
    assert config.to_json_dict()["EVAL"] is None


def test_an_end_that_is_not_after_the_start_is_told_at_info(caplog):
    with caplog.at_level(logging.INFO, "smdebug"):
        SaveConfigMode(start_step=3, end_step=0)
    assert "saves nothing but save_steps" in caplog.text


def test_a_collection_is_switched_off_by_end_step_0(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, include_collections=["weights"]) as hook:
        hook.get_collection("losses").save_config = SaveConfig(end_step=0)
        with hook.step(modes.TRAIN):
            hook.save("loss", 1.0)
            hook.save("weight", np.ones(2))
    assert not hook.wants("loss")
    assert create_trial(out_dir).tensor_names() == ["weight"]


# ---- collections -----------------------------------------------------------------------------


def test_names_of_a_collection_are_those_that_were_saved(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        with hook.step():
            assert hook.wants("asked") and hook.wants("saved")
            hook.save("saved", np.ones(2))
        assert hook.get_collection("all").tensor_names == {"saved"}


@pytest.mark.parametrize("framework", ["jax", "mxnet", "pytorch", "tensorflow", "xgboost"])
def test_collection_modules_export_the_keys(framework):
    # Most of these names need their framework.
    package = Path(importlib.util.find_spec("smdebug").submodule_search_locations[0])
    tree = ast.parse((package / framework / "collection.py").read_text(encoding="utf-8"))
    [exported] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    ]
    assert "CollectionKeys" in exported


# ---- trials ----------------------------------------------------------------------------------


def test_tensor_names_takes_a_step_and_a_mode_by_position(recorder):
    recorder.step(0, ["a"], mode=modes.TRAIN, mode_step=0)
    recorder.step(1, ["b"], mode=modes.EVAL, mode_step=0)
    trial = recorder.step(2, ["c", "d"], mode=modes.TRAIN, mode_step=1).end().open()
    assert trial.tensor_names(1, modes.TRAIN) == ["c", "d"]
    assert trial.tensor_names(1) == ["b"]
    assert trial.tensor_names(None, modes.TRAIN) == ["a", "c", "d"]
    assert trial.tensor_names(1, modes.TRAIN, "^c") == ["c"]
    assert trial.tensor_names(1, modes.TRAIN, None, "default") == []
    assert trial.tensor_names(True) == ["a", "b", "c", "d"]
    with pytest.raises(SMDebugTypeError):
        trial.tensor_names(1, modes.TRAIN, None, None, None)


def test_a_trial_that_cannot_be_read_opens_all_the_same(recorder, out_dir):
    recorder.step(0)
    index = next(Path(out_dir, "index").rglob("*.json"))
    index.write_text("{")
    trial = recorder.open()
    with pytest.raises(SMDebugError):
        trial.steps()


# ---- metrics of the service ------------------------------------------------------------------


class ServiceMetrics:
    logged = []

    def log_metric(self, name, value, timestamp=None, iteration_number=None):
        self.logged.append((name, value, iteration_number))

    def close(self):
        pass


@pytest.fixture
def service(monkeypatch):
    """A job of the service, with a stand-in for the service's package."""

    def install(writer):
        package, module = types.ModuleType("smexperiments"), types.ModuleType("smexperiments.metrics")
        module.SageMakerFileMetricsWriter = writer
        monkeypatch.setitem(sys.modules, "smexperiments", package)
        monkeypatch.setitem(sys.modules, "smexperiments.metrics", module)
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")

    yield install
    singleton_utils.del_hook()


def test_a_scalar_before_the_first_step_is_the_first_steps(service, out_dir):
    ServiceMetrics.logged = []
    service(ServiceMetrics)
    with FrameworkHook(out_dir, save_config=EVERY_STEP) as hook:
        hook.save_scalar("lr", 0.5, sm_metric=True)
        hook.set_mode(modes.EVAL)
        hook.save_scalar("lr", 0.25, sm_metric=True)
    assert ServiceMetrics.logged == [("scalar/lr_GLOBAL", 0.5, 0), ("scalar/lr_EVAL", 0.25, 0)]


@pytest.mark.parametrize("error", [RuntimeError("broken"), ImportError("no such symbol"), KeyError("x")])
def test_a_broken_package_of_the_service_ends_no_training(service, out_dir, caplog, error):
    def broken():
        raise error

    service(broken)
    with FrameworkHook(out_dir, save_config=EVERY_STEP) as hook:
        hook.save_scalar("lr", 0.5, sm_metric=True)
    assert hook.failures == 0
    assert "smexperiments" in caplog.text


# ---- arguments without effect ----------------------------------------------------------------


def test_arguments_without_effect_are_told_once_at_debug(out_dir, caplog, monkeypatch):
    monkeypatch.setattr(logger, "_ignored", set())
    with caplog.at_level(logging.DEBUG, "smdebug"):
        for step in range(2):
            with FileWriter(out_dir, "worker_0", step, flush_secs=3, verbose=True) as writer:
                writer.write_tensor(np.ones(2), "t", write_index=False)
        list(FileReader(writer.event_file_path).read_tensors(check=False))
        CollectionManager(create_default=True).export(out_dir, "worker_0_collections.json")
    lines = [line.message for line in caplog.records if "ignores its argument" in line.message]
    assert lines == [
        "FileWriter ignores its argument flush_secs",
        "FileWriter ignores its argument verbose",
        "FileWriter.write_tensor ignores its argument write_index",
        "FileReader.read_tensors ignores its argument check",
        "CollectionManager ignores its argument create_default",
    ]


def test_close_runs_while_smdebug_is_disabled(out_dir, monkeypatch):
    hook = FrameworkHook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.begin_step()
    hook.save("kept", 1)
    monkeypatch.setattr(error_handling_agent, "disable_smdebug", True)
    hook.close()
    singleton_utils.del_hook()
    trial = create_trial(out_dir)
    assert trial.loaded_all_steps and trial.tensor_names() == ["kept"]
