"""Computes the states that a disk may have after a power loss, from a log of its changes.

The bytes of a file are certain once they are synced, and a name once its folder is synced.
Anything else may be present or missing; the models select what is present.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, NamedTuple, Union

HEAD = struct.Struct("=Qcc6xII")


class Call(NamedTuple):
    kind: str  # as in logging_calls.c
    inode: int
    truncates: bool
    path: str
    data: bytes


def read_log(path: Path) -> list[Call]:
    log = path.read_bytes()
    calls = []
    at = 0
    while at < len(log):
        inode, kind, truncates, path_size, data_size = HEAD.unpack_from(log, at)
        at += HEAD.size
        name = log[at : at + path_size].decode()
        data = log[at + path_size : at + path_size + data_size]
        at += path_size + data_size
        calls.append(Call(kind.decode(), inode, truncates != b"\0", name, data))
    return calls


@dataclass
class File:
    """The lengths of a file after each write, and how many of the writes are synced."""

    content: bytes = b""
    synced: int = 0

    def left(self, chance: random.Random) -> bytes:
        """Returns content that a disk may have written on its own: a prefix, maybe zeros."""
        written = chance.randint(self.synced, len(self.content))
        return self.content[:written] + bytes(chance.randint(0, len(self.content) - written))


@dataclass
class Folder:
    """The names in a folder after each change, and which of these states is synced."""

    states: list[dict[str, "Node"]] = field(default_factory=lambda: [{}])
    synced: int = 0

    @property
    def names(self) -> dict[str, "Node"]:
        return self.states[-1]

    def change(self, **names: "Node | None") -> None:
        now = {**self.names, **names}
        self.states.append({name: node for name, node in now.items() if node is not None})


Node = Union[File, Folder]


class Disk:
    """A folder's file system."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._root = Folder()
        self._nodes: dict[int, Node] = {base.stat().st_ino: self._root}

    def _find(self, path: str) -> tuple[Folder, str] | None:
        """Returns the folder of a path and its name there; nothing for a path elsewhere."""
        if not path.startswith(f"{self._base}/"):
            return None
        *parts, last = path[len(str(self._base)) + 1 :].split("/")
        folder = self._root
        for part in parts:
            found = folder.names[part]
            assert isinstance(found, Folder)
            folder = found
        return folder, last

    def apply(self, call: Call) -> None:
        node = self._nodes.get(call.inode)
        if call.kind == "w" and isinstance(node, File):
            node.content += call.data
        elif call.kind == "s" and isinstance(node, File):
            node.synced = len(node.content)
        elif call.kind == "s" and isinstance(node, Folder):
            node.synced = len(node.states) - 1
        elif call.kind in "omru" and (found := self._find(call.path)):
            self._name(call, *found)

    def _name(self, call: Call, folder: Folder, name: str) -> None:
        if call.kind == "u":
            folder.change(**{name: None})
        elif call.kind == "r":
            moved = self._find(call.data.decode())
            assert moved is not None and moved[0] is folder, "between folders it is not modelled"
            folder.change(**{name: None, moved[1]: folder.names[name]})
        elif call.kind == "m" or name not in folder.names:
            node = self._nodes[call.inode] = Folder() if call.kind == "m" else File()
            folder.change(**{name: node})
        elif call.truncates:
            assert isinstance(folder.names[name], File)
            node = self._nodes[call.inode] = File()
            folder.change(**{name: node})

    def write(self, to: Path, model: str, chance: random.Random) -> None:
        """Creates a folder with a state that this one may have after a power loss now.

        `strict`: only synced data.  `names`: every name, with the synced data of the files.
        `ordered`: all changes so far, as after a kill.  `some`: each folder in some state since it
        was synced, each file with some of the data written since.
        """
        to.mkdir()
        self._write(self._root, to, model, chance)

    def _write(self, folder: Folder, to: Path, model: str, chance: random.Random) -> None:
        state = len(folder.states) - 1
        if model == "strict":
            state = folder.synced
        elif model == "some":
            state = chance.randint(folder.synced, state)
        for name, node in folder.states[state].items():
            if isinstance(node, Folder):
                (to / name).mkdir()
                self._write(node, to / name, model, chance)
            elif model == "ordered":
                (to / name).write_bytes(node.content)
            elif model == "some":
                (to / name).write_bytes(node.left(chance))
            else:
                (to / name).write_bytes(node.content[: node.synced])


def moments(calls: list[Call], base: Path) -> Iterator[tuple[Disk, dict[int, int]]]:
    """Yields the disk after each call, and the runs that reported steps as durable."""
    disk = Disk(base)
    said: dict[int, int] = {}
    yield disk, said
    for call in calls:
        if call.kind == "p":
            what, number, run = call.data.decode().split()
            if what == "durable":
                said = {**said, int(number): int(run)}
        else:
            disk.apply(call)
        yield disk, said
