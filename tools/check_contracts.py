#!/usr/bin/env python3
"""Checks that every public function follows docs/api-conventions.md, as far as a script can.

The comment of each function states how it fails, from which threads it may be called, and
since when it exists.  Parameters have a fixed order.  Comments name only existing things.
"""

import re
import sys

from c_headers import INCLUDE, PROCESS_HANDLES, ROOT, Function, functions, handles, paths

STEPS = ("step", "global_step", "mode_step")
KEYS = ("collection_name", "key", "name", "regex", "rule", "tensor")


def contract_faults(function: Function, codes: set[str]) -> list[str]:
    wanted = ["Thread:", "Since:"] + (["Fails:"] if function.is_fallible else [])
    missing = [word for word in wanted if word not in function.comment]
    if missing:
        return [f"its comment does not say {' '.join(missing)}"]
    named = set(re.findall(r"\b[A-Z][A-Z_]+\b", fails_of(function)))
    faults = [f"it fails with {code}, which is no code" for code in sorted(named - codes)]
    if "IO" in named and "PERMISSION" not in named:
        faults.append("it fails with IO, but does not say PERMISSION")
    return faults


def fails_of(function: Function) -> str:
    """Returns the part of the comment that states how the function fails."""
    found = re.search(r"Fails:(.*?)(?=\n \* Thread:)", function.comment, re.DOTALL)
    return re.sub(r"\(.*?\)", "()", found[1], flags=re.DOTALL) if found else ""


def all_fails_of(function: Function, by_name: dict[str, Function]) -> str:
    """Returns that part, followed by those of the functions to which it refers."""
    text = fails_of(function)
    for name in re.findall(r"\bsmd_\w+", text):
        if name != function.name and name in by_name:
            text += all_fails_of(by_name[name], by_name)
    return text


def order_faults(function: Function, nouns: set[str]) -> list[str]:
    names = [each.name for each in function.parameters]
    faults = []
    outputs = [each.is_output for each in function.parameters]
    if outputs != sorted(outputs):
        faults.append("an output is not last")
    for each in function.parameters:
        if re.search(r"\*\*$|^(double|u?int\d+_t|size_t|smd_mode) \*$", each.type):
            if not each.is_output and "*const *" not in each.type:
                faults.append(f"'{each.name}' is an output: call it 'out' or '{each.name}_out'")
    noun = max((n for n in nouns if function.name.startswith(n + "_")), key=len, default="")
    makes = f"{noun} *" in function.result or any(
        each.type == f"{noun} **" for each in function.outputs
    )
    has_inputs = not all(outputs)
    if noun and has_inputs and not makes and function.parameters[0].handle != noun:
        faults.append(f"its first parameter is no {noun}")
    place = [i for i, name in enumerate(names) if name in STEPS]
    place += [names.index(name) for name in ("mode", "worker") if name in names]
    if place and place != list(range(place[0], place[0] + len(place))):
        faults.append("step, mode and worker do not stand together in this order")
    takes_handle = bool(names) and function.parameters[0].handle is not None
    for i, each in enumerate(function.parameters):
        if each.name in KEYS and each.type == "const char *" and i > takes_handle:
            faults.append(f"the key '{each.name}' does not come right after the handle")
    return faults


def fork_faults(function: Function, by_name: dict[str, Function]) -> list[str]:
    if not function.is_fallible:
        return []
    if not any(each.handle in PROCESS_HANDLES for each in function.parameters):
        return []
    if "AFTER_FORK" in all_fails_of(function, by_name):
        return []
    return ["it takes a handle of a process, but does not say AFTER_FORK"]


def name_faults(known: set[str]) -> list[str]:
    """Returns comments that name missing functions, types, constants or pages."""
    faults = []
    sources = [INCLUDE / "smdebug.h", INCLUDE / "smdebug.hpp", *paths()]
    sources += sorted((INCLUDE / "smdebug/cpp").rglob("*.hpp"))
    for path in sources:
        text = path.read_text()
        for name in set(re.findall(r"\b(?:smd|SMD)_\w+", text)):
            is_prefix = name.endswith("_") and any(each.startswith(name) for each in known)
            if name not in known and not is_prefix:
                faults.append(f"{path.name}: there is no {name}")
        for page in set(re.findall(r"docs/[\w./-]+\.md", text)):
            if not (ROOT / page).exists():
                faults.append(f"{path.name}: there is no {page}")
    return faults


def detail_faults(by_name: dict[str, Function]) -> list[str]:
    """Returns keys of details that the comment of smd_error_detail() does not list."""
    listed = set(re.findall(r'"(\w+)"', by_name["smd_error_detail"].comment))
    sources = [path for folder in ("cpp_impl", "capi") for path in (ROOT / folder).rglob("*.cc")]
    text = "".join(path.read_text() for path in sources)
    keys = set(re.findall(r'\.With\(\s*"(\w+)"', text))
    return [f"smd_error_detail: the key '{key}' is not listed" for key in sorted(keys - listed)]


def main() -> int:
    declared = functions()
    by_name = {function.name: function for function in declared}
    text = "".join(path.read_text() for path in [INCLUDE / "smdebug.h", *paths()])
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    known = set(re.findall(r"\b(?:smd|SMD)_\w+", code))
    codes = {name.removeprefix("SMD_") for name in re.findall(r"SMD_[A-Z_]+(?= = \d)", code)}
    faults = name_faults(known) + detail_faults(by_name)
    for function in declared:
        found = contract_faults(function, codes) + order_faults(function, handles())
        found += fork_faults(function, by_name)
        faults += [f"{function.header}: {function.name}: {fault}" for fault in found]
    print("\n".join(faults) or f"{len(declared)} functions follow the conventions")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
