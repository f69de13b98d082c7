"""Tests that the pages of figures have a row for each measurement, and name the commands."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))

import check  # noqa: E402


def test_every_measured_figure_is_recorded():
    measured = {(what, unit) for what, unit, _, _ in check.FIGURES}
    assert measured == measured & set(check.recorded(check.PAGE.read_text(encoding="utf-8")))


def test_every_table_names_its_command():
    sections = check.PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    with_tables = [section for section in sections if "\n|" in section]
    assert len(with_tables) > 6
    for section in with_tables:
        title, _, text = section.partition("\n")
        [program] = re.findall(r"^Command: `python (\S+)`", text, re.MULTILINE)
        assert (ROOT / program).exists(), f"{title}: {program}"


def test_the_tables_of_rules_name_their_command():
    text = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    measured = text.split("\n## How good they are\n")[1].split("\n## ")[0]
    programs = re.findall(r"`(tests/\S+\.py)", measured)
    assert programs
    for program in programs:
        assert (ROOT / program).exists()
    assert "`make measure-rules SET=claim" in measured.split("\n| ")[0]
