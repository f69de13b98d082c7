"""The Debian packages, used without being installed: unpacked into a root of their own."""

from __future__ import annotations

import pytest
from installing import ROOT, compile_library, copy_of_sources, first_block, run
from main_build import VERSION, in_groups

PRINTED = "4 x 3, 1 finding(s)"


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """All packages, by name."""
    folder = tmp_path_factory.mktemp("deb")
    sources = copy_of_sources(folder / "sources")
    run(["cmake", "--preset", "deb", "-B", sources / "build", f"-D{in_groups()}"], sources)
    compile_library(sources / "build", sources)
    run(["cpack", "-B", folder], sources / "build")
    return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}


@pytest.fixture(scope="module")
def root(packages, tmp_path_factory):
    """Where all are unpacked."""
    folder = tmp_path_factory.mktemp("root")
    for package in packages.values():
        run(["dpkg", "-x", package, folder], folder)
    return folder


@pytest.fixture(scope="module")
def libraries(root, tmp_path_factory):
    return root / "usr/lib" / run(["gcc", "-print-multiarch"], root).strip()


def field(package, name):
    return run(["dpkg-deb", "-f", package, name], package.parent).strip()


def test_what_they_say_of_themselves(packages):
    runtime, development = packages["libsmdebug1"], packages["libsmdebug-dev"]
    assert field(runtime, "Section") == "libs"
    assert field(development, "Section") == "libdevel"
    tools = field(packages["smdebug"], "Depends")
    assert f"libsmdebug1 (= {field(runtime, 'Version')})" in tools and "libstdc++6 (>=" in tools
    assert field(development, "Depends") == f"libsmdebug1 (= {field(runtime, 'Version')})"
    depends = field(runtime, "Depends")
    for library in ("libc6", "libcjson1", "libcurl4", "libhwy1", "libssl3", "libstdc++6"):
        assert f"{library} (>=" in depends
    for package in packages.values():
        assert field(package, "Source") == "libsmdebug"
        assert field(package, "Maintainer").startswith("libsmdebug developers <")
        assert field(package, "Description").startswith("recorder of the tensors")


def contents(package):
    lines = run(["dpkg-deb", "-c", package], package.parent).splitlines()
    assert all(line.split()[1] == "root/root" for line in lines)
    return {line.split()[5] for line in lines if not line.startswith("d")}


def test_what_they_hold(packages, libraries, root):
    folder = f"./{libraries.relative_to(root)}"
    documents = "./usr/share/doc/libsmdebug{}/{}"
    assert contents(packages["libsmdebug1"]) == {
        f"{folder}/libsmdebug.so.1",
        f"{folder}/libsmdebug.so.{VERSION}",
        documents.format("1", "copyright"),
        documents.format("1", "changelog.gz"),
    }
    development = contents(packages["libsmdebug-dev"])
    assert f"{folder}/libsmdebug.so" in development
    assert f"{folder}/pkgconfig/smdebug.pc" in development
    assert {"./usr/include/smdebug.h", "./usr/include/smdebug.hpp"} <= development
    assert f"libsmdebug.so.{VERSION}" not in " ".join(development)
    assert (libraries / "libsmdebug.so").resolve() == libraries / f"libsmdebug.so.{VERSION}"


def test_the_command_line(packages, root, libraries):
    assert contents(packages["smdebug"]) == {
        "./usr/bin/smdebug",
        "./usr/share/man/man1/smdebug.1.gz",
        "./usr/share/bash-completion/completions/smdebug",
        "./usr/share/zsh/site-functions/_smdebug",
        "./usr/share/fish/vendor_completions.d/smdebug.fish",
        "./usr/share/doc/smdebug/copyright",
        "./usr/share/doc/smdebug/changelog.gz",
    }
    printed = run([root / "usr/bin/smdebug", "--version"], root, LD_LIBRARY_PATH=libraries)
    assert printed == f"smdebug {field(packages['smdebug'], 'Version')}\n"


def test_the_linker_is_told(packages, tmp_path):
    run(["dpkg-deb", "-e", packages["libsmdebug1"], tmp_path / "control"], tmp_path)
    assert (tmp_path / "control/triggers").read_text() == "activate-noawait ldconfig\n"
    assert (tmp_path / "control/shlibs").read_text().startswith("libsmdebug 1 libsmdebug1")


def test_lintian_finds_no_error(packages):
    run(["lintian", "--fail-on", "error", "--allow-root", *packages.values()], ROOT)


def test_programs_are_built_by_pkg_config(root, libraries, tmp_path):
    (tmp_path / "first.c").write_text(first_block("README.md", "c"), encoding="utf-8")
    environment = {"PKG_CONFIG_SYSROOT_DIR": root, "PKG_CONFIG_LIBDIR": libraries / "pkgconfig"}
    flags = run(["pkg-config", "--cflags", "--libs", "smdebug"], tmp_path, **environment).split()
    run(["cc", "first.c", "-o", "first", *flags], tmp_path)
    assert PRINTED in run(["./first"], tmp_path, LD_LIBRARY_PATH=libraries)


def test_programs_are_built_by_cmake(root, libraries, tmp_path):
    (tmp_path / "first.c").write_text(first_block("README.md", "c"), encoding="utf-8")
    (tmp_path / "CMakeLists.txt").write_text(first_block("README.md", "cmake"), encoding="utf-8")
    run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={root}/usr"], tmp_path)
    run(["cmake", "--build", "build"], tmp_path)
    assert PRINTED in run(["build/first"], tmp_path)
