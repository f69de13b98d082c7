"""Profiles of real trainings: what the hook records, read by our readers and the original's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Iterator, List, Optional, Tuple

import pytest
import smdebug.pytorch as smd
import torch
from smdebug.profiler import LocalAlgorithmMetricsReader

ORIGINAL = os.environ["SMDEBUG_ORIGINAL_PYTHON"]
END = 4_000_000_000_000_000
STEPS = 12

# Prints each event that the original reads.
READ = f"""
import json, sys
from smdebug.profiler import LocalAlgorithmMetricsReader
reader = LocalAlgorithmMetricsReader(sys.argv[1])
reader.refresh_event_file_list()
for each in reader.get_events(0, {END}):
    step = each.event_args.get("step_num")
    print("EVENT", json.dumps([each.event_phase, each.event_name, each.duration, step]))
"""


class Training:
    """A small training with a hook that is configured to profile it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> None:
        self.profile = folder / "Profile"
        self.config = folder / "profilerconfig.json"
        self.write(LocalPath=str(self.profile), **parameters)
        monkeypatch.setenv("SMPROFILER_CONFIG_PATH", str(self.config))
        self.model = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.ReLU(inplace=True), torch.nn.Linear(16, 1)
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        self.hook = smd.Hook(folder / "trial", raise_errors=True)
        self.hook.register_module(self.model)

    def write(self, **parameters: Any) -> None:
        self.config.write_text(json.dumps({"ProfilingParameters": parameters}))

    def batches(self, workers: int = 0) -> Iterator[Tuple[torch.Tensor, torch.Tensor]]:
        data = torch.utils.data.TensorDataset(torch.randn(STEPS * 4, 8), torch.randn(STEPS * 4, 1))
        yield from torch.utils.data.DataLoader(data, batch_size=4, num_workers=workers)

    def step(self, batch: Tuple[torch.Tensor, torch.Tensor]) -> None:
        self.optimizer.zero_grad()
        (self.model(batch[0]) - batch[1]).square().mean().backward()
        self.optimizer.step()

    def run(self, workers: int = 0) -> None:
        for batch in self.batches(workers):
            self.step(batch)

    def events(self) -> List[Any]:
        reader = LocalAlgorithmMetricsReader(str(self.profile))
        reader.refresh_event_file_list()
        return reader.get_events(0, END)

    def steps_with(self, phase: str) -> List[Optional[int]]:
        steps = (each.event_args.get("step_num") for each in self.events() if each.event_phase == phase)
        return sorted({int(step) for step in steps})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_a_training_is_profiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(
        folder,
        monkeypatch,
        DetailedProfilingConfig="{'StartStep': 5, 'NumSteps': 2, }",
        DataloaderProfilingConfig="{'StartStep': 3, 'NumSteps': 2, }",
    )
    training.run(workers=2)
    training.hook.close()
    events = training.events()
    phases = Counter(each.event_phase for each in events)
    for phase in ("Step:ModeKeys.TRAIN", "Forward", "Backward(post-forward)", "Optimizer"):
        assert phases[phase] == STEPS
        assert training.steps_with(phase) == list(range(STEPS))
    assert phases["DataLoaderIter"] == phases["DataLoaderWorker"] == STEPS
    assert phases["DataLoaderIterInitialize"] == 1
    for each in events:
        if each.event_phase in ("DataLoaderIter", "DataLoaderWorker"):
            assert each.event_args["worker_id"] in (0, 1)
    sized = [each for each in events if "bytes" in each.event_args]
    assert len(sized) == 2 and all(each.event_args["bytes"] == 4 * 9 * 4 for each in sized)
    assert training.steps_with("Forward-SubModuleInternal") == [5, 6]
    assert training.steps_with("Backward-SubModuleInternal") == [5, 6]
    # The parts of a step lie within it.
    whole = {each.event_args["step_num"]: each for each in events if each.event_phase.startswith("Step")}
    for each in events:
        if each.event_phase in ("Forward", "Backward(post-forward)", "Optimizer"):
            step = whole[each.event_args["step_num"]]
            assert step.start_time <= each.start_time <= each.end_time <= step.end_time


