"""The files of a release, made once, or taken from the folder that SMDEBUG_RELEASE names."""

from __future__ import annotations

import os
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from main_build import VERSION
from roots import ROOT, Root, run
from systems import ARCHITECTURES, TRIED

sys.path.append(str(ROOT / "tests/embed"))


@pytest.fixture(scope="session")
def version():
    return VERSION


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    """The folder with all files."""
    made = Path(os.environ["SMDEBUG_RELEASE"])
    if made.is_dir():
        return made.absolute()
    folder = tmp_path_factory.mktemp("release")
    run([ROOT / "tools/release.sh", folder, *ARCHITECTURES], 3000)
    return folder


def packages_of(page):
    """The packages of Debian that a page lists for building."""
    install = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8").partition("\n## Install")[2]
    [listed] = re.findall(r"^```text\n([^`]*?rapidjson-dev[^`]*?)^```", install, re.MULTILINE)
    return listed.split()


def unpack(archive, folder):
    if archive.suffix in (".gz", ".tgz"):
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
def node_package(release, version):
    return release / f"smdebug-{version}.tgz"


@pytest.fixture(scope="session")
def node_contents(node_package, tmp_path_factory):
    return unpack(node_package, tmp_path_factory.mktemp("node")) / "package"


@pytest.fixture(scope="session")
def debian_11():
    """Debian 11 with a C compiler and Java, but none of the libraries that libsmdebug uses."""
    return Root("bullseye", "x86_64", ["libc6-dev", "gcc", "pkg-config", "openjdk-17-jre-headless", "coreutils"])


@pytest.fixture(scope="session")
def debian_11_arm():
    return Root("bullseye", "aarch64", ["libc6", "openjdk-17-jre-headless"])


@pytest.fixture(scope="session")
def debian_12_arm():
    return Root("bookworm", "aarch64", ["libc6", "python3-minimal", "libpython3-stdlib", "python3-pip"])


@pytest.fixture(scope="session")
def debian_12_to_build():
    """Debian 12 with exactly the packages that docs/python.md lists."""
    return Root("bookworm", "x86_64", packages_of("python"), "to-build", apt=True)


@pytest.fixture(scope="session")
def debian_12_to_build_java():
    """Debian 12 with exactly the packages that docs/java.md lists."""
    return Root("bookworm", "x86_64", packages_of("java"), "to-build-java", apt=True)


@pytest.fixture(scope="session")
def debian_12_for_packages(release):
    """Debian 12 with what the Debian packages depend on, and a compiler."""
    wanted = set()
    for package in release.glob("*.deb"):
        depends = run(["dpkg-deb", "--field", package, "Depends"])
        wanted |= {each.split()[0] for each in depends.replace("|", ",").split(",") if each.strip()}
    ours = {path.name.split("_")[0] for path in release.glob("*.deb")}
    return Root("bookworm", "x86_64", ["gcc", "libc6-dev", "pkg-config", *sorted(wanted - ours)], "for-packages", apt=True)


@pytest.fixture(scope="session")
def debian_13():
    """Set up, as pip reads the certificates even where it needs none."""
    return Root("trixie", "x86_64", ["python3-pip", "nodejs"], apt=True)


@pytest.fixture(scope="session")
def debian_13_arm():
    return Root("trixie", "aarch64", ["base-files", "libc6", "nodejs"])


@pytest.fixture
def tried():
    """Notes what a test has tried; say it at the test's end."""
    return lambda *row: TRIED.append(row)
