"""Runtimes that we have no binding for record a trial and read it back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from installing import BUILD, ROOT, run

EXAMPLES = ROOT / "examples/dlopen"
LIBRARY = BUILD / "lib/libsmdebug.so"
PACKAGE = os.environ.get("PYTHONPATH") or str(BUILD / "python")
LOSSES = [1 / (1 + step) for step in range(4)]


def compiled_c(folder):
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/capi/include"]
    run(["cc", *flags, EXAMPLES / "client.c", "-o", folder / "client"], folder)
    return [folder / "client"]


def compiled_rust(folder):
    run(["rustc", "-D", "warnings", EXAMPLES / "rust/client.rs", "-o", folder / "client"], folder)
    return [folder / "client"]


def node(folder):
    for path in (EXAMPLES / "node").glob("*.js*"):
        shutil.copy(path, folder)
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
    return ["node", folder / "client.js"]


def luajit(_folder):
    return ["luajit", EXAMPLES / "client.lua"]


def ruby(_folder):
    return ["ruby", EXAMPLES / "client.rb"]


@pytest.fixture(scope="module", params=[compiled_c, compiled_rust, node, luajit, ruby])
def client(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp(request.param.__name__))


def test_it_reads_what_it_recorded(client, tmp_path):
    printed = run([*client, LIBRARY, tmp_path / "run"], tmp_path)
    lines = [line.rsplit(": ", 1) for line in printed.splitlines()]
    assert [name for name, _ in lines] == [f"loss at step {step}" for step in range(4)]
    assert [float(number) for _, number in lines] == pytest.approx(LOSSES, rel=1e-5)


def test_python_reads_what_it_recorded(client, tmp_path):
    run([*client, LIBRARY, tmp_path / "run"], tmp_path)
    program = (
        "import smdebug as smd\n"
        "loss = smd.create_trial('run').tensor('loss')\n"
        "print(*(float(loss.value(step)) for step in loss.steps()))\n"
    )
    printed = run([sys.executable, "-c", program], tmp_path, PYTHONPATH=PACKAGE)
    assert list(map(float, printed.split())) == LOSSES


def failure_of(command, folder):
    done = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    return done.stderr


def test_an_error_is_its_message(client, tmp_path):
    run([*client, LIBRARY, tmp_path / "run"], tmp_path)
    message = failure_of([*client, LIBRARY, tmp_path / "run"], tmp_path)
    assert message.strip() == (
        f"{tmp_path}/run: a finished trial is already there; choose another out_dir or remove it"
    )


def test_an_older_library_is_refused(client, tmp_path):
    """One that knows no ABI level but 0.9, in place of ours."""
    lines = run(["nm", "-D", "--defined-only", LIBRARY], ROOT).splitlines()
    names = {line.split()[-1].split("@")[0] for line in lines} - {"SMD_1.0"}
    others = sorted(names - {"smd_require_abi", "smd_error_message"})
    source = "".join(f"void *{name}(void) {{ return 0; }}\n" for name in others)
    source += (
        "void *smd_require_abi(unsigned wanted) { return wanted == 0x10000 ? (void *)1 : 0; }\n"
        'const char *smd_error_message(void *error) { return error ? "too old" : ""; }\n'
    )
    (tmp_path / "old.c").write_text(source, encoding="utf-8")
    run(["cc", "-shared", "-fPIC", "old.c", "-o", "old.so"], tmp_path)
    message = failure_of([*client, tmp_path / "old.so", tmp_path / "run"], tmp_path)
    assert message.strip() == "too old"


def test_the_programs_are_short():
    for path in EXAMPLES.rglob("*"):
        if path.suffix in {".c", ".rs", ".js", ".lua", ".rb"}:
            lines = path.read_text(encoding="utf-8").count("\n")
            assert lines < 80, path.name
