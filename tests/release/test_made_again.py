"""Making the files of a release again gives the same bytes; `make wheel`, `make jar` and `make deb` alone, too."""

from __future__ import annotations

import shutil

import pytest
from installing import first_block
from roots import ROOT, run
from systems import ARCHITECTURES

BUILDS = [ROOT / f"build/portable-{each}" for each in ARCHITECTURES]

pytestmark = pytest.mark.timeout(3000)


def check_same(folder, release):
    made = [path for path in folder.rglob("*") if path.is_file()]
    for path in made:
        is_same = path.read_bytes() == (release / path.relative_to(folder)).read_bytes()
        assert is_same, path  # a comparison of bytes that fails would be explained byte by byte
    return {path.name for path in made}


@pytest.mark.parametrize("script", ["dist", "go_module", "jar", "npm", "crates"])
def test_a_second_packing_makes_the_same_bytes(script, release, tmp_path):
    """In another folder."""
    folder = tmp_path / "go" if script == "go_module" else tmp_path
    builds = BUILDS if script in ("go_module", "jar", "npm") else []
    run([ROOT / f"tools/{script}.sh", folder, *builds], 600)
    assert check_same(tmp_path, release)


def test_second_wheels_are_the_same_bytes(release, tmp_path):
    run([ROOT / "tools/wheel.sh", tmp_path, *ARCHITECTURES], 2400)
    assert len(check_same(tmp_path, release)) == 3


def test_second_debian_packages_are_the_same_bytes(release, tmp_path):
    """From a build folder of another name, too."""
    run([ROOT / "tools/deb.sh", ROOT / "build/another deb", tmp_path], 2400)
    shutil.rmtree(ROOT / "build/another deb")
    assert len(check_same(tmp_path, release)) == 3


def test_make_wheel_and_make_deb(release, tmp_path):
    run(["make", "-C", ROOT, "wheel", "deb", f"DIST={tmp_path}"], 2400)
    names = check_same(tmp_path, release)
    assert len([name for name in names if name.endswith(".whl")]) == 1
    assert len([name for name in names if name.endswith(".deb")]) == 3


def test_make_jar(version, tmp_path):
    """That of this machine only; it runs a program of the page."""
    run(["make", "-C", ROOT, "jar", f"DIST={tmp_path}"], 2400)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"smdebug-{version}{part}.jar" for part in ("", "-sources", "-javadoc")
    }
    (tmp_path / "FirstTrial.java").write_text(first_block("docs/java.md", "java"))
    printed = run(["java", "-cp", tmp_path / f"smdebug-{version}.jar", "FirstTrial.java"], cwd=tmp_path)
    assert "OptionalLong[30]" in printed
