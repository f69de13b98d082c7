"""Tests that every language records and reads the scenario identically."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from comparing import differences, files_of, results_of

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BUILD = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build"))
SCENARIO = HERE / "scenario.json"
SECONDS = 120  # for a runner, which needs one or two

# The build, or the tests of the language, create these programs.
RUNNERS = {
    "c": [str(BUILD / "bin" / "conformance_c")],
    "cpp": [str(BUILD / "bin" / "conformance_cpp")],
    "go": [str(BUILD / "go" / "conformance")],
    "java": [str(BUILD / "java" / "conformance")],
    "python": [sys.executable, str(HERE / "runner.py")],
}
LANGUAGES = list(RUNNERS)

# What functions find at step 1.
PLACE = {
    "tensor": "typed/scalar",
    "worker": "worker_1",
    "message": "it has a step",
    "value": 1,
    "limit": 0.5,
}
PLAIN = {
    "check": "",
    "tensor": "",
    "worker": "",
    "message": "it was saved",
    "action": "CONTINUE",
    "value": None,
    "limit": None,
}


def run(runner: List[str], out: Path) -> None:
    done = subprocess.run(
        [*runner, str(SCENARIO), str(out / "trial"), str(out / "result.json")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Runs all languages, and returns the folder of their trials and results."""
    folders = {}
    for language, runner in RUNNERS.items():
        folders[language] = tmp_path_factory.mktemp(language)
        run(runner, folders[language])
    return folders


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_trials_are_equal(recorded, language):
    expected = files_of(recorded["c"] / "trial")
    # Of each worker: events, index files, collections, and a row file.
    assert len(expected) == 2 * (3 + 3 + 1 + 1) + 1
    found = files_of(recorded[language] / "trial")
    assert list(found) == list(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_results_are_equal(recorded, language):
    expected = results_of(recorded["c"] / "result.json")
    assert differences(results_of(recorded[language] / "result.json"), expected) == {}


def test_read_values_equal_recorded_values(recorded):
    scenario = results_of(SCENARIO)
    results = results_of(recorded["c"] / "result.json")
    first = scenario["steps"][0]["tensors"]
    wanted = [tensor for tensor in first if tensor["name"].startswith("typed/")]
    compared = 0
    for tensor in wanted:
        for worker in scenario["workers"]:
            value = results.get(f"{tensor['name']} of {worker}", {}).get("value")
            if value is None:
                continue
            elements = "strings" if tensor["dtype"] == "string" else "data"
            assert value["dtype"] == tensor["dtype"]
            assert value["shape"] == tensor["shape"]
            assert value[elements] == tensor[elements][worker]
            compared += 1
    assert compared == 2 * 19


def test_findings_are_the_same_live_and_stored(recorded):
    results = results_of(recorded["c"] / "result.json")
    stored = results["findings"]["value"]
    for worker in results_of(SCENARIO)["workers"]:
        attached = results[f"attached to {worker}"]["value"]
        assert attached["actions"] == ["CONTINUE", "CONTINUE", "STOP"]
        assert [(each["step"], each["action"]) for each in attached["findings"]] == [
            (2, "STOP"),
            (2, "WARN"),
        ]
        assert attached["findings"] == [each for each in stored if each["worker"] == worker]
    summaries = results["results"]["value"]
    assert [each["status"] for each in summaries] == ["HAS_FINDINGS", "PASSED"]
    # Both rule sets have this rule, with different actions.
    assert {**summaries[0]["first"], "action": "WARN"} in stored
    assert summaries[1]["first"] is None


def test_functions_are_rules(recorded):
    results = results_of(recorded["c"] / "result.json")
    found = results["findings of a function"]["value"]
    own = [each for each in found if each["rule"] != "VanishingGradient"]
    assert [(each["rule"], each["step"], each["action"], each["check"]) for each in own] == [
        ("Saved", 0, "STOP", ""),
        ("Saved", 0, "STOP", "place"),
        ("Saved", 0, "CONTINUE", ""),
        ("Scalar", 0, "CONTINUE", ""),
        ("Scalar", 0, "WARN", "place"),
        ("Scalar", 0, "CONTINUE", ""),
        ("Scalar", 1, "CONTINUE", ""),
        ("Scalar", 1, "WARN", "place"),
        ("Scalar", 1, "CONTINUE", ""),
    ]
    assert own[-3] == {**own[-2], **PLAIN}
    assert own[-2].items() >= PLACE.items()
    # A finding worth a look recommends nothing, though the function asks to stop.
    assert own[-1] == {**own[-3], "message": "it is large", "level": "WORTH_A_LOOK"}
    assert {each["level"] for each in own[:-1:3]} == {"FINDING"}
    summaries = results["results of functions"]["value"]
    assert [each["status"] for each in summaries] == ["HAS_FINDINGS", "NOT_ENOUGH_DATA"]
    assert (summaries[0]["finding_count"], summaries[0]["look_count"]) == (2, 1)


def test_the_cause_is_named(recorded):
    results = results_of(recorded["c"] / "result.json")
    first = results["diagnosis"]["value"][0]
    assert first["id"] == "undefined_operation"
    assert first["evidence"][0]["first"]["tensor"] == "log_output_0"
    assert first["evidence"][0]["first"]["step"] == 2
    assert results["diagnosis of nothing"]["value"] == []


def test_names_are_in_the_order_of_recording(recorded):
    results = results_of(recorded["c"] / "result.json")
    step = results_of(SCENARIO)["steps"][0]
    saved = [each["name"] for each in step["tensors"] if each["name"] != "unwanted"]
    scalars = [f"scalar/{each['name']}" for each in step["scalars"]]
    assert results["recorded names"]["value"] == saved + scalars
    found = results["recorded names of a global step"]["value"]
    assert found[:2] == ["typed/scalar", "gradient/layer1.weight"]
    assert results["recorded names of no step"]["value"] == []


def test_errors_match_the_scenario(recorded):
    results = results_of(recorded["c"] / "result.json")
    codes = {query: result["code"] for query, result in results.items() if "code" in result}
    assert codes == {
        "no such step": "STEP_UNAVAILABLE",
        "no more data": "NO_MORE_DATA",
        "no such tensor": "TENSOR_UNAVAILABLE",
        "not saved at this step": "VALUE_UNAVAILABLE",
        "only reductions": "VALUE_UNAVAILABLE",
        "no such worker": "WORKER_UNKNOWN",
        "no such rule": "INVALID_ARGUMENT",
        "bad expression": "INVALID_CONFIG",
        "bad option": "INVALID_CONFIG",
        "recorded before": "TRIAL_EXISTS",
        "nothing recorded": "MISSING_COLLECTIONS",
    }
