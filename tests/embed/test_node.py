"""The Node.js package, as a user installs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from installing import BUILD, ROOT, run

sys.path.insert(0, str(ROOT / "tests"))

from snippets import blocks, check_output  # noqa: E402

PACKAGE = ROOT / "bindings/node"
PAGE = ROOT / "docs/node.md"
LIBRARY = BUILD / "lib/libsmdebug.so.1"
QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The package as the registry would have it."""
    folder = tmp_path_factory.mktemp("archive")
    run([ROOT / "tools/npm.sh", folder], ROOT)
    [path] = folder.glob("*.tgz")
    return path


@pytest.fixture(scope="module")
def project(archive, tmp_path_factory):
    """A user's project in TypeScript."""
    folder = tmp_path_factory.mktemp("project")
    settings = {"name": "user", "private": True, "type": "module"}
    (folder / "package.json").write_text(json.dumps(settings), encoding="utf-8")
    run(["npm", "install", *QUIET, archive, "typescript@5.9.3", "@types/node@20"], folder)
    return folder


def test_the_package(archive, tmp_path):
    """Its own tests, with the dependencies that its lock file pins."""
    run(["tar", "xf", archive], tmp_path)
    for name in ("test", "package-lock.json"):
        run(["cp", "-r", PACKAGE / name, tmp_path / "package"], tmp_path)
    run(["npm", "ci", *QUIET], tmp_path / "package")
    run(["node", "--test", "test/"], tmp_path / "package", SMDEBUG_LIBRARY=LIBRARY)


def test_what_is_in_the_package(archive):
    files = set(run(["tar", "tf", archive], ROOT).split())
    sources = {f"package/src/{path.name}" for path in (PACKAGE / "src").glob("*.js")}
    assert files == sources | {f"package/{name}" for name in ("package.json", "index.d.ts", "README.md", "LICENSE")}


def test_each_program_of_the_page(project):
    """Each block is checked as TypeScript, and run."""
    programs = blocks(PAGE, "javascript")
    assert len(programs) >= 3
    for line, text in programs:
        (project / f"line_{line}.mts").write_text(text, encoding="utf-8")
    options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,esnext.disposable"]
    run(["npx", "tsc", *options, *project.glob("line_*.mts")], project)
    for line, text in programs:
        folder = project / f"line_{line}"
        folder.mkdir()
        (folder / "program.mjs").write_text(text, encoding="utf-8")
        check_output("javascript", text, run(["node", "program.mjs"], folder, SMDEBUG_LIBRARY=LIBRARY))


def test_a_library_in_the_package_is_taken(project):
    """As packages for one platform have it."""
    [processor] = run(["node", "-p", "process.arch"], project).split()
    folder = project / f"node_modules/smdebug/native/linux-{processor}"
    folder.mkdir(parents=True)
    (folder / "libsmdebug.so.1").symlink_to(LIBRARY)
    program = "import {libraryVersion} from 'smdebug'; console.log(libraryVersion())"
    assert run(["node", "--input-type=module", "-e", program], project).startswith("1.")
    (folder / "libsmdebug.so.1").unlink()


def test_a_missing_library_is_named(project):
    program = "import {Trial} from 'smdebug'; new Trial('run')"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program], cwd=project, check=False, capture_output=True, text=True,
        timeout=60, env={"PATH": f"{run(['sh', '-c', 'printf %s $PATH'], project)}", "SMDEBUG_LIBRARY": "/nothing.so"},
    )
    assert done.returncode != 0
    assert "install libsmdebug, or set SMDEBUG_LIBRARY to the path of libsmdebug.so.1" in done.stderr
