"""Hook: recording a job."""

import copy
import logging
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import EVERY_STEP, record
from smdebug import Hook, ReductionConfig, SaveConfig, SaveConfigMode, create_trial, modes
from smdebug.exceptions import (
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTimeoutError,
    SMDebugTypeError,
    SMDebugValueError,
)


def test_what_was_saved_is_read(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        for step in range(3):
            assert hook.begin_step() == step
            hook.save("w", np.full((2, 2), step, np.float32))
            hook.end_step()
    trial = create_trial(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.tensor("w").value(2).tolist() == [[2, 2], [2, 2]]


def test_a_step_is_a_context(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        with hook.step() as step:
            assert step == 0
            hook.save("w", 1.0)
        with hook.step(modes.EVAL) as step:
            assert step == 1
        assert hook.step == 1
        assert hook.mode is modes.EVAL


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_exception_in_a_step_discards_it(out_dir, error):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        with pytest.raises(error), hook.step():
            hook.save("before", np.zeros(1 << 19))  # so much that writing has begun
            raise error
        with hook.step() as step:
            assert step == 1
            hook.save("after", 1.0)
        assert hook.count("steps_failed") == 0
    trial = create_trial(out_dir)
    assert (trial.tensor_names(), trial.steps()) == (["after"], [1])
    assert not list((Path(out_dir) / "events/000000000000").glob("*"))


def test_an_exception_in_a_step_is_raised_although_the_hook_is_closed(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        with pytest.raises(ZeroDivisionError), hook.step():
            hook.close()
            raise ZeroDivisionError


def test_a_step_may_be_discarded(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        hook.begin_step()
        hook.save("w", 1.0)
        hook.discard_step()
        with pytest.raises(SMDebugRuntimeError):
            hook.discard_step()
        hook.begin_step()
        hook.save("w", 2.0)
        hook.end_step()
    assert create_trial(out_dir).steps() == [1]


def test_an_exception_that_ends_the_job_discards_the_open_step(out_dir):
    with pytest.raises(ZeroDivisionError):
        with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
            with hook.step():
                hook.save("w", 1.0)
            hook.begin_step()
            hook.save("w", 2.0)
            raise ZeroDivisionError
    assert create_trial(out_dir).steps() == [0]


def test_a_bad_late_expression_does_not_lose_the_end_of_the_trial(out_dir):
    hook = Hook(out_dir, save_config=EVERY_STEP, save_all=True)
    hook.begin_step()
    hook.save("w", 1.0)
    hook.get_collection("bad").include_regex.append("(")
    hook.get_collection("good").include("^w$")
    with pytest.raises(SMDebugValueError):
        hook.close()
    trial = create_trial(out_dir)
    assert trial.steps() == [0]
    assert trial.loaded_all_steps
    assert "^w$" in trial.collection("good").include_regex


def test_modes_count_their_own_steps(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        assert hook.step == -1
        assert hook.mode_steps == {modes.GLOBAL: -1}
        for mode in (modes.TRAIN, modes.TRAIN, modes.EVAL, modes.TRAIN):
            hook.set_mode(mode)
            with hook.step():
                hook.save("w", 1.0)
        assert hook.mode_steps == {modes.TRAIN: 2, modes.EVAL: 0, modes.GLOBAL: 3}
    trial = create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == [0, 1, 2]
    assert trial.steps(modes.EVAL) == [0]
    assert [trial.global_step(modes.TRAIN, step) for step in range(3)] == [0, 1, 3]


def test_steps_are_saved_as_the_save_config_says(out_dir):
    config = SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=2)})
    with Hook(out_dir, save_config=config, save_all=True) as hook:
        for _ in range(4):
            with hook.step(modes.TRAIN):
                assert hook.wants("w") == (hook.mode_steps[modes.TRAIN] % 2 == 0)
                hook.save("w", 1.0)
    assert create_trial(out_dir).steps(modes.TRAIN) == [0, 2]


def test_save_config_may_be_a_dict_with_mode_names(out_dir):
    config = {"TRAIN": {"save_interval": 3}, "EVAL": SaveConfigMode(save_interval=1)}
    with Hook(out_dir, save_config=config, save_all=True) as hook:
        for mode in (modes.TRAIN, modes.EVAL) * 4:
            with hook.step(mode):
                hook.save("w", 1.0)
    trial = create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == [0, 3]
    assert trial.steps(modes.EVAL) == [0, 1, 2, 3]


def test_losses_are_always_saved(out_dir):
    trial = record(out_dir, [{"CrossEntropyLoss_output_0": 0.5, "fc": 1.0}], save_all=False)
    assert trial.tensor_names(collection="losses") == ["CrossEntropyLoss_output_0"]
    assert trial.tensor_names() == ["CrossEntropyLoss_output_0"]


def test_an_unwanted_value_is_not_converted(out_dir):
    class Expensive:
        def __array__(self, *unused, **also_unused):
            raise AssertionError("converted")

    with Hook(out_dir, include_regex="wanted", save_config=EVERY_STEP) as hook:
        with hook.step():
            hook.save("other", Expensive())
            with pytest.raises(AssertionError):
                hook.save("wanted", Expensive())


def test_saving_a_name_again_makes_the_last_one_count(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook, hook.step():
        hook.save("w", 1.0)
        hook.save("w", 2.0)
    assert create_trial(out_dir).tensor("w").value(0).tolist() == [2.0]


def test_reductions_are_saved_instead_of_the_tensor(out_dir):
    everything = ["min", "max", "median", "mean", "std", "variance", "sum", "prod"]
    config = ReductionConfig(everything, everything, ["l1", "l2"], ["l1", "l2"])
    data = np.array([[1.0, -2.0], [3.0, -4.0]])
    trial = record(out_dir, [{"w": data}], reduction_config=config)
    values = trial.tensor("w").reduction_values(0)
    assert len(values) == 20
    assert values["median", False].tolist() == [-0.5]
    assert values["l1", False].tolist() == [10.0]
    assert values["sum", True].tolist() == [10.0]
    assert values["std", False].tolist() == pytest.approx([data.std()])


def test_tensor_and_shape_are_saved_beside_reductions(out_dir):
    config = ReductionConfig(reductions=["mean"], save_raw_tensor=True, save_shape=True)
    tensor = record(out_dir, [{"w": np.ones((2, 3))}], reduction_config=config).tensor("w")
    assert tensor.value(0).shape == (2, 3)
    assert tensor.shape(0) == (2, 3)
    assert list(tensor.reduction_values(0)) == [("mean", False)]


# ---- scalars and custom tensors -----------------------------------------------------


def test_scalars_are_saved_with_the_next_step(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        hook.save_scalar("lr", 0.1)
        with hook.step():
            hook.save("w", 1.0)
            hook.save_scalar("accuracy", np.float32(0.5), sm_metric=True, timestamp=1600000000.25)
    trial = create_trial(out_dir)
    assert trial.tensor("scalar/lr").value(0).tolist() == [0.1]
    assert trial.tensor("scalar/accuracy").value(0).dtype == np.float32


def test_a_scalar_has_one_element(out_dir):
    with Hook(out_dir) as hook, pytest.raises(SMDebugTypeError):
        hook.save_scalar("lr", [1.0, 2.0])


def test_custom_tensors_go_to_the_collections_named(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, include_collections=["mine", "yours"]) as hook:
        hook.get_collection("mine").include("^never$")
        hook.get_collection("yours").include("^never$")
        hook.save_tensor("a", [1, 2, 3], "mine")
        hook.save_tensor("b", np.zeros(2), ["mine", "yours"])
        with hook.step():
            pass
        with hook.step():
            pass
    trial = create_trial(out_dir)
    assert trial.tensor("a").steps() == [0]
    assert trial.tensor("a").value(0).tolist() == [1, 2, 3]
    assert trial.tensor_names(collection="mine") == ["a", "b"]
    assert trial.tensor_names(collection="yours") == ["b"]


def test_a_custom_value_that_is_no_tensor_is_warned_of(out_dir, caplog):
    with Hook(out_dir) as hook, caplog.at_level(logging.WARNING, "smdebug"):
        hook.save_tensor("a", {"not": "a tensor"})
    assert "tensor a is not saved" in caplog.text


# ---- life -----------------------------------------------------------------------------


def test_a_finished_trial_is_not_written_over(out_dir):
    record(out_dir, [{"w": 1.0}])
    with pytest.raises(SMDebugRuntimeError, match="run"):
        Hook(out_dir)


def test_the_folder_may_start_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    record("~/job", [{"w": 1.0}])
    assert (tmp_path / "job" / "training_job_end.ts").exists()


def test_out_dir_is_required():
    with pytest.raises(SMDebugRuntimeError):
        Hook()


DIES_IN_A_STEP = """
import os, pathlib, signal, sys, time
import numpy as np
import smdebug as smd

out_dir, settings = sys.argv[1], {"save_config": smd.SaveConfig(save_interval=1), "save_all": True}
hook = smd.Hook(out_dir, **settings)
for _ in range(3):
    with hook.step():
        hook.save("w", 1.0)
hook.flush()  # or the file seen below may be of a step that is about to be complete
hook.begin_step()
hook.save("w", np.zeros(1 << 20))
while not list(pathlib.Path(out_dir).rglob("*.tmp")):
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.timeout(60)
def test_what_a_killed_job_left_is_removed_by_the_next(out_dir):
    job = [sys.executable, "-c", DIES_IN_A_STEP, out_dir]
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    killed = subprocess.run(job, check=False, timeout=50, env=env)
    assert killed.returncode == -signal.SIGKILL
    [left] = Path(out_dir).rglob("*.tmp")
    assert left.parent.name == "000000000003"
    (Path(out_dir) / "draft.tmp").write_text("of somebody")
    record(out_dir, [{"w": 2.0}])
    assert [path.name for path in Path(out_dir).rglob("*.tmp")] == ["draft.tmp"]


@pytest.mark.parametrize("durability", ["none", "step"])
def test_a_folder_removed_by_somebody_is_reported_and_made_readable_again(out_dir, durability):
    settings = {"save_config": EVERY_STEP, "save_all": True}
    with Hook(out_dir, options={"durability": durability}, **settings) as hook:
        with hook.step():
            hook.save("w", 1.0)
        hook.flush()
        shutil.rmtree(out_dir)
        with hook.step():
            hook.save("w", 2.0)
        with pytest.raises(SMDebugError, match="removed, renamed or replaced"):
            hook.flush()
        with hook.step():
            hook.save("w", 3.0)
    assert create_trial(out_dir).tensor("w").value(2) == 3


def test_close_may_be_called_twice(out_dir):
    hook = Hook(out_dir)
    hook.close()
    hook.close()
    assert os.path.exists(os.path.join(out_dir, "training_job_end.ts"))


def test_what_is_saved_too_late_is_told_why(out_dir):
    hook = Hook(out_dir, save_all=True)
    with pytest.raises(SMDebugError, match="'w': no step is open; begin one first"):
        hook.save("w", 1.0)
    hook.close()
    with pytest.raises(SMDebugError, match="'w': the hook is closed"):
        hook.save("w", 1.0)


def test_flush_waits_until_ended_steps_are_written(out_dir):
    hook = Hook(out_dir, save_config=EVERY_STEP, save_all=True)
    with hook.step():
        hook.save("w", 1.0)
    hook.flush(timeout=10)
    assert hook.count("steps_written") == 1
    assert create_trial(out_dir).steps() == [0]
    hook.close()


@pytest.mark.parametrize("timeout", [0, -0.5])
def test_flush_without_patience_says_so(out_dir, timeout):
    hook = Hook(out_dir, save_config=EVERY_STEP, save_all=True)
    with hook.step():
        hook.save("w", np.zeros(30_000_000))
    with pytest.raises(SMDebugTimeoutError):
        hook.flush(timeout=timeout)
    hook.close()
    assert create_trial(out_dir).tensor("w").shape(0) == (30_000_000,)


def test_a_dry_run_writes_nothing(out_dir):
    with Hook(out_dir, dry_run=True, save_config=EVERY_STEP, save_all=True) as hook:
        with hook.step():
            assert hook.wants("w")
            hook.save("w", 1.0)
        assert not hook.is_recording
    assert not os.path.exists(os.path.join(out_dir, "events"))


def test_a_job_that_just_ends_closes_its_hook(out_dir):
    job = (
        "import sys, smdebug\n"
        f"hook = smdebug.Hook({out_dir!r}, save_all=True, save_config=smdebug.SaveConfig(save_interval=1))\n"
        "with hook.step(): hook.save('w', 1.0)\n"
    )
    subprocess.run(
        [sys.executable, "-c", job],
        check=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    trial = create_trial(out_dir)
    assert trial.tensor_names() == ["w"]
    assert trial.loaded_all_steps


def test_only_the_first_worker_records_unless_all_are_included(tmp_path):
    for include, workers in (("one", ["worker_0"]), ("all", ["worker_0", "worker_1"])):
        path = str(tmp_path / include)
        hooks = [
            Hook(
                path,
                worker=f"worker_{rank}",
                num_workers=2,
                include_workers=include,
                save_config=EVERY_STEP,
                save_all=True,
            )
            for rank in (0, 1)
        ]
        for rank, hook in enumerate(hooks):
            with hook.step():
                hook.save("w", float(rank))
        for hook in hooks:
            hook.close()
        trial = create_trial(path)
        assert trial.workers() == workers
        assert trial.tensor("w").workers(0) == workers
        assert trial.tensor("w").value(0, worker=workers[-1]).tolist() == [len(workers) - 1.0]


def test_further_options_are_passed_on(out_dir):
    Hook(out_dir, options={"queue_policy": "drop", "queue_bytes": "1048576"}).close()
    with pytest.raises(SMDebugValueError, match="queue_polizy"):
        Hook(out_dir + "2", options={"queue_polizy": "drop"})


def test_a_hook_says_what_it_is(out_dir):
    assert (
        repr(Hook(out_dir)) == f"<Hook out_dir={out_dir!r} worker='worker_0' step=-1 mode=GLOBAL>"
    )


def test_whether_a_tensor_is_saved_as_such_or_as_one_of_a_collection(out_dir):
    with Hook(
        out_dir, save_config=SaveConfig(save_interval=2), include_collections=["c", "default"]
    ) as hook:
        hook.get_collection("c").include("^c")
        assert not hook.should_save_tensor_or_collection("c1", "c")
        with hook.step():
            assert hook.should_save_tensor_or_collection("c1", "c")
            assert hook.should_save_tensor_or_collection("c1", "weights")
            assert not hook.should_save_tensor_or_collection("x", "c")
            assert not hook.should_save_tensor_or_collection("x", "no such collection")
            assert hook.should_save_tensor_or_collection("x", "default")
        with hook.step():
            assert not hook.should_save_tensor_or_collection("c1", "c")


def test_a_copy_records_nothing(out_dir):
    hook = Hook(out_dir, save_config=EVERY_STEP, save_all=True)
    for made in (copy.deepcopy(hook), pickle.loads(pickle.dumps(hook))):
        assert made.out_dir == out_dir
        with made, made.step(modes.TRAIN):
            assert not made.wants("w")
            made.save("w", [1.0])
            made.save_scalar("rate", 0.1)
        assert not made.is_recording
        assert "Hook" in repr(made)
    with hook, hook.step():
        hook.save("w", [2.0])
    assert create_trial(out_dir).tensor("w").value(0).tolist() == [2.0]


def test_the_name_of_a_reduction_is_refused(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook, hook.step():
        with pytest.raises(SMDebugValueError, match="the name under which a reduction is saved"):
            hook.save("smdebug/reductions/min/w", [1.0])
        hook.save("smdebug/reductions/other", [1.0])


@pytest.mark.parametrize("name", ["\ud800", "a\0b", ""])
def test_a_name_that_is_no_text_is_refused(out_dir, name):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook, hook.step():
        for save in (hook.save, hook.save_scalar):
            with pytest.raises(SMDebugValueError):
                save(name, 1.0)


@pytest.mark.parametrize("setting", ["save_interval", "start_step", "end_step", "save_steps"])
def test_a_step_beyond_64_bits_is_refused(setting):
    given = [2**70] if setting == "save_steps" else 2**70
    with pytest.raises(SMDebugValueError, match=f"{setting}=.*64 bits"):
        SaveConfig(**{setting: given})
