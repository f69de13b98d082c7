"""Trial: opening a recording, and querying steps, modes, workers and names."""

import os
import threading
from pathlib import Path

import pytest
from helpers import Recorder
from smdebug import Hook, create_trial, modes
from smdebug.analysis.utils import no_refresh, refresh
from smdebug.core.tensor import StepState
from smdebug.core.writer import FileWriter
from smdebug.exceptions import (
    MissingCollectionFiles,
    NoMoreData,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
)
from smdebug.rules.following import new_steps
from smdebug.rules.rule import Rule
from smdebug.rules.rule_invoker import invoke_rule
from smdebug.trials import LocalTrial, Trial


LARGEST = 2**63 - 2  # the largest step number


def numbered(recorder, steps):
    for step in steps:
        recorder.step(step)
    return recorder


@pytest.mark.timeout(60)
def test_the_largest_step_is_the_last_one_that_rules_evaluate(recorder):
    trial = numbered(recorder, [0, LARGEST]).end().open()
    assert trial.steps() == [0, LARGEST]
    assert list(new_steps(trial, -1, None, True)) == [[0, LARGEST]]
    seen = []

    class Seen(Rule):
        def invoke_at_step(self, step):
            seen.append(step)
            return False

    for rule in (Seen(trial), Seen(trial)):
        with pytest.raises(NoMoreData):
            invoke_rule(rule)
    assert seen == [0, LARGEST, 0, LARGEST]
    assert trial.wait_for_steps([LARGEST]) is None
    with pytest.raises(NoMoreData):
        trial.wait_for_steps([LARGEST + 1])


# ---- opening ---------------------------------------------------------------------


def test_a_trial_is_opened_by_its_path(recorder):
    trial = numbered(recorder, [0, 1]).end().open(name="first")
    assert isinstance(trial, LocalTrial)
    assert isinstance(trial, Trial)
    assert (trial.name, trial.path) == ("first", recorder.path)
    assert trial.steps() == [0, 1]


def test_without_a_name_a_trial_has_its_folders(recorder):
    assert recorder.open().name == "run"
    assert create_trial(recorder.path + "/").name == "run"
    assert create_trial("  " + recorder.path + " ").name == "run"


def test_out_dir_is_another_word_for_the_path(recorder):
    assert create_trial(out_dir=recorder.path) == create_trial(recorder.path)
    with pytest.raises(SMDebugTypeError):
        create_trial()
    with pytest.raises(SMDebugTypeError):
        create_trial(recorder.path, out_dir=recorder.path)


def test_the_class_of_a_local_trial_may_be_called_itself(recorder):
    assert (
        LocalTrial("x", recorder.path, range_steps=(0, 5), parallel=False, check=True).name == "x"
    )


@pytest.mark.parametrize(
    ("range_steps", "steps"),
    [(None, [0, 1, 2, 3]), ((1, 3), [1, 2]), ((2, None), [2, 3]), ((None, 2), [0, 1])],
)
def test_a_range_limits_the_steps_that_are_read(recorder, range_steps, steps):
    numbered(recorder, range(4))
    assert recorder.open(range_steps=range_steps).steps() == steps


@pytest.mark.parametrize("range_steps", [(-1, 2), (3, 3), (3, 1), ("0", 2), (0, 1.5)])
def test_a_range_must_be_one(recorder, range_steps):
    with pytest.raises(AssertionError):
        recorder.open(range_steps=range_steps)


def test_trials_are_compared_by_name_and_path(recorder):
    assert recorder.open() == recorder.open()
    assert hash(recorder.open()) == hash(recorder.open())
    assert recorder.open(name="a") != recorder.open(name="b")


def test_opening_waits_for_collection_files_no_longer_than_told(tmp_path):
    with pytest.raises(MissingCollectionFiles):
        create_trial(str(tmp_path / "never"), timeout=0.1)


