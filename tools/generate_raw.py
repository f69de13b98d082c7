#!/usr/bin/env python3
"""Generates the raw layers of the Rust and Node.js bindings from the public C headers.

    generate_raw.py           writes both files
    generate_raw.py --check   fails if a file differs from what the headers say
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from c_headers import INCLUDE, ROOT, Function, functions, handles

RUST = ROOT / "bindings/rust/smdebug-sys/src/raw.rs"
NODE = ROOT / "bindings/node/src/raw.js"

# Types of other interfaces, which only pass through as pointers.
FOREIGN = {"ArrowArrayStream", "ArrowSchema", "DLManagedTensorVersioned"}

RUST_TYPES = {
    "char": "c_char",
    "void": "c_void",
    "int": "c_int",
    "double": "f64",
    "float": "f32",
    "size_t": "usize",
    **{f"{sign}int{bits}_t": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
RUST_NAMES = {"self": "self_", "type": "type_"}  # keywords


@dataclass(frozen=True)
class Member:
    """A member of a structure, or a parameter: a C type and a name."""

    type: str
    name: str


@dataclass(frozen=True)
class Callback:
    """A pointer to a function."""

    name: str
    result: str
    parameters: tuple[Member, ...]


@dataclass(frozen=True)
class Structure:
    name: str
    members: tuple[Member | Callback, ...]


def text_of_headers() -> str:
    """Returns the headers that smdebug.h includes, without comments and continued lines."""
    names = re.findall(r'#include "(smdebug/\w+\.h)"', (INCLUDE / "smdebug.h").read_text())
    text = "".join((INCLUDE / name).read_text() for name in names)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).replace("\\\n", "")


def members_of(text: str, separator: str) -> list[Member | Callback]:
    found: list[Member | Callback] = []
    for each in (" ".join(part.split()) for part in text.split(separator)):
        if each in ("", "void"):
            continue
        if callback := re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", each):
            found.append(callback_of(*callback.group(2, 1, 3)))
            continue
        first, *others = each.split(", ")
        match = re.fullmatch(r"(.*?)(\w+)", first)
        assert match is not None, each
        found += [Member(match[1].strip(), name) for name in (match[2], *others)]
    return found


def callback_of(name: str, result: str, parameters: str) -> Callback:
    members = members_of(parameters, ",")
    assert all(isinstance(each, Member) for each in members), name
    return Callback(name, result.strip(), tuple(members))  # type: ignore[arg-type]


def structures(text: str) -> list[Structure]:
    found = re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.DOTALL)
    listed = [Structure(name, tuple(members_of(body, ";"))) for name, body in found]
    return in_order_of_use(listed)


def in_order_of_use(listed: list[Structure]) -> list[Structure]:
    """Sorts structures so that each one comes after those that its members point to."""
    waiting = {each.name: each for each in sorted(listed, key=lambda each: each.name)}
    ordered: list[Structure] = []
    while waiting:
        ready = [each for each in waiting.values() if not uses_of(each) & set(waiting)]
        assert ready, f"{sorted(waiting)} point to each other"
        ordered += ready
        waiting = {name: each for name, each in waiting.items() if each not in ready}
    return ordered


def uses_of(structure: Structure) -> set[str]:
    types = " ".join(each.type for each in structure.members if isinstance(each, Member))
    return set(re.findall(r"smd_\w+", types)) - {structure.name}


def callbacks(text: str) -> list[Callback]:
    found = re.findall(r"^typedef ([^;()]+?)\(\*(\w+)\)\(([^;]*)\);", text, re.MULTILINE)
    return [callback_of(name, result, parameters) for result, name, parameters in found]


def numbers(text: str) -> list[str]:
    """Returns the names of types that are numbers, such as smd_mode."""
    return re.findall(r"^typedef int32_t (\w+);", text, re.MULTILINE)


def constants(text: str) -> list[tuple[str, int]]:
    enumerations = re.findall(r"^(?:typedef )?enum \{(.*?)\}", text, re.DOTALL | re.MULTILINE)
    found = re.findall(r"(\w+) = (\d+)", " ".join(enumerations))
    found += re.findall(r"^#define (SMD_\w+) (0x[0-9a-f]+|\d+)\s*$", text, re.MULTILINE)
    return [(name, int(value, 0)) for name, value in found]


def layout(found: list[Structure]) -> dict[str, int]:
    """Asks the C compiler for the sizes of the structures, and where their members are."""
    wanted = [f"sizeof({each.name})" for each in found]
    wanted += [f"offsetof({each.name}, {member.name})" for each in found for member in each.members]
    lines = "".join(f'printf("%zu\\n", {each});\n' for each in wanted)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "layout.c"
        source.write_text(
            f"#include <smdebug.h>\n#include <stdio.h>\nint main(void) {{\n{lines}return 0;\n}}\n"
        )
        program = Path(folder) / "layout"
        subprocess.run(["cc", f"-I{INCLUDE}", source, "-o", program], check=True, timeout=60)
        printed = subprocess.run([program], check=True, timeout=60, capture_output=True, text=True)
    return dict(zip(wanted, map(int, printed.stdout.split())))


# ---- Rust ----------------------------------------------------------------------


def rust_type(c_type: str) -> str:
    """`const smd_trial *const *` becomes `*const *const smd_trial`."""
    tokens = re.findall(r"\w+|\*", c_type)
    is_const = tokens[0] == "const"
    base = next(each for each in tokens if each not in ("const", "struct"))
    result = RUST_TYPES.get(base, base)
    for at, token in enumerate(tokens):
        if token == "*":
            result = f"*{'const' if is_const else 'mut'} {result}"
            is_const = tokens[at + 1 : at + 2] == ["const"]
    return result


def rust_parameters(parameters: tuple[Member, ...]) -> str:
    return ", ".join(f"{RUST_NAMES.get(p.name, p.name)}: {rust_type(p.type)}" for p in parameters)


def rust_result(c_type: str) -> str:
    return "" if c_type == "void" else f" -> {rust_type(c_type)}"


def rust_callback(callback: Callback) -> str:
    parameters, result = rust_parameters(callback.parameters), rust_result(callback.result)
    return f'Option<unsafe extern "C" fn({parameters}){result}>'


def rust_structure(structure: Structure, places: dict[str, int]) -> str:
    lines = ["#[repr(C)]", "#[derive(Clone, Copy, Debug)]", f"pub struct {structure.name} {{"]
    for each in structure.members:
        of = rust_callback(each) if isinstance(each, Callback) else rust_type(each.type)
        lines.append(f"    pub {each.name}: {of},")
    size = places[f"sizeof({structure.name})"]
    lines += ["}", "const _: () = {", f"    assert!(size_of::<{structure.name}>() == {size});"]
    for each in structure.members:
        place = places[f"offsetof({structure.name}, {each.name})"]
        lines.append(f"    assert!(offset_of!({structure.name}, {each.name}) == {place});")
    return "\n".join([*lines, "};"])


def rust_constant(name: str, value: int) -> str:
    is_flag = name.startswith(("SMD_HAS_", "SMD_WANTS_", "SMD_EVALUATE_"))
    return f"pub const {name}: {'u32' if is_flag else 'i32'} = {value};"


def rust_opaque(name: str) -> str:
    return (
        f"#[repr(C)]\npub struct {name} {{\n    _data: [u8; 0],\n"
        "    _marker: PhantomData<(*mut u8, PhantomPinned)>,\n}"
    )


def rust_function(function: Function) -> str:
    members = tuple(Member(each.type, each.name) for each in function.parameters)
    result = function.result or "smd_error *"
    return f"    pub fn {function.name}({rust_parameters(members)}){rust_result(result)};"


def rust(text: str, found: list[Structure], declared: list[Function]) -> str:
    places = layout(found)
    defined = {each.name for each in found}
    opaque = opaque_types(text, found)
    parts = [
        "// Generated by tools/generate_raw.py from capi/include/smdebug.h.  Do not edit.\n",
        "use core::ffi::{c_char, c_void};\nuse core::marker::{PhantomData, PhantomPinned};\n"
        "use core::mem::{offset_of, size_of};\n",
        *(f"pub type {name} = i32;" for name in numbers(text)),
        *(f"pub type {each.name} = {rust_callback(each)};" for each in callbacks(text)),
        "",
        *(rust_constant(name, value) for name, value in constants(text)),
        "",
        *(rust_opaque(name) + "\n" for name in opaque),
        *(rust_structure(each, places) + "\n" for each in found),
        'unsafe extern "C" {',
        *map(rust_function, declared),
        "}",
    ]
    return "\n".join(parts) + "\n"


# ---- Node.js -------------------------------------------------------------------


def node_type(c_type: str, found: list[Structure], named: list[str]) -> str:
    """A type for koffi, which needs no names: handles are `void *`, numbers as they are in C."""
    base = re.sub(r"\b(const|struct)\b|[* ]", "", c_type)
    pointers = "*" * c_type.count("*")
    if base in named:
        base = "int32_t"
    elif base.startswith("smd_") and base.endswith("_fn"):
        base, pointers = "void", "*"
    elif base == "char" and pointers == "*":
        return "str"
    elif base not in RUST_TYPES and base not in {each.name for each in found}:
        base = "void"
    return f"{base} {pointers}".strip()


def node(text: str, found: list[Structure], declared: list[Function]) -> str:
    def of(c_type: str) -> str:
        return node_type(c_type, found, numbers(text))

    def prototype(function: Function) -> str:
        types = [("out " if p.is_output else "") + of(p.type) for p in function.parameters]
        result = of(function.result) if function.result else "void *"
        return f"  {function.name}: {[result, *types]},"

    def members(structure: Structure) -> str:
        each = (
            f"{m.name}: '{'void *' if isinstance(m, Callback) else of(m.type)}'"
            for m in structure.members
        )
        return f"  {structure.name}: {{{', '.join(each)}}},"

    parts = [
        "// Generated by tools/generate_raw.py from capi/include/smdebug.h.  Do not edit.",
        "'use strict';\n",
        "exports.constants = Object.freeze({",
        *(f"  {name}: {value}," for name, value in constants(text)),
        "});\n",
        "// The members of each structure.",
        "exports.structures = {",
        *map(members, found),
        "};\n",
        "// The result of each function, and its parameters.",
        "exports.functions = {",
        *map(prototype, declared),
        "};",
    ]
    return "\n".join(parts) + "\n"


def opaque_types(text: str, found: list[Structure]) -> list[str]:
    declared = {each for each in handles() if f"{each};" in text}
    return sorted(declared - {each.name for each in found} | FOREIGN)


def main() -> int:
    text = text_of_headers()
    found = structures(text)
    declared = [each for each in functions() if each.header.count("/") == 1]
    outputs = {RUST: rust(text, found, declared), NODE: node(text, found, declared)}
    if sys.argv[1:] == ["--check"]:
        old = [path for path, new in outputs.items() if path.read_text() != new]
        for path in old:
            print(f"{path.relative_to(ROOT)} is older than the headers: run tools/generate_raw.py")
        return 1 if old else 0
    for path, new in outputs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
