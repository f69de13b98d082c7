"""The interpreters of this machine, and environments made with them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from main_build import in_groups

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "libsmdebug"
VERSIONS = ((3, 11), (3, 12), (3, 13))

# What must not leak from the environment of these tests.
NOT_INHERITED = ("PYTHONPATH", "SMDEBUG_SWIG", "AWS_")


def run(*command, timeout=120, **environment):
    """Runs a command; its output."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(NOT_INHERITED)}
    done = subprocess.run(
        list(map(str, command)), env={**inherited, **environment}, timeout=timeout, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-6000:]}"
    return done.stdout


@lru_cache(maxsize=None)
def interpreters():
    """The interpreters of this machine, by version; the running one among them."""
    found = {sys.version_info[:2]: Path(sys.executable)}
    names = [f"python{major}.{minor}" for major, minor in VERSIONS]
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    folders += sorted((Path.home() / ".pyenv/versions").glob("*/bin"))
    for program in (folder / name for folder in folders for name in names):
        if not os.access(program, os.X_OK):
            continue
        probe = subprocess.run(
            [program, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"],
            capture_output=True, text=True, timeout=30, check=False,
        )
        if probe.returncode == 0:
            found.setdefault(tuple(map(int, probe.stdout.split())), program)
    return {version: found[version] for version in VERSIONS if version in found}


@dataclass
class Environment:
    """A virtual environment of a test's own."""

    folder: Path

    @property
    def python(self):
        return self.folder / "bin/python"

    def install(self, *what, timeout=120, **environment):
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        return run(*pip, *what, timeout=timeout, **environment)

    def build(self, *options_and_sources):
        """Installs from sources, with objects that `make` has compiled if they are in ccache."""
        defined = ("SMDEBUG_DEVELOPER=ON", in_groups())
        settings = ("build-dir=build", *(f"cmake.define.{each}" for each in defined))
        self.install(
            *(f"--config-settings={setting}" for setting in settings),
            *options_and_sources, timeout=1200,
            CC="cc", CXX="c++", CCACHE_BASEDIR=str(options_and_sources[-1]), CCACHE_NOHASHDIR="1",
        )

    def run(self, script, *arguments, timeout=60, **environment):
        return run(self.python, "-I", script, *arguments, timeout=timeout, **environment)


def new_environment(folder, python=sys.executable):
    run(python, "-m", "venv", folder)
    return Environment(folder)
