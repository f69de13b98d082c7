"""The declarations in the public C headers, for checks and generated tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "capi/include"

# These handles have a lock, a thread or a file, so they belong to the process that made them.
# The others are plain data.
PROCESS_HANDLES = {
    "smd_bucket",
    "smd_collection",
    "smd_event_file",
    "smd_hook",
    "smd_profiler",
    "smd_rule_set",
    "smd_step_file",
    "smd_tensor",
    "smd_trial",
}

_FUNCTION = re.compile(
    r"(?:/\*(?P<comment>(?:(?!\*/).)*)\*/\s*)?"
    r"^(?P<kind>SMD_API|SMD_FALLIBLE)\b(?P<result>[^;{(]*?)\b(?P<name>smd_\w+)\((?P<parameters>[^)]*)\)",
    re.DOTALL | re.MULTILINE,
)
_HANDLE = re.compile(r"^typedef struct (smd_\w+) \1;", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    type: str  # without the name, with pointers: "const smd_trial *"
    name: str

    @property
    def is_output(self) -> bool:
        return self.name == "out" or self.name.endswith("_out")

    @property
    def handle(self) -> Optional[str]:
        """The handle's type, if this parameter is a handle."""
        found = re.fullmatch(r"(?:const )?(smd_\w+) \*", self.type)
        return found[1] if found else None


@dataclass(frozen=True)
class Function:
    header: str  # "smdebug/trial.h"
    name: str
    result: str  # "" for a fallible function
    parameters: tuple[Parameter, ...]
    comment: str  # the comment directly above it, or ""

    @property
    def is_fallible(self) -> bool:
        return not self.result

    @property
    def outputs(self) -> list[Parameter]:
        return [each for each in self.parameters if each.is_output]


def paths() -> list[Path]:
    return sorted((INCLUDE / "smdebug").rglob("*.h"))


def handles() -> set[str]:
    """Returns the types of opaque handles."""
    return {name for path in paths() for name in _HANDLE.findall(path.read_text())}


def functions() -> list[Function]:
    found = []
    for path in paths():
        for match in _FUNCTION.finditer(path.read_text()):
            result = "" if match["kind"] == "SMD_FALLIBLE" else _joined(match["result"])
            found.append(
                Function(
                    str(path.relative_to(INCLUDE)),
                    match["name"],
                    result,
                    _parameters(match["parameters"]),
                    match["comment"] or "",
                )
            )
    return found


def _joined(text: str) -> str:
    return " ".join(text.split())


def _parameters(text: str) -> tuple[Parameter, ...]:
    if _joined(text) in ("", "void"):
        return ()
    parameters = []
    for each in text.split(","):
        match = re.fullmatch(r"(.*?)(\w+)", _joined(each))
        assert match is not None, each
        parameters.append(Parameter(match[1].strip(), match[2]))
    return tuple(parameters)
