"""Bad input always causes a clear error, and never a crash or a wrong value."""

import json
import os
import shutil

import numpy as np
import pytest
from helpers import EVERY_STEP, Recorder, record
from smdebug import Hook, _raw, create_trial, modes
from smdebug.core.reader import FileReader
from smdebug.exceptions import (
    IndexReaderException,
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)

# ---- calls ------------------------------------------------------------------------


@pytest.fixture
def hook(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        yield hook


def test_a_step_is_begun_and_ended_once(hook):
    with pytest.raises(SMDebugRuntimeError):
        hook.end_step()
    with pytest.raises(SMDebugRuntimeError):
        hook.save("w", 1.0)
    with pytest.raises(SMDebugRuntimeError):
        hook.save("w", [1.0])
    hook.begin_step()
    with pytest.raises(SMDebugRuntimeError):
        hook.begin_step()
    hook.end_step()


def test_a_closed_hook_takes_nothing(hook):
    hook.close()
    for call in (
        hook.begin_step,
        hook.end_step,
        hook.flush,
        hook.export_collections,
        lambda: hook.save("w", 1.0),
        lambda: hook.save("w", np.zeros(100_000)),
        lambda: hook.save_scalar("w", 1.0),
        lambda: hook.save_tensor("w", 1.0),
    ):
        with pytest.raises(SMDebugRuntimeError):
            call()
    assert not hook.wants("w")


@pytest.mark.parametrize("mode", ["TRAIN", 1, None, object()])
def test_modes_are_those_of_smdebug(hook, mode):
    with pytest.raises(SMDebugValueError):
        hook.set_mode(mode)


@pytest.mark.parametrize("mode", ["TRAIN", 1, object()])
def test_queries_take_no_other_modes_either(recorder, mode):
    trial = recorder.step(0).open()
    tensor = trial.tensor("foo")
    for call in (
        lambda: trial.steps(mode),
        lambda: trial.tensor_names(mode=mode),
        lambda: trial.has_passed_step(0, mode),
        lambda: trial.wait_for_steps([0], mode),
        lambda: tensor.steps(mode),
        lambda: tensor.value(0, mode),
        lambda: tensor.shape(0, mode),
        lambda: tensor.reduction_value(0, "mean", mode),
        lambda: tensor.workers(0, mode),
    ):
        with pytest.raises(SMDebugValueError):
            call()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (None, SMDebugTypeError),
        (3, SMDebugTypeError),
        (b"w", SMDebugTypeError),
        ("", SMDebugValueError),
        ("a\0b", SMDebugValueError),
        ("\ud800", (SMDebugValueError, UnicodeEncodeError)),
    ],
)
def test_names_are_texts_without_nul(hook, name, error):
    with hook.step():
        for value in (1.0, np.zeros(2), [1, 2]):
            with pytest.raises(error):
                hook.save(name, value)


def test_steps_are_whole_numbers(recorder):
    trial = recorder.step(0).open()
    for call in (
        lambda: trial.tensor("foo").value("0"),
        lambda: trial.tensor("foo").value(0.5),
        lambda: trial.has_passed_step("0"),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(SMDebugValueError, match="64 bits"):
        trial.tensor("foo").value(2**70)


def test_too_many_dimensions_are_refused(hook):
    with hook.step(), pytest.raises(SMDebugValueError, match="33 dimensions"):
        hook.save("w", memoryview(b"x").cast("B", [1] * 33))


def test_a_memory_view_that_lies_is_not_followed(hook):
    with hook.step(), pytest.raises(SMDebugTypeError):
        hook.save("w", memoryview(b"abcdefgh").cast("c"))


@pytest.mark.parametrize("worker", [3, "", "a\0b"])
def test_workers_have_names(out_dir, worker):
    with pytest.raises((SMDebugTypeError, SMDebugValueError)):
        Hook(out_dir, worker=worker)


@pytest.mark.parametrize(
    "settings",
    [
        {"include_workers": "some"},
        {"num_workers": 0},
        {"num_workers": "many"},
        {"include_regex": "("},
        {"include_collections": ["a,b"]},
        {"save_config": {"TRAINING": {}}},
    ],
)
def test_bad_settings_of_a_hook(out_dir, settings):
    with pytest.raises(SMDebugValueError):
        Hook(out_dir, **settings)


@pytest.mark.parametrize(
    "settings", [{"save_config": 3}, {"reduction_config": 3}, {"include_regex": [3]}]
)
def test_settings_of_the_wrong_type(out_dir, settings):
    with pytest.raises(SMDebugTypeError):
        Hook(out_dir, **settings)


def test_a_regular_expression_that_runs_away_is_stopped(hook):
    hook.get_collection("slow").include(r"^(a+)+$")
    with hook.step():
        try:
            hook.save("a" * 40 + "b", 1.0)
        except SMDebugError as error:
            assert "a+" in str(error)


def test_raw_functions_refuse_handles_of_another_type(recorder):
    trial = recorder.step(0).open()
    with pytest.raises(TypeError):
        _raw.save(trial._handle, "w", 1.0)
    with pytest.raises(TypeError):
        _raw.read_array(trial._handle, 0, None, None)
    with pytest.raises(TypeError):
        _raw.smd_trial_refresh(3)
    with pytest.raises(SMDebugValueError):
        _raw.check(_raw.smd_trial_refresh(None))


# ---- places ------------------------------------------------------------------------


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises((SMDebugError, OSError)):
        record(str(tmp_path / "file" / "run"), [{"w": 1.0}])


# ---- files -------------------------------------------------------------------------


@pytest.fixture
def files(recorder):
    """Returns the event file and the index file of step 0; step 1 is complete."""
    recorder.step(0).step(1)
    folder = recorder.path
    return (
        os.path.join(folder, "events", "000000000000", "000000000000_worker_0.tfevents"),
        os.path.join(folder, "index", "000000000", "000000000000_worker_0.json"),
    )


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ 0x40]))


