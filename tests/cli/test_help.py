"""Tests that help, manual page and completions agree, and that their examples run."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_program import BUILD, PROGRAM, ROOT, Program, words
from cli_trials import record_run
from served import Served

COMMANDS = ["ls", "show", "rules", "profile", "report", "serve", "diff", "query", "export", "verify", "tensorboard", "doctor"]
PAGE = (ROOT / "docs/man/smdebug.1").read_text(encoding="utf-8")


def help_of(command):
    return Program(ROOT)(f"{command} --help")


def options_of(command):
    """Returns the options, such as {"--rule", "-r"}."""
    section = re.search(r"^options:\n(.*?)\n\n", help_of(command), re.DOTALL | re.MULTILINE)[1]
    lines = re.findall(r"^  (-\S.*)$", section, re.MULTILINE)
    return {word.rstrip(",") for line in lines for word in line.split("  ")[0].split() if word[0] == "-"}


def examples_of(command):
    section = help_of(command).partition("\nExamples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in section.splitlines()]


def test_help_lists_all_commands(smdebug):
    shown = smdebug("--help")
    assert re.findall(r"^  (\w+) {2,}\S", shown.partition("commands:\n")[2], re.MULTILINE) == COMMANDS
    assert smdebug("--version").startswith("smdebug 1.")
    assert max(map(len, shown.splitlines())) <= 80


def test_help_and_version_in_other_words(smdebug):
    assert smdebug("help") == smdebug("--help") == smdebug("-h")
    assert smdebug("help show") == smdebug("show --help")
    assert smdebug("-V") == smdebug("--version")
    assert smdebug.complaint("help shwo", 2) == "unknown command 'shwo'; did you mean 'show'?"
    assert smdebug.complaint("help show run", 2) == "smdebug help takes one command, not 'run' too"


@pytest.mark.parametrize("command", ["", *COMMANDS])
@pytest.mark.parametrize("columns", [40, 60])
def test_help_fits_a_narrow_terminal(smdebug, command, columns):
    shown = smdebug.on_terminal(f"{command} --help", columns, NO_COLOR="1").replace("\r", "")
    examples = shown.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
    too_long = [line for line in shown.splitlines() if len(line) > columns and line not in examples]
    assert [line for line in too_long if " " in line.strip()] == [], "only a long word exceeds the width"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command):
    shown = help_of(command)
    assert max(map(len, shown.splitlines())) <= 80 and shown.isascii()
    assert "--help" in options_of(command) and "-h" in options_of(command)
    assert Program(ROOT)(f"{command} -h") == shown


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_run(command, tmp_path, server, monkeypatch):
    # Some commands run in Python.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    record_run(tmp_path / "run")
    record_run(tmp_path / "other_run", wrong_at=12)
    record_run("s3://my-bucket/run")
    shutil.copytree(ROOT / "tests/profiler/fixtures/healthy", tmp_path / "profile")
    (tmp_path / "hook.json").write_text("{}", encoding="utf-8")
    program = Program(tmp_path)
    assert examples_of(command)
    for example in examples_of(command):
        if command == "serve":  # it serves until it is interrupted
            with Served(tmp_path, *words(example)[1:]) as served:
                assert served.process.poll() is None
            continue
        done = program.run(example)
        assert done.returncode in (0, 10), f"{example}:\n{done.stderr}"
        assert done.stderr == "" and done.stdout
        shutil.rmtree(tmp_path / "logs", ignore_errors=True)


def manual_of(command):
    """Returns the sections of the manual page about the command and about all commands."""
    plain = PAGE.replace("\\-", "-")
    own = re.search(rf'^\.SS "{command}\b.*?(?=^\.S[SH])', plain, re.DOTALL | re.MULTILINE)[0]
    return own + re.search(r'^\.SS "All commands".*?(?=^\.SH)', plain, re.DOTALL | re.MULTILINE)[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_manual_page_has_all_options(command):
    shown = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", manual_of(command))) - {"--version"}
    assert shown == options_of(command)


def test_the_manual_page_is_well_formed():
    done = subprocess.run(["man", "--warnings", "-l", ROOT / "docs/man/smdebug.1"], timeout=60,
                          capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_all_lists_of_exit_codes_agree():
    header = (ROOT / "cli/exit_code.h").read_text(encoding="utf-8")
    codes = {int(number) for number in re.findall(r" = (\d+),", header)}
    assert {int(n) for n in re.findall(r"^\.B (\d+)$", PAGE, re.MULTILINE)} == codes
    shown = help_of("ls").partition("Exit codes:")[2]
    assert {int(n) for n in re.findall(r"\d+", shown)} == codes
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert {int(n) for n in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == codes


# ---- completions ----

BASH = """
source {script}
PATH={folder}:$PATH
COMP_WORDS=({words}) COMP_CWORD={at}
_smdebug
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete_in_bash(line, folder):
    """Returns the completions of bash at the end of a line."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    script = BASH.format(
        script=ROOT / "cli/completion/smdebug.bash", folder=PROGRAM.parent,
        words=" ".join(map(shlex.quote, words)), at=len(words) - 1,
    )  # fmt: skip
    done = subprocess.run(["bash", "--norc", "-c", script], cwd=folder, capture_output=True, text=True,
                          timeout=60, check=True)  # fmt: skip
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("smdebug ", [*COMMANDS, "help", "--help", "--version"]),
        ("smdebug d", ["diff", "doctor"]),
        ("smdebug show run ", ["fc1.weight", "gradient/fc1.weight", "loss", "relu_1"]),
        ("smdebug show run gr", ["gradient/fc1.weight"]),
        ("smdebug ls r", ["run"]),
        ("smdebug diff run oth", ["other_run"]),
        ("smdebug show run loss --mode ", ["train", "eval", "predict", "global"]),
        ("smdebug rules run --profile c", ["calibrated"]),
        ("smdebug rules run --rule Vanishing", ["VanishingGradient"]),
        ("smdebug rules run --rule VanishingGradient,thr", ["VanishingGradient,threshold="]),
        ("smdebug rules run --rule VanishingGradient,threshold=1,pat", ["VanishingGradient,threshold=1,patience="]),
        ("smdebug ls run --collection w", ["weights"]),
        ("smdebug help sh", ["show"]),
    ],
)
def test_bash(line, offered, trials):
    assert complete_in_bash(line, trials) == offered


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_offers_all_options(command, trials):
    offered = set(complete_in_bash(f"smdebug {command} -", trials))
    assert offered == {option for option in options_of(command) if option.startswith("--")}


@pytest.mark.parametrize("command", COMMANDS)
def test_zsh_and_fish_name_all_options(command):
    zsh = (ROOT / "cli/completion/_smdebug").read_text(encoding="utf-8")
    own = re.search(rf"^        {command}\)(.*?);;$", zsh, re.DOTALL | re.MULTILINE)[1]
    own += re.search(r"^  common=.*$", zsh, re.MULTILINE)[0] * ("$common" in own)
    own += re.search(r"^  mode=.*$", zsh, re.MULTILINE)[0] * ("$mode" in own)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", own)) == {o for o in options_of(command) if o[:2] == "--"}

    fish = (ROOT / "cli/completion/smdebug.fish").read_text(encoding="utf-8")
    offered = {"--help"}
    for line in fish.splitlines():
        condition = re.search(r"-n '__smdebug_command ([\w ]+)'", line)
        if condition and command in condition[1].split():
            offered |= {f"--{name}" for name in re.findall(r" -l ([\w-]+)", line)}
    assert offered == {option for option in options_of(command) if option.startswith("--")}


# Each line's last word, as the shells with a real completion see it.
IN_SHELLS = [
    ("smdebug ls run --collection w", "weights"),
    ("smdebug rules run --rule Vanishing", "VanishingGradient"),
    ("smdebug rules run --rule VanishingGradient,thr", "VanishingGradient,threshold="),
    ("smdebug show run gr", "gradient/fc1.weight"),
    ("smdebug help sh", "show"),
]


@pytest.mark.parametrize(("line", "offered"), IN_SHELLS)
def test_fish(line, offered, trials):
    script = f"source {ROOT / 'cli/completion/smdebug.fish'}; complete -C {shlex.quote(line)}"
    done = subprocess.run(["fish", "--no-config", "-c", script], cwd=trials, env={**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"},
                          capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
    assert [each.split("\t")[0] for each in done.stdout.splitlines()] == [offered]


ZSH = """
fpath=({folder} $fpath)
autoload -Uz compinit && compinit -u -D
unsetopt zle_bracketed_paste prompt_cr
PS1=
show() {{ BUFFER="print -r -- '<'${{(q)BUFFER}}'>'" && zle accept-line }}
zle -N show
bindkey '^X' show
print rea''dy
"""


def complete_in_zsh(line, folder):
    """Types the line and a tab, and returns the line as zsh has completed it."""
    near, far = pty.openpty()
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "TERM": "dumb"}
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=far, stdout=far, stderr=far, cwd=folder, env=environment, start_new_session=True)
    os.close(far)

    def read(pattern):
        got = ""
        end = time.monotonic() + 30
        while not (found := re.search(pattern, got)):
            assert time.monotonic() < end, got
            if select.select([near], [], [], 0.2)[0]:
                got += os.read(near, 65536).decode(errors="replace")
        return found[1]

    try:
        os.write(near, ZSH.format(folder=ROOT / "cli/completion").strip().replace("\n", "; ").encode() + b"\n")
        read(r"(ready)\r\n")
        os.write(near, line.encode() + b"\t\x18")
        return read(r"\r\n<(.*?) ?>\r\n")
    finally:
        shell.kill()
        shell.wait()
        os.close(near)


@pytest.mark.parametrize(("line", "offered"), IN_SHELLS)
def test_zsh(line, offered, trials):
    assert complete_in_zsh(line, trials) == f"{line.rsplit(' ', 1)[0]} {offered}"


SHELLS = {"bash": "smdebug.bash", "zsh": "_smdebug", "fish": "smdebug.fish"}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_scripts_are_well_formed(shell):
    script = ROOT / "cli/completion" / SHELLS[shell]
    subprocess.run([shell, "-n", script], check=True, timeout=60)


def test_installed_files(tmp_path):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path, "--component", "tools"],
                   check=True, capture_output=True, timeout=60)  # fmt: skip
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {
        "bin/smdebug",
        "share/man/man1/smdebug.1",
        "share/bash-completion/completions/smdebug",
        "share/zsh/site-functions/_smdebug",
        "share/fish/vendor_completions.d/smdebug.fish",
    }
