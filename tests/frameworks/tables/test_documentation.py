"""The page on tables: its programs run, its commands print what it shows, its pictures are current.

SMDEBUG_RENEW_DOCS=1 updates the page.
"""

import os
import shlex
import subprocess
import sys

import pytest
from command import output
from pages import run_page
from snippets import ROOT, blocks, check_session, sessions

PAGE = ROOT / "docs/tables.md"
# Read here, since each test begins without the variables of this project.
RENEW = os.environ.get("SMDEBUG_RENEW_DOCS", "")


def test_the_programs_run(tmp_path):
    run_page("tables.md", tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the page's runs are recorded."""
    folder = tmp_path_factory.mktemp("page")
    [program] = [text for _, text in blocks(PAGE, "python") if "def train" in text and "exec(" not in text]
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, timeout=60)
    return folder


@pytest.mark.parametrize(("line", "shown"), sessions(PAGE), ids=lambda text: text.split("\n")[0][:60])
def test_the_commands_print_the_output_on_the_page(line, shown, folder, monkeypatch):
    if RENEW:
        monkeypatch.setenv("SMDEBUG_RENEW_DOCS", RENEW)
    program, *words = shlex.split(line)
    assert program == "smdebug"
    check_session(PAGE, line, shown, output(folder, *words))


def test_the_pictures_are_those_of_the_answers(tmp_path):
    """tools/tables_plots.py draws them."""
    subprocess.run([sys.executable, ROOT / "tools/tables_plots.py", "--out", tmp_path], check=True,
                   cwd=ROOT, timeout=60, env=dict(os.environ))  # fmt: skip
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    assert len(drawn) == 10
    for name, text in drawn.items():
        assert text == (ROOT / "docs/tables" / name).read_text(), f"run tools/tables_plots.py: {name}"
        assert len(text) < 8000
