"""Tests the output that only a terminal gets: tables that fit, colours and progress."""

import re
import time

import numpy as np
import pytest
from cli_program import Program

import smdebug as smd

ESCAPE = re.compile(r"\x1b\[[0-9;]*[mK]")


def lines(shown):
    return ESCAPE.sub("", shown).replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("columns", [20, 60, 80, 200])
@pytest.mark.parametrize("command", ["ls run", "ls workers", "diff run other_run"])
def test_tables_fit_the_width(command, columns, smdebug):
    shown = lines(smdebug.on_terminal(command, columns))
    table = [line for line in shown if re.match(r"TENSOR|fc1|rel|gra|los|mask|w |words", line)]
    assert len(table) > 1 and max(map(len, table)) <= columns
    if columns == 200:
        assert not any("…" in line for line in shown)


def test_shortened_names_keep_both_ends(smdebug):
    [row] = [line for line in lines(smdebug.on_terminal("ls run", 60)) if "gra" in line]
    assert row.startswith("gradient….weight  4x3"), row


def test_pictures_fit_the_width(smdebug):
    for columns in (50, 80, 200):
        shown = lines(smdebug.on_terminal("show run gradient/fc1.weight", columns))
        pictures = [line for line in shown if "▁" in line]
        assert len(pictures) == 5 and max(map(len, pictures)) <= columns


def test_colours(smdebug):
    command = "rules run --profile aws --rule VanishingGradient"
    assert "\x1b[31mfinding\x1b[0m" in smdebug.on_terminal(command)
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in smdebug.on_terminal(command, **variables)
    assert "\x1b" not in smdebug(command, 10)


SECONDS_OF_READING = 1.0
TENSORS_OF_STEP = 400


def record(folder, steps):
    names = [f"tensor_{number}" for number in range(TENSORS_OF_STEP)]
    value = np.zeros(10, np.float32)
    with smd.Hook(str(folder / "run"), save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        for _ in range(steps):
            with hook.step(smd.modes.TRAIN):
                for name in names:
                    hook.save(name, value)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Returns a trial that is large enough for a progress bar."""
    for steps in (200, 800, 3200):
        folder = tmp_path_factory.mktemp("large")
        record(folder, steps)
        program = Program(folder)
        begin = time.monotonic()
        program("verify run")
        if time.monotonic() - begin > SECONDS_OF_READING:
            break
    program.records = steps * TENSORS_OF_STEP
    return program


def test_progress_on_a_terminal(large):
    shown = large.on_terminal("verify run", 70)
    bars = re.findall(r"\r(Reading [^\r\x1b]*)\x1b\[K", shown)
    assert bars, shown
    percents = [int(re.search(r"(\d+) %$", bar)[1]) for bar in bars if bar.startswith("Reading tensors")]
    assert percents == sorted(percents) and all(len(bar) < 70 for bar in bars)
    assert all(re.match(r"Reading [\w ]+ \[#* *\] +\d+ %$", bar) for bar in bars)
    # The bar is removed before the result is printed.
    assert re.search(rf"\r\x1b\[Krun: {large.records} records", shown)


def test_no_progress_in_a_pipe(large):
    done = large.run("verify run")
    assert done.stderr == "" and "\r" not in done.stdout


def test_no_progress_on_a_dumb_terminal(large):
    assert "\x1b" not in large.on_terminal("verify run", TERM="dumb")
