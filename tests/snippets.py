"""Finds and runs the code blocks of the documentation.

Every block of a programming language is a whole program: it runs alone, in an empty folder.  A line that
prints and ends in a comment, such as `print(x)  # 3`, must print the text of the comment.

A block of Python that begins with "```python after NAME" runs after the one that begins with
"```python NAME", which shows elsewhere on the page what the block's few lines are added to.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 120  # seconds, for each program

FENCE = re.compile(
    r"^```(?P<language>\w*)(?: after (?P<after>\w+)| (?P<name>\w+))?\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
EXPECTED = {
    "python": re.compile(r"^\s*print\(.+\)  # (.+)$", re.MULTILINE),
    "go": re.compile(r"^\s*fmt\.Println\(.+\) // (.+)$", re.MULTILINE),
    "rust": re.compile(r"^.*println!\(.+\)[;,] // (.+)$", re.MULTILINE),
    "javascript": re.compile(r"^\s*console\.log\(.+\); // (.+)$", re.MULTILINE),
    "java": re.compile(r"^\s*System\.out\.println\(.+\); // (.+)$", re.MULTILINE),
}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> List[Tuple[int, str]]:
    """Returns the (first line, text) of each block in a language."""
    text = page.read_text(encoding="utf-8")
    matches = [match for match in FENCE.finditer(text) if match["language"] == language]
    named = {match["name"]: match["text"] for match in matches if match["name"]}
    return [
        (text.count("\n", 0, match.start("text")) + 1, _prefix(named, match) + match["text"])
        for match in matches
    ]


def _prefix(named: Dict[str, str], match: re.Match[str]) -> str:
    """Returns the block that another runs after, in a form that leaves line numbers as they are."""
    if not match["after"]:
        return ""
    assert re.match(r"(from|import) ", match["text"]), "a block after another begins with an import"
    return f"exec({named[match['after']]!r}); "


def run(command: Sequence[object], folder: Path, **environment: str) -> str:
    """Runs a program in a folder, checks that it succeeds, and returns its output."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check_output(language: str, text: str, printed: str) -> None:
    """Checks that the program printed each line in its comments."""
    promised = Counter(EXPECTED[language].findall(text))
    missing = promised - Counter(line.strip() for line in printed.splitlines())
    assert not missing, f"not printed: {sorted(missing)}\nprinted:\n{printed}"


def run_python(python: str, page: Path, line: int, text: str, folder: Path, **environment: str) -> None:
    """Runs one block of Python; tracebacks name its page and line."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder.parent / f"{folder.name}.py"
    source = "\n" * (line - 1) + text
    script.write_text(f"exec(compile({source!r}, {name_of(page)!r}, 'exec'))\n", encoding="utf-8")
    check_output("python", text, run([python, script], folder, **environment))


# ---- sessions: `text` blocks of commands, `$ smdebug ls run`, each with its output below ----

SESSION = re.compile(r"^\$ (.+)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)


def sessions(page: Path) -> List[Tuple[str, str]]:
    """Returns each command that a page shows, with its output."""
    found = SESSION.findall("".join(text for _, text in blocks(page, "text")))
    assert found, f"{name_of(page)} shows no commands"
    return found


def check_session(page: Path, command: str, shown: str, printed: str) -> None:
    """Checks that a command printed the output on the page.  SMDEBUG_RENEW_DOCS=1 updates the page."""
    wanted = printed.strip("\n") + "\n"
    if os.environ.get("SMDEBUG_RENEW_DOCS") and shown.strip("\n") != wanted.strip("\n"):
        text = page.read_text(encoding="utf-8")
        last = "\n" if shown.endswith("\n\n") else ""
        assert text.count(f"$ {command}\n{shown}") == 1
        page.write_text(text.replace(f"$ {command}\n{shown}", f"$ {command}\n{wanted}{last}"), encoding="utf-8")
        return
    assert shown.strip("\n") == wanted.strip("\n")
