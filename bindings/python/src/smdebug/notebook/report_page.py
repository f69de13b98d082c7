"""The page of `smdebug report`, shown inside a notebook."""

from __future__ import annotations

import html
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Tuple, Union

from smdebug.core.program import PROGRAM
from smdebug.exceptions import SMDebugRuntimeError

__all__ = ["ReportPage", "make_report"]

# The program's codes with which it has written a page: no findings, damage, findings.
_WRITTEN = (0, 4, 10)

# Options that other users of the machine must not see among the words of a process.
_SECRETS = {
    "s3_access_key": "AWS_ACCESS_KEY_ID",
    "s3_secret_key": "AWS_SECRET_ACCESS_KEY",
    "s3_session_token": "AWS_SESSION_TOKEN",
}


class ReportPage:
    """A page about a trial, which needs no other file and no network.

    Attributes
    ----------
    html : str
        The page.
    height : int
        Its height in a notebook, in pixels.
    """

    def __init__(self, page: str, height: int) -> None:
        self.html = page
        self.height = height

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # A sandbox: the page cannot reach the notebook around it.
        return (
            f'<iframe sandbox="allow-scripts" title="smdebug report" width="100%"'
            f' height="{int(self.height)}" style="border:1px solid #8884"'
            f' srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<ReportPage of {len(self.html)} characters>"


def make_report(
    path: str,
    options: Mapping[str, str],
    rules: Iterable[Union[str, Tuple[str, Mapping[str, object]]]],
    profile: str,
    height: int,
) -> ReportPage:
    """Runs the program, and returns the page that it writes."""
    with tempfile.TemporaryDirectory(prefix="smdebug-report-") as folder:
        page = Path(folder) / "report.html"
        words = [str(PROGRAM), "report", "--output", str(page), f"--profile={profile}"]
        for rule in rules:
            words.append(f"--rule={_rule_text(rule)}")
        words.extend(
            f"--set={name}={value}" for name, value in options.items() if name not in _SECRETS
        )
        words.extend(["--", path if "://" in path else os.path.abspath(path)])
        try:
            done = subprocess.run(
                words,
                env=_environment(options),
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise SMDebugRuntimeError(
                f"{PROGRAM}: {error.strerror}; the package was built without the program"
            ) from error
        if done.returncode not in _WRITTEN or not page.exists():
            reason = done.stderr.strip().removeprefix("smdebug: ")
            raise SMDebugRuntimeError(reason or f"smdebug report failed with {done.returncode}")
        return ReportPage(page.read_text(encoding="utf-8"), height)


def _rule_text(rule: Union[str, Tuple[str, Mapping[str, object]]]) -> str:
    if isinstance(rule, str):
        return rule
    name, parameters = rule
    return f"{name},{json.dumps({key: str(value) for key, value in parameters.items()})}"


def _environment(options: Mapping[str, str]) -> Dict[str, str]:
    given: List[Tuple[str, str]] = [
        (variable, options[name]) for name, variable in _SECRETS.items() if name in options
    ]
    return {**os.environ, **dict(given)}
