"""The same with TensorFlow behind Keras 3."""

import os
import subprocess
import sys
from pathlib import Path


def test_with_tensorflow():
    """What is told apart by backends, in a process of its own: each has one backend."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_fit.py"]
        + ["-k", "callback or names or jit_compile or saved_meanwhile"],
        cwd=Path(__file__).parent,
        env={**os.environ, "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
