"""What the program answers to people who mistype."""

import numpy as np
import pytest
from cli_program import Program
from cli_trials import EVERY_STEP

import smdebug as smd

LARGE = "9" * 400


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("show run loss --last -1", "--last: '-1' is less than 0"),
        ("show run loss --last x", "--last: 'x' is not a whole number"),
        ("show run loss --last 1.5", "--last: '1.5' is not a whole number"),
        ("show run loss --last ''", "--last: '' is not a whole number"),
        ("show run loss --step 9223372036854775808", "--step: '9223372036854775808' is too large"),
        ("diff run other_run --atol abc", "--atol: 'abc' is not a number"),
        ("diff run other_run --atol -1e-3", "--atol: '-1e-3' is less than 0"),
        ("diff run other_run --rtol nan", "--rtol: 'nan' is not a number"),
        ("diff run other_run --rtol inf", "--rtol: 'inf' is not a number"),
        ("diff run other_run --rtol 1e999", "--rtol: '1e999' is beyond the range of numbers"),
        ("show run loss --step", "--step needs a value, N; see smdebug show --help"),
        ("ls run --regex", "--regex needs a value, REGEX; see smdebug ls --help"),
    ],
)
def test_numbers_and_missing_values(smdebug, command, said):
    assert smdebug.complaint(command, 2) == said


@pytest.mark.parametrize(
    ("options", "command", "rest"),
    [
        ("--rule DeadRelu", "rules", "run"),
        ("--rule DeadRelu --rule AllZero", "rules", "run"),
        ("--rule=DeadRelu", "rules", "run"),
        ("--regex fc1", "ls", "run"),
        ("--reduction l2", "show", "run fc1.weight"),
        ("--regex fc1", "diff", "run run"),
        ("--set end_delay_seconds=0", "ls", "run"),
    ],
)
@pytest.mark.parametrize("last", ["", "--json"])
def test_options_may_come_first(smdebug, options, command, rest, last):
    done = smdebug.run(f"{command} {options} {rest} {last}")
    after = smdebug.run(f"{command} {rest} {options} {last}")
    assert (done.returncode, done.stdout) == (after.returncode, after.stdout)
    assert done.returncode in (0, 10), done.stderr


def test_a_long_value_is_shortened(smdebug):
    for command in (f"show run loss --last {LARGE}", f"diff run run --atol {LARGE}", f"show run loss --mode {LARGE}",
                    f"{LARGE} run", f"ls run --{LARGE}"):  # fmt: skip
        assert len(smdebug.complaint(command, 2)) < 160


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("ls --colection x run", "ls has no option '--colection'; did you mean '--collection' or '--collections'?"),
        ("ls --Names run", "ls has no option '--Names'; did you mean '--names'?"),
        ("ls run -x", "ls has no option '-x'; see smdebug ls --help"),
        ("ls run --quite-another=1", "ls has no option '--quite-another'; see smdebug ls --help"),
        ("lss run", "unknown command 'lss'; did you mean 'ls'?"),
        ("verfy run", "unknown command 'verfy'; did you mean 'verify'?"),
        ("ls run --collection weigths", "no collection is named 'weigths'; did you mean 'weights'?"),
        ("rules run --rule VanishingGradent", "there is no built-in rule 'VanishingGradent'; did you mean 'VanishingGradient'?"),
        ("show run loss --reduction meen",
         "unknown reduction 'meen'; did you mean 'mean' or 'min'?; use min, max, median, mean, std, variance, sum, prod, l1, l2, "
         "or one of these with abs_ before it"),
    ],
)  # fmt: skip
def test_misspelt_names(smdebug, command, said):
    assert smdebug.complaint(command, 2) == said


def test_a_choice(smdebug):
    said = smdebug.complaint("show run loss --mode trian", 2)
    assert said == "--mode: 'trian' is none of train, eval, predict, global; did you mean 'train'?"


def test_options_after_two_dashes_are_names(smdebug):
    assert "the folder does not exist" in smdebug.complaint("ls -- --names", 3)
    assert smdebug.complaint("show run -- --loss", 3).endswith("did you mean 'loss'?")


def test_a_tensor_that_was_never_saved(smdebug):
    assert smdebug.complaint("show run los", 3) == (
        "tensor 'los' was never saved by the job at run; did you mean 'loss'?"
    )
    assert smdebug.complaint("show run zzz", 3) == (
        "tensor 'zzz' was never saved by the job at run; smdebug ls lists its tensors"
    )
    said = smdebug.complaint("show run FC1", 3)
    assert said.endswith("did you mean 'fc1.weight' or 'gradient/fc1.weight'?")
    assert smdebug.complaint("show workers w --worker worker_7", 3).endswith(
        "by worker_7; did you mean 'worker_0' or 'worker_1'?"
    )


