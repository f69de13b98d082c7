"""Exports to Parquet: complete, added to, never changed, readable by all."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time

import duckdb
import pandas
import polars
import pyarrow.dataset
import pyarrow.parquet
import pytest
from command import WAYS, complaint, output, run
from recorded import EVERY_STEP, record_run

import smdebug as smd
from smdebug.core.writer import FileWriter
from smdebug.exceptions import SMDebugValueError
from smdebug.tables import export


@pytest.fixture
def runs(farm, tmp_path):
    """A folder with copies of the trials a and b."""
    for name in ("a", "b"):
        shutil.copytree(farm / name, tmp_path / "runs" / name)
    return tmp_path / "runs"


def files(folder):
    """Returns the time and contents of each file that readers see."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*.parquet"))
    }


def exported(folder, table):
    """Returns the rows of an export."""
    sql = f"select * from read_parquet('{folder}/{table}/*/*.parquet', hive_partitioning=true)"
    return duckdb.sql(sql).to_arrow_table()


def ordered(rows):
    return sorted(map(repr, rows))


@pytest.mark.parametrize("way", WAYS)
def test_the_files_hold_the_tables(way, runs, tmp_path):
    printed = output(tmp_path, "export", runs, "out", way=way)
    assert printed.startswith("wrote ") and printed.endswith("in 6 files of 2 trials to out\n")
    for table in ("tensors", "scalars"):
        scan = smd.scan(runs, table)
        names = list(scan.schema)
        found = exported(tmp_path / "out", table).select(names)
        assert ordered(found.to_pylist()) == ordered(scan.to_arrow().to_pylist())


def test_every_reader_reads_them(runs, tmp_path):
    export([runs], tmp_path / "out")
    expected = smd.scan(runs, "scalars").to_arrow().num_rows
    folder = tmp_path / "out/scalars"
    assert pyarrow.dataset.dataset(folder, partitioning="hive").count_rows() == expected
    assert len(pandas.read_parquet(folder)) == expected
    assert set(pandas.read_parquet(folder)["trial"]) == {"a", "b"}
    frame = polars.scan_parquet(f"{folder}/**/*.parquet", hive_partitioning=True).collect()
    assert frame.height == expected and set(frame["trial"]) == {"a", "b"}
    for file in folder.rglob("*.parquet"):
        pyarrow.parquet.read_table(file).validate(full=True)


def test_a_second_export_adds_what_is_new(runs, tmp_path):
    out = tmp_path / "out"
    export([runs], out)
    before = files(out)
    assert output(tmp_path, "export", runs, out) == "nothing new in 2 trials\n"
    assert files(out) == before
    record_run(runs / "c", steps=3)
    for step in range(20, 23):
        with FileWriter(str(runs / "a"), worker="worker_0", step=step) as writer:
            writer.write_tensor(1.0 * step, "loss", mode=smd.modes.TRAIN, mode_step=step)
    printed = output(tmp_path, "export", runs, out)
    assert "of 3 trials" in printed
    after = files(out)
    assert {name: after[name] for name in before} == before
    new = sorted(set(after) - set(before))
    assert any("trial=c" in name for name in new)
    for table in ("tensors", "scalars"):
        found = exported(out, table).select(list(smd.scan(runs, table).schema)).to_pylist()
        assert ordered(found) == ordered(smd.scan(runs, table).to_arrow().to_pylist())


def test_a_trial_keeps_its_folder_when_its_name_grows(farm, tmp_path):
    sweep = tmp_path / "sweep"
    shutil.copytree(farm / "a", sweep / "rate=0.1/seed=0")
    export([sweep / "rate=0.1"], tmp_path / "out")
    before = files(tmp_path / "out")
    rows = exported(tmp_path / "out", "scalars").num_rows
    shutil.copytree(farm / "a", sweep / "rate=0.01/seed=0")
    for _ in range(2):
        export([sweep / "rate=0.1", sweep / "rate=0.01"], tmp_path / "out")
        after = files(tmp_path / "out")
        assert before.items() <= after.items()
        assert exported(tmp_path / "out", "scalars").num_rows == 2 * rows
    # A new run alone has the short name again, which another trial's folder has.
    shutil.copytree(farm / "a", sweep / "rate=1/seed=0")
    with pytest.raises(SMDebugValueError, match="holds the trial .*rate=0.1/seed=0; export .*rate=1/seed=0 to"):
        export([sweep / "rate=1"], tmp_path / "out")


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_links(runs, tmp_path, monkeypatch, number):
    def refused(*_):
        raise OSError(number, "no links here")

    monkeypatch.setattr(os, "link", refused)
    written = export(runs, tmp_path / "out")
    assert written.files == len(files(tmp_path / "out")) == 6
    monkeypatch.undo()
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        export(runs, tmp_path / "other")


