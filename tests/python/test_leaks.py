"""A hundred thousand handles are created and freed: in any order, by finalizers, by many
threads, and under rules that raise."""

import gc
import os
import random
import shutil
import threading
import weakref

import numpy as np
import pytest
import smdebug as smd
from helpers import EVERY_STEP, record
from smdebug.exceptions import NoMoreData, SMDebugError, StepUnavailable
from smdebug.rules import BuiltinRule, Rule, invoke_rule

GROWTH = 8 << 20
WARM_UP = 10  # the fraction 1/10


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def assert_flat(cycle, times):
    """Repeats a cycle; after the first tenth, memory must not grow."""
    for number in range(times):
        if number == times // WARM_UP:
            gc.collect()
            before = resident_bytes()
        cycle(number)
    gc.collect()
    grown = resident_bytes() - before
    assert grown < GROWTH, f"{grown / 2**20:.1f} MiB more after {times} cycles"


@pytest.fixture
def path(out_dir):
    record(out_dir, [{"w": np.arange(64.0), "name": "text"} for _ in range(3)]).close()
    return out_dir


def test_settings(out_dir):
    def cycle(number):
        save = smd.SaveConfig(save_interval=number + 1, save_steps=[1, 2])
        reductions = smd.ReductionConfig(reductions=["mean"], norms=["l2"])
        collection = smd.Collection("c", ["a", "b"], reduction_config=reductions, save_config=save)
        assert collection.save_config.should_save_step(smd.modes.TRAIN, 1)

    assert_flat(cycle, 30_000)


def test_errors(path):
    trial = smd.create_trial(path)
    tensor = trial.tensor("w")

    def cycle(_):
        with pytest.raises(StepUnavailable):
            tensor.value(7)
        with pytest.raises(SMDebugError):
            smd.SaveConfig(save_interval=0)

    assert_flat(cycle, 15_000)


def test_tensors_and_values(path):
    trial = smd.create_trial(path)

    def cycle(number):
        tensor = trial.tensor("w")
        array, buffer = tensor.value(number % 3), tensor.buffer(number % 3)
        # Free the array or the owner of its memory first.
        views = [array[1:], memoryview(buffer), np.from_dlpack(buffer), buffer.__dlpack__()]
        del array, buffer
        random.Random(number).shuffle(views)
        views.clear()
        assert trial.tensor("name").value(0).tolist() == ["text"]

    assert_flat(cycle, 50_000)


def test_trials(path):
    def cycle(number):
        trial = smd.create_trial(path)
        tensor = trial.tensor("w")
        if number % 2:
            trial.close()
        del trial
        assert tensor.name == "w"

    assert_flat(cycle, 4_000)


def test_hooks(tmp_path):
    def cycle(number):
        hook = smd.Hook(str(tmp_path / str(number)), include_collections=["weights"])
        hook.get_collection("weights").include("^w")
        with hook.step():
            hook.save("w", 1.0)
        hook.close()
        shutil.rmtree(tmp_path / str(number))

    assert_flat(cycle, 250)


def test_cycles_of_references_are_freed(path):
    class Node:
        pass

    alive = weakref.WeakSet()

    def cycle(number):
        node = Node()
        alive.add(node)
        node.trial = smd.create_trial(path)
        node.tensor = node.trial.tensor("w")
        node.buffer = node.tensor.buffer(0)
        node.self = node
        weakref.finalize(node, node.tensor.steps)
        if number % 50 == 49:
            del node
            gc.collect()
            assert not alive

    assert_flat(cycle, 1_000)


class Raises(Rule):
    def invoke_at_step(self, step):
        assert self.base_trial.tensor("w").value(step).shape == (64,)
        raise ZeroDivisionError(step)


def test_rules_that_raise(path):
    trial = smd.create_trial(path)

    def cycle(number):
        with pytest.raises(ZeroDivisionError, match=str(number % 3)):
            invoke_rule(Raises(trial), start_step=number % 3)
        if number % 10 == 0:
            with pytest.raises(NoMoreData):
                invoke_rule(BuiltinRule(trial, "VanishingGradient"))

    assert_flat(cycle, 3_000)
    assert trial.tensor("w").value(0).shape == (64,)


def test_threads_on_one_trial(path):
    trial = smd.create_trial(path)
    failures = []

    def work(seed):
        numbers = random.Random(seed)
        try:
            for _ in range(1_500):
                tensor = trial.tensor("w")
                value = tensor.value(numbers.randrange(3))
                assert value[63] == 63
                assert trial.steps() == [0, 1, 2]
                with pytest.raises(StepUnavailable):
                    tensor.value(9)
        except BaseException as failure:
            failures.append(failure)

    def cycle(number):
        threads = [threading.Thread(target=work, args=(number * 4 + i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    # The C library's memory pools are per thread.
    assert_flat(cycle, 4)
    assert failures == []
