"""SQL over trials: the same answers as over tables in memory, and no more read than it needs."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import duckdb
import pytest
from command import BUILD, WAYS, complaint, output, run
from recorded import record_run

import smdebug as smd
from smdebug.tables.query import Query

ALL = {table: list(smd.scan("x", table).schema) for table in ("tensors", "scalars", "findings", "trials")}
ALL["tensors"] += ["value", "bytes"]
ALL["trials"] += ["configuration"]


@pytest.fixture(scope="module")
def healthy(farm, tmp_path_factory):
    """The trials a and b."""
    folder = tmp_path_factory.mktemp("healthy")
    for name in ("a", "b"):
        shutil.copytree(farm / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def whole(healthy):
    """A database that holds the whole tables."""
    connection = duckdb.connect()
    connection.execute("set python_enable_replacements=false")
    for table, columns in ALL.items():
        connection.register("s", smd.scan(healthy, table, columns=columns).to_arrow())
        connection.execute(f"create table {table} as select * from s")
        connection.unregister("s")
    return connection


# ---- the answer is that over whole tables ----

QUERIES = {
    "select trial, min(value) from scalars where name='val_loss' group by trial order by 2": "scalars",
    "SELECT Trial, MIN(Value) FROM Scalars s WHERE s.Name = 'loss' GROUP BY ALL ORDER BY ALL": "scalars",
    "select count(*) from tensors": "tensors",
    "select count(*) from tensors where step between 2 and 5 and worker in ('worker_0', 'x')": "tensors",
    "select tensor, step, max from tensors where 5 > step and step >= 2 and mode = 'TRAIN' and trial = 'a' order by all": "tensors",
    "select sum(len(value)), count(bytes) from tensors where collection = 'weights'": "tensors",
    "from scalars where step = 3 order by all": "scalars",
    "select * exclude (value) from scalars where step <= -1": "scalars",
    "select * from scalars where step > 9223372036854775806": "scalars",
    "select * from scalars where step > 99999999999999999999999": "scalars",
    "select 7 as step, name from scalars where step = 7 order by all": "scalars",
    "select step + 1 as step, name from scalars where step = 7 order by all": "scalars",
    "select count(*) from scalars where step = '3'": "scalars",
    "select count(*) from scalars where step = 3.0 and name <> 'loss'": "scalars",
    "select count(*) from scalars where step = 3 or name = 'loss'": "scalars",
    "select count(*) from scalars where not step = 3 and mode = 'eval'": "scalars",
    "select count(*) from scalars where name = 'loss' and name = 'val_loss'": "scalars",
    "select count(*) from scalars where name in ('loss', 'val_loss') and name = 'val_loss'": "scalars",
    "select count(*) from scalars where name = '' or worker = ''": "scalars",
    "select count(*) from scalars where worker = ''": "scalars",
    "select count(*) from tensors where collection in ('losses', 'weights')": "tensors",
    "select count(*) from tensors where collection = 'all'": "tensors",
    "select l.trial, l.value, v.value from scalars l join scalars v on l.trial = v.trial and v.step = l.step + 1 where l.name = 'loss' and v.name = 'val_loss' order by all": "scalars",
    "select * from (select * from scalars where step = 1) a left join (select * from scalars where step = 2) b using (trial) order by all": "scalars",
    "select t.state, s.value from trials t join scalars s on s.trial = t.trial where s.step = 2 and t.trial = 'a' order by all": "scalars trials",
    "select t.trial, count(s.value) from trials t left join scalars s on s.trial = t.trial and s.step = 2 where t.trial = 'b' group by 1": "scalars trials",
    "select t.trial from trials t anti join scalars s on s.trial = t.trial and s.step = 200 where step is null order by 1": None,
    "with scalars as (select 1 as step) select * from scalars where step = 1": None,
    "with x as (select * from scalars where step = 3) select count(*) from x, tensors where tensors.step = 1": "scalars tensors",
    "with recursive r as (select 1 n union all select n + 1 from r where n < 3) select n, count(*) from r join scalars on step = n group by 1 order by 1": "scalars",
    "select s from scalars s where step = 2 order by all": "scalars",
    "select trial, name, steps from scalars natural join trials order by all": "scalars trials",
    "select columns('st.*') from scalars where step = 4 order by all": "scalars",
    "select x from scalars t(x, y) where y = 'loss' group by x order by x": "scalars",
    "select (select max(step) from scalars where name = t.tensor) as m, tensor from tensors t where step = 3 order by all": "scalars tensors",
    "select * from scalars where trial in (select trial from trials where trial = 'b') and step < 2 order by all": "scalars trials",
    "select step, value from scalars where name = 'loss' union all by name select value, step from scalars where name = 'val_loss' order by all": "scalars",
    "select a.step, b.value from scalars a asof join scalars b on a.trial = b.trial and a.step >= b.step where a.step > 3 and b.step < 3 order by all": "scalars",
    "select count(*) from findings where step > 3 and trial = 'a'": "findings",
    "select trial, steps, first_step, last_step from trials where last_step < 100 and first_step = 0 order by 1": "trials",
    "select trial, len(configuration) > 10 from trials order by 1": "trials",
    "select 1 -- the end": "",
    "select count(*) from scalars;": "scalars",
    "select 'from tensors where step = 1', e'a\\nb' from trials": "trials",
}  # fmt: skip


def results(query):
    return [tuple(map(repr, row)) for some in query.rows() for row in some]


@pytest.mark.parametrize("sql", QUERIES)
def test_the_answer_is_that_over_whole_tables(sql, healthy, whole):
    try:
        expected = whole.execute(sql).fetchall()
    except duckdb.Error as error:
        with pytest.raises(smd.exceptions.SMDebugValueError):
            results(Query(sql, [healthy]))
        assert QUERIES[sql] is None, error
        return
    query = Query(sql, [healthy])
    assert query.columns == [each[0] for each in whole.execute(sql).description]
    assert results(query) == [tuple(map(repr, row)) for row in expected]
    if QUERIES[sql] is not None:
        assert " ".join(sorted(query.scans)) == QUERIES[sql]


def options_of(sql, table="scalars"):
    return dict(option for option in Query(sql, ["nowhere"]).scans[table].options if option[0] != "column")


def columns_of(sql, table="tensors"):
    return [value for name, value in Query(sql, ["nowhere"]).scans[table].options if name == "column"]


def test_conditions_reach_the_scan():
    sql = "select step from scalars s where s.trial='a.b' and name='loss' and worker='w' and mode='EVAL' and collection='losses' and step between 3 and 9 and value > 1"
    assert options_of(sql) == {
        "path": "nowhere", "trial": "^a\\.b$", "tensor": "loss", "worker": "w", "mode": "EVAL",
        "collection": "losses", "first": "3", "end": "10",
    }  # fmt: skip
    assert options_of("from scalars where step = 3 and 2 <= step")["first"] == "3"


@pytest.mark.parametrize(
    ("given", "means", "where"),
    [
        ([("tensor", "val_loss")], "name = 'val_loss'", "name = 'loss'"),
        ([("regex", "^val_")], "name = 'val_loss'", "name = 'loss'"),
        ([("mode", "EVAL")], "mode = 'EVAL'", "mode = 'TRAIN'"),
        ([("trial", "^a$")], "trial = 'a'", "trial = 'b'"),
        ([("first", "4")], "step >= 4", "step > 2 and name = 'loss'"),
        ([("first", "4"), ("end", "6")], "step between 4 and 5", "step < 9"),
        ([("end", "4")], "step < 4", "step >= 8"),
        ([("first", "8")], "step >= 8", "step < 4"),
    ],
)
def test_conditions_do_not_widen_what_is_given(healthy, whole, given, means, where):
    query = Query(f"select count(*) from scalars where {where}", [healthy], given)
    sql = f"select count(*) from scalars where {means} and {where}"
    [wanted] = whole.cursor().execute(sql).fetchall()
    assert list(query.rows()) == [[wanted]]


@pytest.mark.parametrize(
    "sql",
    [
        "select * from scalars where step = 3 or name = 'loss'",
        "select * from scalars where not (step = 3)",
        "select * from scalars where step + 0 = 3",
        "select * from scalars where step = 3 using sample 5",
        "select * from scalars tablesample 50% where step = 3",
        "select * from scalars a, scalars b where a.step = 3",
        "select * from tensors left join scalars on true where scalars.step = 3",
        "select * from tensors asof join scalars on tensors.step >= scalars.step where scalars.step < 3",
        "select step + 1 as step from scalars where step = 3",
        "with scalars as (select * from scalars) select * from scalars where step = 3",
        "select *, rank() over (order by step) r from scalars qualify step = 3",
        "select * from scalars t(a, b, c, step) where step = 3",
        "select * from findings where step = 3",
        "select * from trials where steps = 3",
    ],
)
def test_conditions_that_might_change_the_answer_stay_out(sql):
    for scan in Query(sql, ["x"]).scans.values():
        assert {name for name, _ in scan.options} <= {"path", "column"}


def test_only_columns_that_are_used_are_read():
    assert columns_of("select count(*) from tensors") == ["trial"]
    assert columns_of("select tensor, max(mean) as max from tensors group by 1 order by min(step)") == ["tensor", "step", "mean"]
    assert columns_of("select value[1] from tensors") == ["value"]
    assert columns_of("select * from tensors") == list(smd.scan("x").schema)
    assert columns_of("select *, bytes from tensors")[-1] == "bytes"


def test_a_filter_opens_no_other_trial(healthy, tmp_path):
    """A trial that the SQL excludes may be damaged."""
    for name in ("a", "b"):
        shutil.copytree(healthy / name, tmp_path / name)
    record_run(tmp_path / "c", steps=2)
    for file in (tmp_path / "c").glob("index/*/*.json"):
        file.write_text("{")
    sql = "select count(*) from scalars where trial = 'a'"
    assert output(tmp_path, "query", sql, tmp_path) == "count_star()\n          12\n"
    assert "1" in output(tmp_path, "query", "select 1 as x from scalars limit 1", tmp_path, code=4)


# ---- output ----

SQL = "select trial, name, min(value) as least from scalars where name like '%loss' group by all order by all"


@pytest.mark.parametrize("way", WAYS)
def test_the_table(way, healthy):
    assert output(healthy, "query", SQL, "a", "b", way=way) == (
        "TRIAL  NAME         LEAST\n"
        "a      loss      0.0909091\n"
        "a      val_loss  0.0833333\n"
        "b      loss       0.166667\n"
        "b      val_loss   0.153846\n"
    ).replace("         LEAST", "          LEAST")


def test_wide_characters_keep_the_columns_in_line(healthy):
    sql = "select * from (values ('実験', 1), ('e\u0301t\u00e9', 2), ('abcd', 3)) v(run, x) where (select count(*) from scalars) > 0"
    printed = output(healthy, "query", sql, healthy).splitlines()
    assert printed == ["RUN   X", "実験  1", "e\u0301t\u00e9   2", "abcd  3"]


def test_csv_and_json_are_exact(healthy, tmp_path):
    rows = list(csv.DictReader(output(healthy, "query", SQL, healthy, "--format", "csv").splitlines()))
    objects = [json.loads(line) for line in output(healthy, "query", SQL, healthy, "--format=json").splitlines()]
    assert [float(row["least"]) for row in rows] == [each["least"] for each in objects]
    assert objects[0] == {"trial": "a", "name": "loss", "least": 1 / 11}


@pytest.mark.parametrize(
    ("suffix", "way"),
    [("csv", "module"), ("json", "program"), ("parquet", "module"), ("txt", "program")],
)
def test_files(suffix, way, healthy, tmp_path):
    file = tmp_path / f"out.{suffix}"
    assert output(tmp_path, "query", SQL, healthy, "-o", file, way=way) == ""
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    if suffix in ("csv", "json", "parquet"):
        read = duckdb.sql(f"select trial, name, least from '{file}' order by all").fetchall()
        assert len(read) == 4 and read[0] == ("a", "loss", 1 / 11)
    assert "it exists" in complaint(tmp_path, "query", SQL, healthy, "-o", file, code=2, way=way)


def test_odd_values(farm):
    sql = "select null as a, 'x\\ty'||chr(27) as b, 'nan'::double as c, [1, null] as d, {'k': 'inf'::double} as e, true as f, 1 as f, 'ab'::blob as g, timestamp '2026-01-02 03:04:05' as t from trials limit 1"
    [row] = [json.loads(line) for line in output(farm, "query", sql, "a", "--format", "json").splitlines()]
    assert row == {
        "a": None, "b": "x\\ty\x1b", "c": "NaN", "d": [1, None], "e": {"k": "Infinity"}, "f": True, "f_1": 1,
        "g": "6162", "t": "2026-01-02T03:04:05Z",
    }  # fmt: skip
    table = output(farm, "query", sql, "a")
    assert "\x1b" not in table and "\\x1b" in table and table.splitlines()[1].startswith("-  ")
    assert output(farm, "query", "select 1 where false", "a") == "1\n"


def test_findings_take_rules(healthy):
    sql = "select trial, count(*) as n from findings group by 1 order by 1"
    rule = "VanishingGradient,threshold=1e-3,patience=1"
    assert "a      " in output(healthy, "query", sql, healthy, "--rule", rule)
    line = complaint(healthy, "query", sql, healthy, "--rule", "Nonsense", code=2)
    assert "Nonsense" in line
    assert "has no value" in complaint(healthy, "query", sql, healthy, "--rule", "Overfit,x", code=2)


def test_statistics_can_be_computed(healthy):
    sql = "select count(mean) as n from tensors where tensor = 'fc1.weight' and trial = 'a'"
    assert output(healthy, "query", sql, healthy) == "N\n0\n"
    assert output(healthy, "query", sql, healthy, "--compute") == " N\n12\n"


# ---- bad input ----


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("selec 1", "the SQL does not parse: syntax error"),
        ("", "the SQL"),
        ("select 1; select 2", "must be one SELECT"),
        ("copy (select 1) to 'x.csv'", "must be one SELECT"),
        ("drop table tensors", "must be one SELECT"),
        ("select * from tensor", "there is no table 'tensor'; there are tensors"),
        ("select vlue from scalars", "the table scalars has no column 'vlue'"),
        ("select s.vlue from scalars s", "no column|does not have a column"),
        ("select value from scalars where step = 'abc'", "Could not convert string 'abc'"),
        ("select nonsense(value) from scalars", "nonsense"),
    ],
)  # fmt: skip
def test_bad_sql(sql, words, healthy):
    line = complaint(healthy, "query", sql, "a", code=2)
    assert re.search(words, line), line


def test_bad_places(healthy, tmp_path):
    count = "select count(*) from scalars"
    assert "nowhere" in complaint(tmp_path, "query", count, "nowhere", code=3)
    assert "no trial" in complaint(tmp_path, "query", count, tmp_path, code=3)
    assert "must end in" in complaint(tmp_path, "query", count, healthy, "-o", "out.xls", code=2)
    assert "Parquet" in complaint(tmp_path, "query", count, healthy, "--format", "parquet", code=2)
    assert "out" in complaint(tmp_path, "query", count, healthy, "-o", "no/folder/out.csv", code=5)
    assert "NAME=VALUE" in complaint(tmp_path, "query", count, healthy, "--set", "x", code=2)
    assert "no option" in complaint(tmp_path, "query", count, healthy, "--set", "x=1", code=2)
    for words in (["query"], ["query", count], ["query", count, "x", "--formt", "csv"], ["query", count, "x", "--format", "xls"]):
        for way in WAYS:
            assert re.search("smdebug query --help|did you mean '--format'", complaint(tmp_path, *words, code=2, way=way))


def test_a_bucket_that_refuses(tmp_path):
    variables = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y",
                 "AWS_REGION": "us-east-1", "SMDEBUG_S3_MAX_ATTEMPTS": "1", "AWS_MAX_ATTEMPTS": "1"}  # fmt: skip
    line = complaint(tmp_path, "query", "from trials", "s3://my-bucket/jobs", code=6, **variables)
    assert "my-bucket" in line


@pytest.mark.parametrize("way", WAYS)
def test_duckdb_missing(way, healthy, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['duckdb'] = None\n")
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    line = complaint(healthy, "query", "from trials", "a", code=8, way=way, PYTHONPATH=path)
    assert "pip install 'libsmdebug[sql]'" in line and "duckdb" in line


@pytest.mark.parametrize("suffix", ["txt", "csv", "json", "parquet"])
def test_pyarrow_is_not_needed(suffix, healthy, tmp_path):
    """`pip install libsmdebug[sql]` installs DuckDB and no pyarrow."""
    (tmp_path / "none").mkdir()
    (tmp_path / "none/pyarrow.py").write_text("raise ImportError('no pyarrow')")
    path = os.pathsep.join([str(tmp_path / "none"), os.environ["PYTHONPATH"]])
    sql = "select trial, max(step) from scalars group by 1 order by 1"
    words = ["query", sql, healthy]
    done = run(tmp_path, *words, "-o", f"out.{suffix}", PYTHONPATH=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / f"out.{suffix}").stat().st_size > 0
    done = run(tmp_path, *words, PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (0, output(tmp_path, *words))


def test_the_program_without_python(healthy, tmp_path):
    done = subprocess.run([BUILD / "bin/smdebug", "query", "from trials", "a"], cwd=healthy, timeout=60,
                          env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 8 and "no python3" in done.stderr
    (tmp_path / "python3").symlink_to(sys.executable)
    done = subprocess.run([BUILD / "bin/smdebug", "query", "from trials", "a"], cwd=healthy, timeout=60,
                          env={"PATH": str(tmp_path), "PYTHONNOUSERSITE": "1"}, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 8 and "pip install 'libsmdebug[sql]'" in done.stderr


def test_modules_in_the_current_folder_are_not_run(healthy, tmp_path):
    (tmp_path / "duckdb.py").write_text("raise SystemExit('run')\n")
    assert "a" in output(tmp_path, "query", "select trial from trials order by 1", healthy, way="program")


@pytest.mark.parametrize("way", WAYS)
def test_help_describes_the_commands(way, tmp_path):
    for command in ("query", "export"):
        assert output(tmp_path, command, "--help", way=way).startswith(f"smdebug {command}: ")


def test_damage_is_counted(farm, tmp_path):
    done = run(farm, "query", "select count(*) as n from tensors", "torn")
    assert done.returncode == 4 and done.stdout.startswith(" N\n")
    assert "skipped" in done.stderr
    done = run(farm, "query", "select trial, problem from findings where problem is not null", "hostile", "torn", "a")
    assert done.returncode in (0, 4)


def test_the_reader_of_a_pipe_may_go(healthy):
    sql = "select a.* from tensors a, tensors b, range(100)"
    process = subprocess.Popen([sys.executable, "-m", "smdebug", "query", sql, ".", "--format", "csv"], cwd=healthy,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == -signal.SIGPIPE
    assert process.stderr.read() == b""


def test_the_query_sees_no_variables_of_python(healthy):
    for name in ("healthy", "duckdb", "sql"):
        with pytest.raises(smd.exceptions.SMDebugValueError, match="no table"):
            Query(f"select * from {name}", [healthy])


# ---- many runs, and what people get wrong ----


def test_runs_of_one_name_are_told_apart(healthy, tmp_path):
    """As the shell expands runs/*: each path names a folder of its own."""
    for rate in ("lr=0.1", "lr=0.3"):
        shutil.copytree(healthy, tmp_path / "sweep" / rate)
    shutil.copytree(healthy / "a", tmp_path / "sweep/lr=0.5/c")
    names = ["lr=0.1/a", "lr=0.1/b", "lr=0.3/a", "lr=0.3/b", "lr=0.5/c"]
    sql = "select distinct trial from scalars order by 1"
    for paths in (["sweep"], ["sweep/*"], ["sweep/lr=0.1", "sweep/lr=0.3", "sweep/lr=0.5"]):
        assert output(tmp_path, "query", sql, *paths, "--format", "csv").split()[1:] == names
    one = "select count(*) from scalars where trial = 'lr=0.3/a'"
    assert output(tmp_path, "query", one, "sweep/lr=0.1", "sweep/lr=0.3", "--format", "csv").split()[1] != "0"
    both = [str(tmp_path / "sweep/lr=0.1/a"), str(tmp_path / "sweep/lr=0.3/a")]
    scan = smd.scan(both, "trials", columns="trial")
    assert scan.to_arrow()["trial"].to_pylist() == ["lr=0.1/a", "lr=0.3/a"]
    assert [each.to_arrow()["trial"].to_pylist() for each in scan.partitions()] == [["lr=0.1/a"], ["lr=0.3/a"]]
    assert smd.scan([both[0], tmp_path / "sweep/lr=0.5/c"], "trials", columns="trial").to_arrow()["trial"].to_pylist() == ["a", "c"]


def test_a_folder_that_must_not_be_read_is_named(healthy, tmp_path):
    shutil.copytree(healthy, tmp_path / "runs")
    (tmp_path / "runs/b").chmod(0)
    words = [*WAYS["module"], "query", "select distinct trial from scalars", "runs", "--format", "csv"]
    if os.getuid() == 0:  # whom modes do not stop
        words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *words]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    (tmp_path / "runs/b").chmod(0o755)
    assert (done.returncode, done.stdout) == (4, "trial\na\n"), done.stderr
    assert "runs/b: reading this folder is not permitted; skipped" in done.stderr


@pytest.mark.parametrize("damage", ["collections", "events", "index"])
def test_findings_of_damaged_trials_are_no_success(healthy, tmp_path, damage):
    shutil.copytree(healthy, tmp_path / "runs")
    if damage == "collections":
        for file in (tmp_path / "runs/a/collections").rglob("*.json"):
            file.write_text("{")
    elif damage == "events":
        shutil.rmtree(tmp_path / "runs/a/events")
    else:
        next((tmp_path / "runs/a/index").rglob("*.json")).write_text("{")
    done = run(tmp_path, "query", "select * from findings where rule is not null", "runs")
    assert done.returncode == 4, done.stdout + done.stderr
    assert all("; skipped" in line or "more like these" in line for line in done.stderr.splitlines())
    assert f"{tmp_path}/runs/a" in done.stderr


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_that_cannot_be_written(healthy, tmp_path, suffix):
    assert complaint(tmp_path, "query", SQL, healthy, "-o", f"none/x.{suffix}", code=5) == (
        f"none/x.{suffix}: No such file or directory"
    )


@pytest.mark.parametrize(
    "sql, what",
    [
        ('select * from trials where trial = "lr=0.1/seed=1"', "single quotes: 'lr=0.1/seed=1'"),
        ('select * from trials where trial = "a b"', "single quotes: 'a b'"),
        ("select vlaue from scalars", "did you mean 'value'?"),
    ],
)
def test_a_column_that_is_not_there(healthy, tmp_path, sql, what):
    assert what in complaint(tmp_path, "query", sql, healthy, code=2)


def test_paths_that_lead_nowhere(healthy, tmp_path):
    (tmp_path / "file.csv").write_text("a")
    (tmp_path / "folder").mkdir()
    for path, what in (("none", "there is no such folder"), ("file.csv", "this is a file"), ("folder", "there is no trial")):
        assert f"{path}: {what}" in complaint(tmp_path, "query", SQL, path, code=3)


@pytest.mark.parametrize(
    "table, condition",
    [
        ("findings", {"collection": "losses"}),
        ("trials", {"tensors": "loss"}),
        ("trials", {"modes": "TRAIN"}),
        ("scalars", {"rules": "AllZero"}),
        ("tensors", {"profile": "aws"}),
    ],
)
def test_conditions_that_a_table_has_not(healthy, table, condition):
    with pytest.raises(Exception, match=f"a scan of {table} has no condition"):
        smd.scan(healthy, table, **condition).to_arrow()
    with pytest.raises(smd.exceptions.SMDebugTypeError, match="collection must be a str"):
        smd.scan(healthy, table, collection=["losses", "weights"])


@pytest.mark.parametrize("more", [[], ["-o", "x.parquet"]])
def test_ctrl_c_ends_what_duckdb_computes(healthy, tmp_path, more):
    sql = "select count(*) from scalars a, scalars b, scalars c, range(100000000) d where a.value < b.value + d.range"
    words = [*WAYS["module"], "query", sql, str(healthy), *more]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT, process.communicate()
        assert process.communicate() == ("", "")
    finally:
        process.kill()
    assert not list(tmp_path.iterdir())
