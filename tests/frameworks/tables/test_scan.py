"""Scans as Arrow streams: valid for pyarrow and nanoarrow, and equal to what trials return."""

from __future__ import annotations

import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time

import duckdb
import nanoarrow
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from recorded import GOLDEN, STEPS, make_farm, record_run

import smdebug as smd
from smdebug.exceptions import (
    SMDebugFileNotFoundError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailableForStep,
)
from smdebug.rules import RuleSet

TABLES = ("tensors", "scalars", "findings", "trials")
STATISTICS = ("min", "max", "median", "mean", "std", "variance", "sum", "prod", "l1", "l2")
MODES = {mode.name: mode for mode in smd.modes}


def every_column(table):
    more = {"tensors": ["value", "bytes"], "trials": ["configuration"]}.get(table, [])
    return [*smd.scan("x", table).schema, *more]


def rows(scan):
    return scan.to_arrow().to_pylist()


# ---- the interface of Arrow ----


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("batch_rows", [1, 7, 65536])
def test_pyarrow_finds_no_fault(table, batch_rows, farm):
    scan = smd.scan(farm, table, columns=every_column(table), options={"batch_rows": batch_rows})
    reader = pyarrow.RecordBatchReader.from_stream(scan)
    batches = list(reader)
    assert batches
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == pyarrow.schema(scan)
    whole = pyarrow.Table.from_batches(batches)
    again = smd.scan(farm, table, columns=every_column(table)).to_arrow()
    assert str(whole.to_pylist()) == str(again.to_pylist())  # texts, since NaN is in it
    types = [str(each).replace("item: ", "") for each in whole.schema.types]
    assert dict(zip(whole.column_names, types)) == scan.schema


@pytest.mark.parametrize("table", TABLES)
def test_nanoarrow_reads_the_same(table, farm):
    scan = smd.scan(farm, table, columns=every_column(table))
    assert [field.name for field in nanoarrow.Schema(scan).fields] == list(scan.schema)
    stream = nanoarrow.ArrayStream(scan)
    read = []
    for array in stream.iter_chunks():
        view = nanoarrow.c_array(array).view()
        assert view.length == len(array)
        read += array.to_pylist()
    expected = rows(scan)
    assert [same(a) for a in read] == [same(b) for b in expected]


def same(row):
    """Makes numbers that are not equal to themselves comparable."""
    return {k: repr(v) if isinstance(v, (float, list)) else v for k, v in row.items()}


@pytest.mark.parametrize("table", ["tensors", "scalars", "trials"])
def test_dictionaries_hold_the_same_texts(table, farm):
    plain = smd.scan(farm, table)
    coded = plain.with_options([("texts", "dictionary"), ("batch_rows", 16)])
    assert coded.schema["trial"] == "dictionary"
    found = coded.to_arrow()
    found.validate(full=True)
    assert pyarrow.types.is_dictionary(found.schema.field("trial").type)
    assert repr(found.to_pylist()) == repr(rows(plain))
    # NaN is not equal to itself, but looks like itself.
    assert repr(polars.DataFrame(coded).rows()) == repr(polars.DataFrame(plain).rows())
    assert repr(duckdb.sql("from coded").fetchall()) == repr(duckdb.sql("from plain").fetchall())


