"""Runs the program."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shlex
import struct
import subprocess
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin/smdebug"
SECONDS = 60


def words(command):
    """Splits a command line as a shell does, and drops the program's name."""
    return shlex.split(command)[1:] if command.startswith("smdebug") else shlex.split(command)


class Program:
    """Runs smdebug in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, command, code=0, **variables):
        """Returns the output in a pipe.  Checks that the exit code is `code`, and that stderr is
        empty if it is 0 or 10."""
        done = self.run(command, **variables)
        assert done.returncode == code, done.stdout + done.stderr
        if code in (0, 10):
            assert done.stderr == ""
        return done.stdout

    def run(self, command, **variables):
        return subprocess.run(
            [PROGRAM, *words(command)], cwd=self.folder, env={**os.environ, **variables},
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    def complaint(self, command, code):
        """Returns the only line on stderr of a command that fails with `code`."""
        done = self.run(command)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout == ""
        [line] = done.stderr.splitlines()
        assert line.startswith("smdebug: ")
        return line.removeprefix("smdebug: ")

    def objects(self, command, code=0):
        """Returns the JSON objects that the command prints, one per line."""
        return [json.loads(line) for line in self(command, code).splitlines()]

    def start(self, command, **options):
        return subprocess.Popen([PROGRAM, *words(command)], cwd=self.folder, **options)

    def on_terminal(self, command, columns=80, **variables):
        """Returns stdout and stderr on a terminal with this number of columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        settings = {"TERM": "xterm-256color", **variables}
        environment = {**os.environ, **settings}
        if not variables.get("NO_COLOR"):
            environment.pop("NO_COLOR", None)
        process = self.start(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
        os.close(slave)
        try:
            return read_all(master)
        finally:
            os.close(master)
            process.wait(SECONDS)


def read_all(master):
    """Reads from a terminal until its last writer has closed it."""
    read = b""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 1)
        if not ready:
            continue
        try:
            part = os.read(master, 65536)
        except OSError:  # EIO: no process has it open
            part = b""
        if not part:
            return read.decode()
        read += part
    raise AssertionError(f"the program does not exit; output so far: {read!r}")
