"""Tests names that only the original's own tests import: each exists here and works.

The table has a row for each name: its module, and the test of this file, or of a framework's
folder, that calls it.  `dropin_facts.py` runs the same calls with both libraries.
"""

import importlib
import json
import logging
import os
import sys
from pathlib import Path

import pytest
from aws_services import Services

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "s3"), str(HERE.parent / "python")]

from helpers import Recorder  # noqa: E402
from servers import ACCESS, SECRET, new_bucket, run_versitygw  # noqa: E402
from smdebug import Hook, create_trial, modes  # noqa: E402
from smdebug.core import config_validator, simulators  # noqa: E402
from smdebug.core.access_layer import (  # noqa: E402
    TSAccessS3,
    check_dir_exists,
    has_training_ended,
    is_rule_signalled_gracetime_passed,
    training_has_ended,
)
from smdebug.core.access_layer.file import TSAccessFile  # noqa: E402
from smdebug.core.access_layer.s3handler import (  # noqa: E402
    DeleteRequest,
    ListRequest,
    ReadObjectRequest,
    S3Handler,
)
from smdebug.core.access_layer.utils import delete_s3_prefixes  # noqa: E402
from smdebug.core.buckets import open_bucket  # noqa: E402
from smdebug.core.collection_manager import CollectionManager  # noqa: E402
from smdebug.core.config_validator import ConfigValidator, reset_config_validator  # noqa: E402
from smdebug.core.error_handling_agent import BASE_ERROR_MESSAGE  # noqa: E402
from smdebug.core.framework_hook import FrameworkHook  # noqa: E402
from smdebug.core.frameworks import numbers_of  # noqa: E402
from smdebug.core.index_reader import S3IndexReader  # noqa: E402
from smdebug.core.logger import DuplicateLogFilter  # noqa: E402
from smdebug.core.s3_utils import list_s3_objects  # noqa: E402
from smdebug.core.singleton_utils import del_hook, get_hook  # noqa: E402
from smdebug.core.utils import (  # noqa: E402
    FRAMEWORK,
    SagemakerSimulator,
    ScriptSimulator,
    error_handling_agent,
    get_logger,
    is_framework_version_supported,
)
from smdebug.exceptions import (  # noqa: E402
    RuleEvaluationConditionMet,
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugPermissionError,
    SMDebugTypeError,
    TensorUnavailableForStep,
)
from smdebug.rules import Rule  # noqa: E402
from smdebug.rules.action.action import Actions  # noqa: E402
from smdebug.rules.action.message_action import MessageAction  # noqa: E402
from smdebug.rules.action.stop_training_action import StopTrainingAction  # noqa: E402

BOTH = "test_both_return_the_same"
TENSORFLOW = "frameworks/keras2/test_dropin_names.py"
PYTORCH = "frameworks/pytorch/test_dropin_names.py"
XGBOOST = "frameworks/xgboost/test_dropin_names.py"

