"""Root file systems of other releases of Debian, and how programs run in them."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "libsmdebug"
# The dynamic linker needs /proc to find libraries beside a program.
ENTER = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
DEBIAN_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}


def run(command: Sequence[object], seconds: int = 120, cwd: Path | None = None, env: dict | None = None,
        **variables: object) -> str:  # fmt: skip
    """Runs a program that must succeed, with variables added to its environment; returns what it printed."""
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=seconds, check=False, cwd=cwd,
        env={**(os.environ if env is None else env), **{name: str(value) for name, value in variables.items()}},
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-6000:]}"
    return done.stdout


def mirror() -> str:
    """Where apt has this machine's Debian from, without updates: mirrors may lack some of those."""
    told = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"])
    return told.split()[0]


class Root:
    """A root file system that holds packages of a release of Debian: unpacked, and with apt also set up.

    `use` tells roots of one release apart."""

    def __init__(self, suite: str, architecture: str, packages: Sequence[str], use: str = "", apt: bool = False):
        self.architecture = architecture
        self.path = CACHE / "roots" / "-".join(filter(None, (suite, architecture, use)))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with (self.path.parent / f"{self.path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            wanted = " ".join(["apt"] * apt + [*packages])
            stamp = self.path.parent / f"{self.path.name}.made_from"
            if stamp.exists() and stamp.read_text() == wanted:
                return
            if self.path.exists():
                shutil.rmtree(self.path)
            run(
                ["mmdebstrap", "--quiet", f"--variant={'apt' if apt else 'extract'}", "--mode=root" if os.geteuid() == 0 else "--mode=unshare",
                 f"--architectures={DEBIAN_ARCHITECTURE[architecture]}", f"--include={','.join(packages)}",
                 suite, self.path, f"deb {mirror()} {suite} main"],
                seconds=900,
            )  # fmt: skip
            for name in ("proc", "dev", "tmp"):
                (self.path / name).mkdir(exist_ok=True)
            stamp.write_text(wanted)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder for a test's files, which is seen from inside as /test."""
        work = self.path / "test"
        with (self.path.parent / f"{self.path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            try:
                yield work
            finally:
                shutil.rmtree(work)

    def run(self, command: Sequence[object], seconds: int = 120, **variables: str) -> str:
        """Runs a program of the root, in /test."""
        settings = [f"{name}={value}" for name, value in
                    {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/test", "LC_ALL": "C", **variables}.items()]  # fmt: skip
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        enter = ["unshare", "--mount", *user, "sh", "-c", ENTER]
        return run([*enter, self.path, "/usr/bin/env", "-i", "-C", "/test", *settings, *command], seconds)

    def emulated(self, program: Path, *arguments: object, seconds: int = 240, cwd: Path | None = None,
                 **variables: str) -> str:  # fmt: skip
        """Runs a program for another architecture with the libraries of this root."""
        command = ["qemu-aarch64-static", "-L", self.path, program, *arguments]
        return run(command, seconds, cwd, **variables)

