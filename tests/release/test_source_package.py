"""The source package, built by pip in a Debian 12 that has the packages of docs/python.md and no others."""

from __future__ import annotations

import shutil
import sys
import tomllib

import pytest
from roots import ROOT, run

SMOKE = ROOT / "tests/packages/smoke.py"


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """What pip fetches to build: the root has no network."""
    folder = tmp_path_factory.mktemp("tools")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["build-system"]["requires"], "cmake>=3.25", "ninja>=1.5"]
    run([sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *wanted], 300)
    return folder


@pytest.mark.timeout(2700)
def test_pip_builds_it_with_the_packages_of_the_page(release, version, tools, debian_12_to_build, tried):
    root = debian_12_to_build
    with root.folder() as work:
        shutil.copytree(tools, work / "tools")
        archive = f"libsmdebug-{version}.tar.gz"
        shutil.copy(release / archive, work)
        shutil.copy(SMOKE, work)
        root.run(["python3", "-m", "venv", "venv"])
        install = ["venv/bin/pip", "install", "--no-index", "--find-links", "tools", archive]
        with pytest.raises(AssertionError) as failed:
            root.run(install, 300, PKG_CONFIG_LIBDIR="/nonexistent")
        said = " ".join(str(failed.value).split())
        assert "On Debian, run apt install libcjson-dev libhwy-dev libpcre2-dev libssl-dev libcurl4-openssl-dev" in said
        assert "with pip: -Ccmake.define.SMDEBUG_S3=OFF" in said
        root.run(install, 2400)
        assert "without numpy" in root.run(["venv/bin/python", "smoke.py", "run"])
        assert "features" in root.run(["venv/bin/smdebug", "doctor"])
    tried("Debian 12", "source package", "x86_64", "ran")
