"""The library as its users get it: installed, moved, staged, taken back, as a subproject."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from installing import BUILD, ROOT, compile_library, copy_of_sources, first_block, run
from main_build import VERSION

PROGRAMS = {
    "c": ("README.md", "c", "4 x 3, 1 finding(s)"),
    "cc": ("docs/cpp.md", "cpp", "loss at step 8: 0.111"),
}
LANGUAGES = list(PROGRAMS)
HEADERS = sorted(
    path.relative_to(ROOT / "capi/include")
    for path in (ROOT / "capi/include").rglob("*")
    if path.suffix in {".h", ".hpp"}
)


def write_program(language, folder):
    page, fence, expected = PROGRAMS[language]
    (folder / f"first.{language}").write_text(first_block(page, fence), encoding="utf-8")
    return expected


def pkg_config(prefix, folder, *arguments, **environment):
    [path] = prefix.glob("lib/**/pkgconfig")
    command = ["pkg-config", *arguments, "smdebug"]
    return run(command, folder, PKG_CONFIG_PATH=path, **environment).split()


def build_by_pkg_config(language, prefix, folder):
    expected = write_program(language, folder)
    compiler = {"c": "cc", "cc": "c++"}[language]
    flags = pkg_config(prefix, folder, "--cflags", "--libs")
    run([compiler, f"first.{language}", "-o", "first", *flags], folder)
    [library] = prefix.glob("lib/**/libsmdebug.so.1")
    assert expected in run([folder / "first"], folder, LD_LIBRARY_PATH=library.parent)


def cmake_lists(language, body):
    return (
        "cmake_minimum_required(VERSION 3.23)\n"
        f"project(first LANGUAGES {'C' if language == 'c' else 'CXX'})\n"
        f"{body}\n"
        f"add_executable(first first.{language})\n"
        "target_link_libraries(first PRIVATE smdebug::smdebug)\n"
    )


def build_by_cmake(language, prefix, folder, version="1.0"):
    expected = write_program(language, folder)
    lists = cmake_lists(language, f"find_package(smdebug {version} REQUIRED)")
    (folder / "CMakeLists.txt").write_text(lists, encoding="utf-8")
    run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"], folder)
    run(["cmake", "--build", "build"], folder)
    assert expected in run([folder / "build/first"], folder)


@pytest.mark.parametrize("language", LANGUAGES)
def test_pkg_config(language, installed, tmp_path):
    build_by_pkg_config(language, installed, tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_cmake(language, installed, tmp_path):
    build_by_cmake(language, installed, tmp_path)


@pytest.mark.parametrize("version", ["2.0", "1.9", "0.9"])
def test_cmake_refuses_other_versions(version, installed, tmp_path):
    with pytest.raises(AssertionError, match="compatible"):
        build_by_cmake("c", installed, tmp_path, version)


def test_the_prefix_may_move(installed, tmp_path):
    moved = tmp_path / "elsewhere" / "with a space"
    shutil.copytree(installed, moved, symlinks=True)
    for language in LANGUAGES:
        folder = tmp_path / language
        folder.mkdir()
        build_by_cmake(language, moved, folder)
    moved = moved.rename(tmp_path / "again")
    build_by_pkg_config("c", moved, tmp_path)
    assert str(installed) not in "".join(pkg_config(moved, tmp_path, "--cflags", "--libs"))


def test_what_is_installed(installed):
    found = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    library = "lib/libsmdebug.so"
    package = [f"lib/cmake/smdebug/smdebug{name}.cmake" for name in ("Config", "ConfigVersion")]
    package += [f"lib/cmake/smdebug/smdebugTargets{name}.cmake" for name in ("", "-relwithdebinfo")]
    expected = {library, f"{library}.1", f"{library}.{VERSION}", "lib/pkgconfig/smdebug.pc", *package}
    completions = ["bash-completion/completions/smdebug", "zsh/site-functions/_smdebug",
                   "fish/vendor_completions.d/smdebug.fish"]  # fmt: skip
    expected |= {"bin/smdebug", "share/man/man1/smdebug.1"}
    expected |= {f"share/{path}" for path in completions}
    expected |= {"share/doc/smdebug/LICENSE", "share/doc/smdebug/copyright"}
    assert found == expected | {f"include/{header}" for header in HEADERS}
    for path in installed.rglob("*"):
        if path.suffix in {".cmake", ".pc"}:
            assert str(ROOT) not in path.read_text(encoding="utf-8")


def test_the_installed_program(installed, tmp_path):
    """The program finds the library, even if both were moved."""
    moved = tmp_path / "moved"
    shutil.copytree(installed, moved, symlinks=True)
    for prefix in (installed, moved):
        assert run([prefix / "bin/smdebug", "--version"], tmp_path).startswith("smdebug 1.")
    assert "[$ORIGIN/../lib]" in run(["readelf", "-d", moved / "bin/smdebug"], tmp_path)


def test_the_installed_library(installed, tmp_path):
    library = installed / "lib/libsmdebug.so"
    dynamic = run(["readelf", "-d", library], tmp_path)
    assert "SONAME" in dynamic and "[libsmdebug.so.1]" in dynamic
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic
    assert ".debug_info" not in run(["readelf", "-S", "-W", library], tmp_path)
    assert "smd_hook_save@@SMD_1.0" in run(["nm", "-D", library], tmp_path)
    assert library.resolve().stat().st_size < 8 << 20


def files_of(folder):
    return {path.relative_to(folder) for path in folder.rglob("*")}


@pytest.mark.parametrize("destdir", ["", "stage"])
def test_uninstall_takes_back_what_was_installed(destdir, tmp_path):
    destdir = str(tmp_path / destdir) if destdir else ""
    prefix = tmp_path / "prefix"
    place = Path(destdir + str(prefix))
    (place / "include/smdebug").mkdir(parents=True)
    foreign = [place / "include/smdebug/mine.h", place / "lib/libother.so"]
    foreign[1].parent.mkdir()
    for path in foreign:
        path.write_text("somebody else's")
    before = files_of(place)
    run(["cmake", "--install", BUILD, "--prefix", prefix, "--strip"], ROOT, DESTDIR=destdir)
    assert (place / "lib/libsmdebug.so.1").exists()
    # Another installation, as a test may make one meanwhile.
    run(["cmake", "--install", BUILD, "--prefix", tmp_path / "other"], ROOT)
    uninstall(prefix, destdir)
    # Folders that packages of others use too.
    folders = ["bin", "lib/cmake", "lib/pkgconfig", "share/bash-completion/completions",
               "share/doc", "share/fish/vendor_completions.d", "share/man/man1", "share/zsh/site-functions"]  # fmt: skip
    shared = {path for folder in folders for path in (Path(folder), *Path(folder).parents)}
    assert files_of(place) - shared == before - shared
    assert (tmp_path / "other/lib/libsmdebug.so.1").exists()
    uninstall(tmp_path / "other", "")
    with pytest.raises(AssertionError, match="has installed nothing into"):
        uninstall(prefix, destdir)


def uninstall(prefix, destdir):
    script = ROOT / "cmake/Uninstall.cmake"
    command = ["cmake", f"-DRECORDS={BUILD}/installed", f"-DPREFIX={prefix}", "-P", script]
    run(command, ROOT, DESTDIR=destdir)


@pytest.mark.parametrize("way", ["add_subdirectory", "FetchContent"])
def test_as_a_subproject(way, tmp_path):
    """The whole library is compiled."""
    expected = write_program("cc", tmp_path)
    sources = copy_of_sources(tmp_path / "libsmdebug")
    body = {
        "add_subdirectory": f'add_subdirectory("{sources}" smdebug EXCLUDE_FROM_ALL)',
        "FetchContent": (
            "include(FetchContent)\nFetchContent_Declare(smdebug\n"
            f'  SOURCE_DIR "{sources}" BINARY_DIR smdebug)\nFetchContent_MakeAvailable(smdebug)'
        ),
    }[way]
    lists = cmake_lists("cc", body).replace("LANGUAGES CXX", "LANGUAGES C CXX")
    # Names that a project may well use itself.
    lists += "add_custom_target(uninstall)\nadd_custom_target(lint)\n"
    (tmp_path / "CMakeLists.txt").write_text(lists, encoding="utf-8")
    # In one folder of the sources, so that both ways have the same objects, and fast ones.
    build = sources / "build"
    configure = ["cmake", "-S", ".", "-B", build, "-G", "Ninja", "-DSMDEBUG_DEVELOPER=ON"]
    run([*configure, "-DSMDEBUG_UNITY=ON", "-DCMAKE_CXX_FLAGS=-O0"], tmp_path)
    compile_library(build, sources, "--target", "first")
    assert expected in run([build / "first"], tmp_path)
    assert not list(build.rglob("*_test"))


# ---- the headers for C++ ----


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_cpp_headers_are_free_of_warnings(compiler, standard, installed, tmp_path):
    warnings = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion"
    for unit in ("a", "b"):  # the second one shows that what is inline may be there twice
        text = first_block("docs/cpp.md", "cpp")
        if unit == "b":
            text = text.replace("Record(", "RecordToo(").replace("int main(", "int MainToo(")
        (tmp_path / f"{unit}.cc").write_text(text, encoding="utf-8")
    warnings += " -Wold-style-cast -Wnon-virtual-dtor -Werror"
    flags = f"-std={standard} {warnings} -I{installed}/include".split()
    library = ["-L", installed / "lib", "-lsmdebug"]
    run([compiler, *flags, "a.cc", "b.cc", "-o", "first", *library], tmp_path)
    expected = PROGRAMS["cc"][2]
    assert expected in run([tmp_path / "first"], tmp_path, LD_LIBRARY_PATH=installed / "lib")


def macros(header, installed):
    done = subprocess.run(
        ["c++", "-std=c++17", "-dM", "-E", "-x", "c++", f"-I{installed}/include", "-"],
        input=f"#include <{header}>\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return {line.split()[1].split("(")[0] for line in done.stdout.splitlines()}


def test_cpp_headers_define_no_macros(installed):
    new = macros("smdebug.hpp", installed) - macros("smdebug.h", installed)
    ours = {name for name in new if "SMD" in name.upper()}
    included = [path for path in HEADERS if path.suffix == ".hpp" and path.parent.name != "sys"]
    guards = {f"SMDEBUG_CPP_{path.stem.upper()}_HPP" for path in included}
    assert ours == guards - {"SMDEBUG_CPP_SMDEBUG_HPP"} | {"SMDEBUG_HPP"}
