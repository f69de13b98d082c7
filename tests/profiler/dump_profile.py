"""Prints what a package reads from profiler folders, a line of JSON each: dump_profile.py OUT FOLDER...

FOLDER/queries.json holds what is asked; merged timelines are written to OUT/<name of the folder>.
"""

import json
import os
import sys

from smdebug.profiler.algorithm_metrics_reader import LocalAlgorithmMetricsReader
from smdebug.profiler.analysis.utils.merge_timelines import MergedTimeline
from smdebug.profiler.analysis.utils.pandas_data_analysis import PandasFrameAnalysis, StatsBy
from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader
from smdebug.profiler.utils import TimeUnits

# 1.0.34 takes tids from a hash that differs in each process.
NOT_COMPARED = {"tid"}


def samples(events):
    return sorted(
        [e.type, e.name or "", e.dimension, e.value, e.node_id, e.timestamp] for e in events
    )


def events_of(events):
    # 1.0.34 leaves out the type of Horovod's files.
    return sorted(
        [
            [e.start_time, e.end_time, e.event_name, e.event_phase, e.node_id, str(e.pid)]
            + [e.phase_pid, e.phase, e.file_type or "HorovodMetrics", json.dumps(e.event_args)]
            for e in events
        ]
    )


def frame(rows):
    columns = [name for name in rows.columns if str(name) not in NOT_COMPARED]
    return [list(map(str, columns)), sorted(map(str, rows[columns].values.tolist()))]


def merged(path, query, out):
    with open(MergedTimeline(path, output_directory=out).merge_timeline(*query)) as file:
        events = json.load(file)
    bands = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    return sorted(
        [e["ph"], bands[e["pid"]], e["name"], e["ts"], e.get("dur", 0)] for e in events if e["ph"] in "XC"
    )


def read(path, asked):
    system = LocalSystemMetricsReader(path)
    timelines = LocalAlgorithmMetricsReader(path)
    return {
        "files": [
            reader.get_timestamp_of_first_available_file()
            + reader.get_timestamp_of_latest_available_file()
            for reader in (system, timelines)
        ],
        "system": [
            samples(system.get_events(begin, end, TimeUnits[unit], kind, endings))
            for begin, end, unit, kind, endings in asked["system"]
        ],
        "framework": [
            events_of(timelines.get_events(begin, end, TimeUnits[unit], None, endings))
            for begin, end, unit, endings in asked["framework"]
        ],
        "steps": [events_of(timelines.get_events_by_step(*steps)) for steps in asked["steps"]],
    }


def answers_of(path, out):
    with open(os.path.join(path, "queries.json")) as file:
        asked = json.load(file)
    answers = {**read(path, asked), "merged": merged(path, asked["merge"], out)}
    frames = PandasFrame(path)
    answers["frames"] = [
        frame(frames.get_all_system_metrics()),
        frame(frames.get_all_framework_metrics()),
        frame(frames.get_all_dataloader_metrics([".*DataLoader"])),
    ]
    answers["timesteps"] = frames.get_framework_metrics_by_timesteps(asked["stamps"])
    answers["begin_end"] = frames.get_framework_metrics_by_begin_and_end_timesteps(
        asked["stamps"][:1], asked["stamps"][-1:]
    )
    answers["by_step"] = list(map(frame, frames.get_profiler_data_by_step(*asked["steps"][0])))
    try:
        analysis = PandasFrameAnalysis(
            frames.get_all_system_metrics(), frames.get_all_framework_metrics()
        )
    except IndexError:
        # 1.0.34 fails if an event without a step lies outside of all steps.
        return {**answers, "phases": None, "statistics": None, "job": None, "use": None}
    answers["phases"] = frame(analysis.get_training_phase_intervals())
    answers["statistics"] = [
        [name, *map(float, numbers)]
        for by in StatsBy
        for name, *numbers in analysis.get_step_statistics(by=by).values.tolist()
    ]
    answers["job"] = {key: str(value) for key, value in vars(analysis.get_job_statistics()).items()}
    answers["use"] = [
        [str(cell) for cell in row]
        for table in (analysis.get_utilization_stats(), analysis.get_device_usage_stats())
        for row in table.round(6).values.tolist()
    ]
    return answers


if __name__ == "__main__":
    for folder in sys.argv[2:]:
        out = os.path.join(sys.argv[1], os.path.basename(folder))
        os.mkdir(out)
        result = answers_of(folder, out)
        print("\n" + json.dumps(result))
