"""Tests the output of each command in a pipe."""

import json
import re
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"

# The commands with golden output, and their exit codes.
HELD = {
    "ls": ("ls run", 0),
    "ls_workers": ("ls workers", 0),
    "ls_json": ("ls run --json", 0),
    "show_scalar": ("show run loss", 0),
    "show_tensor": ("show run gradient/fc1.weight --last 3", 0),
    "show_mode": ("show run fc1.weight --mode eval --reduction l2,abs_max", 0),
    "show_reductions": ("show run relu_1 --last 2", 0),
    "show_step": ("show run fc1.weight --step 3", 0),
    "show_json": ("show run loss --mode eval --json", 0),
    "show_odd": ("show workers w --worker worker_1", 0),
    "show_odd_json": ("show workers w --worker worker_1 --step 2 --json", 0),
    "show_texts": ("show workers words --step 1", 0),
    "diff": ("diff run other_run", 10),
    "diff_json": ("diff run other_run --all --json", 10),
    "diff_same": ("diff run other_run --atol 0.25", 0),
    "verify": ("verify run", 0),
    "verify_json": ("verify workers --json", 0),
    "rules": ("rules run --profile aws --rule VanishingGradient", 10),
    "rules_none": ("rules workers --profile aws --rule VanishingGradient", 0),
}


@pytest.mark.parametrize("name", HELD)
def test_golden_output(name, smdebug):
    command, code = HELD[name]
    expected = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert smdebug(command, code) == expected


def test_every_golden_file_is_compared():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(HELD)


def test_only_names(smdebug):
    assert smdebug("ls run --names").splitlines() == [
        "fc1.weight", "gradient/fc1.weight", "loss", "relu_1",
    ]  # fmt: skip
    assert smdebug("ls run --names --collection gradients") == "gradient/fc1.weight\n"
    assert smdebug("ls run --names --regex ^fc1 --regex ss$") == "fc1.weight\nloss\n"
    assert json.loads(smdebug("ls run --names --regex ss$ --json")) == ["loss"]
    assert "losses" in json.loads(smdebug("ls run --collections --json"))
    assert "run" in json.loads(smdebug("ls . --names --json"))


def test_values_are_exact(smdebug):
    [step] = smdebug.objects("show run fc1.weight --step 3 --json")
    assert step["shape"] == [4, 3] and step["dtype"] == "float32"
    assert step["values"] == [[(3 * i + k) / 8 + 3 / 16 for k in range(3)] for i in range(4)]
    [step] = smdebug.objects("show run loss --step 2 --json")
    assert step["values"] == [1 / 3] and step["value"] == 1 / 3


def test_a_modes_steps_have_its_own_numbers(smdebug):
    steps = smdebug.objects("show run loss --mode eval --json")
    assert [(step["step"], step["mode_step"]) for step in steps] == [
        (5, 0), (11, 1), (17, 2), (23, 3), (29, 4),
    ]  # fmt: skip
    assert smdebug("show run loss --mode eval --step 1").startswith("loss  float64  1  worker_0  EVAL step 1")


def test_nothing_is_shortened_in_a_pipe(smdebug):
    assert "…" not in smdebug("rules run --profile aws --rule VanishingGradient --all", 10)
    assert "…" not in smdebug("ls run") + smdebug("rules --list")


def test_control_characters_do_not_reach_the_terminal(smdebug):
    assert "\x1b" not in smdebug("show workers words --step 1")
    assert "\x1b" not in smdebug("show workers words --step 1 --json")
    assert smdebug.objects("show workers words --step 1 --json")[0]["values"][1] == "naïve\x1b[31m"


def test_all_elements_of_a_long_tensor(tmp_path):
    import numpy as np
    from cli_program import Program

    import smdebug as smd

    with smd.Hook(str(tmp_path / "long"), save_all=True) as hook, hook.step():
        hook.save("t", np.arange(3000, dtype=np.int64).reshape(3, 1000))
    program = Program(tmp_path)
    short = program("show long t --step 0")
    assert "..." in short and short.count("\n") == 5
    every = program("show long t --step 0 --all")
    assert [int(number) for number in re.findall(r"\d+", every.partition("[")[2])] == list(range(3000))
    assert max(map(len, every.splitlines())) <= 80


