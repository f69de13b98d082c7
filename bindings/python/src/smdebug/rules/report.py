"""HTML reports about trials, which the command line program writes."""

from __future__ import annotations

import subprocess

from smdebug.core.program import PROGRAM
from smdebug.exceptions import SMDebugRuntimeError

__all__ = ["write_report"]

# The exit codes of the program after it wrote a report: without findings, with findings.
_WRITTEN = (0, 10)


def write_report(trial_path: str, page: str, profile: str = "calibrated") -> None:
    """Writes one HTML file about a trial, as `smdebug report` does.

    Raises
    ------
    SMDebugRuntimeError
        If the report cannot be written.  The message says why.
    """
    command = [str(PROGRAM), "report", "--profile", profile, f"--output={page}", "--", trial_path]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SMDebugRuntimeError(
            f"{PROGRAM}: {error.strerror}; it writes reports, and the package was built without it"
        ) from error
    if done.returncode not in _WRITTEN:
        said = done.stderr.strip().removeprefix("smdebug: ")
        raise SMDebugRuntimeError(said or f"smdebug report ended with code {done.returncode}")
