"""Lifetimes and threads: which object keeps which alive, and which thread may call."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import smdebug
from helpers import EVERY_STEP, record
from smdebug import Hook, create_trial
from smdebug.exceptions import SMDebugError, SMDebugRuntimeError

BIG = 200_000


def test_a_value_outlives_tensor_and_trial(out_dir):
    trial = record(out_dir, [{"w": np.arange(1000.0)}])
    value = trial.tensor("w").value(0)
    trial.close()
    del trial
    gc.collect()
    assert value.sum() == 499_500
    assert value.base is not None


def test_a_tensor_outlives_its_closed_trial(out_dir):
    trial = record(out_dir, [{"w": np.arange(3.0)}, {"w": np.arange(3.0) + 1}])
    tensor = trial.tensor("w")
    trial.close()
    assert tensor.steps() == [0, 1]
    assert tensor.value(1).tolist() == [1, 2, 3]
    assert tensor.reduction_value(1, "max") == 3


def test_views_of_a_value_keep_its_memory(out_dir):
    value = record(out_dir, [{"w": np.arange(BIG, dtype=float)}]).tensor("w").value(0)
    part = value[::2]
    del value
    gc.collect()
    other = [np.ones(BIG) for _ in range(5)]
    assert part[-1] == BIG - 2
    del other


def test_dlpack_keeps_a_buffers_memory(out_dir):
    buffer = record(out_dir, [{"w": np.arange(BIG, dtype=float)}]).tensor("w").buffer(0)
    array = np.from_dlpack(buffer)
    unused = buffer.__dlpack__(max_version=(1, 0)), buffer.__dlpack__()
    del buffer, unused
    gc.collect()
    assert array[-1] == BIG - 1


def test_what_was_saved_is_the_callers_again(out_dir):
    data = np.ones(BIG)
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook, hook.step():
        hook.save("w", data)
        data[:] = 7
    assert create_trial(out_dir).tensor("w").value(0).max() == 1


def test_nothing_keeps_a_saved_array_alive(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook, hook.step():
        for shape in (4, BIG):
            data = np.ones(shape)
            alive = weakref.ref(data)
            hook.save(f"w{shape}", data)
            hook.save_tensor(f"c{shape}", data)
            del data
            assert alive() is None


def test_objects_may_go_in_any_order(out_dir):
    trial = record(out_dir, [{"w": 1.0}])
    tensor, collection = trial.tensor("w"), trial.collection("all")
    del trial
    gc.collect()
    assert tensor.value(0).tolist() == [1.0]
    assert collection.name == "all"
    del collection, tensor
    gc.collect()


def test_a_collection_outlives_its_hook(out_dir):
    hook = Hook(out_dir)
    weights = hook.get_collection("weights")
    hook.close()
    del hook
    gc.collect()
    weights.include("kernel")
    weights.add_tensor_name("w")
    assert "w" in weights.tensor_names


def test_reading_leaks_no_memory(out_dir):
    import resource

    tensor = record(out_dir, [{"w": np.ones(BIG)}]).tensor("w")
    tensor.value(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        tensor.value(0)
        tensor.reduction_value(0, "mean")
        memoryview(tensor.buffer(0))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 190 * BIG * 8


def test_recording_and_errors_leak_no_references(out_dir):
    name, data = "w" * 30, np.ones(10)
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        hook.begin_step()
        before = sys.getrefcount(name), sys.getrefcount(data)
        for _ in range(100):
            hook.save(name, data)
            with pytest.raises(SMDebugError):
                hook.begin_step()
            with pytest.raises(SMDebugError):
                hook.save(name, {})
        assert (sys.getrefcount(name), sys.getrefcount(data)) == before
        hook.end_step()


# ---- threads ------------------------------------------------------------------------


def in_threads(count, function):
    errors = []

    def run(number):
        try:
            function(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_threads_may_save_into_one_step(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook, hook.step():

        def save(number):
            for i in range(50):
                hook.save(f"w{number}_{i}", np.full(10 if i % 2 else 20_000, number))

        in_threads(4, save)
    trial = create_trial(out_dir)
    assert len(trial.tensor_names()) == 200
    assert trial.tensor("w3_1").value(0)[0] == 3


def test_threads_may_read_while_the_job_records(out_dir):
    hook = Hook(out_dir, save_config=EVERY_STEP, save_all=True)
    with hook.step():
        hook.save("w", np.zeros(10))
    hook.flush()
    trial = create_trial(out_dir)
    done = threading.Event()

    def read(number):
        while not done.is_set():
            for step in trial.steps()[-3:]:
                assert trial.tensor("w").value(step)[0] == step

    def write_then_read(number):
        if number:
            return read(number)
        try:
            for step in range(1, 100):
                with hook.step():
                    hook.save("w", np.full(10, step))
            hook.close()
        finally:
            done.set()

    in_threads(3, write_then_read)
    assert trial.steps() == list(range(100))


def test_the_interpreter_runs_while_a_large_tensor_is_saved(out_dir):
    data = np.ones(8_000_000)
    ticks = []
    with Hook(out_dir, save_config=EVERY_STEP, save_all=True) as hook, hook.step():
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.monotonic()
        hook.save("w", data)
        end = time.monotonic()
        done.set()
        thread.join()
    assert end - begin < 0.004 or any(begin < moment < end for moment in ticks)


# ---- processes ------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_is_refused_and_harms_nothing(out_dir):
    hook = Hook(out_dir, save_config=EVERY_STEP, save_all=True)
    hook.begin_step()
    hook.save("w", 1.0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            hook.save("x", 1.0)
        except SMDebugRuntimeError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    hook.end_step()
    hook.close()
    assert create_trial(out_dir).tensor_names() == ["w"]


WAITS = {
    "opening": "smdebug.create_trial(path + '/never', timeout=60)",
    "waiting": "smdebug.create_trial(path).wait_for_steps([5])",
}


@pytest.mark.parametrize("what", WAITS)
def test_ctrl_c_ends_a_wait(recorder, what):
    recorder.step(0)
    job = (
        f"import smdebug\npath = {recorder.path!r}\nprint('ready', flush=True)\n"
        f"try:\n    {WAITS[what]}\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", job],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(5) == 0
        assert time.monotonic() - begin < 3


IN_ANOTHER_INTERPRETER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import smdebug

code = '''
import sys
sys.path[:] = %r
try:
    import smdebug
except ImportError as refused:
    assert "subinterpreter" in str(refused), refused
else:
    raise AssertionError("it was imported")
'''
assert interpreters.run_string(interpreters.create(), code % sys.path) is None
"""


def test_a_subinterpreter_is_refused():
    package = os.path.dirname(os.path.dirname(smdebug.__file__))
    subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_INTERPRETER],
        env={**os.environ, "PYTHONPATH": package}, timeout=30, check=True,
    )  # fmt: skip
