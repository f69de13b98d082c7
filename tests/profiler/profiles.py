"""Writes profiles with planted faults: the files of a job whose clock is made up."""

import json
import random
import time
from pathlib import Path

BEGIN = 1_706_745_600  # seconds since 1970


def hour(seconds):
    return time.strftime("%Y%m%d%H", time.gmtime(seconds))


class Timeline:
    """The timeline of one worker; times are in milliseconds since BEGIN."""

    def __init__(self, folder, node="1-algo-1"):
        self.folder, self.node, self.now = Path(folder), node, 0.0
        self.events, self.phases = [], {}

    def add(self, phase, start, duration, step=None, **args):
        pid = self.phases.setdefault(phase, len(self.phases))
        given = dict(args) if step is None else {"step_num": str(step), **args}
        self.events.append(
            {"name": phase, "ph": "X", "pid": pid, "ts": int(start * 1000), "dur": int(duration * 1000), "args": given}
        )

    def step(self, number, wait=1.0, forward=10.0, backward=20.0, optimizer=3.0, **more):
        """Adds a step: data wait, then the step with what `more` names, e.g. copies=5 or rest=2."""
        self.add("DataLoaderIter", self.now, wait, number)
        self.now += wait
        begin = self.now
        parts = [("Forward", forward), ("Backward(post-forward)", backward), *more.items(), ("optimizer", optimizer)]
        for phase, duration in parts:
            if phase != "rest":
                self.add(phase, self.now, duration, number)
            self.now += duration
        self.add("Step:ModeKeys.TRAIN", begin, self.now - begin, number)

    def write(self):
        begin = BEGIN * 1_000_000
        lines = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": begin}}]
        for phase, pid in self.phases.items():
            lines.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": phase}})
        end = begin + max(event["ts"] + event["dur"] for event in self.events)
        path = self.folder / f"framework/pevents/{hour(end // 10**6)}/{end}_{self.node}_pythontimeline.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[\n" + ",\n".join(map(json.dumps, lines + self.events)) + "\n]")


def write_samples(folder, values, seconds, interval=1.0, node="algo-1"):
    """`values` maps (type, name, dimension) to a function of the part of the time that is over."""
    minutes = {}
    count = int(seconds / interval)
    for i in range(count):
        at = BEGIN + i * interval
        for (kind, name, dimension), value in values.items():
            sample = {"Type": kind, "Name": name, "Dimension": dimension, "Value": value(i / count)}
            line = json.dumps({**sample, "NodeId": node, "Timestamp": at})
            minutes.setdefault(int(at) // 60 * 60, []).append(line)
    for minute, lines in minutes.items():
        path = Path(folder) / f"system/incremental/{hour(minute)}/{minute}.{node}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


def gpu(name="gpu0"):
    return "gpu", name, "GPUUtilization"


def gpu_memory(name="gpu0"):
    return "gpu", name, "GPUMemoryUtilization"


def noisy(value, spread=1.0, seed=0):
    """Returns a function of time: `value` of it, and noise."""
    chance = random.Random(seed)
    return lambda part: min(100.0, max(0.0, value(part) + chance.gauss(0, spread)))