def test_a_job_that_ended_without_collection_files_is_not_waited_for(recorder):
    recorder.manager.set_num_workers(3)
    recorder.export()
    recorder.end()
    with pytest.raises(MissingCollectionFiles):
        recorder.open()


def test_opening_waits_for_the_collection_files_of_all_workers(out_dir):
    first = Recorder(out_dir, workers=2)
    os.remove(os.path.join(out_dir, "collections", "000000000", "worker_1_collections.json"))
    timer = threading.Timer(0.2, first.export)
    timer.start()
    assert create_trial(out_dir).workers() == ["worker_0", "worker_1"]
    timer.join()


def test_a_closed_trial_answers_no_more(recorder):
    with recorder.open() as trial:
        trial.steps()
    trial.close()
    with pytest.raises(SMDebugRuntimeError, match="closed"):
        trial.steps()


def test_a_trial_says_what_it_is(recorder):
    assert repr(recorder.open()) == f"<LocalTrial 'run' at {recorder.path!r}>"


# ---- steps and modes ---------------------------------------------------------------


@pytest.fixture
def mixed(recorder):
    """TRAIN, EVAL and GLOBAL steps of a job that has ended."""
    recorder.step(0, mode=modes.TRAIN, mode_step=0)
    recorder.step(1, mode=modes.EVAL, mode_step=0, names=["foo", "bar"])
    recorder.step(2, mode=modes.TRAIN, mode_step=1)
    recorder.step(3)
    return recorder.end().open()


def test_steps_are_the_modes_own_or_global(mixed):
    assert mixed.steps() == [0, 1, 2, 3]
    assert mixed.steps(mode=None) == [0, 1, 2, 3]
    assert mixed.steps(mode=modes.TRAIN) == [0, 1]
    assert mixed.steps(modes.EVAL) == [0]
    assert mixed.steps(modes.PREDICT) == []


def test_modes_that_were_seen(mixed):
    assert set(mixed.modes()) == {modes.TRAIN, modes.EVAL}
    assert len(mixed.modes()) == 2


def test_a_global_step_has_a_mode_and_a_mode_step(mixed):
    assert mixed.mode(2) is modes.TRAIN
    assert mixed.mode_step(global_step=2) == 1
    assert mixed.mode_modestep(1) == (modes.EVAL, 0)
    assert mixed.mode_modestep(3) == (modes.GLOBAL, 3)
    assert mixed.mode_modestep(9) == (None, None)
    assert mixed.mode(9) is None
    assert mixed.mode_step(9) is None


def test_a_mode_step_has_a_global_step(mixed):
    assert mixed.global_step(modes.TRAIN, 1) == 2
    assert mixed.global_step(mode=modes.GLOBAL, mode_step=77) == 77
    assert mixed.global_step(modes.TRAIN, 9) is None


def test_a_step_is_there_or_never_will_be_or_may_still_come(recorder):
    numbered(recorder, [0, 2])
    trial = recorder.open()
    assert trial.has_passed_step(0) is StepState.AVAILABLE
    assert trial.has_passed_step(1) is StepState.UNAVAILABLE
    assert trial.has_passed_step(3) is StepState.NOT_YET_AVAILABLE
    assert trial.has_passed_step(0, mode=modes.TRAIN) is StepState.NOT_YET_AVAILABLE
    recorder.end()
    assert trial.has_passed_step(3) is StepState.UNAVAILABLE


def test_a_step_is_complete_once_all_workers_wrote_it(out_dir):
    recorder = Recorder(out_dir, workers=2)
    recorder.step(0).step(1, workers=["worker_0"])
    trial = recorder.open()
    assert trial.num_workers == 2
    assert trial.steps() == [0]
    assert trial.steps(show_incomplete_steps=True) == [0, 1]
    assert trial.has_passed_step(1) is StepState.NOT_YET_AVAILABLE
    assert trial.last_complete_step == 0
    recorder.step(2)
    assert trial.steps() == [0, 1, 2]
    assert trial.last_complete_step == 2


