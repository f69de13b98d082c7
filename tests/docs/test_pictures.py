"""Tests that the pictures of the docs show what the program shows today: takes them again, from real trainings.

`make pictures` writes them into docs; that of TensorBoard needs a Python of its own, and only this command takes it."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from picture_difference import differing
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("live-list.png", "live-run.png", "report.png", "tutorial-findings.png", "tutorial-layers.png")


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    command = [sys.executable, ROOT / "tools/pictures.py", "--into", folder, *NAMES]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_of_today(name, taken):
    now, shown = (Image.open(io.BytesIO((folder / name).read_bytes())).convert("RGB") for folder in (taken, ROOT / "docs"))
    assert now.width == shown.width
    assert abs(now.height - shown.height) < 60, "run `make pictures`, and look at them"
    size = (now.width, min(now.height, shown.height))  # a page may be longer by a line
    share = differing(*(each.crop((0, 0, *size)) for each in (now, shown)))
    assert share < 0.05, f"{share:.1%} of docs/{name} differ: run `make pictures`, and look at them"
