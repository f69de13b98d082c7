"""Reading of profiler folders: what the original does wrong, and bad input."""

import json
import shutil
import time
from pathlib import Path

import duckdb
import pytest
import smdebug
from chrome_trace import checked
from smdebug import create_trial
from smdebug.exceptions import NoMoreProfilerData, SMDebugRuntimeError, SMDebugValueError
from smdebug.profiler import LocalAlgorithmMetricsReader, LocalSystemMetricsReader
from smdebug.profiler.analysis.utils.merge_timelines import MergedTimeline
from smdebug.trials.profiler_trial import ProfilerTrial

FIXTURES = Path(__file__).parent / "fixtures"
FAR = 4_000_000_000_000_000
HOUR = "framework/pevents/2024013123"

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def folder(tmp_path):
    """Makes a copy of a profiler folder."""

    def copy(scenario="healthy"):
        shutil.copytree(FIXTURES / scenario, tmp_path / scenario)
        return tmp_path / scenario

    return copy


def timeline(folder, text, node="314-algo-1", stamp=1706745600000000):
    path = folder / HOUR / f"{stamp}_{node}_pythontimeline.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_opening_does_not_wait_when_there_are_files(folder, tmp_path):
    path = str(folder())
    create_trial(path, profiler=True, output_dir=str(tmp_path / "out"))
    begin = time.perf_counter()
    trial = create_trial(path, profiler=True, output_dir=str(tmp_path / "out"))
    assert time.perf_counter() - begin < 1
    assert isinstance(trial, ProfilerTrial)
    assert trial.first_timestamp == 1706745540000000
    assert trial.job_finished()
    assert (tmp_path / "out/.sagemaker-ignore").is_dir()
    last = trial.get_latest_timestamp()
    with pytest.raises(NoMoreProfilerData):
        trial.wait_for_data(last + 10**9, last)


def test_opening_works_without_system_metrics(folder, tmp_path):
    path = folder()
    shutil.rmtree(path / "system")
    trial = create_trial(str(path), profiler=True, output_dir=str(tmp_path / "out"))
    assert trial.first_timestamp == trial.framework_metrics_reader.get_timestamp_of_first_available_file()
    assert trial.get_latest_timestamp() > trial.first_timestamp
    assert trial.get_system_metrics(0, FAR) == []


def test_the_time_buffer_is_a_number(folder, monkeypatch):
    reader = LocalSystemMetricsReader(str(folder()))
    monkeypatch.setenv("TIME_BUFFER_MICROSECONDS", "60000000")
    assert len(reader.get_events(1706745580000000, 1706745602000000)) == 774
    monkeypatch.setenv("TIME_BUFFER_MICROSECONDS", "3 min")
    with pytest.raises(SMDebugValueError, match="TIME_BUFFER_MICROSECONDS is '3 min'"):
        reader.get_events(0, FAR)


def test_the_current_range_is_that_of_the_files(folder):
    reader = LocalAlgorithmMetricsReader(str(folder()))
    assert reader.get_current_time_range_for_event_query() == (1706745587120060, 1706745604589374)


def test_horovod_has_its_type(folder):
    events = LocalAlgorithmMetricsReader(str(folder("multi_node"))).get_events(
        0, FAR, file_suffix_filter=["horovod_timeline.json"]
    )
    assert {event.file_type for event in events} == {"HorovodMetrics"}


def test_a_corrupt_line_costs_only_itself(folder):
    path = folder()
    file = path / "system/incremental/2024013123/1706745540.algo-1.json"
    lines = file.read_text().splitlines()
    lines[3] = lines[3][:20]
    file.write_text("\n".join(lines))  # nor a final newline
    assert len(LocalSystemMetricsReader(str(path)).get_events(0, FAR)) == 1143


def test_a_timeline_that_is_cut_off_gives_its_whole_events(folder):
    path = folder("torn_line")
    file = next((path / HOUR).iterdir())
    count = len(LocalAlgorithmMetricsReader(str(path)).get_events(0, FAR))
    file.write_text(file.read_text()[:-60])
    assert len(LocalAlgorithmMetricsReader(str(path)).get_events(0, FAR)) == count - 1


