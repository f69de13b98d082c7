"""The archive of the sources and its bill of materials; the rest of a release is in tests/release."""

import json
import subprocess
import tarfile

import pytest
from environments import ROOT, run


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(ROOT / "tools/dist.sh", folder, timeout=120)
    return folder


@pytest.fixture(scope="module")
def sbom(dist):
    [path] = dist.glob("*.spdx.json")
    return json.loads(path.read_text())


def test_the_same_commit_gives_the_same_bytes(dist, tmp_path):
    run(ROOT / "tools/dist.sh", tmp_path, timeout=120)
    names = sorted(path.name for path in dist.iterdir())
    assert len(names) == 2
    for name in names:
        assert (dist / name).read_bytes() == (tmp_path / name).read_bytes()


def test_the_archive_is_what_is_committed(dist):
    [path] = dist.glob("*.tar.gz")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    with tarfile.open(path) as archive:
        files = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert set(listed.stdout.split("\n")[:-1]) <= files


def test_every_part_has_version_and_licence(sbom):
    parts = {package["name"]: package for package in sbom["packages"]}
    for package in parts.values():
        assert package["versionInfo"][0].isdigit() and package["licenseDeclared"] != "NOASSERTION"
    related = {each["relatedSpdxElement"] for each in sbom["relationships"]}
    assert related == {package["SPDXID"] for package in sbom["packages"]}


def test_every_library_that_is_linked_is_a_part(sbom):
    found = (ROOT / "cmake/Dependencies.cmake").read_text()
    known = {package["name"].replace("-", "") for package in sbom["packages"]}
    linked = {"CJSON": "cjson", "CRYPTO": "openssl", "CURL": "curl", "HIGHWAY": "highway", "PCRE2": "pcre2"}
    for line in found.splitlines():
        if line.startswith("pkg_check_modules("):
            assert linked[line.split("(")[1].split()[0]] in known


def test_what_is_always_linked_in_brings_its_licence(sbom):
    """The bundled packages' other licences are those of Debian's packages: test_python_packages.py."""
    told = (ROOT / "cmake/debian/copyright").read_text(encoding="utf-8")
    linked = {each["relatedSpdxElement"].removeprefix("SPDXRef-") for each in sbom["relationships"]
              if each["relationshipType"] == "STATIC_LINK"}  # fmt: skip
    assert linked and all(f"\nFiles: {name}\nCopyright: " in told for name in linked)
