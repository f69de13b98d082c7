"""Charts of notebooks: what the original's show, and what they are for."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bokeh.embed import json_item
from profiles import BEGIN, Timeline, write_samples
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler import LocalAlgorithmMetricsReader, LocalSystemMetricsReader
from smdebug.profiler.analysis.notebook_utils import (
    Heatmap,
    MetricsHistogram,
    StepHistogram,
    StepTimelineChart,
    TimelineCharts,
    TrainingJob,
)
from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from smdebug.profiler.analysis.utils.pytorch_dataloader_analysis import PT_dataloader_analysis

HERE = Path(__file__).parent
FIXTURES = HERE / "fixtures"
FAR = 4_000_000_000_000_000

pytestmark = pytest.mark.timeout(120)


def test_the_charts_are_those_of_the_original():
    expected = json.loads((FIXTURES / "charts.json").read_text())
    done = subprocess.run(
        [sys.executable, str(HERE / "dump_charts.py"), *(str(FIXTURES / name) for name in expected)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "SMDEBUG_LOG_LEVEL": "off"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = map(json.loads, done.stdout.splitlines())
    for (scenario, theirs), ours in zip(expected.items(), found, strict=True):
        for part in ("histogram", "steps", "timelines", "heat"):
            assert ours[part] == theirs[part], (scenario, part)
        # The original leaves out the first step that it reads.
        assert ours["durations"][0] == theirs["durations"][0] + 1


@pytest.fixture
def profile(tmp_path):
    """A profile of 90 seconds, two cores, and 40 steps."""
    samples = {
        ("cpu", "cpu0", "CPUUtilization"): lambda part: 100 * part,
        ("cpu", "cpu1", "CPUUtilization"): lambda _: 99.5,
        ("network", "eth0", "Algorithm"): lambda part: 5e6 * part,
    }
    write_samples(tmp_path, samples, 90)
    line = Timeline(tmp_path)
    for number in range(40):
        line.step(number, backward=200.0 if number == 17 else 20.0)
    line.write()
    return tmp_path


def readers(folder):
    return LocalSystemMetricsReader(str(folder)), LocalAlgorithmMetricsReader(str(folder))


def test_all_samples_are_shown(profile):
    """The original leaves out the last minute, and values above 98 %."""
    chart = MetricsHistogram(readers(profile)[0])
    chart.plot(select_events=["cpu1", "total"], select_dimensions=["CPU"])
    [dimension] = chart.sources
    assert dimension == "CPUUtilization-nodeid:algo-1"
    assert list(chart.sources[dimension]) == ["cpu1", "total"]
    bars = chart.sources[dimension]["cpu1"].data
    assert sum(bars["top"]) == bars["top"][-1] == 90
    assert chart.target is None  # no notebook
    assert json_item(chart.layout)["doc"]


def test_metrics_without_a_scale_have_their_own(profile):
    chart = MetricsHistogram(readers(profile)[0])
    chart.plot(select_dimensions=["Algorithm"], show_workers=False)
    bars = chart.sources["Algorithm"]["eth0"].data
    assert sum(bars["top"]) == 90
    assert bars["right"][-1] == pytest.approx(5e6 * 89 / 90)


def test_charts_of_a_running_job_get_new_data(profile):
    system, framework = readers(profile)
    begin, middle = BEGIN * 10**6, BEGIN * 10**6 + 30 * 10**6
    charts = TimelineCharts(system, framework, begin, middle, ["CPU"], ["total"])
    bars = MetricsHistogram(system)
    bars.plot(begin, middle)
    source = charts.sources["CPUUtilization-nodeid:algo-1"]["total"]
    assert len(source.data["x"]) == 31
    charts.update_data(FAR)
    bars.update_data(FAR)
    assert list(source.data["x"]) == [BEGIN + second for second in range(90)]
    assert charts.figures[0].x_range.end == BEGIN + 89
    assert sum(bars.sources["CPUUtilization-nodeid:algo-1"]["cpu0"].data["top"]) == 90


def test_steps_are_shown_with_their_numbers(profile):
    framework = readers(profile)[1]
    chart = StepTimelineChart(framework)
    assert list(chart.source.data["step"]) == list(range(40))
    assert chart.source.data["y"].argmax() == 17
    assert chart.plot.y_range.end == pytest.approx(0.213)
    bars = StepHistogram(framework)
    bars.plot(select_metrics=["Step:ModeKeys", "^Forward"])
    assert list(bars.step_metrics) == ["Forward-nodeid:algo-1-1", "Step:ModeKeys.TRAIN-nodeid:algo-1-1"]
    data = bars.sources["Step:ModeKeys.TRAIN-nodeid:algo-1-1"].data
    assert data["top"][0] == 39
    bars.update_data(FAR)
    assert len(bars.step_metrics["Forward-nodeid:algo-1-1"]) == 40
    bars.clear()
    assert bars.step_metrics == {}


def test_the_selected_samples_tell_what_the_job_did(profile, capsys):
    charts = TimelineCharts(*readers(profile), select_events=["cpu0"])
    charts.find_time_annotations([0, 1])
    printed = capsys.readouterr().out
    assert f"Selected timerange: {BEGIN}.0 to {BEGIN + 1}.0" in printed
    assert "Spent 10.0 ms (cumulative time) in Forward_3" in printed
    charts.plot_detailed_profiler_data([1, 0])
    loaders, phases = charts.detailed_figures
    spans = phases.renderers[0].data_source.data
    assert {"Forward", "Step:ModeKeys.TRAIN"} <= set(spans["metric"])
    assert all(left <= right for left, right in zip(spans["left"], spans["right"]))
    assert loaders.renderers[0].data_source.data["metric"] == []
    charts.find_time_annotations([])
    assert capsys.readouterr().out.endswith("No selection made\n")
    with pytest.raises(SMDebugValueError, match="there are no samples 5000 to 5000"):
        charts.find_time_annotations([5000])


def test_a_heat_map_has_a_row_for_each_metric(profile):
    chart = Heatmap(readers(profile)[0])
    assert chart.source.data["metric"] == [
        "CPUUtilization_cpu0_algo-1",
        "CPUUtilization_cpu1_algo-1",
        "CPUUtilization_total_algo-1",
        "CPUUtilization_total_node_total",
    ]
    assert chart.width == 90
    assert all(row.shape == (1, 90) for row in chart.source.data["image"])
    with pytest.raises(SMDebugValueError, match=r"no system metric matches .*\['nothing'\]"):
        Heatmap(readers(profile)[0], select_dimensions=["nothing"])


def test_bad_arguments_are_named(profile, tmp_path):
    system, framework = readers(profile)
    with pytest.raises(SMDebugValueError, match=r"'\(' is not a regular expression"):
        TimelineCharts(system, framework, select_events=["("])
    with pytest.raises(SMDebugValueError, match="no system metric matches"):
        TimelineCharts(system, framework, starttime=FAR - 1, endtime=FAR)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SMDebugValueError, match="has no events of steps"):
        StepTimelineChart(LocalAlgorithmMetricsReader(str(tmp_path / "empty")))


def test_a_window_of_a_loader_is_plotted(profile):
    analysis = PT_dataloader_analysis(PandasFrame(str(profile)))
    charts = analysis.plot_the_window(BEGIN * 10**6, FAR, select_dimensions=["CPU"])
    assert isinstance(charts, TimelineCharts)
    assert len(charts.figures) == 3


def test_without_bokeh_an_error_says_what_to_install(profile):
    code = (
        "import sys; sys.modules['bokeh'] = None\n"
        "from smdebug.profiler import LocalSystemMetricsReader\n"
        "from smdebug.profiler.analysis.notebook_utils import Heatmap\n"
        f"Heatmap(LocalSystemMetricsReader({str(profile)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Heatmap needs bokeh" in done.stderr
    assert "pip install 'libsmdebug[profiler]'" in done.stderr


class Service:
    """Answers as the service's client does."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def describe_training_job(self, TrainingJobName):
        assert TrainingJobName == "job"
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def service(monkeypatch):
    import boto3

    def use(*answers):
        monkeypatch.setattr(boto3, "client", lambda name, region_name: Service(*answers))

    return use


