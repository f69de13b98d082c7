"""Runs the tests of Keras 3 with another backend."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_with(backend: str, *options: str) -> None:
    """Runs the tests that no backend is part of, in a process of their own."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "120"]
        + ["test_fit.py", "../keras_both/test_integrations.py", *options],
        cwd=Path(__file__).parent / "keras3",
        env={**os.environ, "KERAS_BACKEND": backend, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
