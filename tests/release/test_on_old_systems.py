"""Files of a release at work on systems that lack every library that libsmdebug uses."""

from __future__ import annotations

import shutil
import sys

import pytest
from installing import first_block
from roots import ROOT, run

JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
JAVA_PRINTS = "OptionalLong[30]"
PRINTED = "4 x 3, 1 finding(s)"
SMOKE = ROOT / "tests/packages/smoke.py"


def check_trial(printed):
    assert "gradient/layer1.weight" in printed


def test_the_root_has_none_of_the_libraries(debian_11):
    found = [path.name for pattern in ("libcurl*", "libcjson*", "libhwy*", "libmicrohttpd*", "libc++*")
             for path in debian_11.path.rglob(f"lib/**/{pattern}.so*")]  # fmt: skip
    assert found == []


@pytest.mark.parametrize("linked", ["shared", "static"])
def test_a_c_program_of_debian_11(linked, debian_11, archives, tried):
    with debian_11.folder() as work:
        shutil.copytree(archives["x86_64"], work / "smdebug", symlinks=True)
        (work / "first.c").write_text(first_block("README.md", "c"))
        options = ["--static"] if linked == "static" else []
        flags = debian_11.run(["pkg-config", *options, "--cflags", "--libs", "smdebug"],
                              PKG_CONFIG_PATH="/test/smdebug/lib/pkgconfig").split()  # fmt: skip
        if linked == "static":
            flags = [flag.replace("-lsmdebug", "-l:libsmdebug.a") for flag in flags]
        debian_11.run(["gcc", "first.c", "-o", "first", *flags, "-Wl,-rpath,/test/smdebug/lib"])
        assert PRINTED in debian_11.run(["./first"])
        check_trial(debian_11.run(["smdebug/bin/smdebug", "ls", "c_run"]))
        needed = run(["readelf", "-d", work / "first"])
        assert ("libsmdebug.so.1" in needed) == (linked == "shared")
    tried("Debian 11", "archive", "x86_64", "ran")


def test_the_program_of_the_wheel_on_debian_11(debian_11, wheels, tried):
    """Debian 11 has Python 3.9, and the wheel needs 3.11; its library and its program run there."""
    with debian_11.folder() as work:
        shutil.copytree(wheels["x86_64"] / "smdebug", work / "smdebug")
        assert "features" in debian_11.run(["smdebug/bin/smdebug", "doctor"])
    tried("Debian 11", "wheel", "x86_64", "its program ran")


def compile_java(jar, folder):
    """Compiles the first program of the page; returns the name of its class."""
    (folder / "First.java").write_text(first_block("docs/java.md", "java"))
    run(["javac", "--release", "17", "-cp", jar, "-d", folder, folder / "First.java"])
    [name] = [path.stem for path in folder.glob("*.class") if b"main" in path.read_bytes() and "$" not in path.name]
    return name


def test_the_jar_on_debian_11(debian_11, jar, tried):
    with debian_11.folder() as work:
        shutil.copy(jar, work / "smdebug.jar")
        name = compile_java(jar, work)
        assert JAVA_PRINTS in debian_11.run([JAVA, "-cp", "smdebug.jar:.", name], TMPDIR="/test")
    tried("Debian 11", "jar", "x86_64", "ran")


def test_the_jar_on_debian_11_for_arm(debian_11_arm, jar, tmp_path, tried):
    name = compile_java(jar, tmp_path)
    java = debian_11_arm.path / "usr/lib/jvm/java-17-openjdk-arm64/bin/java"
    printed = debian_11_arm.emulated(java, "-Xint", "-XX:+UseSerialGC", "-cp", f"{jar}:{tmp_path}", name, cwd=tmp_path)
    assert JAVA_PRINTS in printed
    tried("Debian 11", "jar", "aarch64", "ran")


def wheel_for(architecture, release):
    [wheel] = release.glob(f"*_{architecture}.whl")
    return wheel


def test_pip_of_debian_13_installs_the_wheel(debian_13, release, tried):
    with debian_13.folder() as work:
        wheel = wheel_for("x86_64", release)
        shutil.copy(wheel, work)
        debian_13.run(["python3", "-m", "pip", "install", "--no-index", "--target", "packages", wheel.name])
        shutil.copy(SMOKE, work)
        assert "without numpy" in debian_13.run(["python3", "smoke.py", "run"], PYTHONPATH="/test/packages")
    tried("Debian 13", "wheel", "x86_64", "ran")


def test_the_wheel_here(release, tmp_path, tried):
    run([sys.executable, "-m", "venv", tmp_path / "venv"])
    python = tmp_path / "venv/bin/python"
    run([python, "-m", "pip", "install", "--quiet", "--no-index", wheel_for("x86_64", release)])
    assert "without numpy" in run([python, "-I", SMOKE, tmp_path / "run"])
    tried("Debian 12", "wheel", "x86_64", "ran")


@pytest.mark.parametrize("tag", ["manylinux_2_17", "manylinux2014"])
@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_pip_chooses_the_wheel_for_old_systems(architecture, tag, release, tmp_path):
    run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--find-links", release,
         "--platform", f"{tag}_{architecture}", "--python-version", "3.12", "--only-binary", ":all:",
         "--target", tmp_path, "libsmdebug"])  # fmt: skip
    assert (tmp_path / "smdebug/libsmdebug.so.1").is_file()


def test_the_archive_on_debian_11_for_arm(debian_11_arm, archives, tmp_path, tried):
    """Records here, reads there; other architectures record the same: tests/portability."""
    program = archives["aarch64"] / "bin/smdebug"
    assert "features" in debian_11_arm.emulated(program, "doctor")
    tried("Debian 11", "archive", "aarch64", "its program ran")


def test_pip_of_debian_12_for_arm_installs_the_wheel(debian_12_arm, release, tmp_path, tried):
    python = debian_12_arm.path / "usr/bin/python3.11"
    debian_12_arm.emulated(python, "-m", "pip", "install", "--no-index", "--target", tmp_path / "packages",
                           wheel_for("aarch64", release), PYTHONPATH="/usr/lib/python3/dist-packages")  # fmt: skip
    printed = debian_12_arm.emulated(python, SMOKE, tmp_path / "run", PYTHONPATH=str(tmp_path / "packages"))
    assert "without numpy" in printed
    tried("Debian 12", "wheel", "aarch64", "ran")
