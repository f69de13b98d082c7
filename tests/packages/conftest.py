"""The packages, built once."""

from __future__ import annotations

import re
import sys
import tarfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "s3"))

from environments import ROOT, new_environment, run  # noqa: E402


@pytest.fixture
def environment(tmp_path):
    return new_environment(tmp_path / "venv")


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """The folder in which tools/wheel.sh leaves the wheel and the source package."""
    folder = tmp_path_factory.mktemp("packages")
    run(ROOT / "tools/wheel.sh", folder, timeout=1500)
    return folder


@pytest.fixture(scope="session")
def wheel(packages):
    [path] = packages.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def unpacked(wheel, tmp_path_factory):
    """What is in the wheel."""
    folder = tmp_path_factory.mktemp("unpacked")
    run(sys.executable, "-m", "zipfile", "-e", wheel, folder)
    return folder


@pytest.fixture(scope="session")
def source_package(packages):
    [path] = packages.glob("*.tar.gz")
    return path


@pytest.fixture(scope="session")
def sources(source_package, tmp_path_factory):
    """The unpacked source package."""
    folder = tmp_path_factory.mktemp("sources")
    with tarfile.open(source_package) as archive:
        archive.extractall(folder, filter="data")
    [root] = folder.iterdir()
    return root


@pytest.fixture(scope="session")
def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(smdebug VERSION ([0-9.]+)", text).group(1)
