"""Reads a profile with the readers of `smdebug`, and prints what they return as JSON.

usage: dump_profile.py folder
"""

import contextlib
import io
import json
import sys

from smdebug.profiler.algorithm_metrics_reader import LocalAlgorithmMetricsReader
from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader


def events(folder):
    found = LocalAlgorithmMetricsReader(folder).get_events(0, 10**16 - 1)
    return [
        {
            "name": each.event_name,
            "phase": each.event_phase,
            "begin": each.start_time,
            "duration": each.duration,
            "node": each.node_id,
            "args": each.event_args,
        }
        for each in found
    ]


def metrics(folder):
    found = LocalSystemMetricsReader(folder).get_events(0, 10**16 - 1)
    return [
        [each.type, each.name, each.dimension, each.value, each.node_id, each.timestamp]
        for each in found
    ]


def main():
    folder = sys.argv[1]
    with contextlib.redirect_stdout(io.StringIO()):
        answer = {"events": events(folder), "metrics": metrics(folder)}
    print(json.dumps(answer))


main()
