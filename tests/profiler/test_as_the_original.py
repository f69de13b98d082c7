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


SCENARIOS = ["healthy", "step_outliers", "multi_node", "torn_line"]


def dumped(python, folders, out, environment):
    """Returns what a package reads from each folder."""
    out.mkdir()
    done = subprocess.run(
        [python, str(HERE / "dump_profile.py"), str(out), *map(str, folders)],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "SMDEBUG_LOG_LEVEL": "off", "TZ": "UTC", "PYTHONHASHSEED": "0"},
    )
    assert done.returncode == 0, done.stderr
    read = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(read) == len(folders)
    return read


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiles")
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    folders = [HERE / "fixtures" / scenario for scenario in SCENARIOS]
    theirs = dumped(ORIGINAL, folders, folder / "theirs", plain)
    ours = dumped(sys.executable, folders, folder / "ours", dict(os.environ))
    return dict(zip(SCENARIOS, ours)), dict(zip(SCENARIOS, theirs))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_both_read_the_same(scenario, both):
    ours, theirs = (each[scenario] for each in both)
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