DTYPES = {
    "float16": 1.5, "float32": -0.1, "float64": 0.1, "bfloat16": 2.5, "float8_e5m2": 1.25,
    "float8_e4m3fn": 448, "int8": -128, "int16": -32768, "int32": -(2**31), "int64": -(2**63),
    "uint8": 255, "uint16": 65535, "uint32": 2**32 - 1, "uint64": 2**64 - 1,
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_is_shown_exactly(dtype, tmp_path):
    import ml_dtypes
    import numpy as np
    from cli_program import Program

    import smdebug as smd

    kind = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    with smd.Hook(str(tmp_path / "run"), save_all=True) as hook, hook.step():
        hook.save("t", np.array([DTYPES[dtype], 0]).astype(kind) if dtype != "uint64"
                  else np.array([DTYPES[dtype], 0], np.uint64))  # fmt: skip
    [step] = Program(tmp_path).objects("show run t --step 0 --json")
    assert step["dtype"] == dtype
    assert step["values"] == [DTYPES[dtype], 0]


def test_complex_numbers_and_scalars(tmp_path):
    import numpy as np
    from cli_program import Program

    import smdebug as smd

    with smd.Hook(str(tmp_path / "run"), save_all=True) as hook, hook.step():
        hook.save("c", np.array([1 - 2j, 0.5j], np.complex64))
        hook.save("none", np.zeros((0, 3), np.float32))
    program = Program(tmp_path)
    assert program.objects("show run c --step 0 --json")[0]["values"] == [[1, -2], [0, 0.5]]
    assert "[  1-2j 0+0.5j]" in program("show run c --step 0")
    assert json.loads(program("ls run --json"))["tensors"][0]["dtype"] == "complex64"


def test_tensorboard(smdebug, tmp_path):
    out = tmp_path / "logs"
    assert smdebug(f"tensorboard run {out}") == f"wrote 30 steps of run to {out}\n"
    assert {path.name for path in out.iterdir()} == {"TRAIN", "EVAL"}


def test_doctor(smdebug, tmp_path):
    told = smdebug("doctor")
    assert re.search(r"^version +1\.\d+\.\d+$", told, re.MULTILINE)
    assert re.search(r"^features +local", told, re.MULTILINE)
    [facts] = smdebug.objects(f"doctor {tmp_path} --json")
    assert [tried["name"] for tried in facts["tried"]] == ["address", "write", "read", "remove"]
    assert {tried["code"] for tried in facts["tried"]} == {"OK"}
    assert not list(tmp_path.iterdir())


def test_doctor_creates_nothing(smdebug, tmp_path):
    [facts] = smdebug.objects(f"doctor {tmp_path}/jobs/new --json")
    address, *others = facts["tried"]
    assert address["message"].startswith(f"{tmp_path}/jobs/new, which does not exist: recording would")
    assert {each["code"] for each in others} == {"OK"}
    assert list(tmp_path.iterdir()) == []


def test_doctor_reports_a_failure(smdebug):
    done = smdebug.run("doctor /proc/nothing")
    assert done.returncode == 3
    assert re.search(r"^write +NOT_FOUND ", done.stdout, re.MULTILINE)


def test_doctor_checks_a_configuration(smdebug, tmp_path):
    file = tmp_path / "hook.json"
    file.write_text('{"LocalPath": "run", "HookParameters": {"save_interval": "7"}}')
    assert re.search(r"^config +ok ", smdebug(f"doctor --config {file}"), re.MULTILINE)
    file.write_text('{"S3Path": "s3://b/p", "HookParameters": {"save_all": 1, "dry_run": "maybe"}}')
    done = smdebug.run(f"doctor {tmp_path} --config {file} --json")
    assert done.returncode == 2
    tried = json.loads(done.stdout)["tried"]
    assert [(each["name"], each["code"]) for each in tried] == [("config", "INVALID_CONFIG")] * 3
    for each, part in zip(tried, ("key 'S3Path'", "is read as true", "found 'maybe'; it is ignored")):
        assert str(file) in each["message"] and part in each["message"]
    file.write_text("{")
    assert smdebug.run(f"doctor --config {file}").returncode == 2
    assert smdebug.run(f"doctor --config {file}.not").returncode == 3
