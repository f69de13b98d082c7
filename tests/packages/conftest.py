"""The source package, built once."""

from __future__ import annotations

import tarfile

import pytest

from environments import ROOT, new_environment, run


@pytest.fixture
def environment(tmp_path):
    return new_environment(tmp_path / "venv")


@pytest.fixture(scope="session")
def source_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    run(ROOT / "tools/wheel.sh", folder, timeout=300)
    [path] = folder.glob("*.tar.gz")
    return path


@pytest.fixture(scope="session")
def sources(source_package, tmp_path_factory):
    """The unpacked source package."""
    folder = tmp_path_factory.mktemp("sources")
    with tarfile.open(source_package) as archive:
        # Debian 12's Python has no filters; the archive is our own.
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    [root] = folder.iterdir()
    return root
