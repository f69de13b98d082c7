"""Dask and Ray take a scan, which has its table and conditions."""

import pytest
import smdebug
import smdebug.dask
import smdebug.ray
from smdebug.exceptions import SMDebugValueError


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