# Rows of: module, names, and the test that calls them.
TABLE = [
    ("smdebug.core.access_layer", "DEFAULT_GRACETIME_FOR_RULE_STOP_SEC", BOTH),
    ("smdebug.core.access_layer", "ENV_RULE_STOP_SIGNAL_FILENAME", BOTH),
    ("smdebug.core.access_layer", "TSAccessS3", "test_objects_are_written_atomically"),
    ("smdebug.core.access_layer", "is_rule_signalled_gracetime_passed", BOTH),
    ("smdebug.core.access_layer.file", "SMDEBUG_TEMP_PATH_SUFFIX", BOTH),
    ("smdebug.core.access_layer.file", "get_temp_path", BOTH),
    ("smdebug.core.access_layer.s3", "TSAccessS3", "test_objects_are_written_atomically"),
    *(
        ("smdebug.core.access_layer.s3handler", name, test)
        for name, test in (
            ("DeleteRequest", "test_prefixes_are_deleted"),
            ("ListRequest", "test_prefixes_are_listed"),
            ("ReadObjectRequest", "test_objects_are_read"),
            ("S3Handler", "test_objects_are_read"),
        )
    ),
    *(
        ("smdebug.core.access_layer.s3handler:S3Handler", name, test)
        for name, test in (
            ("MULTIPROCESSING_POOL_SIZE", "test_objects_are_read"),
            ("delete_prefix", "test_prefixes_are_deleted"),
            ("get_objects", "test_objects_are_read"),
            ("list_prefix", "test_prefixes_are_listed"),
            ("list_prefixes", "test_prefixes_are_listed"),
        )
    ),
    ("smdebug.core.access_layer.utils", "delete_s3_prefixes", "test_prefixes_are_deleted"),
    ("smdebug.core.access_layer.utils", "is_s3", BOTH),
    ("smdebug.core.config_constants", "PAPERMILL_EXECUTION_ENV_VAR", BOTH),
    ("smdebug.core.config_constants", "PROFILER_REPORT_VERSION", BOTH),
    ("smdebug.core.config_validator", "ConfigValidator", "test_unsupported_versions_get_no_hook"),
    ("smdebug.core.config_validator", "reset_config_validator",
     "test_unsupported_versions_get_no_hook"),
    ("smdebug.core.error_handling_agent", "BASE_ERROR_MESSAGE", "test_failures_disable_smdebug"),
    ("smdebug.core.hook_utils", "verify_and_get_out_dir", BOTH),
    ("smdebug.core.index_reader", "S3IndexReader", "test_trials_in_buckets_are_read_by_hand"),
    *(
        ("smdebug.core.json_config", name, BOTH)
        for name in (
            "CONFIG_FILE_PATH_ENV_STR", "DEFAULT_RESOURCE_CONFIG_FILE", "DEFAULT_SAGEMAKER_OUTDIR",
            "add_collections_to_manager", "collect_hook_config_params", "get_include_collections",
            "get_json_config_as_dict",
        )
    ),
    ("smdebug.core.logger", "DuplicateLogFilter", "test_a_line_is_logged_three_times"),
    ("smdebug.core.s3_utils", "list_s3_objects", "test_prefixes_are_listed"),
    ("smdebug.core.state_store", "StateStore", BOTH),
    ("smdebug.core.tfevent.util", "_get_proto_dtype", BOTH),
    ("smdebug.core.utils", "SagemakerSimulator", "test_a_job_of_the_service_is_simulated"),
    ("smdebug.core.utils", "ScriptSimulator", "test_a_script_is_simulated"),
    ("smdebug.core.utils", "error_handling_agent", "test_failures_disable_smdebug"),
    ("smdebug.core.utils", "get_aws_region_from_processing_job_arn", BOTH),
    ("smdebug.core.utils", "get_logger", "test_a_line_is_logged_three_times"),
    ("smdebug.core.utils", "is_framework_version_supported",
     "test_unsupported_versions_get_no_hook"),
    *(
        ("smdebug.core.utils:error_handling_agent", name, "test_failures_disable_smdebug")
        for name in ("catch_smdebug_errors", "disable_smdebug", "hook")
    ),
    *(("smdebug.pytorch.utils", name, PYTORCH) for name in ("is_pt_1_5", "is_pt_1_6", "is_pt_1_7")),
    ("smdebug.rules.action.action", "Actions", "test_a_rule_takes_its_actions"),
    ("smdebug.rules.action.message_action", "MessageAction", "test_messages_are_sent"),
    ("smdebug.rules.action.stop_training_action", "StopTrainingAction", "test_jobs_are_stopped"),
    ("smdebug.tensorflow.collection", "CollectionManager", TENSORFLOW),
    ("smdebug.tensorflow.collection:CollectionManager", "load", TENSORFLOW),
    *(
        ("smdebug.tensorflow.utils", name, TENSORFLOW)
        for name in (
            "TFDistributionStrategy", "does_tf_support_mixed_precision_training",
            "get_chief_worker_from_tf_config", "get_num_workers_from_tf_config",
            "get_worker_id_from_tf_config", "is_parameter_server_strategy", "tensor_can_be_saved",
        )
    ),
    *(("smdebug.xgboost.utils", name, XGBOOST)
      for name in ("is_xgb_1_5_and_later", "parse_tree_model")),
]  # fmt: skip


