"""PT_dataloader_analysis, as 1.0.34 and this package answer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from profiles import BEGIN, Timeline, write_samples
from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from smdebug.profiler.analysis.utils.pytorch_dataloader_analysis import PT_dataloader_analysis

HERE = Path(__file__).parent
ORIGINAL = os.environ.get("SMDEBUG_ORIGINAL_PYTHON", "")

pytestmark = pytest.mark.timeout(60)


def write_loaders(folder, slow=(7, 31)):
    """Writes events of loaders whose batches in `slow` take long."""
    write_samples(folder, {("cpu", "cpu0", "CPUUtilization"): lambda _: 50.0}, 60)
    events, now = [], 0
    for number in range(40):
        duration = 20000 + 400000 * (number in slow) + number
        args = {"worker_id": number % 2, "step_num": str(number), "pid": 7}
        name = "_MultiProcessingDataLoaderIter::GetNext"
        events.append({"name": name, "pid": 1, "ts": now, "dur": duration, "args": args})
        now += duration + 30000 + 11 * number
    for worker in range(3):
        args = {"worker_id": worker, "pid": 100 + worker}
        dur = now * (1 + 2 * (worker == 2)) // 4
        events.append({"name": "DataLoaderWorker", "pid": 2, "ts": 5, "dur": dur, "args": args})
    for number in range(3):
        args = {"pin_memory": True, "num_workers": 2, "pid": 7}
        name = "_MultiProcessingDataLoaderIter.__init__"
        events.append({"name": name, "pid": 3, "ts": 1 + number, "dur": 9 + number, "args": args})
    begin = {"start_time_since_epoch_in_micros": BEGIN * 10**6}
    lines = [{"name": "process_name", "ph": "M", "pid": 0, "args": begin}]
    for pid, phase in enumerate(("DataLoaderIter", "DataLoaderWorker", "DataLoaderIterInitialize"), 1):
        lines.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": phase}})
    lines += [{**event, "ph": "X"} for event in events]
    name = f"framework/pevents/2024020100/{BEGIN * 10**6 + now}_7-algo-1_pythontimeline.json"
    path = Path(folder) / name
    path.parent.mkdir(parents=True)
    path.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]")


def answers(python, folders, environment):
    done = subprocess.run(
        [python, str(HERE / "dump_loaders.py"), *map(str, folders)],
        capture_output=True, text=True, check=False, env={**environment, "SMDEBUG_LOG_LEVEL": "off"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_outliers_as_the_original(tmp_path):
    folders = [tmp_path / "with", tmp_path / "without"]
    for folder, slow in zip(folders, [(7, 31), ()]):
        folder.mkdir()
        write_loaders(folder, slow)
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = answers(sys.executable, folders, dict(os.environ))
    assert found == answers(ORIGINAL, folders, plain)
    slow, even = found
    assert len(slow["dataloaderWorkers"]) == len(even["dataloaderWorkers"]) == 2
    assert even["dataloader_getnext"] is None
    assert len(slow["dataloader_getnext"]) == len(slow["batchtime"]) == 3


def test_what_is_printed(tmp_path, capsys):
    write_loaders(tmp_path)
    analysis = PT_dataloader_analysis(PandasFrame(str(tmp_path)))
    analysis.analyze_dataloaderIter_initialization()
    printed = capsys.readouterr().out
    assert "_MultiProcessingDataLoaderIter: pin_memory True, num_workers 2" in printed
    assert "began 3 times; median 10.0 us, maximum 11 us, 0 outliers" in printed
    assert "_SingleProcessDataLoaderIter: not used" in printed
    assert len(analysis.analyze_batchtime()) == len(analysis.analyze_batchtime()) == 2
    assert len(analysis.analyze_dataloader_getnext()) == 2


def test_a_profile_without_loaders(tmp_path, capsys):
    timeline = Timeline(tmp_path)
    timeline.add("Forward", 0, 1, 0)
    analysis = PT_dataloader_analysis(PandasFrame(str(tmp_path)))
    assert analysis.analyze_dataloaderWorkers() is None
    assert analysis.analyze_dataloader_getnext() is None
    assert analysis.analyze_batchtime() is None
    analysis.analyze_dataloaderIter_initialization()
    assert capsys.readouterr().out.count("no events of") == 4
