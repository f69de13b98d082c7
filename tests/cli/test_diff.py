"""Tests smdebug diff."""

import numpy as np
import pytest
from cli_program import Program

import smdebug as smd


def record(path, steps, **settings):
    settings = {"save_all": True, "save_config": smd.SaveConfig(save_interval=1), **settings}
    with smd.Hook(str(path), **settings) as hook:
        for tensors in steps:
            with hook.step(smd.modes.TRAIN):
                for name, value in tensors.items():
                    hook.save(name, np.asarray(value))


def summary(folder, a, b, code, options=""):
    record(folder / "a", a)
    record(folder / "b", b)
    return Program(folder).objects(f"diff a b {options} --json", code)[-1]["summary"]


def test_equal_trials(tmp_path):
    steps = [{"t": [1.0, np.nan]}, {"t": [2.0, np.inf]}]
    told = summary(tmp_path, steps, steps, 0)
    assert told == {"same": True, "tensors": 1, "only_in_a": [], "only_in_b": [], "first": None}
    assert Program(tmp_path)("diff a b") == "1 of 1 tensor that both have are the same\n"


def test_a_mode_that_neither_has(tmp_path):
    for name in "ab":
        record(tmp_path / name, [{"t": [1.0]}])
    said = Program(tmp_path).complaint("diff a b --mode predict", 3)
    assert said == "nothing was compared: neither run has a step of the mode PREDICT"


@pytest.mark.parametrize("options", ["--rtol 0.1", "--rtol 0.1 --atol 1"])
def test_nothing_is_close_to_infinity(options, tmp_path):
    for i, pair in enumerate([(1.0, np.inf), (np.inf, 1.0), (np.inf, -np.inf), (np.nan, np.inf)]):
        told = summary(tmp_path / f"{i}", [{"t": [pair[0]]}], [{"t": [pair[1]]}], 10, options)
        assert not told["same"], pair


def test_tensors_and_steps_in_only_one_trial(tmp_path):
    told = summary(tmp_path, [{"t": [1.0], "x": [1.0]}, {"t": [1.0]}], [{"t": [1.0], "y": [1.0]}], 10)
    assert (told["only_in_a"], told["only_in_b"], told["first"]) == (["x"], ["y"], None)
    text = Program(tmp_path)("diff a b", 10)
    assert "only in a: x\nonly in b: y\n" in text
    assert "t           1       0      -        -       1       0\n" in text


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0.0], [-0.0], "by 0"),
        ([1.0, 2.0], [1.0, 3.0], "1 of 2 elements, by up to 1 at [1]"),
        ([1.0, 2.0], [[1.0, 2.0]], "value: 2 against 1x2"),
        (np.float32([1]), np.float64([1]), "value: float32 against float64"),
        ([1.0, 2.0], [1.0, np.nan], "1 of 2 elements, by up to nan at [1]"),
        (np.int64([2**62 + 1, 0]), np.int64([2**62, 0]), "1 of 2 elements, by up to 1 at [0]"),
        (["one", "two"], ["one", "2"], "value: 1 of 2 texts differs at [1]"),
    ],
)
def test_how_values_differ(a, b, message, tmp_path):
    first = summary(tmp_path, [{"t": [1.0]}, {"t": a}], [{"t": [1.0]}, {"t": b}], 10)["first"]
    assert (first["tensor"], first["first_step"], first["different"]) == ("t", 1, 1)
    assert first["message"] == message


@pytest.mark.parametrize(
    ("options", "code"),
    [("--atol 0.01", 10), ("--atol 0.1", 0), ("--rtol 0.01", 0), ("--rtol 1e-5", 10), ("", 10)],
)
def test_tolerance(options, code, tmp_path):
    summary(tmp_path, [{"t": [10.0, np.nan]}], [{"t": [10.05, np.nan]}], code, options)


def test_the_first_difference_is_at_the_earliest_step(tmp_path):
    a = [{"a": [0.0], "b": [0.0]}, {"a": [0.0], "b": [0.0]}]
    b = [{"a": [0.0], "b": [1.0]}, {"a": [1.0], "b": [1.0]}]
    assert summary(tmp_path, a, b, 10)["first"]["tensor"] == "b"
    assert Program(tmp_path)("diff a b", 10).startswith(
        "first difference: step 0 (TRAIN 0), 'b' of worker_0, by 1\n"
    )


def test_shapes_and_types_differ_by_no_number(tmp_path):
    record(tmp_path / "a", [{"t": [1.0, 2.0], "u": [1.0]}])
    record(tmp_path / "b", [{"t": [[1.0, 2.0]], "u": [1.0]}])
    program = Program(tmp_path)
    rows = [line.split() for line in program("diff a b --all", 10).splitlines()]
    assert ["t", "1", "1", "0", "-", "0", "0"] in rows and ["u", "1", "0", "-", "-", "0", "0"] in rows
    largest = {each["tensor"]: each["largest"] for each in program.objects("diff a b --all --json", 10)[:-1]}
    assert largest == {"t": None, "u": 0}


def test_texts_have_no_distance(tmp_path):
    told = summary(tmp_path, [{"t": ["a", "b", "c"]}], [{"t": ["a", "x", "y"]}], 10)
    assert told["first"]["tensor"] == "t"
    text = Program(tmp_path)("diff a b", 10)
    assert "2 of 3 texts differ, the first at [1]" in text
    assert "nan" not in text
    assert Program(tmp_path).objects("diff a b --json", 10)[0]["largest"] is None