@pytest.mark.parametrize("source", ["row files", "cache"])
def test_stored_rows_are_those_of_the_index_files(source, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runs = tmp_path / "runs"
    make_farm(runs)
    # Row files do not tell that an event file was cut.
    trials = "." if source == "cache" else "^(?!torn)"
    if source == "cache":
        for folder in runs.glob("*/rows"):
            shutil.rmtree(folder)
    before = time.time() - 3600
    for file in runs.rglob("*"):
        os.utime(file, (before, before))
    for table in ("tensors", "scalars"):
        for texts in ("plain", "dictionary"):
            stored = smd.scan(runs, table, trials=trials, options={"texts": texts})
            fresh = repr(rows(stored.with_options([("cache", "false")])))
            assert [repr(rows(stored)) for _ in range(2)] == [fresh] * 2
    assert list((tmp_path / "cache/libsmdebug/rows").glob("*.rows"))


def test_columns_come_in_the_order_asked_for(farm):
    scan = smd.scan(farm / "a", columns=["step", "trial", "max"])
    assert scan.to_arrow().column_names == ["step", "trial", "max"]
    assert scan.schema == {"step": "int64", "trial": "string", "max": "double"}


def test_an_empty_result_has_its_columns(farm):
    for table in ("tensors", "scalars"):
        found = smd.scan(farm, table, tensors="there is none").to_arrow()
        found.validate(full=True)
        assert found.num_rows == 0 and found.column_names == list(smd.scan(farm, table).schema)
    assert smd.scan(farm, first=5, end=5).to_arrow().num_rows == 0


def test_a_scan_can_be_used_again_and_sees_what_is_new(tmp_path):
    record_run(tmp_path / "one", steps=2)
    scan = smd.scan(tmp_path, "trials", columns="trial")
    assert len(rows(scan)) == len(rows(scan)) == 1
    record_run(tmp_path / "two", steps=2)
    assert [row["trial"] for row in rows(scan)] == ["one", "two"]


def test_a_stream_can_be_dropped_in_the_middle(farm):
    for _ in range(20):
        reader = pyarrow.RecordBatchReader.from_stream(smd.scan(farm, options={"batch_rows": 1}))
        reader.read_next_batch()
        del reader
        smd.scan(farm).__arrow_c_stream__()  # never consumed


def test_a_batch_outlives_its_stream(farm):
    reader = pyarrow.RecordBatchReader.from_stream(smd.scan(farm, options={"batch_rows": 1}))
    first = reader.read_next_batch()
    copy = first.to_pylist()
    del reader
    assert first.to_pylist() == copy


# ---- values ----


def number(value):
    return None if value is None else float(np.asarray(value).reshape(-1)[0])


def assert_same_number(found, expected, place, tolerance=0.0):
    if expected is None:
        assert found is None, place
    else:
        is_nan = found is not None and math.isnan(found) and math.isnan(expected)
        is_close = found == expected or abs(found - expected) <= tolerance * abs(expected)
        assert is_nan or is_close, (place, found, expected)


def rounding(value):
    """Returns how far a result in the type of the value, as numpy has it, may be from one in
    double precision."""
    is_coarse = value.dtype.kind == "f" and value.dtype.itemsize < 8
    return 4 * float(np.finfo(value.dtype).eps) if is_coarse else 1e-12


def elements(value):
    return [float(x) for x in np.asarray(value).reshape(-1)]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
@pytest.mark.parametrize("compute", [False, True])
def test_golden_trials_element_by_element(golden, compute):
    check_trial(golden / "trial", compute)


@pytest.mark.parametrize("name", ["a", "b", "odd"])
@pytest.mark.parametrize("compute", [False, True])
def test_recorded_trials_element_by_element(name, compute, farm):
    check_trial(farm / name, compute)


def check_trial(path, compute):
    trial = smd.create_trial(str(path))
    found = trial.to_arrow(columns=every_column("tensors"), compute=compute).to_pylist()
    places = {(row["tensor"], row["step"], row["worker"]) for row in found}
    assert len(places) == len(found)
    expected = {
        (name, step, worker)
        for name in trial.tensor_names()
        for step in trial.tensor(name).steps(show_incomplete_steps=True)
        for worker in trial.tensor(name).workers(step)
    }
    assert places == expected
    for row in found:
        check_row(trial, row, compute)
    check_scalars(trial, found)


def check_row(trial, row, compute):
    tensor, step, worker = trial.tensor(row["tensor"]), row["step"], row["worker"]
    place = (row["tensor"], step, worker)
    assert row["trial"] == trial.name
    assert trial.mode_modestep(step) == (MODES[row["mode"]], row["mode_step"]), place
    try:
        value = tensor.value(step, worker=worker, raw=False)
    except TensorUnavailableForStep:
        value = None
    if value is None:
        assert row["value"] is None and row["bytes"] is None, place
    elif value.dtype.kind in "biuf":
        assert [str(x) for x in row["value"]] == [str(x) for x in elements(value)], place
        assert row["shape"] == list(value.shape), place
    else:
        assert row["value"] is None, place
    saved = tensor.reduction_values(step, worker=worker)
    for absolute in (False, True):
        for name in STATISTICS:
            if absolute and name in ("l1", "l2"):
                continue
            column = f"abs_{name}" if absolute else name
            wanted, tolerance = saved.get((name, absolute)), 0.0
            if wanted is None and compute and value is not None and value.dtype.kind in "biuf":
                tolerance = rounding(value)
                try:
                    wanted = tensor.reduction_value(step, name, worker=worker, abs=absolute)
                except SMDebugValueError:
                    wanted = None  # the least of no elements
            assert_same_number(row[column], number(wanted), (*place, column), tolerance)


def check_scalars(trial, found):
    scalars = trial.to_arrow("scalars").to_pylist()
    expected = {
        (row["tensor"], row["step"], row["worker"]): row
        for row in found
        if row["value"] is not None and len(row["value"]) == 1
    }
    kept = {(row["name"], row["step"], row["worker"]): row for row in scalars}
    assert set(expected) <= set(kept)
    for place, row in expected.items():
        assert_same_number(kept[place]["value"], row["value"][0], place)
        for column in ("trial", "collection", "mode", "mode_step", "time"):
            assert kept[place][column] == row[column], (place, column)
    for place in set(kept) - set(expected):
        assert kept[place]["value"] is None, place  # a complex number


def test_the_collection_is_one_that_holds_the_tensor(farm):
    found = rows(smd.scan(farm / "a", columns=["tensor", "collection"]))
    assert {(row["tensor"], row["collection"]) for row in found} == {
        ("fc1.weight", "weights"), ("gradient/fc1.weight", "gradients"), ("relu_1", "relu_outputs"),
        ("loss", "losses"), ("val_loss", "losses"),
    }  # fmt: skip


def test_trials_agree_with_the_trials(farm):
    found = {row["trial"]: row for row in rows(smd.scan(farm, "trials", columns=every_column("trials")))}
    assert set(found) == {"a", "b", "hostile", "odd", "torn"}
    for name in ("a", "b", "odd"):
        trial = smd.create_trial(str(farm / name))
        row = found[name]
        assert (row["steps"], row["workers"]) == (len(trial.steps()), len(trial.workers()))
        assert (row["first_step"], row["last_step"]) == (trial.steps()[0], trial.steps()[-1])
        assert row["state"] == "finished" and row["path"] == str(farm / name)
        assert row["configuration"].startswith("{") and row["problem"] is None
        assert row["first_time"] <= row["last_time"]


def test_metadata_is_a_column_of_trials(tmp_path):
    with smd.Hook(str(tmp_path / "run"), save_all=True) as hook:
        hook.set_metadata(rate=0.1)
        with hook.step():
            hook.save("loss", 1.0)
    scan = smd.scan(tmp_path, "trials", columns=["trial", "metadata"])
    (row,) = pyarrow.table(scan).to_pylist()
    assert row["trial"] == "run" and json.loads(row["metadata"])["rate"] == "0.1"


def test_findings_agree_with_the_rule_set(farm):
    rule = ("VanishingGradient", {"threshold": 1e-3, "patience": 1})
    found = rows(smd.scan([farm / "a", farm / "b"], "findings", rules=rule))
    for name in ("a", "b"):
        rules = RuleSet()
        rules.add(*rule)
        expected = rules.evaluate(smd.create_trial(str(farm / name)))
        mine = [row for row in found if row["trial"] == name]
        assert mine
        facts = [(row["rule"], row["step"], row["tensor"], row["worker"], row["message"], row["value"]) for row in mine]
        assert facts == [(f.rule, f.step, f.tensor, f.worker, f.message, f.value) for f in expected]


# ---- conditions ----


@pytest.mark.parametrize(
    ("conditions", "keeps"),
    [
        ({"tensors": "loss"}, lambda r: r["tensor"] == "loss"),
        ({"tensors": ["loss", "val_loss"]}, lambda r: r["tensor"].endswith("loss")),
        ({"regex": "^fc", "tensors": "loss"}, lambda r: r["tensor"] in ("fc1.weight", "loss")),
        ({"collection": "gradients"}, lambda r: r["collection"] == "gradients"),
        ({"modes": smd.modes.EVAL}, lambda r: r["mode"] == "EVAL"),
        ({"modes": ["train", "EVAL"]}, lambda r: True),
        ({"workers": "worker_1"}, lambda r: r["worker"] == "worker_1"),
        ({"first": 2, "end": 9}, lambda r: 2 <= r["step"] < 9),
        ({"trials": "^b$"}, lambda r: r["trial"] == "b"),
    ],
)
def test_conditions_keep_the_rows_that_they_name(conditions, keeps, farm):
    paths = [farm / "a", farm / "b"]
    every = rows(smd.scan(paths))
    assert rows(smd.scan(paths, **conditions)) == [row for row in every if keeps(row)]


def test_partitions_are_the_scan(farm):
    for table in TABLES:
        scan = smd.scan(farm, table, options={"batch_rows": 5})
        parts = [pickle.loads(pickle.dumps(part)) for part in scan.partitions()]
        assert len(parts) >= 5
        found = sorted(str(row) for part in parts for row in rows(part))
        assert found == sorted(str(row) for row in rows(scan))


# ---- trials and engines ----


def test_a_trials_tables(farm):
    trial = smd.create_trial(str(farm / "b"), name="mine")
    arrow = trial.to_arrow(columns=["trial", "step", "worker"], tensors="loss")
    assert arrow.num_rows == 2 * 9 and set(arrow["trial"].to_pylist()) == {"mine"}
    frame = trial.to_pandas("scalars", workers="worker_1")
    assert isinstance(frame, pandas.DataFrame) and set(frame.worker) == {"worker_1"}
    frame = trial.to_polars("trials")
    assert isinstance(frame, polars.DataFrame) and frame["steps"].to_list() == [STEPS]


def test_a_trials_range_of_steps_holds_for_its_tables(farm):
    trial = smd.create_trial(str(farm / "a"), range_steps=(2, 6))
    assert set(trial.to_polars()["step"]) == {2, 3, 4, 5}
    assert set(trial.to_polars(first=4, end=100)["step"]) == {4, 5}
    assert trial.to_polars(first=50).height == 0


def test_engines_take_a_scan_as_it_is(farm):
    scan = smd.scan(farm, "scalars")
    expected = scan.to_arrow().num_rows
    assert duckdb.sql("select count(*) from scan").fetchall() == [(expected,)]
    assert polars.DataFrame(scan).height == len(pandas.DataFrame.from_arrow(scan)) == expected
    assert polars.Schema(scan).names() == list(scan.schema)


@pytest.mark.parametrize(
    "predicate",
    [
        polars.col("tensor") == "loss",
        (polars.col("step") >= 3) & (polars.col("step") < 7) & (polars.col("worker") == "worker_1"),
        (polars.lit(5) > polars.col("step")) & (polars.col("trial") == "b"),
        (polars.col("step") == 3) | (polars.col("mode") == "EVAL"),
        polars.col("step").is_between(2, 4) & polars.col("max").is_not_null(),
        (polars.col("step") > 2**62) & (polars.col("mode") == "nonsense"),
        polars.col("step") < -3,
    ],
    ids=str,
)
def test_lazy_frames_give_what_frames_give(predicate, farm):
    scan = smd.scan(farm)
    eager = polars.DataFrame(scan).sort("trial", "step", "worker", "tensor")
    lazy = scan.lazy().filter(predicate).select("trial", "step", "worker", "tensor", "max").collect()
    wanted = eager.filter(predicate).select("trial", "step", "worker", "tensor", "max")
    assert lazy.sort("trial", "step", "worker", "tensor").equals(wanted, null_equal=True)


def test_conditions_do_not_widen_what_a_scan_selects(farm):
    step = polars.col("step")
    for selects, predicate in (
        ({"regex": "^val_"}, polars.col("name") == "loss"),
        ({"tensors": "val_loss"}, polars.col("name") == "loss"),
        ({"trials": "^a$"}, polars.col("trial") == "b"),
        ({"first": 4}, step > 2),
        ({"end": 4}, step < 6),
        ({"first": 4, "end": 6}, (step > 6) & (step < 9)),
        ({"end": 4}, step >= 8),
    ):
        scan = smd.scan(farm, "scalars", **selects)
        wanted = scan.to_polars().filter(predicate)
        assert scan.lazy().filter(predicate).collect().height == wanted.height, selects


def test_a_lazy_frame_reads_no_more_than_it_needs(farm):
    lazy = smd.scan(farm, "scalars", first=2).lazy()
    assert lazy.head(3).collect().height == 3
    assert lazy.head(3).filter(polars.col("step") > 100).collect().height == 0
    assert lazy.filter(polars.col("step") < 4).select(polars.col("step").min()).collect().item() == 2
    assert lazy.select(polars.len()).collect().item() == smd.scan(farm, "scalars", first=2).to_arrow().num_rows


# ---- threads, processes ----


def test_threads_read_at_once(farm):
    scan = smd.scan(farm)
    expected = rows(scan)
    found = [None] * 6

    def read(i):
        found[i] = rows(scan)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(str(each) == str(expected) for each in found)


def in_child(action):
    """Returns what a child writes; action runs in it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, action().encode()[:4000])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    assert os.waitpid(pid, 0)[1] == 0
    return text


def test_a_stream_belongs_to_its_process(farm):
    stream = nanoarrow.ArrayStream(smd.scan(farm / "a", options={"batch_rows": 1}))
    first = next(stream.iter_chunks())
    assert len(first)

    def use():
        try:
            return str(len(next(stream.iter_chunks())))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    assert "fork" in in_child(use)
    assert len(next(stream.iter_chunks()))  # the parent goes on


def test_a_scan_serves_a_child(farm):
    scan = smd.scan(farm / "a", "scalars")
    assert in_child(lambda: str(len(nanoarrow.Array(scan)))) == str(scan.to_arrow().num_rows)


def test_scans_can_be_pickled_and_compared(farm):
    scan = smd.scan(farm, columns="step", first=3)
    copy = pickle.loads(pickle.dumps(scan))
    assert copy == scan and hash(copy) == hash(scan) and copy != smd.scan(farm)
    assert rows(copy) == rows(scan)
    assert repr(smd.scan("x", "trials", trials="^a")) == "<Scan of trials: path='x', trial='^a'>"


# ---- bad input, damage ----


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("x", "tensor"), SMDebugValueError, "there is no table 'tensor'.*did you mean.*tensors"),
        (("x", "tensors", {"columns": "maxi"}), SMDebugValueError, "no column 'maxi'.*max"),
        (("x", "tensors", {"columns": 3}), SMDebugTypeError, "column must be a str, or several, not int"),
        (("x", "tensors", {"modes": 3}), SMDebugTypeError, "mode must be a str, or several, not int"),
        (("x", "findings", {"rules": 3}), SMDebugTypeError, "rule must be a str, or several, not int"),
        (("x", "tensors", {"options": {"cache": "maybe"}}), SMDebugValueError, "cache is 'maybe'"),
        (("x", "tensors", {"options": {"texts": "views"}}), SMDebugValueError, "texts is 'views'"),
        (("x", "tensors", {"tensors": [3]}), SMDebugTypeError, "tensor must be a str, not int"),
        (("x", "tensors", {"regex": "("}), SMDebugValueError, "\\("),
        (("x", "tensors", {"modes": "nonsense"}), SMDebugValueError, "TRAIN, EVAL, PREDICT or GLOBAL"),
        (("x", "tensors", {"first": -1}), SMDebugValueError, "first is '-1'"),
        (("x", "tensors", {"first": "abc"}), SMDebugValueError, "first is 'abc'"),
        (("x", "findings", {"rules": "Nonsense"}), SMDebugValueError, "Nonsense"),
        (("x", "tensors", {"options": {"sise": 3}}), SMDebugValueError, "no option 'sise'"),
        (("", "tensors"), SMDebugValueError, "path is empty"),
        ((5, "tensors"), SMDebugTypeError, "the path must be a str, or several, not int"),
        (([b"x"], "tensors"), SMDebugTypeError, "the path must be a str or a path, not bytes"),
    ],
)
def test_bad_input_is_refused_at_once(arguments, kind, words):
    paths, table, *conditions = arguments
    with pytest.raises(kind, match=words):
        smd.scan(paths, table, **(conditions[0] if conditions else {}))


def test_paths_without_trials(tmp_path):
    with pytest.raises(SMDebugFileNotFoundError, match="nowhere"):
        smd.scan(tmp_path / "nowhere").to_arrow()
    with pytest.raises(SMDebugFileNotFoundError, match="no trial"):
        smd.scan(f"{tmp_path}/*").to_arrow()


def test_damage_is_left_out_or_raised(farm, caplog):
    for name in ("torn", "hostile"):
        kept = rows(smd.scan(farm / name, columns=["step", "tensor", "value"]))
        whole = rows(smd.scan(farm / "a", columns=["step", "tensor", "value"]))
        # A row whose value cannot be read has no value; an index file that cannot be read has no rows.
        wanted = {(row["step"], row["tensor"]): row["value"] for row in whole}
        assert 0 < len(kept) <= len(whole)
        assert all(row["value"] in (None, wanted[row["step"], row["tensor"]]) for row in kept)
        assert any("skipped" in line for line in caplog.messages)
        with pytest.raises((SMDebugRuntimeError, pyarrow.ArrowException, OSError)):
            smd.scan(farm / name, columns=["value"], damage="fail").to_arrow()


def test_an_error_in_the_middle_ends_the_stream(farm):
    scan = smd.scan(farm / "torn", columns=["value"], damage="fail", options={"batch_rows": 1})
    reader = pyarrow.RecordBatchReader.from_stream(scan)
    for _ in range(2):
        with pytest.raises((pyarrow.ArrowException, OSError)):
            while True:
                reader.read_next_batch()


def test_an_engine_that_is_missing_is_named(monkeypatch, farm):
    import importlib

    def refuse(name, *rest, real=importlib.import_module):
        if name.partition(".")[0] in ("polars", "pandas", "pyarrow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", refuse)
    scan = smd.scan(farm)
    for action, line in (
        (scan.to_arrow, "pip install pyarrow"),
        (scan.to_pandas, "pip install pandas pyarrow"),
        (scan.to_polars, "pip install polars"),
        (scan.lazy, "pip install polars"),
    ):
        with pytest.raises(ModuleNotFoundError, match=line):
            action()


# The peak that getrusage() tells is at least that of the process that started this one.
PEAK = """
import sys
import duckdb
import smdebug as smd
duckdb.sql("set enable_progress_bar = false")
scan = smd.scan(sys.argv[1], columns=["trial", "tensor", "step"])
[(rows,)] = duckdb.sql("select count(distinct step) * 0 + count(*) from scan").fetchall()
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(rows, int(peak) // 1024)
"""


def test_memory_does_not_grow_with_rows(tmp_path):
    """A tenth of the rows, and all, of links to the same files: ten million with WHOLE in the environment, else four."""
    steps, tensors = 50, 2_000
    with smd.Hook(
        str(tmp_path / "model"), save_config=smd.SaveConfig(save_interval=1), save_all=True,
        reduction_config=smd.ReductionConfig(norms=["l2"]),
    ) as hook:  # fmt: skip
        ones = np.ones(4, np.float32)
        for _ in range(steps):
            with hook.step():
                for number in range(tensors):
                    hook.save(f"layer{number}", ones)

    def peak(trials: int) -> int:
        for number in range(trials):
            link = tmp_path / f"runs-{trials}/run-{number}"
            shutil.copytree(tmp_path / "model", link, copy_function=os.link)
        done = subprocess.run(
            [sys.executable, "-c", PEAK, tmp_path / f"runs-{trials}"],
            check=True, capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        rows, megabytes = map(int, done.stdout.split())
        assert rows == trials * steps * tensors
        return megabytes

    trials = 100 if os.environ.get("WHOLE") else 40  # of 100,000 rows
    tenth, whole = peak(trials // 10), peak(trials)
    assert whole < min(300, tenth + 40), (tenth, whole)
