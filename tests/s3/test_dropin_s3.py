"""Scripts written for the original meet the same behaviour in S3."""

from __future__ import annotations

import json

import numpy as np
import pytest
from servers import ACCESS, SECRET

import smdebug as smd
from smdebug.core.access_layer import check_dir_exists, has_training_ended, training_has_ended
from smdebug.core.access_layer.utils import file_exists
from smdebug.core.buckets import open_bucket
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.index_reader import S3IndexReader
from smdebug.core.locations import TensorLocation
from smdebug.core.modes import ModeKeys as modes
from smdebug.exceptions import (
    SMDebugConnectionError,
    SMDebugFileNotFoundError,
    SMDebugPermissionError,
    SMDebugValueError,
    TensorUnavailableForStep,
)
from smdebug.rules.configuration import ConfiguredRules
from smdebug.trials import create_trial
from test_interop import original  # noqa: F401

RULE = b"""
from smdebug.rules import Rule

class Above(Rule):
    def __init__(self, base_trial, threshold="0"):
        super().__init__(base_trial)
        self.threshold = float(threshold)

    def invoke_at_step(self, step):
        return bool(self.base_trial.tensor("weight").value(step).max() > self.threshold)
"""


@pytest.fixture(autouse=True)
def environment(server, monkeypatch):
    """Credentials and address where the original looks for them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)
    monkeypatch.setenv("SMDEBUG_S3_ADDRESSING", "path")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def record(url: str) -> str:
    with smd.Hook(url, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        for step in range(3):
            with hook.step():
                hook.save("weight", np.arange(4, dtype=np.float32) + step)
    return url


def test_the_end_of_a_training_is_seen_and_marked(bucket):
    url = f"s3://{bucket}/a/run"
    assert not has_training_ended(url) and not check_dir_exists(url)
    training_has_ended(url)
    assert has_training_ended(url) and has_training_ended(url + "/") and check_dir_exists(url)
    assert not has_training_ended(f"s3://{bucket}/a")


def test_an_object_exists_by_its_whole_key(bucket):
    opened = open_bucket(bucket)
    opened.write("a/b/1", b"content")
    opened.write("empty", b"")
    assert opened.has("a/b/1") and not opened.has("a/b/") and not opened.has("a/b")
    assert opened.has("empty") and opened.read_if_exists("empty") == b""
    assert opened.read_if_exists("none") is None
    assert file_exists(f"s3://{bucket}/a/b/1") and not file_exists(f"s3://{bucket}/a/b")
    assert not file_exists("s3://no-such-bucket-of-this-test/key")
    with pytest.raises(SMDebugFileNotFoundError):
        open_bucket("no-such-bucket-of-this-test").has("key")


def test_an_index_file_that_cannot_be_read_is_read_by_the_next_call(bucket, monkeypatch):
    reader = S3IndexReader(record(f"s3://{bucket}/run"))
    listed = reader.list_index_files()
    open_bucket(bucket).remove(listed[0][1])
    monkeypatch.setattr(reader, "list_index_files", lambda *_: listed)
    with monkeypatch.context() as refused:
        refused.setenv("AWS_SECRET_ACCESS_KEY", "other")
        with pytest.raises(SMDebugPermissionError):
            reader.read_index_files(None)
    assert reader.read_index_files(None)[1] == [0, 2]


def test_only_a_missing_object_is_a_tensor_that_is_not_there(bucket, monkeypatch):
    reader = S3IndexReader(f"s3://{bucket}/run")
    place = TensorLocation("weight", modes.GLOBAL, 1, "events/none", 0, 9, "worker_0")
    with pytest.raises(TensorUnavailableForStep):
        reader.fetch_tensor_value(place)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    with pytest.raises(SMDebugConnectionError):
        reader.fetch_tensor_value(place)


def test_a_polling_loop_ends(bucket, original):  # noqa: F811
    url = f"s3://{bucket}/run"
    original("write", url)
    assert has_training_ended(url) and original("facts", url)["ended"]


def test_the_index_token_begins_at_the_bucket(bucket, original):  # noqa: F811
    url = record(f"s3://{bucket}/deep/run")
    trial = create_trial(url)
    assert trial.steps() == [0, 1, 2]
    assert trial.last_index_token == "deep/run/index/000000000/000000000002_worker_0.json"
    assert original("facts", url)["token"] == trial.last_index_token


def test_collections_are_exported(server, bucket):
    manager = CollectionManager()
    manager.add(Collection("mine", include_regex=["^mine"]))
    manager.export(f"s3://{bucket}/run", "worker_0_collections.json")
    key = "run/collections/000000000/worker_0_collections.json"
    stored = server.client().get_object(Bucket=bucket, Key=key)["Body"].read().decode()
    assert CollectionManager.load_from_string(stored) == manager


def test_rules_of_the_services_form_are_read_from_a_bucket(server, bucket, tmp_path):
    trial = create_trial(record(f"s3://{bucket}/run"))
    server.client().put_object(Bucket=bucket, Key="code/above.py", Body=RULE)
    uri = f"s3://{bucket}/code/above.py"
    parameters = {"source_s3_uri": uri, "rule_to_invoke": "Above", "threshold": "4"}
    service = {"InstanceType": "ml.t3.medium", "VolumeSizeInGB": 30, "RuleEvaluatorImage": "image"}
    rule = {"RuleConfigurationName": "mine", "RuleParameters": parameters, **service}
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"DebugRuleConfigurations": [rule]}))
    assert [found.step for found in ConfiguredRules.from_file(str(path), trial).run()] == [2]
    parameters["source_s3_uri"] = uri + ".not"
    path.write_text(json.dumps([rule]))
    with pytest.raises(SMDebugValueError, match="no Python file"):
        ConfiguredRules.from_file(str(path), trial)
