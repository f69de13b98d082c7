"""The static library as its users get it: installed, then linked by pkg-config and by CMake."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "embed"))
from installing import ROOT, compile_library, copy_of_sources, first_block, run  # noqa: E402

PROGRAMS = {
    "c": ("README.md", "c", "C", "4 x 3, 1 finding(s)"),
    "cc": ("docs/cpp.md", "cpp", "CXX", "loss at step 8: 0.111"),
}
OPTIONS = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DBUILD_SHARED_LIBS=OFF",
           "-DSMDEBUG_CLI=OFF", "-DSMDEBUG_DEVELOPER=ON"]  # fmt: skip


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("static")
    sources = copy_of_sources(folder / "sources")
    build = sources / "build"
    run(["cmake", "-S", sources, "-B", build, *OPTIONS], folder)
    compile_library(build, sources)
    run(["cmake", "--install", build, "--prefix", folder / "prefix"], folder)
    return folder / "prefix"


def write_program(language, folder):
    page, fence, _, expected = PROGRAMS[language]
    (folder / f"first.{language}").write_text(first_block(page, fence), encoding="utf-8")
    return expected


def check_program(program, expected, folder):
    assert expected in run([program], folder)
    needed = run(["readelf", "-d", program], folder)
    assert "libcurl" in needed
    assert "libsmdebug" not in needed


def test_no_shared_library_is_installed(prefix):
    assert [path.name for path in prefix.rglob("libsmdebug*")] == ["libsmdebug.a"]


@pytest.mark.parametrize("language", PROGRAMS)
def test_pkg_config(language, prefix, tmp_path):
    expected = write_program(language, tmp_path)
    [folder] = prefix.glob("lib/**/pkgconfig")
    command = ["pkg-config", "--static", "--cflags", "--libs", "smdebug"]
    flags = run(command, tmp_path, PKG_CONFIG_PATH=folder).split()
    compiler = {"c": "cc", "cc": "c++"}[language]
    run([compiler, f"first.{language}", "-o", "first", *flags], tmp_path)
    check_program(tmp_path / "first", expected, tmp_path)


@pytest.mark.parametrize("language", PROGRAMS)
def test_cmake(language, prefix, tmp_path):
    expected = write_program(language, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.23)\n"
        f"project(first LANGUAGES {PROGRAMS[language][2]})\n"
        "find_package(smdebug 1.0 REQUIRED)\n"
        f"add_executable(first first.{language})\n"
        "target_link_libraries(first PRIVATE smdebug::smdebug)\n",
        encoding="utf-8",
    )
    run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"], tmp_path)
    run(["cmake", "--build", "build"], tmp_path)
    check_program(tmp_path / "build/first", expected, tmp_path)


def test_a_subproject(prefix, tmp_path):
    """A project that includes the sources, and wants all its libraries static.  Compiling would
    only repeat what `prefix` has compiled: the command to link shows whether the rest is found."""
    write_program("c", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(first LANGUAGES C CXX)\n"
        "set(BUILD_SHARED_LIBS OFF)\n"
        f"add_subdirectory({prefix.parent / 'sources'} smdebug)\n"
        "add_executable(first first.c)\n"
        "target_link_libraries(first PRIVATE smdebug::smdebug)\n",
        encoding="utf-8",
    )
    run(["cmake", "-S", ".", "-B", "build", *OPTIONS[:3]], tmp_path)
    commands = run(["ninja", "-C", "build", "-t", "commands", "first"], tmp_path)
    link = commands.strip().splitlines()[-1]
    for library in ("libsmdebug.a", "libcjson", "libpcre2-8", "libhwy", "libcurl", "libcrypto"):
        assert library in link
