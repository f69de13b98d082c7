"""Tests how the program exits: exit codes, messages, signals and closed pipes."""

import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from cli_program import PROGRAM, Program

import smdebug as smd


@pytest.mark.parametrize(
    ("command", "code", "sentence"),
    [
        ("ls nothing", 3, "nothing: the folder does not exist"),
        ("show run nothing", 3, "'nothing'"),
        ("show run loss --step 99", 3, "99"),
        ("show run loss --worker nobody", 3, "by nobody"),
        ("show run loss --mode predict", 3, "of mode predict"),
        ("list run", 2, "unknown command 'list'; did you mean 'ls'?"),
        ("ls", 2, "TRIAL is required; see smdebug ls --help"),
        ("show run", 2, "TENSOR is required"),
        ("ls run --colection x", 2, "--colection"),
        ("ls run other_run", 2, "other_run"),
        ("ls run --collection x", 2, "no collection is named 'x'; the trial has"),
        ("ls run --collection losses --regex x", 2, "cannot be given together"),
        ("ls run --regex '('", 2, "("),
        ("show run loss --step x", 2, "x"),
        ("show run loss --step -1", 2, "-1"),
        ("show run loss --mode test", 2, "'test' is none of train, eval, predict, global"),
        ("show run loss --reduction average", 2, "unknown reduction 'average'; use min,"),
        ("rules", 2, "TRIAL is required"),
        ("rules run --profile best", 2, "'best' is none of calibrated, aws"),
        ("ls run --set s3_regoin=x", 2, "s3_region"),
        ("ls run --set s3_region", 2, "--set needs NAME=VALUE, not 's3_region'"),
        ("ls gs://bucket/run", 8, "gs://"),
        ("tensorboard run /proc/nothing", 3, "/proc/nothing"),
        ("tensorboard run ./run/", 2, "./run/ is the trial itself; name another folder"),
    ],
)
def test_complaints(command, code, sentence, smdebug):
    assert sentence in smdebug.complaint(command, code)


def test_without_a_command(smdebug):
    assert "usage: smdebug COMMAND" in smdebug("", 2)


def test_a_folder_without_a_trial(tmp_path):
    (tmp_path / "empty").mkdir()
    begin = time.monotonic()
    assert "empty: there is no trial in this folder" in Program(tmp_path).complaint("ls empty", 3)
    assert time.monotonic() - begin < 5, "the program waits for a job"


def test_a_folder_above_trials_names_them(trials, tmp_path):
    said = Program(trials.parent).complaint(f"show {trials} loss", 3)
    assert said.startswith(f"{trials}: this folder is not a trial; the trials below it are ")
    for name in ("run", "other_run", "workers"):
        assert f"{trials}/{name}" in said
    for i in range(20):
        (tmp_path / f"many/jobs/{i}\n/collections").mkdir(parents=True)
    (tmp_path / "many/loop").symlink_to(tmp_path / "many")
    said = Program(tmp_path).complaint("show many loss", 3)
    assert said.endswith(", and others") and "\\x0a" in said


@pytest.mark.parametrize("is_there", [False, True])
def test_the_log_names_the_awaited_trial_early(tmp_path, is_there):
    if is_there:
        (tmp_path / "run").mkdir()
    process = Program(tmp_path).start(
        "rules run --follow --set wait_seconds=30", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        began = time.monotonic()
        lines = [process.stderr.readline().decode() for _ in range(1 if is_there else 2)]
        assert time.monotonic() - began < 20
        if not is_there:
            assert "run: the folder does not exist yet; waiting for it" in lines[0]
        assert "run: waiting for a job to record here, for up to 30 seconds" in lines[-1]
    finally:
        process.kill()
        process.communicate()


def test_a_file_is_not_a_trial(tmp_path):
    (tmp_path / "file").write_text("")
    assert "this is a file" in Program(tmp_path).complaint("ls file", 3)


def test_a_full_disk(trials):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "ls", "run"], cwd=trials, stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 5
    assert done.stderr == "smdebug: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("ignored", [False, True], ids=["default", "ignored"])
def test_a_reader_that_exits(ignored, tmp_path):
    """Includes a program that a supervisor started with SIGPIPE ignored."""
    with smd.Hook(str(tmp_path / "run"), save_all=True) as hook, hook.step():
        hook.save("t", np.arange(100_000))
    read, write = os.pipe()
    process = subprocess.Popen(
        [PROGRAM, "show", "run", "t", "--step", "0", "--all"], cwd=tmp_path, stdout=write,
        stderr=subprocess.PIPE, restore_signals=not ignored,
    )  # fmt: skip
    os.close(write)
    os.read(read, 10)
    os.close(read)
    _, complaint = process.communicate(timeout=60)
    assert complaint == b"" and process.returncode == -signal.SIGPIPE


def test_ctrl_c_stops_the_program_at_once(tmp_path):
    """The program waits for a job that does not start."""
    process = Program(tmp_path).start(
        "rules run --follow", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(0.5)  # lets the program start to wait; the result before that is the same
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    out, complaint = process.communicate(timeout=60)
    assert time.monotonic() - begin < 2
    assert (out, process.returncode) == (b"", -signal.SIGINT)
    [line] = complaint.splitlines()
    assert line.endswith(b"the folder does not exist yet; waiting for it")


def test_python_runs_the_same_program(smdebug, trials):
    import sys

    done = subprocess.run([sys.executable, "-m", "smdebug", "ls", "run", "--names"], cwd=trials,
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == smdebug("ls run --names")
    done = subprocess.run([sys.executable, "-m", "smdebug", "ls", "nothing"], cwd=trials,
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 3 and re.match("smdebug: nothing", done.stderr)
