"""The Go module of a release, as its users get it: by `go get` and `go build` alone."""

from __future__ import annotations

import os
import shutil

import pytest
from roots import CACHE, ROOT, run

MODULE = "github.com/libsmdebug/libsmdebug/bindings/go"


@pytest.fixture(scope="module")
def go():
    return run([ROOT / "tools/go.sh", CACHE / "go"], 600).strip().splitlines()[-1]


@pytest.fixture
def project(go, release, version, tmp_path):
    """A user's project, and what runs Go in it; pkg-config finds nothing."""
    folder = tmp_path / "consumer"
    folder.mkdir()
    shutil.copy(ROOT / "tests/go/consumer.go", folder / "main.go")
    variables = {
        **os.environ, "GOPROXY": f"file://{release / 'go'}", "GOSUMDB": "off", "GOFLAGS": "-modcacherw",
        "GOMODCACHE": str(tmp_path / "modules"), "GOTOOLCHAIN": "local", "PKG_CONFIG_LIBDIR": "/nonexistent",
    }  # fmt: skip

    def call(*arguments, **more):
        return run([go, *arguments], 600, cwd=folder, env={**variables, **more})

    call("mod", "init", "consumer.test/consumer")
    call("get", f"{MODULE}@v{version}")
    return folder, call


def check_program(program, folder):
    assert "[loss]" in run([program, folder / "run"])
    assert "libsmdebug" not in run(["readelf", "-d", program])


def test_get_and_build(project, tried):
    folder, call = project
    call("build", "-o", "consumer", ".")
    check_program(folder / "consumer", folder)
    tried("Debian 12", "Go module", "x86_64", "ran")


def test_vendor(project):
    folder, call = project
    call("mod", "vendor")
    call("build", "-mod=vendor", "-o", "consumer", ".")
    check_program(folder / "consumer", folder)


def test_a_program_for_debian_11(project, debian_11, tried):
    folder, call = project
    call("build", "-o", "consumer", ".", CC=str(CACHE / "portable-x86_64/bin/clang"))
    with debian_11.folder() as work:
        shutil.copy(folder / "consumer", work)
        assert "[loss]" in debian_11.run(["./consumer", "run"])
    tried("Debian 11", "Go module", "x86_64", "ran")


def test_a_program_for_arm(project, debian_11_arm, tried):
    folder, call = project
    call("build", "-o", "consumer", ".", GOARCH="arm64", CGO_ENABLED="1",
         CC=str(CACHE / "portable-aarch64/bin/clang"))  # fmt: skip
    assert "[loss]" in debian_11_arm.emulated(folder / "consumer", folder / "run")
    tried("Debian 11", "Go module", "aarch64", "ran")


def test_the_library_of_the_system(project, archives):
    folder, call = project
    prefix = archives["x86_64"]
    call("build", "-tags", "smdebug_system", "-o", "consumer", ".",
         PKG_CONFIG_LIBDIR=str(prefix / "lib/pkgconfig"), CGO_LDFLAGS=f"-Wl,-rpath,{prefix / 'lib'}")  # fmt: skip
    assert "[loss]" in run([folder / "consumer", folder / "run"])
    assert "libsmdebug.so.1" in run(["readelf", "-d", folder / "consumer"])


def test_the_tagged_commit_is_the_module(release, go_module):
    [module] = release.glob("go/**/*.zip")
    identity = {f"GIT_{who}_{what}": "tests@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    commit = run([ROOT / "tools/go_tag.sh", module], env={**os.environ, **identity}).strip()
    files = sorted(path for path in go_module.rglob("*") if path.is_file())
    hashes = run(["git", "hash-object", "--no-filters", *files], cwd=ROOT).split()
    names = [f"bindings/go/{path.relative_to(go_module).as_posix()}" for path in files]
    listed = run(["git", "ls-tree", "-r", commit, "bindings/go"], cwd=ROOT).splitlines()
    assert {line.split("\t")[1]: line.split()[2] for line in listed} == dict(zip(names, hashes))
    # The rest of the commit, and its parent, are those of the branch.
    changed = run(["git", "diff", "--name-only", "HEAD", commit], cwd=ROOT).splitlines()
    assert all(name.startswith("bindings/go/") for name in changed)
    assert run(["git", "rev-parse", f"{commit}^"], cwd=ROOT) == run(["git", "rev-parse", "HEAD"], cwd=ROOT)
    assert run(["git", "branch", "--contains", commit], cwd=ROOT) == "", "no branch holds the libraries"
