"""Systems that packages must run on, and the versions of their C and C++ libraries."""

from __future__ import annotations

from typing import NamedTuple, Tuple


class System(NamedTuple):
    """A system, by the newest symbol versions that its libraries have."""

    name: str
    glibc: Tuple[int, int]
    libstdcxx: Tuple[int, int, int]


SYSTEMS = [
    System("Debian 11", (2, 31), (3, 4, 28)),
    System("Debian 12", (2, 36), (3, 4, 30)),
    System("Debian 13", (2, 41), (3, 4, 33)),
    System("Ubuntu 20.04", (2, 31), (3, 4, 28)),
    System("Ubuntu 22.04", (2, 35), (3, 4, 30)),
    System("Ubuntu 24.04", (2, 39), (3, 4, 33)),
    System("RHEL 8", (2, 28), (3, 4, 25)),
    System("RHEL 9", (2, 34), (3, 4, 29)),
    System("Amazon Linux 2023", (2, 34), (3, 4, 29)),
]
ARCHITECTURES = ["x86_64", "aarch64"]
NODE_ARCHITECTURE = {"x86_64": "x64", "aarch64": "arm64"}

# (system, package, architecture, how it was tried), by tests that passed.
TRIED = []