def test_a_trial_knows_when_its_job_has_ended(recorder):
    trial = recorder.step(0).open()
    assert not trial.loaded_all_steps
    recorder.step(1).end()
    assert trial.steps() == [0, 1]
    assert trial.loaded_all_steps
    assert trial.last_index_token.endswith("index/000000000/000000000001_worker_0.json")


# ---- waiting ---------------------------------------------------------------------------


def test_waiting_ends_once_the_step_is_there(recorder):
    trial = recorder.step(0).open()
    timer = threading.Timer(0.1, recorder.step, [1])
    timer.start()
    trial.wait_for_steps([0, 1])
    timer.join()
    assert trial.steps() == [0, 1]


def test_waiting_ends_if_the_step_was_not_saved(recorder):
    trial = numbered(recorder, [0, 2]).open()
    with pytest.raises(StepUnavailable) as caught:
        trial.wait_for_steps([0, 1])
    assert (caught.value.step, caught.value.mode) == (1, modes.GLOBAL)


def test_waiting_ends_with_the_job(recorder):
    trial = recorder.step(4, mode=modes.TRAIN, mode_step=2).end().open()
    with pytest.raises(NoMoreData) as caught:
        trial.wait_for_steps([7], mode=modes.TRAIN)
    error = caught.value
    assert (error.step, error.mode, error.last_step) == (7, modes.TRAIN, 2)


def test_waiting_in_another_thread_ends_when_the_trial_is_closed(recorder):
    trial = recorder.open()
    errors = []

    def wait():
        try:
            trial.wait_for_steps([5])
        except SMDebugRuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    trial.close()
    thread.join(5)
    assert errors


# ---- refreshing ---------------------------------------------------------------------


def test_every_query_reads_what_is_new(recorder):
    trial = recorder.step(0).open()
    assert trial.steps() == [0]
    recorder.step(1, names=["bar"])
    assert trial.tensor_names() == ["bar", "foo"]
    assert trial.has_tensor("bar")


def test_no_refresh_switches_that_off_and_restores_what_was_before(recorder):
    trial = recorder.step(0).open()
    with no_refresh(trial):
        recorder.step(1)
        assert trial.steps() == [0]
        with refresh([trial]):
            assert trial.steps() == [0, 1]
        recorder.step(2)
        assert trial.steps() == [0, 1]
        assert not trial.dynamic_refresh
    assert trial.steps() == [0, 1, 2]
    with pytest.raises(ZeroDivisionError), no_refresh([trial]):
        raise ZeroDivisionError
    assert trial.dynamic_refresh


def test_waiting_leaves_refreshing_as_it_was(recorder):
    trial = recorder.step(0).open()
    trial.wait_for_steps([0])
    recorder.step(1)
    assert trial.steps() == [0, 1]


def test_a_refresh_can_be_asked_for(recorder):
    trial = recorder.step(0).open()
    with no_refresh(trial):
        recorder.step(1)
        trial.maybe_refresh()
        assert trial.steps() == [0]
        trial.refresh_data()
        assert trial.steps() == [0, 1]


# ---- names ---------------------------------------------------------------------------


@pytest.fixture
def named(recorder):
    """Tensors of two collections in two modes."""
    recorder.manager.add("relu")
    recorder.manager.get("relu").include("^relu")
    recorder.manager.get("default").tensor_names = ["fc", "never saved"]
    recorder.export()
    recorder.step(0, ["fc", "relu_0"], mode=modes.TRAIN, mode_step=0)
    recorder.step(1, ["fc", "relu_1"], mode=modes.EVAL, mode_step=0)
    return recorder.end().open()


