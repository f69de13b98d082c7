"""Scans that are given: to Dask and Ray, and of trials that are gone."""

import shutil

import pytest
import smdebug
import smdebug.dask
import smdebug.ray
from smdebug.exceptions import SMDebugValueError
from smdebug.rules import evaluate_many_trials


@pytest.fixture
def scan(tmp_path):
    with smdebug.Hook(str(tmp_path / "run"), save_config=smdebug.SaveConfig(save_interval=1)) as hook:
        with hook.step():
            hook.save("loss", 1.0)
    return smdebug.scan(tmp_path, "scalars")


@pytest.mark.parametrize("read", [smdebug.dask.read, smdebug.ray.read])
def test_conditions_beside_a_scan_are_refused(scan, read):
    with pytest.raises(SMDebugValueError, match=r"give tensors='loss' to smdebug\.scan\(\)"):
        read(scan, tensors="loss")
    with pytest.raises(SMDebugValueError, match="give table='trials'"):
        read(scan, "trials")


def test_a_trial_that_is_gone_is_a_row(tmp_path, scan):
    [part] = smdebug.scan(tmp_path, "findings").partitions()
    shutil.rmtree(tmp_path / "run")
    rows = evaluate_many_trials._rows_of_scan(part)
    assert rows["trial"].to_pylist() == ["run"]
    assert str(tmp_path) in rows["problem"][0].as_py()
