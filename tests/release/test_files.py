"""A release is complete: its files, their names, checksums, bills of materials and licences."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile

import pytest
from roots import ROOT, run
from systems import ARCHITECTURES

LICENSES = {"LICENSE", "copyright", "openssl.txt", "curl.txt", "pcre2.txt", "cjson.txt", "highway.txt",
            "libmicrohttpd.txt", "zlib.txt", "rapidjson.txt", "cli11.txt", "libcxx.txt", "libcxxabi.txt", "libunwind.txt"}  # fmt: skip


def expected_files(version):
    yield from (f"libsmdebug-{version}{end}" for end in ("-source.tar.gz", ".tar.gz", ".spdx.json"))
    yield f"libsmdebug-{version}-bundled.spdx.json"
    for each in ARCHITECTURES:
        yield f"libsmdebug-{version}-linux-{each}.tar.gz"
        yield f"libsmdebug-{version}-cp311-abi3-manylinux2014_{each}.manylinux_2_17_{each}.whl"
    yield from (f"smdebug-{version}{part}.jar" for part in ("", "-sources", "-javadoc"))
    yield f"smdebug-{version}.tgz"
    yield from (f"{name}-{version}.crate" for name in ("smdebug", "smdebug-sys"))
    for name in ("libsmdebug1", "libsmdebug-dev", "smdebug"):
        yield f"{name}_{version}_{run(['dpkg', '--print-architecture']).strip()}.deb"
    module = "go/github.com/libsmdebug/libsmdebug/bindings/go/@v"
    yield from (f"{module}/{name}" for name in ("list", f"v{version}.info", f"v{version}.mod", f"v{version}.zip"))


def test_all_files_are_there(release, version):
    found = {path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file()}
    assert found - {"SHA256SUMS"} == set(expected_files(version))


def test_checksums(release, version):
    lines = (release / "SHA256SUMS").read_text().splitlines()
    # Of the files that are published together.
    assert {line.split("  ", 1)[1] for line in lines} == {name for name in expected_files(version) if "/" not in name}
    for line in lines:
        checksum, name = line.split("  ", 1)
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == checksum


def test_the_bill_of_materials_names_every_part(release, version):
    told = json.loads((release / f"libsmdebug-{version}-bundled.spdx.json").read_text())
    parts = {each["name"]: each for each in told["packages"]}
    assert {f"{name}.txt" for name in parts} - {"libsmdebug.txt", "llvm-runtime.txt"} == {
        name for name in LICENSES if name.endswith(".txt") and not name.startswith(("libcxx", "libunwind"))
    }
    assert all(each["versionInfo"][0].isdigit() for each in parts.values())
    linked = [each for each in told["relationships"] if each["relationshipType"] != "DESCRIBES"]
    assert {each["relationshipType"] for each in linked} == {"STATIC_LINK"} and len(linked) == len(parts) - 1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_licenses(architecture, archives, wheels, jar_contents, go_module, node_contents):
    for folder in (archives[architecture] / "share/doc/smdebug", wheels[architecture],
                   jar_contents / "META-INF/licenses", go_module / "licenses", node_contents):  # fmt: skip
        assert LICENSES <= {path.name for path in folder.rglob("*") if path.is_file()}, folder


def test_the_versions_agree(archives, wheels, go_module, version):
    for folder in (archives[each] for each in ARCHITECTURES):
        assert f"Version: {version}\n" in (folder / "lib/pkgconfig/smdebug.pc").read_text()
        assert (folder / f"lib/libsmdebug.so.{version}").is_file()
    for folder in wheels.values():
        assert (folder / f"libsmdebug-{version}.dist-info").is_dir()
    assert go_module.name == f"go@v{version}"


def test_nothing_tells_where_it_was_built(archives, wheels, jar_contents, go_module, node_contents):
    folders = [*archives.values(), *wheels.values(), jar_contents, go_module, node_contents]
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        contents = path.read_bytes()
        for place in (ROOT, ROOT.home() / ".cache"):
            assert str(place).encode() not in contents, path


def test_the_archive_of_the_sources(release, version):
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    with tarfile.open(release / f"libsmdebug-{version}-source.tar.gz") as archive:
        assert set(listed.stdout.split("\n")[:-1]) <= {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
