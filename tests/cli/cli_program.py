"""Ways to run the program."""

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
    """The words of a command line as people type it, without the program's name."""
    return shlex.split(command)[1:] if command.startswith("smdebug") else shlex.split(command)


class Program:
    """Runs smdebug in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, command, code=0, **variables):
        """What it prints into a pipe; it must end with `code`, and complain only if that is none
        of 0 and 10."""
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
        """The one sentence on stderr of a command that fails with `code`."""
        done = self.run(command)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout == ""
        [line] = done.stderr.splitlines()
        assert line.startswith("smdebug: ")
        return line.removeprefix("smdebug: ")

    def objects(self, command, code=0):
        """What it prints as JSON, an object a line."""
        return [json.loads(line) for line in self(command, code).splitlines()]

    def start(self, command, **options):
        return subprocess.Popen([PROGRAM, *words(command)], cwd=self.folder, **options)

    def on_terminal(self, command, columns=80, **variables):
        """What a terminal of so many columns gets, of both outputs."""
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
    """All that comes from a terminal until its last writer has gone."""
    read = b""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 1)
        if not ready:
            continue
        try:
            part = os.read(master, 65536)
        except OSError:  # EIO: nobody has it open any more
            part = b""
        if not part:
            return read.decode()
        read += part
    raise AssertionError(f"the program does not end; so far: {read!r}")
