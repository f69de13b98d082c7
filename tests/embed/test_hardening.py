"""What is built is hard to misuse, and says nothing about where it was built."""

import re
import subprocess

import pytest
from installing import BUILD, ROOT

BUILT = ["lib/libsmdebug.so", "bin/smdebug", "python/smdebug/_raw.abi3.so"]


def readelf(name, *options):
    done = subprocess.run(
        ["readelf", "--wide", *options, BUILD / name], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


@pytest.mark.parametrize("name", BUILT)
def test_linked_read_only_and_at_once(name):
    assert re.search(r"FLAGS_1.* NOW", readelf(name, "--dynamic"))
    headers = readelf(name, "--program-headers")
    assert "GNU_RELRO" in headers
    assert re.search(r"GNU_STACK.* RW +0x", headers)


@pytest.mark.parametrize("name", BUILT[:2])
def test_stack_and_copies_are_guarded(name):
    symbols = readelf(name, "--dyn-syms")
    assert "__stack_chk_fail" in symbols
    assert re.search(r"__\w+_chk@", symbols.replace("__stack_chk_fail", ""))


@pytest.mark.parametrize("name", BUILT[:2])
def test_control_flow_is_guarded(name):
    notes = readelf(name, "--notes")
    if "x86" in readelf(name, "--file-header").lower():
        # A property of the whole only if libraries that are linked in have it too.
        disassembled = subprocess.run(
            ["objdump", "--disassemble", "--no-show-raw-insn", BUILD / name],
            capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        assert disassembled.stdout.count("endbr64") > 1000 or "IBT" in notes


# The program in the build folder finds the library there by its path.
@pytest.mark.parametrize("name", [BUILT[0], BUILT[2]])
def test_no_path_of_this_machine_is_left(name, tmp_path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, BUILD / name], timeout=60, check=True)
    assert str(ROOT).encode() not in stripped.read_bytes()