@pytest.mark.parametrize(("place", "name", "test"), TABLE)
def test_every_name_has_a_test_that_calls_it(place, name, test):
    if test.endswith(".py"):
        # The framework's own environment imports the module.
        assert name in (HERE.parent / test).read_text(encoding="utf-8")
        return
    module, _, owner = place.partition(":")
    holder = importlib.import_module(module)
    assert hasattr(getattr(holder, owner) if owner else holder, name)
    assert callable(globals()[test])
    text = (HERE / ("dropin_facts.py" if test == BOTH else __file__)).read_text(encoding="utf-8")
    assert name in text


# ---- the same results as the original's -----------------------------------------------------


def test_both_return_the_same(original, ours, tmp_path):
    trial = str(tmp_path / "trial")
    Recorder(trial).step(0).step(1).step(2).end()
    answers = []
    for library in (original, ours):
        folder = tmp_path / f"answers{len(answers)}"
        folder.mkdir()
        facts = library("dropin_facts.py", folder, trial)
        answers.append(json.loads(json.dumps(facts).replace(str(folder), "FOLDER")))
    theirs, mine = answers
    assert len(mine) >= 14
    for question, answer in theirs.items():
        assert mine[question] == answer, question


# ---- buckets ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    yield from run_versitygw(tmp_path_factory.mktemp("server"))


