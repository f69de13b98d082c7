"""Runs tests of the build for musl, the C library of Alpine Linux, and compares what it records with
this machine's build.  `make test-musl` prepares both."""

from __future__ import annotations

import re

import pytest
from other_builds import C_TESTS, NATIVE, ROOT, SCENARIO, UNIT_TESTS, answers, contents, run, run_unit_tests

MUSL = ROOT / "build/musl"


@pytest.mark.parametrize("program", ["tensor_test", "tables_test", "rules_test", *UNIT_TESTS])
def test_the_engine(program, tmp_path):
    run_unit_tests([str(MUSL / "bin" / program)], tmp_path)


@pytest.mark.parametrize("program", C_TESTS)
def test_the_c_interface(program, tmp_path):
    run([str(MUSL / "bin" / program)], tmp_path)


def test_the_same_trial_byte_for_byte(tmp_path):
    for name, build in (("native", NATIVE), ("musl", MUSL)):
        run([str(build / "bin/fixed_trial"), str(tmp_path / name)], tmp_path)
    expected, found = contents(tmp_path / "native"), contents(tmp_path / "musl")
    assert len(expected) == 2 * (12 + 12 + 1) + 1
    assert found == expected


@pytest.mark.parametrize("command", [["ls"], ["verify"], ["rules"]], ids=lambda each: each[0])
def test_the_program_prints_the_same(command, tmp_path):
    run([str(NATIVE / "bin/conformance_c"), str(SCENARIO), str(tmp_path / "trial"), str(tmp_path / "out")], tmp_path)
    programs = (build / "bin/smdebug" for build in (NATIVE, MUSL))
    native, musl = (answers([str(each), *command, str(tmp_path / "trial")], tmp_path) for each in programs)
    assert musl == native


@pytest.mark.parametrize("file", ["lib/libsmdebug.so.1", "bin/smdebug"])
def test_it_needs_musl_alone(file):
    told = run(["readelf", "-d", str(MUSL / file)], ROOT)
    assert set(re.findall(r"\(NEEDED\).*\[(.*)\]", told)) <= {"libc.so", "libsmdebug.so.1"}
