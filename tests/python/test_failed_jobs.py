"""What a trial says of a job that failed."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers import EVERY_STEP
from smdebug import Hook, create_trial

HOOK = """
import sys
import smdebug
hook = smdebug.Hook({folder!r}, include_collections=["losses"], save_config=smdebug.SaveConfig(save_interval=1))
hook.begin_step()
hook.save("loss", 1.0)
hook.end_step()
"""


def run(folder, script):
    code = HOOK.format(folder=str(folder)) + script
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def ending(folder):
    return (Path(folder) / "training_job_end.ts").read_text(encoding="utf-8")


def failure(folder):
    return create_trial(str(folder)).failure


@pytest.mark.parametrize(
    "script, reason",
    [
        ("raise ValueError('bad batch')", "ValueError: bad batch"),
        ("with hook: raise ValueError('a\\n  b')", "ValueError: a b"),
        ("with hook: raise ValueError('\\udcff\\0')", "ValueError: ??"),
        ("raise ValueError('x' * 10000)", "ValueError: " + "x" * 488),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("with hook: sys.exit(3)", "SystemExit: 3"),
        (
            "class Bad(Exception):\n  def __str__(self): raise OSError\nraise Bad",
            "Bad: <exception str() failed>",
        ),
    ],
)
def test_an_exception_that_ends_the_job_is_its_failure(tmp_path, script, reason):
    assert run(tmp_path / "run", script).returncode != 0
    assert ending(tmp_path / "run") == reason
    assert failure(tmp_path / "run") == reason
    assert create_trial(str(tmp_path / "run")).steps() == [0]


@pytest.mark.parametrize(
    "script",
    [
        "",
        "with hook: sys.exit()",
        "with hook: sys.exit(0)",
        "try: raise ValueError\nexcept ValueError: pass",
        "hook.close()\nraise ValueError",
        "sys.ps1 = '>>> '\nraise ValueError",
    ],
)
def test_any_other_job_is_finished(tmp_path, script):
    run(tmp_path / "run", script)
    assert ending(tmp_path / "run") == ""
    assert failure(tmp_path / "run") is None


def workers(path):
    """Returns the hooks of three workers that have recorded a step."""
    settings = {"save_config": EVERY_STEP, "num_workers": 3, "include_workers": "all"}
    hooks = [Hook(str(path), worker=f"worker_{i}", **settings) for i in range(3)]
    for hook in hooks:
        hook.begin_step()
        hook.save("loss", np.float32(1))
        hook.end_step()
    return hooks


def test_the_failure_of_one_worker_stays(tmp_path):
    hooks = workers(tmp_path / "run")
    hooks[0].close()
    hooks[1].set_metadata({"run.failure": "no memory"})
    hooks[1].close()
    hooks[2].close()
    assert ending(tmp_path / "run") == failure(tmp_path / "run") == "no memory"


def test_workers_that_fail_at_once(tmp_path):
    texts = ["the first ran out of memory", "second", ""]
    for attempt in range(20):
        hooks = workers(tmp_path / f"{attempt}")
        for hook, text in zip(hooks, texts):
            hook.set_metadata({"run.failure": text})
        with ThreadPoolExecutor(3) as threads:
            for closed in [threads.submit(hook.close) for hook in hooks]:
                closed.result()
        assert ending(tmp_path / f"{attempt}") in texts[:2]
        assert [each.name for each in (tmp_path / f"{attempt}").glob("*.tmp")] == []


def test_other_hooks_are_closed_if_one_cannot_be(tmp_path):
    script = f"""
import shutil
other = smdebug.Hook({str(tmp_path / "other")!r})
hook.flush(30)  # else the folder could be made again
shutil.rmtree({str(tmp_path / "run")!r})
"""
    done = run(tmp_path / "run", script)
    assert "cannot close the hook of" in done.stderr and "Traceback" not in done.stderr
    assert ending(tmp_path / "other") == ""
