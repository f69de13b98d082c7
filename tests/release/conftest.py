"""The files of a release, made once, or taken from the folder that SMDEBUG_RELEASE names."""

from __future__ import annotations

import os
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from roots import ROOT, Root, run
from systems import ARCHITECTURES, TRIED

sys.path.append(str(ROOT / "tests/embed"))


@pytest.fixture(scope="session")
def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(smdebug VERSION ([0-9.]+)", text).group(1)


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    """The folder with all files."""
    made = Path(os.environ["SMDEBUG_RELEASE"])
    if made.is_dir():
        return made.absolute()
    folder = tmp_path_factory.mktemp("release")
    run([ROOT / "tools/release.sh", folder, *ARCHITECTURES], 3000)
    return folder


def unpack(archive, folder):
    if archive.suffix == ".gz":
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="tar")
    else:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                path = Path(opened.extract(member, folder))
                if path.is_file():
                    path.chmod(member.external_attr >> 16 & 0o777 or 0o644)
    return folder


@pytest.fixture(scope="session")
def archives(release, version, tmp_path_factory):
    """The archives for each architecture, unpacked: the folders by architecture."""
    folder = tmp_path_factory.mktemp("archives")
    names = {each: f"libsmdebug-{version}-linux-{each}" for each in ARCHITECTURES}
    return {each: unpack(release / f"{name}.tar.gz", folder) / name for each, name in names.items()}


@pytest.fixture(scope="session")
def wheels(release, tmp_path_factory):
    """The unpacked wheels by architecture."""
    folders = {}
    for each in ARCHITECTURES:
        [wheel] = release.glob(f"*_{each}.whl")
        folders[each] = unpack(wheel, tmp_path_factory.mktemp("wheel"))
    return folders


@pytest.fixture(scope="session")
def jar(release, version):
    return release / f"smdebug-{version}.jar"


@pytest.fixture(scope="session")
def jar_contents(jar, tmp_path_factory):
    return unpack(jar, tmp_path_factory.mktemp("jar"))


@pytest.fixture(scope="session")
def go_module(release, tmp_path_factory):
    """The unpacked Go module."""
    [module] = release.glob("go/**/*.zip")
    folder = unpack(module, tmp_path_factory.mktemp("module"))
    [go_mod] = folder.rglob("go.mod")
    return go_mod.parent


@pytest.fixture(scope="session")
def debian_11():
    """Debian 11 with a C compiler and Java, but none of the libraries that libsmdebug uses."""
    return Root("bullseye", "x86_64", ["libc6-dev", "gcc", "pkg-config", "openjdk-17-jre-headless", "coreutils"])


@pytest.fixture(scope="session")
def debian_11_arm():
    return Root("bullseye", "aarch64", ["libc6"])


@pytest.fixture(scope="session")
def debian_12_arm():
    return Root("bookworm", "aarch64", ["libc6", "python3-minimal", "libpython3-stdlib"])


@pytest.fixture(scope="session")
def debian_13():
    return Root("trixie", "x86_64", ["base-files", "libc6", "coreutils", "python3-minimal", "libpython3-stdlib"])


@pytest.fixture
def tried():
    """Notes what a test has tried; say it at the test's end."""
    return lambda *row: TRIED.append(row)
