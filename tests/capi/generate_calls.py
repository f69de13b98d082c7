#!/usr/bin/env python3
"""Writes calls of every public function, so that a test cannot forget one.

usage: generate_calls.py output.h

The file defines call_with_null(), which calls each function that has an output with
nothing but NULL, and call_after_fork(), which calls each function of a handle that belongs
to another process.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from c_headers import PROCESS_HANDLES, Function, Parameter, functions, handles  # noqa: E402

PREAMBLE = """/* Made by generate_calls.py from the public headers. */
#include "expect.h"
#include "smdebug/sys/bucket.h"
#include "smdebug/sys/files.h"

#define EXPECT_SAME_TEXT(a, b) EXPECT(strcmp((a), (b)) == 0)
#define EXPECT_SAME(a, b) EXPECT((a) == (b))

static inline void expect_cleared(const char *function, const void *output, size_t size) {
  static const char zero[256];
  if (size <= sizeof zero && memcmp(output, zero, size) == 0) return;
  fprintf(stderr, "not true: %s clears its outputs\\n", function);
  abort();
}
"""


def argument(parameter: Parameter) -> str:
    if parameter.is_output:
        return f"&{parameter.name}"
    return "NULL" if "*" in parameter.type or parameter.type.endswith("_fn") else "1"


def call(function: Function, **given: str) -> str:
    arguments = [given.get(each.name, argument(each)) for each in function.parameters]
    return f"{function.name}({', '.join(arguments)})"


def with_garbage(function: Function, statements: list[str]) -> list[str]:
    """The statements in a block where each output is a variable that holds garbage."""
    lines = ["  {"]
    for each in function.outputs:
        lines.append(f"    {each.type.removesuffix('*')}{each.name};")
    for each in function.outputs:
        lines.append(f"    memset(&{each.name}, 0x5a, sizeof {each.name});")
    return lines + [f"    {each}" for each in statements] + ["  }"]


def cleared(function: Function, besides: str = "") -> list[str]:
    return [
        f'expect_cleared("{function.name}", &{each.name}, sizeof {each.name});'
        for each in function.outputs
        if each.name != besides
    ]


def null_calls(function: Function) -> list[str]:
    """All inputs NULL or 1; then each output NULL."""
    statements = [f"smd_error *error = {call(function)};"]
    statements += [f"if (error != NULL) {{ {' '.join(cleared(function))} }}"]
    for each in function.outputs:
        kind = each.type.removesuffix(" **")
        if kind in handles():
            statements.append(f"if (error == NULL) {kind}_free({each.name});")
    lines = with_garbage(function, statements + ["smd_error_free(error);"])
    for each in function.outputs:
        if re.search(rf"`{each.name}`[\s*]+may be NULL", function.comment):
            continue
        refused = call(function, **{each.name: "NULL"})
        statements = [f"EXPECT_CODE(SMD_INVALID_ARGUMENT, {refused});"]
        lines += with_garbage(function, statements + cleared(function, each.name))
    return lines


def fork_calls(function: Function) -> list[str]:
    first = function.parameters[0]
    texts = {each.name: '"w"' for each in function.parameters if each.type == "const char *"}
    of_parent = {**texts, first.name: f"parent->{first.handle}"}
    if function.is_fallible:
        statements = [f"EXPECT_CODE(SMD_AFTER_FORK, {call(function, **of_parent)});"]
        return with_garbage(function, statements + cleared(function))
    if function.result == "void":
        return [f"  {call(function, **of_parent)};"]
    both = f"{call(function, **of_parent)}, {call(function, **texts)}"
    same = "EXPECT_SAME_TEXT" if function.result == "const char *" else "EXPECT_SAME"
    return [f"  {same}({both});"]


def main() -> int:
    declared = functions()
    lines = [PREAMBLE, "typedef struct {"]
    kinds = sorted(PROCESS_HANDLES & handles())
    lines += [f"  {kind} *{kind};" for kind in kinds]
    lines += ["} process_handles;", "", "static inline void call_with_null(void) {"]
    for function in declared:
        if function.outputs and function.is_fallible:
            lines += null_calls(function)
    lines += ["}", "", "static inline void call_after_fork(const process_handles *parent) {"]
    last = []
    for function in declared:
        if not function.parameters or function.parameters[0].handle not in PROCESS_HANDLES:
            continue
        is_free = function.name.endswith("_free")
        (last if is_free else lines).extend(fork_calls(function))
    Path(sys.argv[1]).write_text("\n".join([*lines, *last, "}", ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
