"""What a job records about itself."""

import platform

import numpy as np
import pytest
from helpers import EVERY_STEP
from smdebug import Hook, create_trial
from smdebug.exceptions import SMDebugValueError


@pytest.fixture
def hook(tmp_path):
    with Hook(str(tmp_path / "run"), save_all=True, save_config=EVERY_STEP) as hook:
        yield hook


def step(hook):
    hook.begin_step()
    hook.save("loss", 1.0)
    hook.end_step()
    hook.flush()


def test_values_are_texts_or_json(hook):
    hook.set_metadata({"layers": [64, 10], "note": "first try", "層": None}, rate=0.1, augment=True)
    hook.set_metadata(scale=np.float32(0.5), depth=np.int64(3))
    step(hook)
    metadata = create_trial(hook.out_dir).metadata()
    recorded = {key: value for key, value in metadata.items() if not key.startswith("run.")}
    assert recorded == {
        "layers": "[64, 10]",
        "note": "first try",
        "層": "null",
        "rate": "0.1",
        "augment": "true",
        "scale": "0.5",
        "depth": "3",
    }


def test_what_json_has_not_is_recorded_as_python_prints_it(hook):
    loop = []
    loop.append(loop)
    hook.set_metadata(shapes={(1, 2): "a"}, loop=loop)
    step(hook)
    metadata = create_trial(hook.out_dir).metadata()
    assert (metadata["shapes"], metadata["loop"]) == ("{(1, 2): 'a'}", "[[...]]")


def test_where_and_on_what_it_runs(hook):
    step(hook)
    metadata = create_trial(hook.out_dir).metadata("worker_0")
    assert metadata["run.python"] == platform.python_version()
    assert metadata["run.numpy"] == np.__version__
    assert metadata["run.host"] == platform.node()
    assert metadata["run.library"].startswith("libsmdebug ")


def test_a_running_job_changes_it(hook):
    hook.set_metadata(rate=1)
    step(hook)
    trial = create_trial(hook.out_dir)
    hook.set_metadata(rate=2)
    assert trial.metadata()["rate"] == "1"
    step(hook)
    assert trial.metadata()["rate"] == "2"
    assert trial.metadata("no such worker") == {}


def test_what_it_refuses(hook):
    for wrong in ({"": 1}, {"a\nb": 1}, {"a": "x" * 65537}, {"k" * 257: 1}):
        with pytest.raises(SMDebugValueError, match="metadata|key is empty"):
            hook.set_metadata(wrong)
    with pytest.raises(TypeError):
        hook.set_metadata({1: "a"})
    with pytest.raises((SMDebugValueError, ValueError)):
        hook.set_metadata({"a\0b": 1})

