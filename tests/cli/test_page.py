"""Tests that docs/cli.md shows the output of the program; SMDEBUG_RENEW_DOCS=1 updates the page."""

import os
import sys
from pathlib import Path

import pytest
from cli_program import ROOT, Program
from snippets import blocks, check_session, sessions

PAGE = ROOT / "docs/cli.md"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Returns the program, in a folder in which the page's Python has run."""
    folder = tmp_path_factory.mktemp("page")
    before = os.getcwd()
    os.chdir(folder)
    try:
        for _, text in blocks(PAGE, "python"):
            exec(text, {})
    finally:
        os.chdir(before)
    return Program(folder)


@pytest.mark.parametrize(("command", "shown"), sessions(PAGE), ids=lambda text: text.split("\n")[0][:60])
def test_the_page_shows_the_output(command, shown, program, monkeypatch):
    # Some commands run in Python.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    done = program.run(command)
    assert (done.returncode in (0, 10), done.stderr) == (True, "")
    check_session(PAGE, command, shown, done.stdout)
