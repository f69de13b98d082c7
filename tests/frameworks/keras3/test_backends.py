"""The same tests with TensorFlow as the backend of Keras 3."""

import os
import subprocess
import sys
from pathlib import Path


def test_with_tensorflow():
    """Runs the tests that differ between backends, each backend in its own process."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + ["test_fit.py", "test_integrations.py"]
        + ["-k", "callback or names or jit_compile or saved_meanwhile or test_integrations"],
        cwd=Path(__file__).parent,
        env={**os.environ, "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
