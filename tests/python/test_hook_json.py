"""Hooks created from the service's configuration files."""

import json

import pytest
from smdebug import Hook


class FrameworkLike(Hook):
    """A hook that begins with collections of its own, as the hooks of frameworks do."""

    _builtin_collections = {"all": [], "default": [], "metrics": ["^metric"]}


@pytest.fixture
def configured(tmp_path):
    """Creates a hook of a class from HookParameters and settings of the collection default."""

    def make(hook_class, parameters, of_default=None):
        collections = [{"CollectionName": "default", "CollectionParameters": of_default}]
        settings = {
            "LocalPath": str(tmp_path / "run"),
            "HookParameters": {**parameters, "save_interval": 1},
            "CollectionConfigurations": collections,
        }
        path = tmp_path / "hook.json"
        path.write_text(json.dumps(settings))
        hook = hook_class.create_from_json_file(str(path))
        hook.begin_step()
        return hook

    return make


@pytest.mark.parametrize("hook_class", [Hook, FrameworkLike])
def test_include_regex_counts_beside_the_expressions_of_a_collection(configured, hook_class):
    with configured(hook_class, {"include_regex": "^a"}, {"include_regex": "^b"}) as hook:
        assert [name for name in ("a", "b", "c") if hook.wants(name)] == ["a", "b"]
        assert sorted(hook.get_collection("default").include_regex) == ["^a", "^b"]


@pytest.mark.parametrize("hook_class", [Hook, FrameworkLike])
def test_save_all_saves_what_is_in_no_collection(configured, hook_class):
    with configured(hook_class, {"save_all": True}) as hook:
        assert hook.wants("anything")
