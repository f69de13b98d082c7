"""Makes each call of a job in Python fail in turn, each in a child process:

    failing_binding.py FOLDER memory|calls ERROR STRIDE

Load fault_failing_calls before the C library.  The last line of the output is the number of
calls.  Each earlier line reports a bug.
"""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import signal
import sys
import time
import traceback
from typing import List, Tuple

import numpy as np
from smdebug import Hook, SaveConfig, create_trial
from smdebug.exceptions import SMDebugError

MEMORY, CALLS = 1, 2
DONE, FAULTY, NOT_REACHED = range(3)
SECONDS, STEPS, ROUNDS = 30, 2, 8
SECONDS_TO_END = 2.0  # time for a thread to exit
MOST_FAULTS = 20  # stop here: if every job fails, no job reaches the end
TENSORS = {"bias": np.arange(3.0), "kernel": np.arange(12000, dtype=np.float32).reshape(120, 100)}
EVERY_STEP = SaveConfig(save_interval=1)
CODES = {"IO", "NO_SPACE", "OUT_OF_MEMORY"}

calls = ctypes.CDLL(None)
calls.fault_allocations.restype = ctypes.c_long


def is_right(error: BaseException, group: int) -> bool:
    """Returns True if the failing call explains the error, by its class and its code."""
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, SMDebugError) or not str(error):
        return False
    if group == MEMORY:
        return error.code == "OUT_OF_MEMORY" or "starting a thread" in str(error)
    return error.code in CODES


class Job:
    def __init__(self, folder: str, group: int) -> None:
        self._folder, self._group = folder, group
        self.durable: List[int] = []
        self.wrongs = 0

    def _judge(self, error: BaseException) -> None:
        if not is_right(error, self._group):
            self.wrongs += 1
            print("  ", *traceback.format_exception(error), flush=True)

    def _record_step(self, hook: Hook) -> None:
        with hook.step() as step:
            for name, value in TENSORS.items():
                hook.save(name, value + step)
        hook.flush()
        self.durable.append(step)

    def record(self) -> None:
        options = {"durability": "step"}
        try:
            hook = Hook(self._folder, save_all=True, save_config=EVERY_STEP, options=options)
        except Exception as error:
            self._judge(error)
            return
        for act in [self._record_step] * STEPS + [Hook.close]:
            try:
                act(hook)
            except Exception as error:
                self._judge(error)

    def read(self) -> None:
        """Reads as far as possible; a missing trial would be waited for."""
        try:
            self._read()
        except Exception as error:
            self._judge(error)

    def _read(self) -> List[int]:
        if not self.durable:
            return []
        options = {"end_delay_seconds": "0"}
        with create_trial(self._folder, options=options) as trial:
            steps = trial.steps()
            for name in trial.tensor_names():
                for step in trial.tensor(name).steps():
                    same = np.array_equal(trial.tensor(name).value(step), TENSORS[name] + step)
                    self.wrongs += not same
        return steps

    def look(self) -> None:
        """Checks, with nothing failing, that all durable steps can be read."""
        if not set(self.durable) <= set(self._read()):
            self.wrongs += 1
            print(f"  of the durable steps {self.durable} some are lost")


def perform(folder: str, group: int, number: int, error: int) -> int:
    signal.alarm(SECONDS)
    failing = Job(folder, group)
    calls.fault_arm(group, ctypes.c_long(number), error, 0)
    failing.record()
    failing.read()
    count = calls.fault_disarm()
    failing.look()
    again = Job(f"{folder}-again", group)
    again.record()
    again.look()
    wrongs = failing.wrongs + again.wrongs + (len(again.durable) < STEPS)
    if wrongs > 0:
        return FAULTY
    return DONE if count >= number else NOT_REACHED


def holding() -> Tuple[int, int]:
    """Returns what the process holds: open files and allocations, without exiting threads."""
    gc.collect()
    deadline = time.monotonic() + SECONDS_TO_END
    while len(os.listdir("/proc/self/task")) > 1 and time.monotonic() < deadline:
        time.sleep(0.001)
    return len(os.listdir("/proc/self/fd")), calls.fault_allocations()


def perform_without_leak(folder: str, group: int, number: int, error: int) -> int:
    """Repeats a job that leaves something: Python and first jobs keep objects for later ones."""
    for _ in range(ROUNDS):
        before = holding()
        result = perform(folder, group, number, error)
        clear(folder)
        if result == FAULTY or all(now <= then for now, then in zip(holding(), before)):
            return result
    print("  a file or memory is left behind every time")
    return FAULTY


def clear(folder: str) -> None:
    for used in (folder, f"{folder}-again"):
        shutil.rmtree(used, ignore_errors=True)


def run(folder: str, group: int, number: int, error: int) -> int:
    child = os.fork()
    if child == 0:
        result = FAULTY
        try:
            result = perform_without_leak(folder, group, number, error)
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            os._exit(result)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print(f"  ended by signal {os.WTERMSIG(status)}")
        return FAULTY
    return os.WEXITSTATUS(status)


def main(folder: str, group: int, error: int, stride: int) -> None:
    number, result, faults = 1, DONE, 0
    while result != NOT_REACHED and faults < MOST_FAULTS:
        place = os.path.join(folder, str(number))
        result = run(place, group, number, error)
        if result == FAULTY:
            faults += 1
            print(f"FAULT at call {number}", flush=True)
        clear(place)  # left by a job that a signal killed
        number += stride
    print(f"{number - stride - 1} calls, {(number - 1) // stride} jobs")


if __name__ == "__main__":
    main(sys.argv[1], {"memory": MEMORY, "calls": CALLS}[sys.argv[2]], *map(int, sys.argv[3:]))