def test_a_running_job_keeps_its_last_step(tmp_path):
    hook = smd.Hook(str(tmp_path / "run"), save_all=True, save_config=EVERY_STEP)
    for step in range(4):
        with hook.step():
            hook.save("loss", 1.0)
    hook.flush()
    assert [row["state"] for row in smd.scan(tmp_path / "run", "trials").to_arrow().to_pylist()] == ["running"]
    export([tmp_path / "run"], tmp_path / "out", tables=["scalars"])
    [first] = files(tmp_path / "out")
    assert first.endswith("worker_0.000000000000-000000000002.parquet")
    hook.close()
    export([tmp_path / "run"], tmp_path / "out", tables=["scalars"])
    assert [name for name in files(tmp_path / "out") if name != first] == [
        first.replace("000000000000-000000000002", "000000000003-000000000003")
    ]


def test_a_killed_export_leaves_no_half_file(runs, tmp_path):
    out = tmp_path / "out"
    for delay in (0.2, 0.5, 0.8, 1.1):
        process = subprocess.Popen([sys.executable, "-m", "smdebug", "export", runs, out], start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
        for file in out.rglob("*.parquet") if out.is_dir() else []:
            pyarrow.parquet.read_table(file, partitioning=None).validate(full=True)
    folder = out / "tensors/trial=a"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".unfinished-1").write_bytes(b"PAR1 half")
    export([runs], out)
    assert not list(out.rglob(".unfinished*"))
    for table in ("tensors", "scalars"):
        assert exported(out, table).num_rows == smd.scan(runs, table).to_arrow().num_rows


def test_names_that_folders_cannot_have(tmp_path):
    record_run(tmp_path / "runs/x y/%a='b", steps=2)
    record_run(tmp_path / "runs/x y/ü", steps=2)
    export([tmp_path / "runs"], tmp_path / "out", tables=["scalars"])
    names = {"x y/%a='b", "x y/ü"}
    assert set(exported(tmp_path / "out", "scalars")["trial"].to_pylist()) == names
    folder = tmp_path / "out/scalars"
    assert set(pandas.read_parquet(folder)["trial"]) == names
    assert export([tmp_path / "runs"], tmp_path / "out", tables=["scalars"]).files == 0


def test_columns_are_chosen_and_stay(runs, tmp_path):
    out = tmp_path / "out"
    words = ("export", runs, out, "--table", "tensors", "--column", "tensor", "--column", "value", "--compute")
    output(tmp_path, *words)
    found = exported(out, "tensors")
    assert found.column_names[:3] == ["tensor", "value", "step"] and not (out / "scalars").exists()
    assert output(tmp_path, *words) == "nothing new in 2 trials\n"
    assert "holds the columns tensor, value, step" in complaint(tmp_path, "export", runs, out, code=2)


def test_the_same_name_twice(runs, tmp_path):
    shutil.copytree(runs, tmp_path / "others")
    output(tmp_path, "export", runs, "others", "both")
    assert set(exported(tmp_path / "both", "scalars")["trial"].to_pylist()) == {
        "runs/a", "runs/b", "others/a", "others/b",
    }  # fmt: skip
    export([runs], tmp_path / "out")
    line = complaint(tmp_path, "export", "others", "out", code=2)
    assert f"holds the trial {runs}/a" in line


@pytest.mark.parametrize("way", WAYS)
def test_bad_input(way, runs, tmp_path):
    (tmp_path / "file").write_text("x")
    assert "no folder" in complaint(tmp_path, "export", runs, "file", code=2, way=way)
    assert "local folder" in complaint(tmp_path, "export", runs, "s3://x/y", code=2, way=way)
    assert "nowhere" in complaint(tmp_path, "export", "nowhere", "out", code=3, way=way)
    assert "no column 'x'" in complaint(tmp_path, "export", runs, "out", "--column", "x", code=2, way=way)
    assert "smdebug export" in complaint(tmp_path, "export", runs, code=2, way=way)
    with pytest.raises(SMDebugValueError, match="'trials' cannot be exported"):
        export([runs], tmp_path / "out", tables=["trials"])


def test_one_export_at_a_time(runs, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with open(out / ".smdebug-export.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another export" in complaint(tmp_path, "export", runs, out, code=2)
    output(tmp_path, "export", runs, out)


def test_damage_is_counted_and_the_rest_written(farm, tmp_path):
    done = run(tmp_path, "export", farm / "torn", farm / "a", "out")
    assert done.returncode == 4 and done.stdout.startswith("wrote ") and "skipped" in done.stderr
    assert exported(tmp_path / "out", "scalars").num_rows > 12