@pytest.mark.parametrize("name", ["cprofile", "pyinstrument"])
def test_python_is_sampled_in_its_window(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    window = f"{{'StartStep': 3, 'NumSteps': 2, 'ProfilerName': '{name}'}}"
    training = Training(folder, monkeypatch, PythonProfilingConfig=window)
    for batch in training.batches():
        training.step(batch)
        assert sys.gettrace() is None and sys.getprofile() is None
        time.sleep(0.1)  # the sampler may have to wait for a core
    training.hook.close()
    files = sorted((training.profile / "framework" / "pytorch" / name).glob("*/*/*"))
    kinds = {"python_stats"} if name == "cprofile" else {"python_stats.json", "python_stats.html"}
    assert {each.name for each in files} == kinds
    steps = {each.parent.name.split("-")[1] for each in files}
    assert steps == {"3", "4"}
    assert all("_train-" in each.parent.name and each.stat().st_size > 0 for each in files)


def test_modules_are_recorded_in_a_window_of_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training(folder, monkeypatch)
    begin = time.time() + 1
    window = f"{{'StartTimeInSecSinceEpoch': {begin}, 'Duration': 1.0}}"
    training.write(LocalPath=str(training.profile), DetailedProfilingConfig=window)
    for batch in training.batches():
        training.step(batch)
        time.sleep(0.3)
    training.hook.close()
    inside = [each for each in training.events() if each.event_phase == "Forward-SubModuleInternal"]
    assert 0 < len({each.event_args["step_num"] for each in inside}) < STEPS - 2
    # The window decides when a step begins.
    assert all(begin <= each.start_time / 1e6 < begin + 1.5 for each in inside)


def test_the_caller_records_events(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(folder, monkeypatch)
    training.hook.record_trace_events(timestamp=1e9, op_name="before")
    training.run()
    training.hook.record_trace_events(1.5e9, "Mine", "copy", duration=0.25, step_num=7, size=3)
    training.hook.close()
    found = next(each for each in training.events() if each.event_phase == "Mine")
    assert found.start_time == 1_500_000_000_000_000 and found.duration == 250_000
    assert found.event_args["step_num"] == "7" and found.event_args["size"] == 3


def test_the_original_reads_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(folder, monkeypatch, DetailedProfilingConfig="{'StartStep': 1}")
    training.run()
    training.hook.close()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [ORIGINAL, "-c", READ, str(training.profile)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    theirs = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("EVENT")]
    ours = [
        [each.event_phase, each.event_name, each.duration, each.event_args.get("step_num")]
        for each in training.events()
    ]
    assert len(ours) > 5 * STEPS and sorted(theirs, key=str) == sorted(ours, key=str)


def test_the_configuration_is_followed_at_steps(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training(folder, monkeypatch)
    for number, batch in enumerate(training.batches()):
        if number == 4:
            training.config.write_text('{"DisableProfiler": true}')
        if number == 8:
            training.write(LocalPath=str(training.profile))
        if number in (4, 8):
            time.sleep(0.3)  # a hook looks at the file four times a second
        training.step(batch)
    training.hook.close()
    assert training.steps_with("Step:ModeKeys.TRAIN") == [0, 1, 2, 3, 8, 9, 10, 11]
    assert training.steps_with("Forward") == [0, 1, 2, 3, 8, 9, 10, 11]


def test_nothing_is_profiled_without_a_configuration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SMPROFILER_CONFIG_PATH", raising=False)
    before = torch.utils.data.DataLoader.__iter__
    hook = smd.Hook(folder / "trial", raise_errors=True)
    assert torch.utils.data.DataLoader.__iter__ is before
    hook.close()


def test_a_forked_process_has_a_profile_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training(folder, monkeypatch)
    (folder / "child").mkdir()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            own = Training(folder / "child", monkeypatch)
            for _ in own.batches():
                pass
            own.hook.close()
            phases = Counter(each.event_phase for each in own.events())
            waits = phases["DataLoaderIter"], phases["DataLoaderIterInitialize"]
            code = 0 if waits == (STEPS, 1) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    training.run()
    training.hook.close()
    assert training.steps_with("Forward") == list(range(STEPS))


def test_closing_leaves_pytorch_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    iterator = torch.utils.data.dataloader._BaseDataLoaderIter
    before = (iterator.__next__, torch.utils.data.DataLoader.__iter__, torch.distributed.barrier)
    training = Training(folder, monkeypatch, DetailedProfilingConfig="{'StartStep': 0, 'NumSteps': 99}")
    training.run()
    assert iterator.__next__ is not before[0]
    training.hook.close()
    assert before == (
        iterator.__next__,
        torch.utils.data.DataLoader.__iter__,
        torch.distributed.barrier,
    )
    training.run()  # nothing of the closed profile is called
    assert not torch.nn.modules.module._global_forward_hooks


def test_a_profile_that_cannot_be_written_does_not_stop_the_training(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = folder / "blocked"
    blocked.write_text("a file")
    config = folder / "c.json"
    config.write_text(json.dumps({"ProfilingParameters": {"LocalPath": str(blocked / "profile")}}))
    monkeypatch.setenv("SMPROFILER_CONFIG_PATH", str(config))
    model = torch.nn.Linear(2, 1)
    hook = smd.Hook(folder / "trial", raise_errors=False)
    hook.register_module(model)
    for _ in range(3):
        model(torch.zeros(1, 2)).sum().backward()
    hook.close()
    assert int(hook.step) == 2


def test_a_configuration_that_is_no_json_is_told_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = folder / "c.json"
    config.write_text('{"ProfilingParameters": ')
    monkeypatch.setenv("SMPROFILER_CONFIG_PATH", str(config))
    hook = smd.Hook(folder / "trial", raise_errors=False)
    hook.record_tensor_value("loss", torch.ones(1))
    hook.close()
    [told] = [record for record in caplog.records if record.name == "smdebug"]
    assert told.getMessage().startswith(f"the job is not profiled: {config}: not valid JSON")
    assert told.exc_info is None


def test_waits_for_other_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        training = Training(folder, monkeypatch)
        for batch in training.batches():
            training.step(batch)
            torch.distributed.all_reduce(torch.ones(3))
            torch.distributed.all_reduce(torch.ones(3), async_op=True).wait()
        torch.distributed.barrier()
        training.hook.close()
        assert torch.distributed.all_reduce(torch.ones(3), async_op=True).wait()
    finally:
        torch.distributed.destroy_process_group()
    found = Counter(
        each.event_name for each in training.events() if each.event_phase == "Communication"
    )
    assert found == {"all_reduce": 2 * STEPS, "wait": STEPS, "barrier": 1}
