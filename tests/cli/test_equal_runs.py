"""Tests smdebug diff with --noise and --rounding."""

import json

import numpy as np
import pytest
from cli_program import Program

import smdebug as smd

STEPS = 3
NAMES = ["Net_a.weight", "a_output_0", "b_input_0", "b_output_0", "loss_output_0"]


def record(path, change=None, names=NAMES, seed=0):
    """Records steps of small differences, after `change(step, tensors)`."""
    random = np.random.default_rng(5)
    noise = np.random.default_rng(seed)
    settings = {"save_all": True, "save_config": smd.SaveConfig(save_interval=1)}
    with smd.Hook(str(path), **settings) as hook:
        for step in range(STEPS):
            gradients = [f"gradient/Net_{name}.weight" for name in "abc"]
            tensors = {}
            for name in [*names, *gradients]:
                size = () if "loss" in name else (4, 3)
                value = random.normal(size=size)
                tensors[name] = np.float32(value * (1 + 1e-7 * noise.normal(size=size)))
            if change:
                change(step, tensors)
            with hook.step(smd.modes.TRAIN):
                for name, value in tensors.items():
                    hook.save(name, value)


def compared(folder, change, code, options="--rounding auto", **settings):
    record(folder / "a")
    record(folder / "b", change, seed=1, **settings)
    return Program(folder).objects(f"diff a b {options} --json", code)[-1]["comparison"]


@pytest.mark.parametrize(
    "options", ["--rounding auto", "--rounding bfloat16", "--noise n", "--noise n --rounding auto"]
)
def test_rounding_is_no_difference(options, tmp_path):
    record(tmp_path / "n", seed=2)
    found = compared(tmp_path, None, 0, options)
    assert (found["equal"], found["steps"], found["values"]) == (True, STEPS, 8 * STEPS)


def scale(name, factor, at=1):
    def change(step, tensors):
        if step == at:
            tensors[name] = tensors[name] * np.float32(factor)

    return change


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("Net_a.weight", "a"), ("a_output_0", "a"), ("b_input_0", "the model"), ("b_output_0", "b"),
        ("loss_output_0", "the loss"), ("gradient/Net_b.weight", "b"),
    ],
)  # fmt: skip
def test_the_first_module_is_named(name, module, tmp_path):
    first = compared(tmp_path, scale(name, 1.01), 10)["first"]
    assert (first["step"], first["module"], first["tensor"]) == (1, module, name)


def test_a_factor_of_all_gradients_is_recognised(tmp_path):
    def change(step, tensors):
        for name in tensors:
            if name.startswith("gradient/"):
                tensors[name] = tensors[name] * np.float32(2)

    first = compared(tmp_path, change, 10)["first"]
    assert first["module"] == "the scale of the loss, or clipping"
    assert first["factor"] == pytest.approx(2)


def test_samples_may_be_in_another_order(tmp_path):
    def change(step, tensors):
        for name in tensors:
            if "put_" in name and "loss" not in name:
                tensors[name] = tensors[name][[2, 0, 3, 1]]

    assert compared(tmp_path, change, 0)["equal"]


def test_micro_batches_are_joined(tmp_path):
    def change(step, tensors):
        for name in ("a_output_", "b_input_", "b_output_"):
            whole = tensors.pop(name + "0")
            tensors[name + "0"], tensors[name + "1"] = whole[:2], whole[2:]

    assert compared(tmp_path, change, 0)["values"] == 8 * STEPS


def test_not_finite_numbers_differ(tmp_path):
    first = compared(tmp_path, scale("a_output_0", np.nan), 10)["first"]
    assert (first["module"], first["difference"]) == ("a", "Infinity")


def test_a_missing_gradient_is_a_difference(tmp_path):
    name = "gradient/Net_c.weight"
    first = compared(tmp_path, lambda _, tensors: tensors.pop(name), 10)["first"]
    assert (first["tensor"], first["message"]) == (name, "only run A has this gradient")


def test_names_of_wrappers_match(tmp_path):
    def change(step, tensors):
        for name in list(tensors):
            tensors[name.replace("Net_", "DistributedDataParallel_module.")] = tensors.pop(name)

    found = compared(tmp_path, change, 0)
    assert (found["only_in_a"], found["only_in_b"]) == ([], [])


def test_the_verdict_is_the_last_lines_of_60_columns(tmp_path):
    compared(tmp_path, scale("b_output_0", 2), 10)
    lines = Program(tmp_path)("diff a b --rounding auto", 10).splitlines()
    assert lines[-5:-2] == ["first difference: TRAIN step 1", "in: b", "tensor: b_output_0"]
    assert max(map(len, lines)) <= 60
    equal = Program(tmp_path)("diff a a --rounding auto")
    assert equal.endswith("\nequal within the tolerances\n")


def test_options_that_exclude_each_other(tmp_path):
    record(tmp_path / "a")
    message = Program(tmp_path).complaint("diff a a --rounding auto --atol 1", 2)
    assert "exclude" in message