def test_a_tensor_that_may_still_be_saved(tmp_path):
    with smd.Hook(tmp_path / "run", save_all=True, save_config=EVERY_STEP) as hook:
        with hook.step():
            for i in (1, 2, 3, 4, 10):
                hook.save(f"layer{i}", np.zeros(3))
        hook.flush()
        said = Program(tmp_path).complaint("show run layr", 3)
    assert said == (
        "tensor 'layr' was not saved so far by the job at run; did you mean 'layer1', 'layer2' or 'layer3'?"
    )


def test_hostile_names_are_escaped(tmp_path):
    with smd.Hook(tmp_path / "run", save_all=True, save_config=EVERY_STEP) as hook, hook.step():
        hook.save("lo\x1b[31mss", np.zeros(1))
    said = Program(tmp_path).complaint("show run 'lo[31mss'", 3)
    assert said.endswith(r"did you mean 'lo\x1b[31mss'?")
    assert Program(tmp_path).complaint("'\x1b[31m' run", 2).startswith(r"unknown command '\x1b[31m'")


def test_last_also_limits_json(smdebug):
    assert [each["step"] for each in smdebug.objects("show run loss --json --last 2")] == [28, 29]
    assert len(smdebug.objects("show run loss --json")) == len(smdebug.objects("show run loss --json --last 0")) == 30


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("run", 2, "'run' is no command; to list what it holds: smdebug ls run"),
        ("s3://b/run", 2, "'s3://b/run' is no command; to list what it holds: smdebug ls s3://b/run"),
        ("version", 2, "unknown command 'version'; did you mean '--version'?"),
        ("--verson", 2, "unknown option '--verson'; did you mean '--version'?"),
        ("-v", 2, "unknown option '-v'; did you mean '-V'?"),
        ("ls run extra", 2, "unexpected 'extra'; usage: smdebug ls [OPTIONS] TRIAL"),
        ("export run", 2, "too few words; usage: smdebug export [OPTIONS] PATH... OUT"),
        ("ls ''", 2, "the path of the trial is empty"),
        ("ls rnu", 3, "rnu: the folder does not exist; did you mean 'run'?"),
        ("ls ./rnu/", 3, "./rnu/: the folder does not exist; did you mean './run'?"),
        ("show loss run", 2, "the trial comes first: smdebug show run loss"),
        ("show run loss --step 3 --last 2", 2, "--last selects among all steps; omit it with --step"),
        ("show run loss --step 77", 3, "GLOBAL step 77 was not saved by the training job; the nearest: 29"),
        ("show run loss --step 7 --mode eval", 3, "EVAL step 7 was not saved by the training job; the nearest: 4"),
        ("show run gradient/fc1.weight --step 5", 3,
         "tensor 'gradient/fc1.weight' was not saved at GLOBAL step 5; the nearest: 4 and 6"),
        ("rules --list --rule Vanishing", 2, "there is no built-in rule 'Vanishing'; did you mean 'VanishingGradient'?"),
    ],
)  # fmt: skip
def test_what_newcomers_try(smdebug, command, code, said):
    assert smdebug.complaint(command, code) == said


def test_the_parameters_of_one_rule(smdebug):
    shown = smdebug("rules --list --rule VanishingGradient")
    assert [line for line in shown.splitlines() if line[0] != " "] == ["VanishingGradient"]
    assert "    threshold" in shown
    assert smdebug("help help") == smdebug("help")


def test_an_option_that_is_given_twice_is_named(smdebug):
    done = smdebug.run("show run loss --step 1 --step 2")
    assert done.returncode == 2 and "--step is given more than once" in done.stderr


@pytest.mark.parametrize("name", ["[x]", "[x,y]"])
def test_a_folder_may_have_brackets_around_its_name(tmp_path, name):
    for each in ("x", name):
        with smd.Hook(tmp_path / each, save_config=EVERY_STEP, save_all=True) as hook, hook.step():
            hook.save("plain" if each == "x" else "own", np.zeros(1))
    program = Program(tmp_path)
    assert "own" in program(f"ls '{name}'") and "own" in program(f"show '{name}' own")
    program(f"report '{name}' -o page.html")
    assert name in (tmp_path / "page.html").read_text()
