"""Tests that scripts for the original behave the same: one test for each row of a table.

`behave.py` holds the rows that both libraries can run without a framework and without a
server; the others are in tests/frameworks, tests/s3/test_dropin_s3.py and tests/python/test_dropin.py.
"""

import re
from pathlib import Path

import pytest

ROWS = re.findall(r"^@row\ndef (\w+)", Path(__file__).with_name("behave.py").read_text(), re.MULTILINE)


@pytest.mark.parametrize("row", ROWS)
def test_behaves_as_the_original(original, ours, row, tmp_path):
    theirs = original("behave.py", tmp_path / "theirs", row)
    assert ours("behave.py", tmp_path / "ours", row) == theirs


def test_every_row_is_run():
    assert len(ROWS) > 12
