"""The Rust crates, as a user builds them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from installing import ROOT, first_block, run
from main_build import VERSION
from rust_projects import packed_crates, project

sys.path.insert(0, str(ROOT / "tests"))

from snippets import blocks, check_output  # noqa: E402

CRATES = ROOT / "bindings/rust"
PAGE = ROOT / "docs/rust.md"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def environment(installed, tmp_path_factory):
    """What a user sets for a library that is not in the system's folders."""
    return {
        "SMDEBUG_DIR": installed,
        "LD_LIBRARY_PATH": installed / "lib",
        "CARGO_TARGET_DIR": tmp_path_factory.mktemp("target"),
    }


def cargo(folder, environment, *arguments):
    return run(["cargo", *arguments], folder, 500, **environment)


def test_the_crates(environment):
    """Their own tests, and the example in the documentation."""
    cargo(CRATES, environment, "test", "--quiet", "--locked")


def test_the_crates_read_as_others_do(environment):
    cargo(CRATES, environment, "fmt", "--check")
    cargo(CRATES, environment, "clippy", "--quiet", "--all-targets", "--locked", "--", "-D", "warnings")
    cargo(CRATES, {**environment, "RUSTDOCFLAGS": "-D warnings"}, "doc", "--quiet", "--no-deps", "--locked")


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The folders of the crates as the registry would have them."""
    folder = packed_crates(tmp_path_factory.mktemp("crates"))
    assert {path.name for path in folder.glob("*.crate")} == {f"smdebug-{VERSION}.crate", f"smdebug-sys-{VERSION}.crate"}
    return folder


def test_a_package_holds_what_users_need(packages):
    files = {str(path.relative_to(packages)) for path in packages.rglob("*") if path.is_file()}
    for crate in ("smdebug", "smdebug-sys"):
        assert {f"{crate}-{VERSION}/{name}" for name in ("Cargo.toml", "README.md", "LICENSE", "src/lib.rs")} <= files
    assert f"smdebug-sys-{VERSION}/build.rs" in files


def test_each_program_of_the_page(packages, environment, tmp_path):
    programs = {f"line_{line}": text for line, text in blocks(PAGE, "rust")}
    assert len(programs) >= 3
    cargo(project(tmp_path, packages, programs), environment, "build", "--quiet")
    for name, text in programs.items():
        folder = tmp_path / f"{name}_runs"
        folder.mkdir()
        printed = run([environment["CARGO_TARGET_DIR"] / f"debug/{name}"], folder, **environment)
        check_output("rust", text, printed)


def test_pkg_config_finds_the_library(installed, packages, environment, tmp_path):
    found = {name: value for name, value in environment.items() if name != "SMDEBUG_DIR"}
    found["PKG_CONFIG_PATH"] = installed / "lib/pkgconfig"
    folder = project(tmp_path, packages, {"first": first_block("docs/rust.md", "rust")})
    cargo(folder, found, "run", "--quiet", "--bin", "first")


def test_a_missing_library_is_named(packages, environment, tmp_path):
    folder = project(tmp_path / "user", packages, {"first": "fn main() {}\n"})
    for variables, message in (
        ({"SMDEBUG_DIR": str(tmp_path)}, f"SMDEBUG_DIR is {tmp_path}, and its folder lib has no libsmdebug.so"),
        ({"PKG_CONFIG_LIBDIR": str(tmp_path), "PKG_CONFIG_PATH": ""}, "libsmdebug was not found; install it"),
    ):
        inherited = {name: value for name, value in os.environ.items() if name != "SMDEBUG_DIR"}
        done = subprocess.run(
            ["cargo", "build"], cwd=folder, check=False, capture_output=True, text=True, timeout=120,
            env={**inherited, **variables, "CARGO_TARGET_DIR": str(tmp_path / "target")},
        )
        assert done.returncode != 0 and message in done.stderr


def test_the_raw_layer_is_that_of_the_headers():
    run([sys.executable, ROOT / "tools/generate_raw.py", "--check"], ROOT)


def test_the_oldest_rust_is_declared():
    manifest = (CRATES / "Cargo.toml").read_text()
    [oldest] = re.findall(r'^rust-version = "([\d.]+)"$', manifest, re.MULTILINE)
    assert f"Rust {oldest}" in PAGE.read_text()
    assert shutil.which("cargo")
