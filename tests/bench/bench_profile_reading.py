#!/usr/bin/env python3
"""Reading of profiler folders: rows a second, and the time to open one.

usage: bench_profile_reading.py [ROWS]        SMDEBUG_ORIGINAL_PYTHON: the original is measured too
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BASE = 1706745540


def write(folder: Path, rows: int) -> None:
    for minute in range(-(-rows // 25080)):
        stamp = BASE + 60 * minute
        path = folder / f"system/incremental/{stamp // 3600}/{stamp}.algo-1.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        count = min(25080, rows - 25080 * minute)
        path.write_text(
            "".join(
                f'{{"Type":"cpu","Name":"cpu{i % 96}","Dimension":"CPUUtilization","Value":{i % 9973 / 100},'
                f'"NodeId":"algo-1","Timestamp":{stamp + i // 209 * 0.5}}}\n'
                for i in range(count)
            )
        )
    for first in range(0, rows, 80000):
        last = min(first + 80000, rows)
        path = folder / f"framework/pevents/2024013123/{BASE * 10**6 + last * 100}_1-algo-1_pythontimeline.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = [
            {"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": BASE * 10**6}},
            {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Forward"}},
        ]
        events = (
            f'{{"name": "Forward", "pid": 1, "ph": "X", "ts": {i * 100}, "dur": 90, '
            f'"args": {{"step_num": "{i // 10}", "pid": 314}}}}'
            for i in range(first, last)
        )
        path.write_text("[\n" + ",\n".join([*map(json.dumps, head), *events]) + "\n]")


def measured(name: str, rows: int, action) -> None:  # type: ignore[no-untyped-def]
    best, cpu = float("inf"), float("inf")
    for _ in range(3):
        begin, used = time.perf_counter(), time.process_time()
        action()
        best = min(best, time.perf_counter() - begin)
        cpu = min(cpu, time.process_time() - used)
    rate = f"{rows / best:14,.0f} rows/s {rows / cpu:14,.0f} rows/cpu-s" if rows else ""
    print(f"{name:28} {best * 1000:10.1f} ms {rate}", flush=True)


def tables(path: str, rows: int) -> None:
    import smdebug
    from smdebug import _raw
    from smdebug.tables.columns import _Array, _pointer_of, _Stream

    def drain(table: str) -> None:
        import ctypes

        capsule = smdebug.scan(path, table).__arrow_c_stream__()
        stream = _Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))
        while True:
            array = _Array()
            assert stream.get_next(ctypes.byref(stream), ctypes.byref(array)) == 0
            if not array.release:
                return
            array.release(ctypes.byref(array))

    assert _raw
    measured("system_metrics", rows, lambda: drain("system_metrics"))
    measured("profile_events", rows, lambda: drain("profile_events"))


def classes(path: str, rows: int) -> None:
    from smdebug.profiler.algorithm_metrics_reader import LocalAlgorithmMetricsReader
    from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
    from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader
    from smdebug.trials import create_trial

    far = 4 * 10**15
    with tempfile.TemporaryDirectory() as out:
        measured("open", 0, lambda: create_trial(path, profiler=True, output_dir=out))
    measured("system reader", rows, lambda: LocalSystemMetricsReader(path).get_events(0, far))
    measured("framework reader", rows, lambda: LocalAlgorithmMetricsReader(path).get_events(0, far))
    measured("frame of system metrics", rows, lambda: PandasFrame(path).get_all_system_metrics())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--classes"]:
        classes(sys.argv[2], int(sys.argv[3]))
        sys.exit()
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 250_800
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), rows)
        tables(folder, rows)
        classes(folder, rows)
        original = os.environ.get("SMDEBUG_ORIGINAL_PYTHON")
        if original:
            print("the original:", flush=True)
            plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            few = 25_080
            with tempfile.TemporaryDirectory() as small:
                write(Path(small), few)
                subprocess.run([original, __file__, "--classes", small, str(few)], env=plain, check=True)
