"""Profiler folders, as 1.0.34 and this package read them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ORIGINAL = os.environ.get("SMDEBUG_ORIGINAL_PYTHON", "")

pytestmark = pytest.mark.timeout(120)


def dumped(python, folder, out, environment):
    done = subprocess.run(
        [
            python,
            str(HERE / "dump_profile.py"),
            str(folder),
            str(folder / "queries.json"),
            str(out),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "SMDEBUG_LOG_LEVEL": "off", "TZ": "UTC", "PYTHONHASHSEED": "0"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("scenario", ["healthy", "step_outliers", "multi_node", "torn_line"])
def test_both_read_the_same(scenario, tmp_path):
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    folder = HERE / "fixtures" / scenario
    theirs = dumped(ORIGINAL, folder, tmp_path / "theirs", plain)
    ours = dumped(sys.executable, folder, tmp_path / "ours", dict(os.environ))
    assert ours.keys() == theirs.keys()
    for part in ("timesteps", "begin_end"):
        for mine, other in zip(ours[part], theirs[part]):
            assert mine == pytest.approx(other), part
    for part in ("files", "system", "framework", "steps", "merged", "frames", "by_step"):
        assert ours[part] == theirs[part], part
    if theirs["phases"] is None:
        return
    for part in ("phases", "job", "use"):
        assert ours[part] == theirs[part], part
    assert len(ours["statistics"]) == len(theirs["statistics"])
    for mine, other in zip(ours["statistics"], theirs["statistics"]):
        assert mine[0] == other[0]
        assert mine[1:] == pytest.approx(other[1:])
