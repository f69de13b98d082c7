"""Records a profile with this library's C interface.

usage: write_profile.py folder

Prints the events as JSON: [name, phase, begin in microseconds, duration, step].
"""

import ctypes
import json
import sys
import time
from pathlib import Path

import smdebug

LIBRARY = ctypes.CDLL(str(Path(smdebug.__file__).parent / "libsmdebug.so.1"))
BEGIN = 1_706_745_596_000_000  # the hour changes four seconds later
PHASES = ["Step:ModeKeys.TRAIN", "Forward", "Backward(post-forward)", "DataLoaderIter"]

LIBRARY.smd_error_message.restype = ctypes.c_char_p
for name in ("options_new", "options_set", "new", "event", "flush", "close"):
    getattr(LIBRARY, f"smd_profiler_{name}").restype = ctypes.c_void_p
LIBRARY.smd_profiler_count.restype = ctypes.c_int64


def call(name, *arguments):
    error = getattr(LIBRARY, f"smd_profiler_{name}")(*arguments)
    if error:
        raise SystemExit(LIBRARY.smd_error_message(ctypes.c_void_p(error)).decode())


def open_profiler(folder):
    options, profiler = ctypes.c_void_p(), ctypes.c_void_p()
    call("options_new", ctypes.byref(options))
    for name, value in {
        "out_dir": str(folder),
        "node": "314_algo-1",
        "sample_milliseconds": "100",
    }.items():
        call("options_set", options, name.encode(), value.encode())
    call("new", options, ctypes.byref(profiler))
    LIBRARY.smd_profiler_options_free(options)
    return profiler


def record(profiler):
    events = []
    for i in range(400):
        phase = PHASES[i % len(PHASES)]
        name = phase if i % 8 else f'{phase} "\u00e9"\n'
        begin = BEGIN + 20_000 * i
        args = json.dumps({"device": i % 2, "pin_memory": True}).encode()
        call(
            "event",
            profiler,
            name.encode(),
            phase.encode(),
            ctypes.c_int64(i // 4),
            ctypes.c_int64(begin),
            ctypes.c_int64(15_000 + i),
            args if i % 3 else None,
        )
        events.append([name, phase, begin, 15_000 + i, str(i // 4)])
        if i in (150, 250):
            call("flush", profiler, ctypes.c_int32(20_000))
    return events


def main():
    profiler = open_profiler(sys.argv[1])
    events = record(profiler)
    end = time.monotonic() + 20
    while LIBRARY.smd_profiler_count(profiler, b"samples") < 3 and time.monotonic() < end:
        time.sleep(0.05)
    call("close", profiler)
    LIBRARY.smd_profiler_free(profiler)
    print(json.dumps(events))


main()