@pytest.mark.parametrize(
    "text",
    ["", "{}", "nonsense", "[", "[[[[[[[[", '{"traceEvents": [{"ph": "X"}]}', "[null, 1, {}]",
     '[{"ph": "X", "pid": 0, "ts": 1e999, "dur": 1, "name": "a"}]', "\x00\xff" * 1000],
)  # fmt: skip
def test_a_foreign_file_harms_no_other(folder, text):
    path = folder()
    timeline(path, text)
    assert len(LocalAlgorithmMetricsReader(str(path)).get_events(0, FAR)) == 420
    if text not in ("[null, 1, {}]",):
        with pytest.raises(SMDebugRuntimeError, match="1706745600000000_314-algo-1_pythontimeline"):
            list(strict(path))


def strict(path):
    from smdebug.tables.columns import batches

    return batches(smdebug.scan(path, "profile_events", damage="fail"))


def test_names_of_files_with_paths_or_nonsense_are_skipped(folder):
    path = folder()
    for name in ("x_y_pythontimeline.json", "_", "99999999999999999999_n_pythontimeline.json"):
        (path / HOUR / name).write_text("[]")
    (path / "system/incremental/2024013123/1706745540.algo-x.json").write_text("{}")
    assert len(LocalAlgorithmMetricsReader(str(path)).get_events(0, FAR)) == 420
    assert len(LocalSystemMetricsReader(str(path)).get_events(0, FAR)) == 1144


def test_times_that_no_file_has(folder):
    for reader in (LocalSystemMetricsReader(str(folder())),):
        assert reader.get_events(10**30, 10**31) == []
        assert reader.get_events(-(10**30), -(10**29)) == []


def test_sql_joins_events_with_tensors_by_step(folder, tmp_path):
    path = folder()
    with smdebug.Hook(str(tmp_path / "run"), save_all=True, save_config=smdebug.SaveConfig(save_interval=1)) as hook:
        for step in range(3):
            with hook.step(smdebug.modes.TRAIN):
                hook.save("loss", 1.0 / (1 + step))
    events = smdebug.scan(path, "profile_events")
    scalars = smdebug.scan(tmp_path / "run", "scalars")
    rows = duckdb.sql(
        "select s.step, s.value, sum(e.duration) from scalars s join events e using (step) "
        "where e.phase = 'Forward' group by all order by all"
    ).fetchall()
    assert [row[0] for row in rows] == [0, 1, 2]
    assert all(row[2] > 0 for row in rows)


def test_the_merged_timeline_is_valid_and_its_events_nest(folder, tmp_path):
    path = folder("multi_node")
    timeline(
        path,
        '[{"name": "a", "ph": "X", "pid": 1, "ts": 1706745590000000, "dur": 50, "args": {"v": NaN}},'
        '{"name": "b", "ph": "X", "pid": 1, "ts": 1706745590000010, "dur": 90}]',
    )
    name = MergedTimeline(str(path), output_directory=str(tmp_path)).merge_timeline(0, FAR)
    events = checked(Path(name))
    nodes = {}
    for event in events:
        if event["name"] == "thread_name":
            key = (event["pid"], event["tid"])
            assert nodes.setdefault(key, event["args"]["name"]) == event["args"]["name"]


@pytest.mark.parametrize("table", ["profile_events", "system_metrics"])
def test_texts_are_codes_but_for_arguments_which_do_not_repeat(folder, table):
    plain = smdebug.scan(folder(), table)
    coded = plain.with_options([("texts", "dictionary")])
    texts = {name for name, kind in plain.schema.items() if kind == "string"}
    assert {name for name, kind in coded.schema.items() if kind == "dictionary"} == texts - {"args"}
    rows = duckdb.sql("from plain").fetchall()
    assert rows and duckdb.sql("from coded").fetchall() == rows
