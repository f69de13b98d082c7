"""A training of two processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import smdebug.xgboost as smd
from xgboost.tracker import RabitTracker

SCRIPT = Path(__file__).parent / "worker.py"


@pytest.fixture
def folder(tmp_path):
    """Returns the folder in which two workers have recorded."""
    tracker = RabitTracker(n_workers=2, host_ip="127.0.0.1", timeout=60)
    tracker.start()
    arguments = json.dumps(tracker.worker_args())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    workers = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(tmp_path), arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(2)
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=90)
        assert worker.returncode == 0, errors
    return tmp_path


def test_each_worker_records_under_its_rank(folder):
    trial = smd.create_trial(str(folder / "all"))
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.steps() == [0, 1]
    labels = trial.tensor("labels")
    assert [len(labels.value(1, worker=f"worker_{rank}")) for rank in range(2)] == [10, 11]
    trial = smd.create_trial(str(folder / "one"))
    assert trial.workers() == ["worker_0"]
    assert len(trial.tensor("labels").value(1)) == 10
    trial = smd.create_trial(str(folder / "callback"))
    assert trial.workers() == ["worker_0", "worker_1"] and trial.loaded_all_steps
    metric = trial.tensor("train-auc")
    values = [metric.value(1, worker=f"worker_{rank}") for rank in range(2)]
    assert values[0] == values[1], "XGBoost averages metrics over the workers"
