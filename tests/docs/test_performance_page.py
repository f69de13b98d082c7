"""Tests that the pages of figures have a row for each measurement, and name the commands."""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))
sys.path.insert(0, str(ROOT / "tests/rules"))

import check  # noqa: E402
import publish  # noqa: E402


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
    measured = (ROOT / "docs/accuracy.md").read_text(encoding="utf-8")
    programs = re.findall(r"`(tests/\S+\.py)", measured)
    assert programs
    for program in programs:
        assert (ROOT / program).exists()
    assert "`make measure-rules SET=claim" in measured.split("\n<!-- claim: figures -->")[0]


CLAIM = """1000 runs; 71 healthy ones left out, which did not learn
| figure | share, 95 % interval |
|---|---|
| healthy runs silent | 100.0% (99.1% to 100.0%) of 400 |
| found, middling | 91.5% (86.0% to 94.0%) of 200 |
| found, gross | 98.0% (95.0% to 99.2%) of 150 |
| culprit right | 98.1% (96.8% to 98.8%) of 779 |
| first cause right, all faults | 89.0% (86.0% to 92.0%) of 500 |
| one of three right, all faults | 90.0% (87.0% to 93.0%) of 500 |
| first cause right, gross | 96.0% (92.0% to 98.0%) of 150 |
| one of three right, gross | 98.0% (95.0% to 99.2%) of 150 |
| first cause right, with findings | 97.0% (95.0% to 98.0%) of 460 |
| one of three right, with findings | 98.5% (97.0% to 99.2%) of 460 |
| healthy runs without a diagnosis | 99.8% (98.6% to 100.0%) of 400 |
| seconds a run | 1.00 |

| fault | slight | middling | gross |
|---|---|---|---|
| bit_flip | 1 / 2 | 3 / 3 | 4 / 4 |

| healthy | silent | blamed by | worth a look |
|---|---|---|---|
| plain | 3 / 3 |  |  |
"""


def test_a_claim_is_published_once(tmp_path, monkeypatch):
    for name in ("accuracy.md", "diagnosis.md"):
        shutil.copy(ROOT / "docs" / name, tmp_path)
    monkeypatch.setattr(publish, "DOCS", tmp_path)
    (tmp_path / "claim.txt").write_text(CLAIM)
    for _ in range(2):
        publish.main([str(tmp_path / "claim.txt"), "--first", "7099000", "--commit", "abcdef12"])
    accuracy = (tmp_path / "accuracy.md").read_text(encoding="utf-8")
    row = "| 7,099,000 | 100 % of 400 | 91.5 % of 200 | 98.0 % of 150 | 98.1 % |\n"
    assert accuracy.count(row) == 1
    assert "from 7,099,000 to 7,099,999 and the rules of commit abcdef12" in accuracy
    assert "SET=claim BEGIN=99000 RUNS=1000" in accuracy
    assert "| bit_flip | 1 / 2 | 3 / 3 | 4 / 4 |" in accuracy
    assert "seconds a run" not in accuracy
    diagnosis = (tmp_path / "diagnosis.md").read_text(encoding="utf-8")
    shares = "89.0 / 90.0 % of 500 | 96.0 / 98.0 % of 150 | 97.0 / 98.5 % of 460 | 99.8 % of 400"
    assert diagnosis.count(f"| 7,099,000 | {shares} |\n") == 1
