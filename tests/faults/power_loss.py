"""What a disk may hold after a loss of power, from a log of the calls that changed it.

A file's bytes are sure to be there once they were synced, a name once its folder was.  What
was not synced may be there or not; the models say what of it is.
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
    """The bytes it had after each write, as lengths, and how many are synced."""

    content: bytes = b""
    synced: int = 0

    def left(self, chance: random.Random) -> bytes:
        """The bytes that a disk may have got on its own: some, the last as zeros."""
        written = chance.randint(self.synced, len(self.content))
        return self.content[:written] + bytes(chance.randint(0, len(self.content) - written))


@dataclass
class Folder:
    """The names after each change, and which of these states is synced."""

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
        """The folder of a path, and its name there; nothing for what lies elsewhere."""
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
        """Makes a folder that holds what this one may after a loss of power now.

        `strict`: only what is synced.  `names`: every name, and of the files what is synced.
        `ordered`: all that was done so far, as after a kill.  `some`: each folder as it was
        at some moment since it was synced, each file with some of what was written since.
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
    """The disk after each call, and which run said of which steps that they are durable."""
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
