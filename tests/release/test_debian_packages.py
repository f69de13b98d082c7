"""The Debian packages of a release, installed by apt on a Debian 12 with their dependencies alone."""

from __future__ import annotations

import shutil

from installing import first_block

PACKAGES = ["libsmdebug1", "libsmdebug-dev", "smdebug"]


def test_install_use_and_remove(release, debian_12_for_packages, version, tried):
    root = debian_12_for_packages
    with root.folder() as work:
        names = []
        for package in release.glob("*.deb"):
            shutil.copy(package, work)
            names.append(f"./{package.name}")
        (work / "first.c").write_text(first_block("README.md", "c"))
        try:
            root.run(["apt-get", "install", "--yes", *names], DEBIAN_FRONTEND="noninteractive")
            flags = root.run(["pkg-config", "--cflags", "--libs", "smdebug"]).split()
            root.run(["gcc", "first.c", "-o", "first", *flags])
            assert "4 x 3, 1 finding(s)" in root.run(["./first"])
            assert root.run(["smdebug", "--version"]) == f"smdebug {version}\n"
            assert "gradient/layer1.weight" in root.run(["smdebug", "ls", "c_run"])
        finally:
            root.run(["dpkg", "--purge", *PACKAGES])
        left = root.run(["find", "/usr", "/etc", "-name", "*smdebug*"])
        assert left == ""
    tried("Debian 12", "Debian packages", "x86_64", "ran")
