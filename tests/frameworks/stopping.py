"""What the tests of integrations share."""

from __future__ import annotations

import subprocess
import sys

from smdebug.rules import RuleSet


def stopping() -> RuleSet:
    """Returns rules that stop a training whose loss does not fall by 99 % in each step."""
    settings = {"num_steps": 1, "diff_percent": 99}
    return RuleSet("aws").add("LossNotDecreasing", settings, action="stop")


def imported_by(program: str, *modules: str) -> str:
    """Returns the modules that a program imports, as a printed list."""
    check = f"import sys; {program}; print([m for m in {modules!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()
