"""Builds and runs the Go of the documentation.

Every block is a program: `package main`.  A line `fmt.Println(...) // text` must print that text.
"""

import re

import pytest
from main_build import VERSION
from snippets import ROOT, check_output, name_of, run
from test_snippets import BUILD, bucket, environment_for, programs_in  # noqa: F401

MODULE = "github.com/libsmdebug/libsmdebug/bindings/go"
PROGRAMS = programs_in("go")


def folder_of(page, line):
    return re.sub(r"\W", "_", f"{name_of(page)}_{line}")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Builds all programs at once, and returns their folder."""
    module = tmp_path_factory.mktemp("go")
    (module / "go.mod").write_text(
        f"module page\n\ngo 1.24\n\nrequire {MODULE} v{VERSION}\n\n"
        f"replace {MODULE} => {ROOT / 'bindings/go'}\n"
    )
    for page, line, text in (program.values for program in PROGRAMS):
        folder = module / folder_of(page, line)
        folder.mkdir()
        # Errors of the compiler then name the page and the line.
        text = f"//line {page}:{line}\n{text}"
        (folder / "main.go").write_text(text, encoding="utf-8")
    build = '. "$here/tools/go_env.sh" && "$go" vet ./... && "$go" build -o bin/ ./...'
    run(["sh", "-ec", build], module, here=str(ROOT), build=str(BUILD))
    return module / "bin"


@pytest.mark.parametrize(("page", "line", "text"), PROGRAMS)
def test_go(page, line, text, programs, tmp_path, request):
    environment = environment_for(text, request)
    check_output("go", text, run([programs / folder_of(page, line)], tmp_path, **environment))
