"""The umask decides who may read the files of a hook."""

import os
import stat
import subprocess
import sys

import pytest

RECORD = """
import numpy as np
import smdebug as smd

with smd.Hook("run", save_all=True, export_tensorboard=True) as hook:
    with hook.step(smd.modes.TRAIN):
        hook.save("weight", np.ones(3, np.float32))
        hook.save_scalar("loss", 1.0, sm_metric=False)
"""


@pytest.mark.parametrize("umask", [0o077, 0o027, 0o022])
def test_files_and_folders_follow_the_umask(umask, tmp_path):
    subprocess.run(
        [sys.executable, "-c", RECORD], cwd=tmp_path, umask=umask, timeout=60, check=True, env=os.environ
    )
    names = [tmp_path / "run", *(tmp_path / "run").rglob("*")]
    assert len(names) > 5
    for name in names:
        rights = 0o777 if name.is_dir() else 0o666
        assert stat.S_IMODE(name.stat().st_mode) == rights & ~umask, name
