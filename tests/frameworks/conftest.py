"""What the tests of all frameworks' hooks share.

Each folder runs in an environment of its own: tools/test_frameworks.sh makes them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterator

import pytest

from smdebug.core.singleton_utils import del_hook


@pytest.fixture(autouse=True)
def strict_and_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings of the machine, no hook of another test, and failures that are seen."""
    for name in list(os.environ):
        if name.startswith("SMDEBUG_") and not name.endswith("_ORIGINAL_PYTHON"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SMDEBUG_RAISE_ERRORS", "1")
    yield
    del_hook()


@pytest.fixture
def out_dir(tmp_path: Path) -> str:
    """Where a test's trial goes; it does not exist yet."""
    return str(tmp_path / "trial")
