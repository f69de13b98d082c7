"""Runs the programs of this folder, and parses their output."""

from __future__ import annotations

import errno
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build"))
SECONDS = 60

# `make torture` runs all cases; `make test` runs a subset.
IS_TORTURE = bool(os.environ.get("SMDEBUG_TORTURE"))

SHORT = -1  # reads and writes transfer half of the requested bytes
ERRORS = {
    "EIO": errno.EIO,
    "ENOSPC": errno.ENOSPC,
    "EINTR": errno.EINTR,
    "EMFILE": errno.EMFILE,
    "short": SHORT,
}


def settings(options: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in options.items()]


def recorder(
    folder: str | Path, run: int, steps: int, report: str, options: Mapping[str, str]
) -> list[str]:
    """Returns the command that records."""
    program = str(BUILD / "bin/fault_recorder")
    return [program, str(folder), str(run), str(steps), report, *settings(options)]


@dataclass
class Readable:
    """The content that a reader found in a trial."""

    runs: dict[int, int] = field(default_factory=dict)  # of complete steps
    codes: dict[int, str] = field(default_factory=dict)  # of other steps
    torn: list[int] = field(default_factory=list)
    end: str = ""  # the error code of the trial itself


def read(folders: Sequence[str | Path], options: Mapping[str, str]) -> Iterable[Readable]:
    """Reads each of the trials in one process."""
    names = "".join(f"{folder}\n" for folder in folders)
    command = [str(BUILD / "bin/fault_reader"), *settings(options)]
    done = subprocess.run(
        command, input=names, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    found = Readable()
    count = 0
    for line in done.stdout.splitlines():
        what, *words = line.split()
        if what == "end":
            found.end = words[0]
            yield found
            found = Readable()
            count += 1
        elif words[1] != "run":
            found.codes[int(words[0])] = words[1]
        elif words[2] == "-1":
            found.torn.append(int(words[0]))
        else:
            found.runs[int(words[0])] = int(words[2])
    assert count == len(folders)


def read_one(folder: str | Path, options: Mapping[str, str]) -> Readable:
    [found] = read([folder], options)
    return found


def calls_of(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> int:
    """Runs a program that makes its calls fail one after the other; returns their number.

    Each line of its output reports a bug, except the last line, which is the number.
    """
    done = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=3000,
        check=True,
    )
    *faults, last = done.stdout.splitlines()
    assert not faults, "\n".join(faults)
    print(f"{' '.join(map(str, command[1:]))}: {last}")
    return int(last.split()[0])


def every_call(
    job: str, folder: str | Path, group: str, error: int, how: str,
    options: Mapping[str, str], stride: int = 1,
) -> int:  # fmt: skip
    """Makes each `stride`th call of a job in C fail in turn; returns the number of calls."""
    program = BUILD / "bin/fault_every_call"
    return calls_of(
        [program, job, folder, group, str(error), how, "1", str(stride), *settings(options)]
    )
