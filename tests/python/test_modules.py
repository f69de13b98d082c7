"""Modules that users' code and tests import by their own names."""

import multiprocessing
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import smdebug
from smdebug import modes
from smdebug.analysis.utils import parse_bool, parse_list_from_str
from smdebug.core.access_layer import TSAccessFile
from smdebug.core.access_layer.utils import has_training_ended, training_has_ended
from smdebug.core.collection import DEFAULT_PYTORCH_COLLECTIONS, CollectionKeys
from smdebug.core.config_constants import CLAIM_FILENAME, DEFAULT_COLLECTIONS_FILE_NAME
from smdebug.core.hook_utils import get_tensorboard_dir
from smdebug.core.index_reader import LocalIndexReader, ReadIndexFilesCache
from smdebug.core.locations import (
    IndexFileLocationUtils,
    TensorboardFileLocation,
    TensorFileLocation,
    TensorLocation,
    TensorShape,
)
from smdebug.core.modes import ALLOWED_MODE_NAMES, ALLOWED_MODES, ModeKeys, str_to_mode_keys
from smdebug.core.reader import FileReader
from smdebug.core.reduction_config import ALLOWED_NORMS, ALLOWED_REDUCTIONS
from smdebug.core.reductions import (
    get_numpy_reduction,
    get_reduction_tensor_name,
    reverse_reduction_tensor_name,
)
from smdebug.core.utils import (
    deserialize_tf_device,
    flatten,
    get_path_to_collections,
    get_relative_event_file_path,
    get_tb_worker,
    get_worker_name_from_collection_file,
    index,
    is_first_process,
    is_s3,
    load_json_as_dict,
    make_numpy_array,
    match_inc,
    merge_two_dicts,
    parse_worker_name_from_file,
    read_file,
    remove_claim_file,
    serialize_tf_device,
    size_and_shape,
    split,
    step_in_range,
    write_file,
)
from smdebug.core.writer import FileWriter
from smdebug.exceptions import (
    IndexReaderException,
    SMDebugFileNotFoundError,
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailableForStep,
)


def test_the_package_says_its_version_and_names():
    assert smdebug.__version__.count(".") == 2
    for name in smdebug.__all__:
        assert hasattr(smdebug, name)


