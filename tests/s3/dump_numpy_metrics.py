"""Reads a profile of a bucket with S3NumpySystemMetricsReader; prints JSON.  Runs with both libraries.

usage: python dump_numpy_metrics.py s3://bucket/prefix STORE BEGIN
"""

import hashlib
import json
import logging
import sys
import warnings
from pathlib import Path

from smdebug.profiler import S3NumpySystemMetricsReader

COLUMNS = ["cpu0#CPUUtilization", "cpu1#CPUUtilization", "gpu0#GPUUtilization", "gpu0#GPUMemoryUtilization"]
EXTRA = ["MemoryUsedPercent#Memory", "ReceiveBytesPerSecond#Algorithm"]
MINUTE = 60_000_000


def lists(of):
    return of.tolist() if hasattr(of, "tolist") else [lists(each) for each in of] if isinstance(of, list) else of


def main(url, store, begin):
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    names = COLUMNS + EXTRA
    reader = S3NumpySystemMetricsReader(
        url, False, COLUMNS, EXTRA, {name: place for place, name in enumerate(names)}, store,
        store_chunk_size=300, store_time_file_prefix="time", group_size=4, n_nodes=2, frequency=500,
        accumulate_forward=True, accumulate_minutes=6, n_process=2,
    )  # fmt: skip
    answers = []
    for first, last, forward in ((3, 6, True), (0, 3, False), (6, 11, True), (11, 14, True)):
        matrices, times, files, written = reader.get_events(begin + first * MINUTE, begin + last * MINUTE, forward)
        answers.append([[lists(each) for each in matrices], lists(times), lists(files), lists(written)])
        assert all(str(each.dtype) == "uint8" for each in matrices)
    paths = sorted(path for path in Path(store).rglob("*") if path.is_file())
    hashes = {str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    print(json.dumps({"answers": answers, "files": hashes}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
