"""Tests that docs/all_rules.md lists every rule, with its parameters and defaults."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_tables_agree_with_the_library():
    done = subprocess.run(
        [sys.executable, ROOT / "tools/rules_page.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr}\nrun tools/rules_page.py"
