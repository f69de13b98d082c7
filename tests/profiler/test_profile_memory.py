"""The memory that reading a profile takes does not grow with the profile."""

import json
import subprocess
import sys

import pytest
from profiles import BEGIN, hour

pytestmark = pytest.mark.timeout(120)

# Prints the most memory in MiB beyond what an evaluation of a small profile took.
READ = """
import sys, resource
import smdebug
from smdebug.profiler.analysis.rules import evaluate_profile
from smdebug.tables.columns import batches
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def read(path):
    rows = 0
    columns = {"system_metrics": ["value"], "profile_events": ["duration"]}
    for table, names in columns.items():
        for batch in batches(smdebug.scan(path, table=table, columns=names)):
            rows += len(batch[names[0]])
    evaluate_profile(path)
    return rows
read(sys.argv[1])
before = peak()
print(read(sys.argv[2]), peak() - before)
"""


def write(folder, minutes):
    """Writes as many minutes of 40 cores sampled 10 times a second, and steps: 2.4 MB a minute."""
    for number in range(minutes):
        begin = BEGIN + 60 * number
        samples = [
            {"Type": "cpu", "Name": f"cpu{core}", "Dimension": "CPUUtilization", "Value": 50.0,
             "NodeId": "algo-1", "Timestamp": begin + 0.1 * tick}
            for tick in range(600)
            for core in range(40)
        ]  # fmt: skip
        path = folder / f"system/incremental/{hour(begin)}/{begin}.algo-1.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(each) + "\n" for each in samples))
        head = {"name": "process_name", "ph": "M", "pid": 0}
        lines = [
            {**head, "args": {"start_time_since_epoch_in_micros": BEGIN * 1_000_000}},
            {**head, "args": {"name": "Step:ModeKeys.TRAIN"}},
        ]
        for step in range(600 * number, 600 * (number + 1)):
            event = {"name": "Step:ModeKeys.TRAIN", "ph": "X", "pid": 0, "args": {"step_num": str(step)}}
            lines.append({**event, "ts": step * 100_000, "dur": 90_000})
        end = (begin + 60) * 1_000_000
        path = folder / f"framework/pevents/{hour(begin + 60)}/{end}_1-algo-1_pythontimeline.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]")


def test_memory_is_bounded(tmp_path):
    write(tmp_path / "small", 1)
    write(tmp_path / "large", 24)
    done = subprocess.run(
        [sys.executable, "-c", READ, tmp_path / "small", tmp_path / "large"],
        capture_output=True, text=True, check=True, timeout=100,
    )  # fmt: skip
    rows, grown = done.stdout.split()
    assert int(rows) == 24 * (600 * 40 + 600)
    assert float(grown) < 20  # of 60 MB
