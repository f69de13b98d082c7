"""What the native files of a release need of a system, and what they export."""

from __future__ import annotations

import re

import pytest
from roots import run
from systems import ARCHITECTURES, NODE_ARCHITECTURE, SYSTEMS

# Parts of glibc before 2.34; later they are all in libc.so.6.
C_LIBRARY = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
             "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}  # fmt: skip
OURS = {"libsmdebug.so.1"}


def native_files(package, architecture, archives, wheels, jar_contents, node_contents):
    """The shared libraries and programs of a package."""
    if package == "archive":
        folder = archives[architecture]
        return [folder / "lib/libsmdebug.so.1", folder / "bin/smdebug"]
    if package == "wheel":
        folder = wheels[architecture] / "smdebug"
        return [folder / "libsmdebug.so.1", folder / "_raw.abi3.so", folder / "bin/smdebug"]
    if package == "npm":
        return [node_contents / f"native/linux-{NODE_ARCHITECTURE[architecture]}/libsmdebug.so.1"]
    folder = jar_contents / f"native/linux-{architecture}"
    return [folder / "libsmdebug.so.1", folder / "libsmdebug_jni.so"]


@pytest.fixture(params=[(package, each) for package in ("archive", "wheel", "jar", "npm") for each in ARCHITECTURES],
                ids=lambda each: "-".join(each))  # fmt: skip
def natives(request, archives, wheels, jar_contents, node_contents):
    package, architecture = request.param
    return package, architecture, native_files(package, architecture, archives, wheels, jar_contents, node_contents)


def symbols(path, defined):
    """Names of dynamic symbols, with their versions."""
    found = set()
    for line in run(["readelf", "--dyn-syms", "--wide", path]).splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[4] not in ("GLOBAL", "WEAK"):
            continue
        if (fields[6] != "UND") == defined:
            found.add(fields[7])
    return found


def versions(path, prefix):
    needed = run(["readelf", "--version-info", "--wide", path])
    needed = needed[needed.find("Version needs section") :]
    return {tuple(map(int, each.split("."))) for each in re.findall(rf"{prefix}_(\d+(?:\.\d+)+)\b", needed)}


def needed(path):
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", run(["readelf", "-d", path])))


def test_only_the_c_library_is_needed(natives):
    _, _, files = natives
    for path in files:
        assert needed(path) <= C_LIBRARY | OURS - {path.name}, path
        for prefix in ("GLIBCXX", "CXXABI", "GCC"):
            assert versions(path, prefix) == set(), path


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda each: each.name)
def test_a_system_has_all_symbols(system, natives, tried):
    package, architecture, files = natives
    for path in files:
        assert max(versions(path, "GLIBC")) <= system.glibc, path
    tried(system.name, package, architecture, "symbols")


def test_the_oldest_glibc(natives):
    _, _, files = natives
    assert max(version for path in files for version in versions(path, "GLIBC")) <= (2, 17)


def test_nothing_else_is_exported(natives):
    _, _, files = natives
    for path in files:
        allowed = {"libsmdebug.so.1": r"smd_\w+@@SMD_1\.0$|SMD_1\.0(@@SMD_1\.0)?$", "_raw.abi3.so": "PyInit__raw$",
                   "libsmdebug_jni.so": "Java_org_smdebug_|JNI_On(Unl|L)oad$"}.get(path.name, "$^")  # fmt: skip
        exported = symbols(path, defined=True)
        assert exported or path.name == "smdebug", path
        assert [name for name in exported if not re.match(allowed, name)] == [], path


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_static_library_has_only_our_names(architecture, archives):
    """Other names, of OpenSSL for example, would clash with those of the program."""
    listed = run(["readelf", "--syms", "--wide", archives[architecture] / "lib/libsmdebug.a"])
    exported, wanted = set(), set()
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK"):
            (wanted if fields[6] == "UND" else exported).add(fields[7])
    assert "smd_hook_open" in exported or len(exported) > 100
    assert [name for name in exported if not name.startswith("smd_")] == []
    assert [name for name in wanted if re.match("_Z|SSL_|EVP_|curl_|cJSON|pcre2|__cxa_throw|_Unwind", name)] == []
