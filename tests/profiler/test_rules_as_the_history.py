"""The original's rules answer over stored profiles as their last release did.

fixtures/rules.json holds its answers: for each profile, rule, set of parameters, and whether the
whole profile is given at once or minute by minute.  There are several answers where the edge of a
minute decides.  Where that release differs from the definition, the answer is only whether the rule
fires.
"""

import importlib
import json
import math
from pathlib import Path

import pytest
from smdebug.trials import create_trial

pytestmark = pytest.mark.timeout(120)

FIXTURES = Path(__file__).parent / "fixtures"
ANSWERS = json.loads((FIXTURES / "rules.json").read_text())
ALL_TIME = (0, 4_000_000_000_000_000)
MINUTE = 60_000_000
MODULES = {
    "BatchSize": "batch_size",
    "CPUBottleneck": "cpu_bottleneck",
    "IOBottleneck": "io_bottleneck",
    "GPUMemoryIncrease": "gpu_memory_increase",
    "LoadBalancing": "load_balancing",
    "LowGPUUtilization": "low_gpu_utilization",
    "MaxInitializationTime": "max_initialization_time",
    "StepOutlier": "step_outlier",
    "Dataloader": "dataloader",
    "OverallSystemUsage": "overall_system_usage",
    "OverallFrameworkMetrics": "overall_framework_metrics",
}
# "history": the defaults; "docs": those of the documentation; "small": short waiting times.
PARAMETERS = {
    ("BatchSize", "docs"): {"patience": 100},
    ("BatchSize", "small"): {"patience": 40, "window": 30},
    ("CPUBottleneck", "docs"): {"patience": 100},
    ("CPUBottleneck", "small"): {"patience": 40},
    ("IOBottleneck", "docs"): {"gpu_threshold": 70},
    ("IOBottleneck", "small"): {"patience": 40},
    ("GPUMemoryIncrease", "docs"): {"increase": 10, "window": 500, "patience": 100},
    ("GPUMemoryIncrease", "small"): {"patience": 40, "window": 30},
    ("LoadBalancing", "docs"): {"threshold": 0.5, "patience": 10},
    ("LoadBalancing", "small"): {"patience": 40},
    ("LowGPUUtilization", "small"): {"patience": 40, "window": 30},
    ("MaxInitializationTime", "small"): {"threshold": 1},
    ("StepOutlier", "docs"): {"stddev": 5},
    ("StepOutlier", "small"): {"n_outliers": 3},
    ("Dataloader", "small"): {"patience": 4},
}
KEYS = ("RuleTriggered", "Violations", "Datapoints", "Details")


def plain(value):
    """Returns a report as JSON has it; of what is longer than 20, its length, sum and ends."""
    if isinstance(value, dict):
        return brief_dict(value) if len(value) > 20 else {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        listed = [plain(each) for each in value]
        if len(listed) <= 20:
            return listed
        has_sum = all(isinstance(each, (int, float)) for each in listed)
        total = sum(listed) if has_sum else None
        return {"n": len(listed), "sum": total, "first": listed[0], "last": listed[-1]}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def brief_dict(value):
    keys = list(value)
    brief = {"n": len(keys), "first": str(keys[0]), "last": str(keys[-1])}
    if all(isinstance(each, dict) for each in value.values()):
        for field in sorted({field for each in value.values() for field in each}):
            brief["sum_" + field] = sum(each.get(field, 0) for each in value.values())
    return brief


def is_same(wanted, given):
    if isinstance(wanted, dict):
        return (
            isinstance(given, dict)
            and set(wanted) == set(given)
            and all(is_same(each, given[key]) for key, each in wanted.items())
        )
    if isinstance(wanted, list):
        return len(wanted) == len(given) and all(map(is_same, wanted, given))
    if isinstance(wanted, (int, float)) and isinstance(given, (int, float)):
        return math.isclose(wanted, given, rel_tol=1e-9, abs_tol=1e-9)
    return wanted == given


def answer(trial, rule, parameters, mode):
    module = importlib.import_module(f"smdebug.profiler.analysis.rules.{MODULES[rule]}")
    judge = getattr(module, rule)(trial, **parameters)

    def invoke(begin, end):
        metrics = trial.get_system_metrics(begin, end), trial.get_framework_metrics(begin, end)
        judge.invoke_for_timerange(begin, end, *metrics)

    if mode == "one_pass":
        invoke(*ALL_TIME)
        return plain({key: judge.report[key] for key in KEYS})
    begin = trial.first_timestamp
    while begin < trial.get_latest_timestamp() + MINUTE:
        invoke(begin, begin + MINUTE)
        begin = judge.last_timestamp = begin + MINUTE
    details = sorted(map(str, judge.report["Details"]))
    return plain({**{key: judge.report[key] for key in KEYS}, "Details": details})


@pytest.mark.parametrize("scenario", sorted(ANSWERS))
def test_each_rule_answers_as_its_last_release(scenario, tmp_path, capsys):
    trial = create_trial(str(FIXTURES / scenario), profiler=True, output_dir=str(tmp_path))
    for key, wanted in ANSWERS[scenario].items():
        rule, named, mode = key.split(".")
        given = answer(trial, rule, PARAMETERS.get((rule, named), {}), mode)
        if isinstance(wanted, dict):
            assert (given["RuleTriggered"] > 0) is wanted["triggered"], (key, given)
        else:
            assert any(is_same(each, given) for each in wanted), (key, wanted, given)


def test_the_report_of_all_rules_is_written_as_files(tmp_path):
    from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugValueError
    from smdebug.profiler.analysis.rules.profiler_report import ProfilerReport

    path = str(FIXTURES / "cpu_bottleneck")
    trial = create_trial(path, profiler=True, output_dir=str(tmp_path))
    report = ProfilerReport(trial, scan_interval_us=MINUTE, opt_out_telemetry=True, CPUBottleneck_patience=40)
    with pytest.raises(RuleEvaluationConditionMet):
        for step in range(100):
            report.invoke(step)
    files = {each.stem: json.loads(each.read_text()) for each in (tmp_path / "profiler-reports").iterdir()}
    assert set(files) == set(MODULES)
    for name, written in files.items():
        assert set(written) == {*KEYS, "RuleParameters"}, name
    bottleneck = files["CPUBottleneck"]
    assert "patience:40" in bottleneck["RuleParameters"]
    assert bottleneck["RuleTriggered"] > 0 and bottleneck["Violations"] > 0
    with pytest.raises(SMDebugValueError, match="patiense"):
        ProfilerReport(trial, CPUBottleneck_patiense=40)
