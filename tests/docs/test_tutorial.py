"""Tests that the commands in docs/tutorial.md, in their order, print the output on the page.

SMDEBUG_RENEW_DOCS=1 updates the page.
"""

import os
import shlex
import subprocess
import sys

import pytest
from snippets import ROOT, TIMEOUT, blocks, check_session, sessions
from test_snippets import BUILD, PACKAGE

PAGE = ROOT / "docs/tutorial.md"
# The page states the names of the files for its programs.
SCRIPTS = ["train.py", "look.py"]
PROGRAMS = {"python": sys.executable, "smdebug": str(BUILD / "bin/smdebug")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tutorial")
    texts = [text for _, text in blocks(PAGE, "python")]
    for name, text in zip(SCRIPTS, texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("command", "shown"), sessions(PAGE), ids=lambda text: text.split("\n")[0][:60])
def test_commands_print_the_output_on_the_page(command, shown, folder):
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [PROGRAMS[program], *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": PACKAGE},
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    # The failing run has findings, the fixed one has none.
    expected = 10 if arguments[:2] in (["rules", "run"], ["report", "run"]) else 0
    assert (done.returncode, done.stderr) == (expected, "")
    check_session(PAGE, command, shown, done.stdout)


def test_the_page_shows_the_example():
    _, train = blocks(PAGE, "python")[0]
    assert train == (ROOT / "examples/tutorial/train.py").read_text(encoding="utf-8")
