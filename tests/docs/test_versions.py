"""Every file that names the version names that of CMakeLists.txt."""

import re
from pathlib import Path

import pytest
from main_build import VERSION

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("bindings/java/pom.xml", r"<artifactId>smdebug</artifactId>\s*<version>([^<]+)<"),
        ("bindings/java/src/it/pom.xml", r"<artifactId>smdebug</artifactId>\s*<version>([^<]+)<"),
        ("examples/java/pom.xml", r"<artifactId>smdebug</artifactId>\s*<version>([^<]+)<"),
        ("docs/java.md", r"<artifactId>smdebug</artifactId>\s*<version>([^<]+)<"),
        ("docs/java.md", r"smdebug-(\d[\d.]*\d)\.jar"),
        ("bindings/rust/Cargo.toml", r'^version = "([^"]+)"'),
        ("bindings/rust/smdebug/Cargo.toml", r'^smdebug-sys = .*version = "=([^"]+)"'),
        ("bindings/node/package.json", r'^  "version": "([^"]+)"'),
        ("bindings/node/package-lock.json", r'^  "version": "([^"]+)"'),
        ("bindings/rust/Cargo.lock", r'^name = "smdebug(?:-sys)?"\nversion = "([^"]+)"'),
        ("examples/go/go.mod", r"^require \S+/bindings/go v(\S+)"),
        ("docs/man/smdebug.1", r'"smdebug (\d[\d.]*)"'),
        ("docs/node.md", r"smdebug-(\d[\d.]*\d)\.tgz"),
        ("docs/rust.md", r'path = "smdebug(?:-sys)?-([\d.]+)"'),
        ("docs/packages.md", r"smdebug-(\d+\.\d+\.\d+)"),
        ("CHANGELOG.md", r"\A.*?^## (\d[\d.]*)"),
    ],
)
def test_a_file_names_the_version_of_cmake(file, pattern):
    found = re.findall(pattern, (ROOT / file).read_text(), re.DOTALL | re.MULTILINE)
    assert found and set(found) == {VERSION}


def test_the_header_has_the_version_of_cmake():
    header = (ROOT / "capi/include/smdebug/version.h").read_text()
    parts = re.findall(r"^#define SMD_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.MULTILINE)
    assert ".".join(parts) == VERSION


def test_python_takes_its_version_from_the_header_or_cmake():
    project = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in project
    assert f'version = "{VERSION}"' not in project