def test_names_are_narrowed_by_each_condition(named):
    assert named.tensor_names() == ["fc", "relu_0", "relu_1"]
    assert named.tensor_names(step=1) == ["fc", "relu_1"]
    assert named.tensor_names(step=0, mode=modes.EVAL) == ["fc", "relu_1"]
    assert named.tensor_names(mode=modes.TRAIN) == ["fc", "relu_0"]
    assert named.tensor_names(regex="relu") == ["relu_0", "relu_1"]
    assert named.tensor_names(regex=["fc", "_1$"], mode=modes.TRAIN) == ["fc"]
    assert named.tensor_names(collection="relu", step=0) == ["relu_0"]
    assert named.tensor_names(collection=named.collection("default")) == ["fc"]
    assert named.tensors(collection="relu") == ["relu_0", "relu_1"]
    assert named.tensor_names(mode=modes.PREDICT) == []
    assert named.tensor_names(step=9) == []


def test_a_collection_that_the_job_did_not_have_is_empty(named):
    assert named.tensor_names(collection="unknown") == []
    mine = named.collection("mine")
    mine.include("_1$")
    assert named.tensor_names(collection="mine") == ["relu_1"]
    assert named.tensor_names(collection=mine) == ["relu_1"]


def test_regex_and_collection_exclude_each_other(named):
    with pytest.raises(SMDebugValueError):
        named.tensor_names(regex="a", collection="relu")
    with pytest.raises(SMDebugTypeError):
        named.tensor_names(collection=3)
    with pytest.raises(SMDebugValueError):
        named.tensor_names(regex="(")


def test_collections_of_the_job(named):
    assert set(named.collections()) >= {"default", "relu"}
    assert named.collection("relu").include_regex == ["^relu"]
    assert "fc" in named.collection("default").tensor_names


def test_a_tensor_is_found_by_its_name(named):
    assert named.has_tensor("fc")
    assert not named.has_tensor("cf")
    assert named.tensor("fc").name == "fc"
    assert named.tensor("fc") is named.tensor("fc")
    with pytest.raises(TensorUnavailable) as caught:
        named.tensor("cf")
    assert caught.value.tname == "cf"


def test_inputs_labels_and_predictions_are_in_the_order_of_their_numbers(recorder):
    recorder.manager.add("inputs")
    recorder.manager.get("inputs").include("^input")
    recorder.export()
    with FileWriter(recorder.path, worker="worker_0", step=0) as writer:
        for name in ("input_10", "input_9", "labels_1", "labels_0", "predictions_0"):
            value = float(name.rpartition("_")[2])
            writer.write_tensor(value, name, mode=modes.TRAIN, mode_step=0)
    trial = recorder.end().open()
    assert [value.item() for value in trial.inputs(0, modes.TRAIN)] == [9.0, 10.0]
    assert [value.item() for value in trial.labels(0)] == [0.0, 1.0]
    assert [value.item() for value in trial.predictions(0, mode=modes.TRAIN)] == [0.0]


def test_no_tensor_was_saved_at_a_negative_step(recorder):
    trial = recorder.step(0, {"w": 1.0}).open()
    assert trial.tensor_names(step=0) == ["w"]
    assert trial.tensor_names(step=-1) == trial.tensor_names(step=-7) == []
    assert trial.tensor_names(regex=[]) == []


def test_a_step_beyond_64_bits_is_refused(recorder):
    tensor = recorder.step(0, {"w": 1.0}).open().tensor("w")
    with pytest.raises(SMDebugValueError, match="does not fit into 64 bits"):
        tensor.value(2**63)


def test_a_missing_event_file_is_waited_for(out_dir, monkeypatch):
    monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "2")
    hook = Hook(out_dir, save_all=True)
    with hook.step():
        hook.save("w", [1.0, 2.0])
    hook.flush()
    [path] = Path(out_dir).rglob("*.tfevents")
    trial = create_trial(out_dir)
    path.rename(path.with_suffix(".away"))
    back = threading.Timer(1, path.with_suffix(".away").rename, [path])
    back.start()
    assert trial.tensor("w").value(0).tolist() == [1.0, 2.0]
    hook.close()
