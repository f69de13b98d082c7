"""What the tests of all frameworks' hooks share.

Each folder runs in an environment of its own: tools/test_frameworks.sh makes them.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Iterator

import pytest

from smdebug.core.singleton_utils import del_hook


@pytest.fixture(autouse=True)
def strict_and_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hides the machine's settings and other tests' hooks, and makes failures visible."""
    for name in list(os.environ):
        if name.startswith("SMDEBUG_") and not name.endswith("_ORIGINAL_PYTHON"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SMDEBUG_RAISE_ERRORS", "1")
    # The logger limits a repeated line to three times in total; reset that for each test.
    for each in logging.getLogger("smdebug").filters:
        getattr(each, "msgs", {}).clear()
    yield
    del_hook()


@pytest.fixture
def out_dir(tmp_path: Path) -> str:
    """The folder of a test's trial, which does not exist yet."""
    return str(tmp_path / "trial")
