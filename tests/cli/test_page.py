"""docs/cli.md shows what the program says."""

import os
import re

import pytest
from cli_program import ROOT, Program

PAGE = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown():
    """Each command of the page, and what it says below it."""
    for language, text in FENCE.findall(PAGE):
        if language == "text":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, said = part.partition("\n")
                yield command, said


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """In a folder in which the page's Python has run."""
    folder = tmp_path_factory.mktemp("page")
    before = os.getcwd()
    os.chdir(folder)
    try:
        for language, text in FENCE.findall(PAGE):
            if language == "python":
                exec(text, {})
    finally:
        os.chdir(before)
    return Program(folder)


@pytest.mark.parametrize(("command", "said"), list(shown()), ids=lambda text: text.split("\n")[0][:60])
def test_the_page_shows_what_it_says(command, said, program):
    done = program.run(command)
    assert (done.returncode in (0, 10), done.stderr) == (True, "")
    assert done.stdout.strip("\n") == said.strip("\n")