def test_a_job_of_the_service_is_found(service, monkeypatch):
    class Reader:
        def __init__(self, path):
            assert path == "s3://bucket/job/profiler-output"
            self.stamps = [0, 0, 7]

        def refresh_event_file_list(self):
            self.stamps.pop(0)

        def get_timestamp_of_latest_available_file(self):
            return self.stamps[0]

    module = "smdebug.profiler.analysis.notebook_utils.training_job"
    monkeypatch.setattr(f"{module}.S3SystemMetricsReader", Reader)
    monkeypatch.setattr(f"{module}.S3AlgorithmMetricsReader", Reader)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    service({"ProfilerConfig": {"S3OutputPath": "s3://bucket"}, "TrainingJobStatus": "InProgress"})
    job = TrainingJob("job", "eu-west-1")
    assert job.profiler_s3_output_path == "s3://bucket/job/profiler-output"
    assert job.get_systems_metrics_reader() is None
    job.wait_for_sys_profiling_data_to_be_available()
    job.wait_for_framework_profiling_data_to_be_available()
    assert isinstance(job.get_systems_metrics_reader(), Reader)
    assert isinstance(job.get_framework_metrics_reader(), Reader)


def test_a_job_without_a_profile_is_no_endless_wait(service, monkeypatch):
    service({"TrainingJobStatus": "Completed"})
    with pytest.raises(SMDebugValueError, match="the job job has no profile"):
        TrainingJob("job")
