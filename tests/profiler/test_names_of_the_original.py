"""What scripts for the original import and call to read profiles."""

import importlib
import threading
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEALTHY = str(HERE / "fixtures" / "healthy")
ALL_TIME = (0, 4_000_000_000_000_000)
ANALYSIS = "smdebug.profiler.analysis"

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("smdebug.trials", "create_trial"),
        ("smdebug.trials.profiler_trial", "ProfilerTrial"),
        ("smdebug.exceptions", "NoMoreProfilerData"),
        ("smdebug.profiler.system_metrics_reader", "LocalSystemMetricsReader S3SystemMetricsReader"),
        (
            "smdebug.profiler.algorithm_metrics_reader",
            "LocalAlgorithmMetricsReader S3AlgorithmMetricsReader",
        ),
        ("smdebug.profiler.system_profiler_file_parser", "ProfilerSystemEvent"),
        ("smdebug.profiler.utils", "TimeUnits"),
        ("smdebug.profiler.trace_event_file_parser", "TraceEvent"),
        (f"{ANALYSIS}.utils.profiler_data_to_pandas", "PandasFrame"),
        (f"{ANALYSIS}.utils.pandas_data_analysis", "PandasFrameAnalysis StatsBy Resource"),
        (f"{ANALYSIS}.utils.merge_timelines", "MergedTimeline"),
        (f"{ANALYSIS}.utils.pytorch_dataloader_analysis", "PT_dataloader_analysis"),
        (
            f"{ANALYSIS}.python_profile_analysis",
            "PythonProfileAnalysis cProfileAnalysis PyinstrumentAnalysis",
        ),
        (f"{ANALYSIS}.notebook_utils.training_job", "TrainingJob"),
        (f"{ANALYSIS}.notebook_utils.metrics_histogram", "MetricsHistogram"),
        (f"{ANALYSIS}.notebook_utils.step_timeline_chart", "StepTimelineChart"),
        (f"{ANALYSIS}.notebook_utils.step_histogram", "StepHistogram"),
        (f"{ANALYSIS}.notebook_utils.timeline_charts", "TimelineCharts"),
        (f"{ANALYSIS}.notebook_utils.heatmap", "Heatmap"),
    ],
)
def test_a_name_is_imported(module, names):
    found = importlib.import_module(module)
    assert all(isinstance(getattr(found, name), type) or callable(getattr(found, name)) for name in names.split())


def trial(tmp_path, path=HEALTHY):
    from smdebug.trials import create_trial

    return create_trial(path, profiler=True, output_dir=str(tmp_path / "out"))


def test_events_have_the_original_s_attributes(tmp_path):
    opened = trial(tmp_path)
    event = opened.get_framework_metrics(*ALL_TIME)[0]
    for name in (
        "start_time", "event_name", "duration", "end_time", "phase_pid", "phase_tid", "pid", "tid",
        "event_args", "node_id", "phase", "event_phase", "process_info", "file_type",
    ):  # fmt: skip
        assert hasattr(event, name), name
    assert event.end_time - event.start_time == event.duration
    sample = opened.get_system_metrics(*ALL_TIME)[0]
    assert (sample.type, sample.dimension) and sample.node_id == "algo-1"
    assert isinstance(sample.value, float) and sample.timestamp > 1_706_745_000


def test_a_wait_for_data_ends_when_the_data_is_there(tmp_path):
    """The original looks again after ten seconds."""
    from profiles import BEGIN, gpu, write_samples

    folder = tmp_path / "profile"
    write_samples(folder, {gpu(): lambda part: 50.0}, 120)
    opened = trial(tmp_path, str(folder))
    wanted = opened.get_latest_timestamp() + 60_000_000
    later = threading.Timer(0.5, write_samples, (folder, {gpu(): lambda part: 50.0}, 360))
    later.start()
    begin = time.monotonic()
    opened.wait_for_data(wanted, BEGIN * 1_000_000)
    assert opened.get_latest_timestamp() >= wanted
    assert time.monotonic() - begin < 8
    later.join()
