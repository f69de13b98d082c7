"""Tests that the schema of configurations and the library accept and refuse the same documents."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from smdebug import _raw
from smdebug._handles import HookOptions, check
from smdebug.exceptions import SMDebugError

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMA = jsonschema.Draft202012Validator(json.loads((DOCS / "hook_config.schema.json").read_text()))


def example() -> object:
    page = (DOCS / "configuration.md").read_text()
    return json.loads(page.split("```json\n")[1].split("```")[0])


def hook(**parameters: object) -> object:
    return {"HookParameters": parameters}


def collection(**parameters: object) -> object:
    return {"CollectionConfigurations": [{"CollectionName": "c", "CollectionParameters": parameters}]}


GOOD = [
    example(),
    {},
    {"S3OutputPath": "s3://b/p", "LocalPath": None, "HookParameters": None},
    {"LocalPath": "/tmp/x", "CollectionConfigurations": None},
    {"CollectionConfigurations": [{"CollectionName": "weights"}]},
    hook(save_all=True, dry_run="False", include_regex="a,b", include_workers="all"),
    hook(save_interval="7", start_step=0, end_step="700", save_steps="1, 2,3"),
    hook(**{"train.save_interval": 3, "global.save_steps": [1, "2"], "predict.end_step": None}),
    hook(reductions="min,abs_l1_norm,l2", save_raw_tensor="true", save_shape=False),
    hook(export_tensorboard="true", tensorboard_dir="/tmp/t"),
    collection(include_regex=["a", "b,c"], save_histogram=False, save_interval=3),
    collection(reductions="mean", **{"eval.save_steps": "5"}),
    collection(reductions=["mean", "abs_max"], end_step=0),
]
BAD = [
    [],
    {"HookParameter": {}},
    {"LocalPath": 1},
    {"HookParameters": []},
    {"CollectionConfigurations": {}},
    {"CollectionConfigurations": [{}]},
    {"CollectionConfigurations": [{"CollectionName": ""}]},
    {"CollectionConfigurations": [{"CollectionName": "c", "Parameters": {}}]},
    hook(save_intervall=1),
    hook(save_histogram=True),
    hook(save_interval="often"),
    hook(save_interval=1.5),
    hook(save_steps="1,two"),
    hook(save_all="maybe"),
    hook(save_all=1),
    hook(save_all=["true"]),
    hook(include_workers="some"),
    hook(include_regex=7),
    hook(**{"training.save_interval": 1}),
    collection(save_all=True),
    collection(include_regex=[1]),
]
SENSELESS = [hook(save_interval=0), hook(reductions="meen"), collection(include_regex="(")]


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setenv("SMDEBUG_STRICT_CONFIG", "1")


def is_accepted(path: Path, document: object) -> bool:
    path.write_text(json.dumps(document))
    try:
        check(_raw.smd_hook_options_load(HookOptions(), str(path)))
    except SMDebugError as error:
        assert error.code == "INVALID_CONFIG"
        assert str(path) in str(error)
        return False
    return True


@pytest.mark.parametrize("document", GOOD, ids=str)
def test_both_accept(tmp_path, document):
    SCHEMA.validate(document)
    assert is_accepted(tmp_path / "hook.json", document)


@pytest.mark.parametrize("document", BAD, ids=str)
def test_both_refuse(tmp_path, document):
    assert not SCHEMA.is_valid(document)
    assert not is_accepted(tmp_path / "hook.json", document)


@pytest.mark.parametrize("document", SENSELESS, ids=str)
def test_the_library_refuses_valid_forms_without_sense(tmp_path, document):
    assert SCHEMA.is_valid(document)
    assert not is_accepted(tmp_path / "hook.json", document)
