"""Runs tests of the build for 64-bit ARM under QEMU, and compares what it records and prints with
this machine's build.  `make test-aarch64` prepares both."""

from __future__ import annotations

import os
import sys
from typing import List

import pytest
from other_builds import C_TESTS, NATIVE, ROOT, SCENARIO, UNIT_TESTS, answers, contents, run, run_unit_tests

sys.path.append(str(ROOT / "tests/conformance"))
from comparing import differences, files_of, results_of  # noqa: E402

CROSS = NATIVE / "aarch64"
# The newest processor that QEMU knows, with SVE; and the oldest, with neither SVE nor the
# instruction for CRC-32C's wide products.
PROCESSORS = ["max", "cortex-a53"]


def emulated(program: str, processor: str = "max") -> List[str]:
    sysroot = os.environ["SMDEBUG_SYSROOT"]
    return ["qemu-aarch64-static", "-L", sysroot, "-cpu", processor, str(CROSS / "bin" / program)]


@pytest.mark.parametrize("program", UNIT_TESTS)
def test_the_engine(program, tmp_path):
    run_unit_tests(emulated(program), tmp_path)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_arithmetic(processor, tmp_path):
    run_unit_tests(emulated("tensor_test", processor), tmp_path)


@pytest.mark.parametrize("program", C_TESTS)
def test_the_c_interface(program, tmp_path):
    run(emulated(program), tmp_path)


def test_the_cpp_layer(tmp_path):
    assert "[  PASSED  ]" in run([*emulated("cpp17_test"), "--gtest_brief=1"], tmp_path)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_same_trial_byte_for_byte(processor, tmp_path):
    run([str(NATIVE / "bin" / "fixed_trial"), str(tmp_path / "native")], tmp_path)
    run(emulated("fixed_trial", processor) + [str(tmp_path / "cross")], tmp_path)
    expected = contents(tmp_path / "native")
    found = contents(tmp_path / "cross")
    assert len(expected) == 2 * (12 + 12 + 1) + 1
    assert list(found) == list(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    """Records and answers the scenario of tests/conformance on both machines."""
    folder = tmp_path_factory.mktemp("scenario")
    runners = {
        "native": [str(NATIVE / "bin" / "conformance_c")],
        "cross": emulated("conformance_c"),
    }
    for name, runner in runners.items():
        to = folder / name
        to.mkdir()
        run([*runner, str(SCENARIO), str(to / "trial"), str(to / "result.json")], to)
    return folder


def test_the_same_trial_of_the_scenario(scenario):
    expected = files_of(scenario / "native" / "trial")
    found = files_of(scenario / "cross" / "trial")
    assert list(found) == list(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


def test_the_same_answers_to_the_scenario(scenario):
    expected = results_of(scenario / "native" / "result.json")
    found = results_of(scenario / "cross" / "result.json")
    assert len(expected) > 50
    assert differences(found, expected) == {}


@pytest.mark.parametrize("command", [["ls"], ["verify"], ["rules"]], ids=lambda each: each[0])
def test_the_program_prints_the_same(command, scenario):
    trial = str(scenario / "native" / "trial")
    programs = ([str(NATIVE / "bin" / "smdebug")], emulated("smdebug"))
    native, cross = (answers([*program, *command, trial], scenario) for program in programs)
    assert cross == native
