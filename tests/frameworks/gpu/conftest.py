"""Finds the helpers of the other PyTorch tests, and asks for a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

for folder in ("pytorch", "pytorch-newest"):
    sys.path.insert(0, str(Path(__file__).parent.parent / folder))


def pytest_sessionstart(session: pytest.Session) -> None:
    if not torch.cuda.is_available():
        pytest.exit("these tests need a GPU that PyTorch can use", returncode=1)
