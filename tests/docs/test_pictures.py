"""Tests that the pictures of the docs show what the program shows today: takes them again, from real trainings.

`make pictures` writes them into docs; that of TensorBoard needs a Python of its own, and only this command takes it."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageChops

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("live-list.png", "live-run.png", "report.png", "tutorial-findings.png", "tutorial-layers.png")


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    command = [sys.executable, ROOT / "tools/pictures.py", "--into", folder, *NAMES]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def differing(picture, other):
    """Returns the share of places that differ clearly, apart from the last rows of a page of another length."""
    size = (picture.width, min(picture.height, other.height))
    small = [
        each.convert("RGB").crop((0, 0, *size)).resize((size[0] // 4, size[1] // 4), Image.BOX) for each in (picture, other)
    ]
    return float((np.asarray(ImageChops.difference(*small)).max(axis=2) > 48).mean())


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_of_today(name, taken):
    now, shown = (Image.open(io.BytesIO((folder / name).read_bytes())).convert("RGB") for folder in (taken, ROOT / "docs"))
    assert now.width == shown.width
    assert abs(now.height - shown.height) < 60, "run `make pictures`, and look at them"
    share = differing(now, shown)
    assert share < 0.05, f"{share:.1%} of docs/{name} differ: run `make pictures`, and look at them"