def test_a_run_without_steps_is_not_compared(tmp_path):
    record(tmp_path / "a")
    settings = {"save_all": True, "save_config": smd.SaveConfig(save_interval=1)}
    smd.Hook(str(tmp_path / "b"), **settings).close()
    for command in ("diff a b", "diff b a", "diff b b"):
        done = Program(tmp_path).run(f"{command} --rounding auto --json")
        found = json.loads(done.stdout.splitlines()[-1])["comparison"]
        assert (found["steps"], found["values"], found["first"], found["equal"]) == (0, 0, None, False)
        assert done.returncode == 3 and "nothing was compared: the runs have no step in common" in done.stderr


def test_the_steps_that_both_runs_have_are_compared(tmp_path):
    record(tmp_path / "a")
    record(tmp_path / "b", seed=1)
    for file in (tmp_path / "b").rglob("000000000002_*"):
        file.unlink()
    found = Program(tmp_path).objects("diff a b --rounding auto --json")[-1]["comparison"]
    assert (found["equal"], found["steps"], found["values"]) == (True, 2, 16)


def test_a_damaged_tensor_is_neither_equal_nor_different(tmp_path):
    record(tmp_path / "a")
    record(tmp_path / "b", seed=1)
    [events] = (tmp_path / "b").rglob("*000000000001*.tfevents")
    content = bytearray(events.read_bytes())
    content[len(content) // 2] ^= 1
    events.write_bytes(content)
    # Numbers of an index that somebody has written anew are not used.
    [index] = (tmp_path / "b").rglob("*000000000001*.json")
    index.write_text(json.dumps(json.loads(index.read_text()), indent=1))
    done = Program(tmp_path).run("diff a b --rounding auto --json")
    assert done.returncode == 4, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])["comparison"]
    assert found["first"] is None
    assert len(found["not_compared"]) == 1
    assert "checksum" in done.stderr or "damaged" in done.stderr


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("run", ["a", "b"])
def test_what_one_run_only_has_not_finite_differs(run, value, tmp_path):
    def change(step, tensors):
        if step == 1:
            tensors["b_output_0"].flat[0] = value

    record(tmp_path / "a", change if run == "a" else None)
    record(tmp_path / "b", change if run == "b" else None, seed=1)
    record(tmp_path / "n", change, seed=2)
    for options in ("--rounding auto", "--noise n"):
        first = Program(tmp_path).objects(f"diff a b {options} --json", 10)[-1]["comparison"]["first"]
        assert (first["step"], first["tensor"]) == (1, "b_output_0")


def test_gradients_that_are_not_finite_have_no_common_factor(tmp_path):
    def change(step, tensors):
        for name in tensors:
            if name.startswith("gradient/"):
                tensors[name][:] = np.nan

    first = compared(tmp_path, change, 10)["first"]
    assert (first["factor"], first["tensor"]) == (None, "gradient/Net_c.weight")


def test_the_inner_module_of_a_wrapper_is_not_compared_twice(tmp_path):
    record(tmp_path / "a", names=[*NAMES, "Net_output_0"])
    names = ["Net_a.weight", "a_output_0", "b_input_0", "b_output_0", "loss_output_0"]

    def wrap(step, tensors):
        for name in list(tensors):
            tensors[name.replace("Net_", "DDP_module.")] = tensors.pop(name)
        tensors["module_output_0"] = tensors["DDP_output_0"] = tensors.pop("DDP_module.output_0")

    record(tmp_path / "b", wrap, names=[*names, "Net_output_0"], seed=1)
    found = Program(tmp_path).objects("diff a b --rounding auto --json")[-1]["comparison"]
    assert found["only_in_a"] == found["only_in_b"] == found["not_compared"] == []


def test_steps_and_workers_are_not_left_out(tmp_path):
    record(tmp_path / "a")
    record(tmp_path / "b", seed=1)
    for file in (tmp_path / "b").rglob("00000000000[12]_*"):
        file.unlink()
    said = Program(tmp_path)("diff a b --rounding auto")
    assert "not compared: 2 steps only in A\n" in said and "equal within the tolerances" in said
    found = Program(tmp_path).objects("diff b a --rounding auto --json")[-1]["comparison"]
    assert (found["steps"], found["steps_only_in_a"], found["steps_only_in_b"]) == (1, 0, 2)


@pytest.mark.parametrize("factor", [1, 1000])
def test_reductions_of_each_worker_are_compared(factor, tmp_path):
    for name in "ab":
        for worker in range(2):
            hook = smd.Hook(
                str(tmp_path / name), save_config=smd.SaveConfig(save_interval=1), save_all=True,
                reduction_config=smd.ReductionConfig(reductions=["mean", "std"]), include_workers="all",
                worker=f"worker_{worker}", num_workers=2,
            )  # fmt: skip
            with hook, hook.step(smd.modes.TRAIN):
                far = factor if (name, worker) == ("b", 1) else 1
                hook.save("fc_output_0", np.arange(8, dtype=np.float32) * far)
    Program(tmp_path)("diff a b --rounding auto", 0 if factor == 1 else 10)
