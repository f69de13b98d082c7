"""Trials of the same seeded trainings, by the original and by this library."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import smdebug
import smdebug.xgboost as smd
from trainings import BINARY, EVERY_ROUND, train

HERE = Path(__file__).parent
ORIGINAL = os.environ.get("SMDEBUG_XGBOOST_ORIGINAL_PYTHON", "")
PACKAGE = str(Path(smdebug.__file__).parents[1])
NO_WAITS = {"SMDEBUG_TRAINING_END_DELAY_REFRESH": "0", "SMDEBUG_TRIAL_WAIT_SECONDS": "10"}


@pytest.fixture(autouse=True)
def no_waits(strict_and_alone, monkeypatch):
    """Makes finished trials readable without a wait."""
    for name, value in NO_WAITS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def record(out_dir):
    """Trains with a hook that saves every round, and opens the trial."""

    def run(params=BINARY, train_data=None, validation_data=None, rounds=3, **options):
        hook = smd.Hook(
            out_dir,
            **{"save_config": EVERY_ROUND, **options},
            train_data=train_data,
            validation_data=validation_data,
        )
        with hook:
            model = train(hook, params, train_data, validation_data, rounds)
        return model, smd.create_trial(out_dir)

    return run


def run_in_environment_of_original(script, folder, **settings):
    """Returns the last line that a script prints in the original's environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [ORIGINAL, "-W", "ignore", str(HERE / script), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, **NO_WAITS, "SMDEBUG_RAISE_ERRORS": "1", **settings},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().rpartition("\n")[2]


@pytest.fixture(scope="session")
def trainings(tmp_path_factory):
    """Returns trial folders: by the original, by this library, and by it as a plain function."""
    ours = {"PYTHONPATH": PACKAGE}
    folders = {}
    for writer, settings in (
        ("original", {}),
        ("ours", ours),
        ("plain", {**ours, "PLAIN_FUNCTIONS": "1"}),
    ):
        folders[writer] = tmp_path_factory.mktemp(writer)
        run_in_environment_of_original("trainings.py", folders[writer], **settings)
    return folders


@pytest.fixture(scope="session")
def read_by_original(trainings):
    """Returns the content that the original reads from the trials, by writer and case."""
    return {
        writer: json.loads(run_in_environment_of_original("described.py", folder))
        for writer, folder in trainings.items()
    }