def test_importing_loads_no_framework_and_not_numpy():
    code = (
        "import sys, smdebug, smdebug.trials, smdebug.rules, smdebug.core.writer\n"
        "print([m for m in ('numpy', 'torch', 'tensorflow', 'ml_dtypes', 'socket') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "[]"


def test_modes():
    assert ModeKeys is modes
    assert [mode.value for mode in ALLOWED_MODES] == [1, 2, 3, 4]
    assert ALLOWED_MODE_NAMES == ["TRAIN", "EVAL", "PREDICT", "GLOBAL"]
    assert str_to_mode_keys("eval") is modes.EVAL
    with pytest.raises(SMDebugValueError):
        str_to_mode_keys("EVAL")


def test_constants():
    assert DEFAULT_COLLECTIONS_FILE_NAME == "worker_0_collections.json"
    assert CLAIM_FILENAME == "claim.smd"
    assert set(ALLOWED_NORMS) == {"l1", "l2"}
    assert "median" in ALLOWED_REDUCTIONS
    assert CollectionKeys.GRADIENTS in DEFAULT_PYTORCH_COLLECTIONS


# ---- one step's files ---------------------------------------------------------------


def test_a_writer_writes_what_a_reader_reads(out_dir):
    with FileWriter(trial_dir=out_dir, step=20, worker="algo-1", verbose=True) as writer:
        writer.write_tensor(tdata=np.ones((4, 4), np.float32), tname="foo_0")
        writer.write_tensor(["foo", "barz"], "text", mode=modes.GLOBAL)
        path = writer.name()
    assert path == TensorFileLocation(20, "algo-1").get_file_location(out_dir)
    with FileReader(fname=path) as reader:
        for _ in range(2):
            first, second = reader.read_tensors(check=True)
            name, step, data, mode, mode_step = first
            assert (name, step, mode, mode_step) == ("foo_0", 20, modes.GLOBAL, 20)
            assert data.shape == (4, 4)
            assert second[2].tolist() == ["foo", "barz"]


def test_modes_and_timestamps_are_written(out_dir):
    with FileWriter(out_dir, "worker_0", 3) as writer:
        writer.write_tensor(1.0, "loss", mode=modes.EVAL, mode_step=1, timestamp=1600000000.25)
        path = writer.name()
    reader = FileReader(path)
    assert [tensor[3:] for tensor in reader.read_tensors()] == [(modes.EVAL, 1)]
    (event,) = reader.read_events(regex_list=["^lo"])
    assert (event["timestamp"], event["step"], event["name"]) == (1600000000.25, 3, "loss")
    assert event["value"].tolist() == [1.0]
    assert reader.read_events(regex_list=["x"]) == []


def test_readers_of_a_trial_see_a_step_once_its_writer_is_closed(recorder):
    trial = recorder.open()
    writer = FileWriter(recorder.path, "worker_0", 0)
    writer.write_tensor(1.0, "loss")
    writer.flush()
    assert trial.steps() == []
    writer.close()
    writer.close()
    assert trial.steps() == [0]
    with pytest.raises(SMDebugRuntimeError):
        writer.write_tensor(1.0, "late")


def test_a_writer_left_by_an_exception_writes_nothing(recorder):
    with pytest.raises(ZeroDivisionError), FileWriter(recorder.path, "worker_0", 0) as writer:
        writer.write_tensor(1.0, "loss")
        raise ZeroDivisionError
    writer.close()
    assert recorder.open().steps() == []
    assert not list(Path(recorder.path).rglob("*worker_0.tfevents*"))


def test_a_writer_has_no_file_before_its_first_tensor(out_dir):
    writer = FileWriter(out_dir, "worker_0")
    with pytest.raises(SMDebugRuntimeError):
        writer.name()
    assert writer.event_file_path.endswith("events/000000000000/000000000000_worker_0.tfevents")


def test_other_kinds_of_writers_are_refused(out_dir):
    with pytest.raises(SMDebugValueError):
        FileWriter(out_dir, "worker_0", wtype="x")


def test_each_kind_of_writer_takes_its_own(out_dir):
    with FileWriter(out_dir, "worker_0", wtype="tensorboard") as board:
        with pytest.raises(SMDebugRuntimeError, match="of type 'events'"):
            board.write_tensor(np.ones(2), "t")
        with pytest.raises(SMDebugRuntimeError, match="one element"):
            board.write_scalar_summary("s", np.ones(2), 0)
    assert not Path(out_dir).exists()
    with pytest.raises(SMDebugRuntimeError, match="closed"):
        board.write_scalar_summary("s", 1, 0)
    with FileWriter(out_dir, "worker_0") as events:
        with pytest.raises(SMDebugRuntimeError, match="of type 'tensorboard'"):
            events.write_scalar_summary("s", 1, 0)


@pytest.mark.parametrize("step", [-1, 2**63 - 1])
def test_a_writer_refuses_steps_out_of_range(out_dir, step):
    with pytest.raises(SMDebugValueError, match="from 0 to 9223372036854775806"):
        FileWriter(out_dir, "worker_0", step=step)


def test_a_reader_needs_a_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        FileReader(str(tmp_path / "none.tfevents"))
    assert isinstance(caught.value, SMDebugFileNotFoundError)
    with pytest.raises(SMDebugNotImplementedError):
        FileReader(str(tmp_path), wtype="csv")


# ---- names of files -------------------------------------------------------------------


def test_where_event_files_are():
    location = TensorFileLocation(step_num=5, worker_name="worker_0")
    relative = "events/000000000005/000000000005_worker_0.tfevents"
    assert location.get_file_location() == relative
    assert location.get_file_location("run") == f"run/{relative}"
    assert get_relative_event_file_path(f"/a/run/{relative}") == relative
    with pytest.raises(SMDebugRuntimeError):
        get_relative_event_file_path("/a/b/c.tfevents")
    found = TensorFileLocation.load_filename(relative)
    assert (found.step_num, found.worker_name) == (5, "worker_0")
    assert TensorFileLocation.match_regex("000000000005_worker_0.json") is None
    board = TensorboardFileLocation(5, "w", mode=modes.TRAIN)
    assert board.get_file_location("b") == "b/TRAIN/000000000005_w.tfevents"


@pytest.mark.parametrize(
    ("step", "folder", "file"),
    [
        (0, "000000000", "000000000000"),
        (999, "000000000", "000000000999"),
        (1000, "000000001", "000000001000"),
        (1234567890123, "1234567890", "1234567890123"),
    ],
)
def test_where_index_files_are(step, folder, file):
    path = IndexFileLocationUtils.get_index_key_for_step("run", step, "worker_0")
    assert path == f"run/index/{folder}/{file}_worker_0.json"
    assert IndexFileLocationUtils.parse_step_from_index_file_name(path) == step
    assert IndexFileLocationUtils.get_prefix_from_index_file(path) == "run"


@pytest.mark.parametrize(
    ("path", "worker"),
    [
        ("/run/index/000000001/000000001230_worker_2.json", "worker_2"),
        (
            "/run/index/000000000499__job-worker_replica-0_task-1_device-GPU-6.json",
            "/job:worker/replica:0/task:1/device:GPU:6",
        ),
        ("/my__run/index/000000001/000000001230_worker_2.json", "worker_2"),
    ],
)
def test_the_worker_of_an_index_file(path, worker):
    assert parse_worker_name_from_file(path) == worker


def test_other_files_have_no_worker():
    for path in ("/run/index/000000001/000000001230_worker_2.json.tmp", "/run/index/x.json"):
        with pytest.raises(IndexReaderException):
            parse_worker_name_from_file(path)


def test_the_worker_of_a_collections_file():
    folder = "/run/collections/000000000"
    assert get_path_to_collections("/run") == folder + "/"
    name = get_worker_name_from_collection_file
    assert name(f"{folder}/job-worker_1_collections.json") == "job-worker_1"
    assert name(f"{folder}/_task-0_device-GPU-1_collections.json") == "/task:0/device:GPU:1"


def test_devices_of_tensorflow_as_file_names():
    device = "/replica:0/task:0/device:GPU:0"
    assert serialize_tf_device(device) == "_replica-0_task-0_device-GPU-0"
    assert deserialize_tf_device(serialize_tf_device(device)) == device


def test_files_of_a_trial_can_be_listed(recorder):
    recorder.step(0).step(1)
    reader = LocalIndexReader(recorder.path)
    assert [os.path.basename(path) for path in reader.list_index_files()] == [
        "000000000000_worker_0.json",
        "000000000001_worker_0.json",
    ]
    assert len(reader.list_event_files()) == 2
    place = TensorLocation("foo", modes.GLOBAL, 1, reader.list_event_files()[1], 0, 0, "worker_0")
    assert reader.fetch_tensor_value(place)[0, 0] == 1
    place.tensorname = "bar"
    with pytest.raises(TensorUnavailableForStep):
        reader.fetch_tensor_value(place)


def test_index_files_that_were_read_are_forgotten_in_order():
    cache = ReadIndexFilesCache()
    for name in ("file_1", "file_1", "file_2", "file_3", "file_4"):
        cache.add(name, None)
    assert len(cache.lookup_set) == 4
    assert not cache.has_not_read("file_1")
    cache.cache_limit = 2
    cache.add("file_5", "file_1")
    assert len(cache.lookup_set) == 5
    cache.add("file_6", "file_4")
    assert cache.lookup_set == {"file_4", "file_5", "file_6"}


def test_an_index_file_that_cannot_be_read_is_read_by_the_next_call(recorder):
    recorder.step(0).step(1).step(2)
    reader = LocalIndexReader(recorder.path)
    first, second, third = map(Path, reader.list_index_files())
    content = second.read_bytes()
    second.unlink()
    second.symlink_to(second)  # opening it fails, for any user
    with pytest.raises(OSError, match="symbolic links"):
        reader.read_index_files(None)
    second.unlink()
    second.write_bytes(content)
    third.unlink()
    third.symlink_to("removed")
    contents, steps, key, workers = reader.read_index_files(None)
    assert steps == [0, 1] and contents == [first.read_bytes(), content]
    assert key == str(third) and workers == ["worker_0"] * 2
    assert reader.read_index_files(None)[1] == []


def test_entries_of_index_files():
    place = TensorLocation("w", "TRAIN", "3", "events/x", 10, 20, "worker_0")
    assert place.to_dict() == {"tensorname": "w", "start_idx": 10, "length": 20}
    assert place.mode_step == 3
    shape = TensorShape("w", "TRAIN", 3, [4, 5])
    assert shape.to_dict() == {"tensorname": "w", "originalname": "w", "shape": (4, 5)}


def test_the_end_of_a_job_is_marked(tmp_path, monkeypatch):
    folder = str(tmp_path / "run")
    assert not has_training_ended(folder)
    training_has_ended(folder)
    assert has_training_ended(folder)
    monkeypatch.setenv("TRAINING_JOB_NAME", "job")
    training_has_ended(str(tmp_path / "other"))
    assert not has_training_ended(str(tmp_path / "other"))


def test_a_folder_is_claimed_once(tmp_path):
    folder = str(tmp_path / "run")
    assert is_first_process(folder)
    assert not is_first_process(folder)
    remove_claim_file(folder)
    remove_claim_file(folder)
    assert is_first_process(folder)


_POOLS = {
    "threads": ThreadPoolExecutor,
    "processes": lambda count: ProcessPoolExecutor(count, multiprocessing.get_context("spawn")),
}


def _write_often(path, content):
    for _ in range(100):
        write_file(path, content)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_one_file_may_have_several_writers(tmp_path, kind):
    path = str(tmp_path / "folder" / "file")
    contents = [str(number) * 10_000 for number in range(4)]
    with _POOLS[kind](4) as pool:
        for written in [pool.submit(_write_often, path, content) for content in contents]:
            written.result()
    assert read_file(path).decode() in contents
    assert os.listdir(tmp_path / "folder") == ["file"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_file(str(tmp_path / "folder"), "text")
    with pytest.raises(UnicodeEncodeError):
        write_file(str(tmp_path / "file"), "\ud800")
    assert os.listdir(tmp_path) == ["folder"]


def test_writers_of_one_file_do_not_mix(tmp_path):
    path = str(tmp_path / "file")
    first, second = TSAccessFile(path, "w"), TSAccessFile(path, "w")
    first.write("first")
    second.write("2")
    for file in (first, second, second):
        file.close()
    assert read_file(path) == b"2"
    assert os.listdir(tmp_path) == ["file"]


# ---- small helpers ----------------------------------------------------------------------


def test_names_of_saved_reductions():
    name = get_reduction_tensor_name("conv/w:0", "mean", abs=True)
    assert name == "smdebug/reductions/abs_mean/conv/w"
    assert get_reduction_tensor_name("w:0", "l1", False, remove_colon_index=False).endswith("w:0")
    assert reverse_reduction_tensor_name(name) == ("conv/w", "mean", True)


def test_reductions_of_arrays():
    data = np.array([[3.0, -4.0], [0.0, 0.0]])
    assert get_numpy_reduction("l2", data) == 5
    assert get_numpy_reduction("l1", data) == 7
    assert get_numpy_reduction("variance", data) == data.var()
    assert get_numpy_reduction("min", data, abs=True) == 0
    assert get_numpy_reduction("median", data) == 0
    with pytest.raises(SMDebugValueError):
        get_numpy_reduction("mode", data)


def test_arrays_of_anything():
    assert make_numpy_array(3).shape == (1,)
    assert make_numpy_array("text").tolist() == ["text"]
    assert make_numpy_array((1, 2)).tolist() == [1, 2]
    array = np.zeros(2)
    assert make_numpy_array(array) is array
    with pytest.raises(SMDebugTypeError):
        make_numpy_array({"a": 1})


def test_lists_and_texts():
    assert flatten([1, [2, [3, []]], 4]) == [1, 2, 3, 4]
    assert split("a, b,c d") == ["a", "b", "c d"]
    assert merge_two_dicts({"a": 1, "b": 2}, {"b": 3}) == {"a": 1, "b": 3}
    assert index([1, 3, 5], 3) == 1
    with pytest.raises(SMDebugValueError):
        index([1, 3], 2)
    assert match_inc("conv/relu", ["^relu", "relu$"])
    assert not match_inc("conv", [])
    assert step_in_range((1, 3), 2)
    assert not step_in_range((None, 3), 3)
    assert size_and_shape(np.zeros((2, 3))) == (48, (2, 3))
    assert parse_list_from_str("a,b") == ["a", "b"]
    assert parse_list_from_str(None) == []
    assert parse_bool("False", None) is False
    assert parse_bool(None, True) is True
    assert load_json_as_dict('{"a": 1}') == {"a": 1}
    assert load_json_as_dict("None") is None
    with pytest.raises(SMDebugValueError):
        load_json_as_dict("{")


def test_where_files_of_tensorboard_go():
    assert re.fullmatch(rf"{os.getpid()}_.+", get_tb_worker())
    assert get_tensorboard_dir(False, None, "/run") is None
    assert get_tensorboard_dir(False, "", "/run") is None
    assert get_tensorboard_dir(True, "", "/run") == "/run/tensorboard"
    assert get_tensorboard_dir(False, "~/board", "/run") == os.path.expanduser("~/board")


def test_paths_in_s3():
    assert is_s3("s3://a/b/c") == (True, "a", "b/c")
    assert is_s3("s3://a") == is_s3("s3://a/") == (True, "a", "")
    assert is_s3("a/b") == (False, None, None)
    point = "arn:aws:s3:eu-west-1:123456789012:accesspoint"
    assert is_s3(f"s3://{point}/p/b/c") == (True, f"{point}/p", "b/c")
    assert is_s3(f"s3://{point}:p/b/c") == (True, f"{point}:p", "b/c")
    assert is_s3(f"s3://{point}/p") == (True, f"{point}/p", "")