@pytest.fixture
def bucket(server, request, monkeypatch, tmp_path):
    """Creates a bucket for the test, and points the environment to it."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.startswith("SMDEBUG_S3_"):
            monkeypatch.delenv(name)
    for name, value in {
        "HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_S3": server.endpoint,
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    return new_bucket(server, request.node.name)


@pytest.fixture
def filled(server, bucket):
    for key in ("a/1", "a/2", "a/b/3", "a/b/4", "ab", "c/d"):
        server.client().put_object(Bucket=bucket, Key=key, Body=f"content of {key}".encode())
    return bucket


def test_objects_are_written_atomically(server, bucket):
    file = TSAccessS3(bucket_name=bucket, key_name="folder//key")
    assert file.write(b"one") == [0, 3]
    assert file.write(b"\x00two") == [3, 4]
    file.flush()
    assert "Contents" not in server.client().list_objects_v2(Bucket=bucket)
    file.close()
    file.close()
    stored = server.client().get_object(Bucket=bucket, Key="folder/key")["Body"].read()
    assert stored == b"one\x00two"
    file.ingest_all()
    assert file.read(3) == b"one" and file.has_data()
    with pytest.raises(SMDebugError, match="ends at 7"):
        file.read(5)
    with TSAccessS3(bucket, "text", binary=False) as text:
        text.write("äöü")
    assert S3Handler.get_object(ReadObjectRequest(f"s3://{bucket}/text")) == "äöü".encode()
    with TSAccessS3(bucket, "mine", ACCESS, SECRET) as mine:
        mine.write(b"x")
    wrong = TSAccessS3(bucket, "mine", "AKIDOTHER", "other")
    wrong.write(b"y")
    with pytest.raises(SMDebugPermissionError):
        wrong.close()


def test_memory_is_borrowed_while_it_is_written(bucket):
    opened = open_bucket(bucket)
    for content in (bytearray(b"one"), bytearray()):
        opened.write("key", content)
        content.append(1)  # refused while a buffer is held
    opened.write("key", memoryview(b"two"))
    assert opened.read("key") == b"two"
    with pytest.raises(TypeError):
        opened.write("key", "text")


def test_files_are_written_atomically(tmp_path):
    path = tmp_path / "folder" / "file"
    file = TSAccessFile(str(path), "w")
    assert file.write("text") == [0, 4]
    assert not path.exists()
    file.close()
    reader = TSAccessFile(str(path), "r")
    reader.ingest_all()
    assert reader.read(4) == "text" and not reader.has_data()
    reader.close()


def test_prefixes_are_listed(filled):
    assert S3Handler.list_prefix(ListRequest(filled)) == [
        "a/1", "a/2", "a/b/3", "a/b/4", "ab", "c/d",
    ]  # fmt: skip
    listed = S3Handler.list_prefixes(
        [
            ListRequest(filled, "a/"),
            ListRequest(filled, "a/", "/"),
            ListRequest(filled, "a/", "/", "a/1"),
            ListRequest(filled, "", "b"),
            ListRequest(Bucket=filled, Prefix="none"),
        ]
    )
    assert listed[0] == ["a/1", "a/2", "a/b/3", "a/b/4"]
    assert listed[1] == ["a/b/", "a/1", "a/2"]
    assert listed[2] == ["a/b/", "a/2"]
    assert listed[3] == ["a/b", "ab", "a/1", "a/2", "c/d"]
    assert listed[4] == []
    assert list_s3_objects(filled, "a/") == (["a/1", "a/2", "a/b/3", "a/b/4"], "a/b/4")
    assert list_s3_objects(filled, "a/", "a/b/3") == (["a/b/4"], "a/b/4")
    assert list_s3_objects(filled, "none") == ([], None)
    with pytest.raises(SMDebugTypeError):
        S3Handler.list_prefixes(ListRequest(filled))


def test_more_than_a_page_is_listed_and_read(server, bucket):
    keys = [f"many/{number:04}" for number in range(1003)]
    for key in keys:
        (server.folder / bucket / "many").mkdir(exist_ok=True)
        (server.folder / bucket / key).write_bytes(key.encode())
    assert S3Handler.list_prefix(ListRequest(bucket, "many/")) == keys
    requests = [ReadObjectRequest(f"s3://{bucket}/{key}") for key in keys]
    assert S3Handler.get_objects(requests) == [key.encode() for key in keys]


def test_a_missing_bucket_has_no_keys(bucket, caplog):
    caplog.set_level(logging.WARNING, "smdebug")
    assert S3Handler.list_prefix(ListRequest("no-such-bucket-at-all")) == []
    assert "no-such-bucket-at-all" in caplog.text


def test_refused_requests_are_errors(filled, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(SMDebugPermissionError):
        S3Handler.list_prefix(ListRequest(filled))
    with pytest.raises(SMDebugPermissionError):
        S3Handler.get_objects([ReadObjectRequest(f"s3://{filled}/ab")])
    with pytest.raises(SMDebugPermissionError):
        has_training_ended(f"s3://{filled}/trial")


def test_objects_are_read(filled, caplog):
    paths = [f"s3://{filled}/{key}" for key in ("ab", "a/1")]
    assert S3Handler.MULTIPROCESSING_POOL_SIZE >= 2
    read = S3Handler.get_objects(
        [
            ReadObjectRequest(paths[0]),
            ReadObjectRequest(paths[1], 8),
            ReadObjectRequest(paths[1], 8, 2),
            ReadObjectRequest(paths[1], 8, 200),
        ]
    )
    assert read == [b"content of ab", b"of a/1", b"of", b"of a/1"]
    requests = [ReadObjectRequest(path) for path in paths]
    assert S3Handler.get_objects(requests, use_multiprocessing=False) == [
        b"content of ab", b"content of a/1",
    ]  # fmt: skip
    assert len(S3Handler.get_objects(requests * 20, n_process=1)) == 40
    assert S3Handler.get_objects([]) == []
    caplog.set_level(logging.ERROR, "smdebug")
    assert S3Handler.get_objects([ReadObjectRequest(f"s3://{filled}/none")]) == [None]
    assert "none" in caplog.text
    with pytest.raises(SMDebugTypeError):
        S3Handler.get_objects(requests[0])
    with pytest.raises(SMDebugError, match="s3://bucket/key"):
        S3Handler.get_object(ReadObjectRequest("/a/file"))


def test_prefixes_are_deleted(filled):
    S3Handler.delete_prefix(f"s3://{filled}/a/b")
    assert S3Handler.list_prefix(ListRequest(filled)) == ["a/1", "a/2", "ab", "c/d"]
    S3Handler.delete_prefix(delete_request=DeleteRequest(filled, "a/1"))
    S3Handler.delete_prefixes([])
    delete_s3_prefixes(filled, "c/")
    assert S3Handler.list_prefix(ListRequest(filled)) == ["a/2", "ab"]
    delete_s3_prefixes(filled, ["a/2", "none"])
    assert S3Handler.list_prefix(ListRequest(filled)) == ["ab"]
    with pytest.raises(SMDebugError, match="not both"):
        S3Handler.delete_prefix(f"s3://{filled}/a", DeleteRequest(filled))
    with pytest.raises(SMDebugError, match="not an address"):
        S3Handler.delete_prefix("/tmp/somewhere")


def test_ended_jobs_in_buckets(bucket, monkeypatch):
    trial = f"s3://{bucket}/runs/one"
    assert not has_training_ended(trial) and not check_dir_exists(trial)
    training_has_ended(trial)
    assert has_training_ended(trial) and check_dir_exists(trial)
    assert not has_training_ended(f"s3://{bucket}/runs/on")
    monkeypatch.setenv("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE", "signal")
    assert not is_rule_signalled_gracetime_passed(trial)
    with TSAccessS3(bucket, "runs/one/signal", binary=False) as signal:
        signal.write("100")
    assert is_rule_signalled_gracetime_passed(trial)
    monkeypatch.setenv("rule_stop_grace_time_secs", "99999999999")
    assert not is_rule_signalled_gracetime_passed(trial)


def test_trials_in_buckets_are_read_by_hand(bucket):
    path = f"s3://{bucket}/trial"
    Recorder(path).step(0).step(1).step(2).end()
    reader = S3IndexReader(path)
    keys, last = reader.list_index_files()
    assert [os.path.basename(key) for key in keys] == [
        f"{step:012}_worker_0.json" for step in range(3)
    ]
    assert last == keys[-1] and reader.list_index_files(last) == ([], None)
    assert len(reader.list_event_files()) == 3
    data, key = reader.load_tensor_data_from_index_files()
    assert sorted(data["foo"]) == [0, 1, 2] and key == last
    assert reader.load_tensor_data_from_index_files() == ({}, last)
    place = data["foo"][1]["worker_0"]["tensor_location"]
    assert reader.fetch_tensor_value(place).tolist() == [[1] * 3] * 2
    place.tensorname = "bar"
    with pytest.raises(TensorUnavailableForStep):
        reader.fetch_tensor_value(place)
    assert S3IndexReader(path).read_index_files(None, (1, 2))[1] == [1]
    assert create_trial(path).index_reader.list_index_files() == (keys, last)
    manager = CollectionManager()
    manager.add("mine")
    manager.export(path, "other_collections.json")
    assert create_trial(path).tensor("foo").value(2)[0, 0] == 2


# ---- the process -----------------------------------------------------------------------------


def test_a_line_is_logged_three_times():
    logger = get_logger()
    (duplicates,) = [each for each in logger.filters if isinstance(each, DuplicateLogFilter)]
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.addHandler(handler)
    try:
        for number in range(5):
            logger.warning("spam of %s", "test_dropin_names")
            logger.warning("line %d of test_dropin_names", number)
    finally:
        logger.removeHandler(handler)
        duplicates.msgs.clear()
    assert lines.count("spam of test_dropin_names") == 3
    assert len(lines) == 8


@pytest.fixture
def agent():
    yield error_handling_agent
    error_handling_agent.disable_smdebug = False
    error_handling_agent.set_hook(None)
    del_hook()


def test_failures_disable_smdebug(agent, caplog, tmp_path):
    assert agent.disable_smdebug is False and agent.hook is None

    @agent.catch_smdebug_errors(default_return_val=False)
    def fails():
        raise ValueError("the reason")

    with FrameworkHook(str(tmp_path / "mine"), save_all=True) as hook:
        assert agent.hook is hook
        with pytest.raises(ValueError, match="the reason"):
            fails()
    hook = FrameworkHook(str(tmp_path / "default"))
    caplog.set_level(logging.ERROR, "smdebug")
    assert fails() is False
    assert BASE_ERROR_MESSAGE in caplog.text and "the reason" in caplog.text
    assert agent.disable_smdebug is True
    hook.save_scalar("dropped", 1)
    agent.disable_smdebug = False
    hook.save_scalar("kept", 1)
    hook.begin_step()
    hook.end_step()
    hook.close()
    assert create_trial(str(tmp_path / "default")).tensor_names() == ["scalar/kept"]


@pytest.fixture
def validator(monkeypatch):
    monkeypatch.setenv("USE_SMDEBUG", "true")
    reset_config_validator()
    yield
    reset_config_validator()


def test_unsupported_versions_get_no_hook(validator, monkeypatch, agent, tmp_path):
    for framework in FRAMEWORK:
        assert is_framework_version_supported(framework) is True
    with pytest.raises(SMDebugNotImplementedError):
        is_framework_version_supported("theano")
    assert numbers_of("1.4.0+cpu") < (1, 5) <= numbers_of("1.10.2") and numbers_of("x") == ()
    with FrameworkHook(str(tmp_path / "run")) as hook:
        assert get_hook(framework=FRAMEWORK.PYTORCH) is hook
        reset_config_validator()
        monkeypatch.setattr(config_validator, "is_framework_version_supported", lambda _: False)
        assert get_hook(framework=FRAMEWORK.PYTORCH) is None
    assert os.environ["USE_SMDEBUG"] == "False"
    assert ConfigValidator(FRAMEWORK.PYTORCH).validate_training_job() is False


def test_a_job_of_the_service_is_simulated(monkeypatch, tmp_path):
    monkeypatch.setattr(simulators, "DEFAULT_SAGEMAKER_OUTDIR", str(tmp_path / "tensors"))
    board = str(tmp_path / "config" / "tensorboard.json")
    monkeypatch.setattr(simulators, "DEFAULT_SAGEMAKER_TENSORBOARD_PATH", board)
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", "before")
    monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)
    path = str(tmp_path / "hook.json")
    contents = json.dumps({"LocalPath": str(tmp_path / "tensors")})
    settings = {"json_config_path": path, "json_file_contents": contents}
    (tmp_path / "tensors").mkdir()
    with SagemakerSimulator(tensorboard_dir=str(tmp_path / "board"), **settings) as job:
        assert not (tmp_path / "tensors").exists()
        assert os.environ["TRAINING_JOB_NAME"] == "sm_job"
        with Hook.create_from_json_file() as hook:
            assert hook.out_dir == job.out_dir
            assert hook.tensorboard_dir == job.tensorboard_dir
            with hook.step(modes.TRAIN):
                pass
    assert not os.path.exists(path) and not os.path.exists(board)
    assert os.environ["SMDEBUG_CONFIG_FILE_PATH"] == "before"
    assert "TRAINING_JOB_NAME" not in os.environ
    with SagemakerSimulator(cleanup=False, **settings):
        assert (tmp_path / "tensors").exists()
    assert os.path.exists(path) and os.environ.pop("TRAINING_JOB_NAME") == "sm_job"
    os.environ.pop("TENSORBOARD_CONFIG_FILE_PATH")


def test_a_script_is_simulated(tmp_path):
    out_dir, board = tmp_path / "tensors", tmp_path / "board"
    for folder in (out_dir, board):
        folder.mkdir()
    with ScriptSimulator(str(out_dir), str(board)) as script:
        assert not out_dir.exists() and not board.exists()
        with Hook(script.out_dir, tensorboard_dir=script.tensorboard_dir) as hook:
            with hook.step(modes.TRAIN):
                hook.save_scalar("x", 1)
        assert out_dir.exists()
    assert not out_dir.exists() and not board.exists()


# ---- actions of rules ------------------------------------------------------------------------


@pytest.fixture
def services(monkeypatch):
    with Services(jobs=["my-job-1", "not-my-job-1", "our-job-1", "our-job-2"]) as running:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "AKID",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": running.endpoint,
        }.items():
            monkeypatch.setenv(name, value)
        yield running


def test_messages_are_sent(services, caplog):
    other = "arn:aws:sns:us-east-1:000000000000:Other"
    services.subscriptions += [(other, "sms", "+1")] * 3
    action = MessageAction("my_rule", "sms", "+491701234567")
    assert services.subscriptions[-1][1:] == ("sms", "+491701234567")
    action.invoke("all is lost")
    (message,) = services.messages
    assert message["Message"] == "SMDebugRule:my_rule fired. all is lost"
    assert message["MessageAttributes.entry.1.Value.StringValue"] == "+491701234567"
    assert action._last_subscription_response is not None
    assert action._last_send_mesg_response["MessageId"] == "1"
    again = MessageAction("my_rule", "sms", "+491701234567")
    assert services.calls.count("Subscribe") == 1
    assert again._last_subscription_response is not None
    MessageAction("my_rule", "email", "me@example.org").invoke("")
    assert services.messages[-1]["MessageAttributes.entry.1.Name"] == "email"
    caplog.set_level(logging.WARNING, "smdebug")
    MessageAction("my_rule", "pigeon", "north").invoke("")
    assert "pigeon" in caplog.text and len(services.messages) == 2


def test_jobs_are_stopped(services, caplog):
    StopTrainingAction("my_rule", "my-job").invoke("")
    assert services.stopped == ["my-job-1"]
    StopTrainingAction("my_rule", "none-of-them").invoke("")
    services.jobs[:] = ["our-job-1"]
    StopTrainingAction("my_rule", "our-job").invoke("")
    assert services.stopped == ["my-job-1", "our-job-1"]


def test_rules_continue_without_services(monkeypatch, services, caplog):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    caplog.set_level(logging.WARNING, "smdebug")
    MessageAction("my_rule", "email", "me@example.org").invoke("")
    StopTrainingAction("my_rule", "my-job").invoke("")
    assert "cannot make the topic" in caplog.text
    assert "cannot list the training jobs" in caplog.text


def test_a_rule_takes_its_actions(services, tmp_path, caplog):
    class Always(Rule):
        def invoke_at_step(self, step):
            return step == 1

    trial = Recorder(str(tmp_path / "run")).step(0).step(1).end().open()
    rule = Always(
        trial,
        '[{"name": "StopTraining", "training_job_prefix": "my-job"}, '
        '{"Name": "email", "endpoint": "Me@example.org"}]',
    )
    rule.invoke(0)
    assert services.stopped == [] and services.messages == []
    with pytest.raises(RuleEvaluationConditionMet):
        rule.invoke(1)
    assert services.stopped == ["my-job-1"]
    assert services.messages[0]["Subject"] == "SMDebugRule:Always fired"
    assert services.subscriptions[0][2] == "Me@example.org"
    caplog.set_level(logging.WARNING, "smdebug")
    for text in ("{", '{"name": "fax"}', '{"name": "sms"}', "[1]"):
        Actions(text, "my_rule").invoke()
    for part in ("not JSON", "'fax'", "'endpoint'", "not a JSON object"):
        assert part in caplog.text