def test_every_flipped_bit_is_noticed(recorder, files):
    events = files[0]
    size = os.path.getsize(events)
    for offset in range(0, size, 7):
        flip(events, offset)
        trial = recorder.open()
        with pytest.raises(SMDebugError) as caught:
            trial.tensor("foo").value(0)
        assert caught.value.code == "CORRUPT_DATA"
        assert "000000000000_worker_0.tfevents" in str(caught.value)
        assert trial.tensor("foo").value(1)[0, 0] == 1
        flip(events, offset)
    assert recorder.open().tensor("foo").value(0)[0, 0] == 0


@pytest.mark.parametrize("keep", [0, 5, 12, 40])
def test_a_cut_event_file_is_corrupt(recorder, files, keep):
    os.truncate(files[0], keep)
    with pytest.raises(SMDebugError) as caught:
        recorder.open().tensor("foo").value(0)
    assert caught.value.code in ("CORRUPT_DATA", "VALUE_UNAVAILABLE")
    if keep:
        with pytest.raises(SMDebugRuntimeError):
            list(FileReader(files[0]).read_tensors())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"meta": {}}',
        '{"meta": 3, "tensor_payload": []}',
        '{"meta": {"mode": "SLEEP", "mode_step": 0}, "tensor_payload": []}',
        '{"meta": {"mode": "TRAIN", "mode_step": "x"}, "shape_payload": []}',
        '{"meta": {"mode": "TRAIN", "mode_step": 0, "event_file_name": "x"}, '
        '"tensor_payload": [{"tensorname": "foo", "start_idx": -1, "length": 10}]}',
        '{"meta": {"mode": "TRAIN", "mode_step": 0, "event_file_name": "x"}, '
        '"tensor_payload": [{"tensorname": 3, "start_idx": 0, "length": 1e99}]}',
        "[" * 100_000,
    ],
)
def test_a_corrupt_index_file_is_said_and_the_rest_is_read(recorder, files, text):
    with open(files[1], "w") as file:
        file.write(text)
    with pytest.raises(IndexReaderException, match=r"000000000000_worker_0\.json"):
        trial = recorder.open()
        trial.steps()
    trial = None
    for _ in range(3):
        try:
            trial = trial or recorder.open()
            steps = trial.steps()
            break
        except IndexReaderException:
            continue
    assert steps == [1]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "events/../../x"])
def test_an_index_file_cannot_name_files_outside_the_trial(recorder, files, name):
    with open(files[1]) as file:
        index = json.load(file)
    index["meta"]["event_file_name"] = name
    with open(files[1], "w") as file:
        json.dump(index, file)
    with pytest.raises(IndexReaderException):
        trial = recorder.open()
        trial.steps()


def test_an_entry_cannot_reach_beyond_its_file(recorder, files):
    with open(files[1]) as file:
        index = json.load(file)
    index["tensor_payload"][0]["length"] = 2**40
    with open(files[1], "w") as file:
        json.dump(index, file)
    with pytest.raises(SMDebugError):
        trial = recorder.open()
        trial.tensor("foo").value(0)


def test_a_lost_event_file_costs_its_own_step_only(recorder, files):
    shutil.rmtree(os.path.dirname(files[0]))
    recorder.end()
    tensor = recorder.open().tensor("foo")
    with pytest.raises(SMDebugError) as caught:
        tensor.value(0)
    assert caught.value.code == "VALUE_UNAVAILABLE"
    assert tensor.value(1)[0, 0] == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"collections": 3}', '{"other": {}}'])
def test_a_corrupt_collections_file_is_said(recorder, text):
    path = os.path.join(recorder.path, "collections", "000000000", "worker_0_collections.json")
    with open(path, "w") as file:
        file.write(text)
    with pytest.raises(SMDebugError, match=r"worker_0_collections\.json"):
        create_trial(recorder.path, timeout=0.2)


def test_unfinished_files_are_not_looked_at(recorder, files):
    for path in files:
        os.rename(path, path + ".tmp")
    assert recorder.open().steps() == [1]


def test_a_folder_whose_name_looks_like_a_device(tmp_path):
    recorder = Recorder(str(tmp_path / "my__run"))
    trial = recorder.step(0).open()
    assert trial.workers() == ["worker_0"]
    assert trial.tensor("foo").workers(0) == ["worker_0"]
    assert trial.steps(modes.GLOBAL) == [0]
