"""Traces that torch.profiler itself writes, imported into a profile."""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
import torch
from smdebug.exceptions import SMDebugError
from smdebug.profiler import LocalAlgorithmMetricsReader, Profiler, import_chrome_trace
from smdebug.profiler.analysis.rules import evaluate_profile
from torch.profiler import ProfilerActivity, record_function, schedule

pytestmark = pytest.mark.timeout(120)

END = 4_000_000_000_000_000
STEPS = 5
TRACED = [2, 3, 4]  # after one step of waiting and one of warming up
SLEEP = 0.05
STEP = "Step:ModeKeys.TRAIN"


class Traced:
    """A training on the CPU that torch.profiler traces, and a profiler of ours times."""

    def __init__(self, folder: Path, name: str = "trace.json") -> None:
        self.trace = folder / name
        self.profile = folder / "profile"
        self.naps: List[float] = []  # of the traced steps, in seconds
        model = torch.nn.Sequential(
            torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
        )
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with Profiler(self.profile, node="1-algo-1") as ours, self.traced() as theirs:
            for step in range(STEPS):
                with ours.span(STEP, step=step):
                    self.nap(step)
                    optimizer.zero_grad()
                    model(torch.randn(8, 32)).square().mean().backward()
                    optimizer.step()
                    theirs.step()
        theirs.export_chrome_trace(str(self.trace))

    def traced(self) -> Any:
        plan = schedule(wait=1, warmup=1, active=len(TRACED))
        return torch.profiler.profile(
            activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True
        )

    def nap(self, step: int) -> None:
        begin = time.perf_counter()
        with record_function("nap"):
            time.sleep(SLEEP)
        if step in TRACED:
            self.naps.append(time.perf_counter() - begin)

    def load(self) -> Dict[str, Any]:
        opened = gzip.open if self.trace.name.endswith(".gz") else open
        with opened(self.trace, "rt") as file:
            trace: Dict[str, Any] = json.load(file)
            return trace

    def spans(self) -> List[Dict[str, Any]]:
        """Returns the complete events of torch's trace."""
        return [each for each in self.load()["traceEvents"] if each["ph"] == "X"]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    traced = Traced(tmp_path_factory.mktemp("traced"))
    count = import_chrome_trace(traced.trace, traced.profile, node="7-algo-1")
    assert count == len(traced.spans())
    return traced


def events_in(folder: Path, node: str = "algo-1-7") -> List[Any]:
    """Returns the events of a node, by default those of torch's trace."""
    reader = LocalAlgorithmMetricsReader(str(folder))
    reader.refresh_event_file_list()
    return [each for each in reader.get_events(0, END) if each.node_id == node]


def in_order(events: List[Tuple[str, float, float]]) -> List[Tuple[str, float, float]]:
    return sorted(events, key=lambda each: (each[0], each[1], each[1] + each[2]))


def test_operators_have_their_times(traced: Traced) -> None:
    found = in_order(
        [
            (each.event_name, each.start_time, each.duration)
            for each in events_in(traced.profile)
            if each.event_phase == "cpu_functions"
        ]
    )
    base = traced.load()["baseTimeNanoseconds"] / 1000
    expected = in_order(
        [
            (each["name"], base + each["ts"], each["dur"])
            for each in traced.spans()
            if each["cat"] in ("cpu_op", "user_annotation")
            and not each["name"].startswith("ProfilerStep#")
        ]
    )
    assert len(found) == len(expected) > 100
    for ours, theirs in zip(found, expected):
        assert ours[0] == theirs[0]
        assert ours[1] == pytest.approx(theirs[1], abs=1, rel=0)
        assert ours[2] == pytest.approx(theirs[2], abs=1, rel=0)


def test_operators_of_the_training_are_found(traced: Traced) -> None:
    names = Counter(each.event_name for each in events_in(traced.profile))
    for name, count in {"aten::addmm": 2, "aten::relu": 1, "aten::randn": 1}.items():
        assert names[name] == count * len(TRACED), name
    assert names["Optimizer.step#SGD.step"] == names["nap"] == len(TRACED)


def test_a_duration_is_that_of_the_training_s_clock(traced: Traced) -> None:
    naps = [each for each in events_in(traced.profile) if each.event_name == "nap"]
    naps.sort(key=lambda each: each.start_time)
    assert len(naps) == len(traced.naps)
    for nap, measured in zip(naps, traced.naps):
        assert SLEEP * 1e6 * 0.99 <= nap.duration <= measured * 1e6 * 1.01 + 1


def test_events_have_the_steps_of_torch(traced: Traced) -> None:
    events = events_in(traced.profile)
    steps = {int(each.event_args["step_num"]): each for each in events if each.event_phase == STEP}
    assert sorted(steps) == TRACED
    assert {each.event_name for each in steps.values()} == {f"ProfilerStep#{n}" for n in TRACED}
    for number, step in steps.items():
        within = [each for each in events if each.event_args.get("step_num") == str(number)]
        assert Counter(each.event_name for each in within)["aten::addmm"] == 2
        for each in within:
            # Rounding moves an end by a microsecond at most.
            assert step.start_time - 1 <= each.start_time and each.end_time <= step.end_time + 1


def test_steps_of_torch_are_at_the_time_of_ours(traced: Traced) -> None:
    """Both write times since 1970, so that one timeline shows both."""
    events = events_in(traced.profile, "algo-1-1")
    ours = {int(each.event_args["step_num"]): each for each in events}
    assert sorted(ours) == list(range(STEPS))
    for each in events_in(traced.profile):
        if each.event_name.startswith("ProfilerStep#"):
            step = ours[int(each.event_args["step_num"])]
            middle = (each.start_time + each.end_time) / 2
            assert step.start_time < middle < step.end_time


def test_arguments_are_kept(traced: Traced) -> None:
    found = [each for each in events_in(traced.profile) if each.event_name == "aten::addmm"]
    shapes = Counter(str(each.event_args["Input Dims"][1]) for each in found)
    assert shapes == {"[8, 32]": len(TRACED), "[8, 16]": len(TRACED)}


def test_the_table_of_steps_knows_torch_s_steps(traced: Traced) -> None:
    rows = {(row.worker, row.name): row for row in evaluate_profile(traced.profile).phases}
    assert rows["algo-1-7", "step"].count == len(TRACED)
    assert rows["algo-1-1", "step"].count == STEPS
    assert rows["algo-1-7", "step"].p50 >= SLEEP * 1e6 * 0.99


def test_a_compressed_trace(tmp_path: Path) -> None:
    traced = Traced(tmp_path, "trace.json.gz")
    assert traced.trace.read_bytes()[:2] == b"\x1f\x8b"
    spans = traced.spans()
    assert import_chrome_trace(traced.trace, traced.profile, node="7-algo-1") == len(spans)
    found = Counter(each.event_name for each in events_in(traced.profile))
    assert found == Counter(each["name"] for each in spans)


def test_a_trace_that_is_cut_off_adds_nothing(traced: Traced, tmp_path: Path) -> None:
    text = traced.trace.read_text()
    for part in (0.3, 0.6, 0.9):
        cut = tmp_path / "cut.json"
        cut.write_text(text[: int(len(text) * part)])
        with pytest.raises(SMDebugError, match=r"cut\.json"):
            import_chrome_trace(cut, tmp_path / "profile")
    assert list(tmp_path.rglob("*_pythontimeline.json")) == []
