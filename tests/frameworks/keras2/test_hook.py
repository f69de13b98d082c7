"""The hook itself: its creation, its failures, and its place among processes."""

import copy
import json
import pickle
import subprocess
import sys
import types

import pytest
import smdebug.tensorflow as smd
import tensorflow as tf
from smdebug.core.error_policy import guarded
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet, SMDebugNotImplementedError
from smdebug.rules import Rule, invoke_rule
from smdebug.tensorflow.utils import place_of_process
from trainings import BATCHES, EVAL, EVERY_STEP, TRAIN, X, Y, fit, network, recorded

# ---- making one --------------------------------------------------------------------------


def test_it_is_a_callback(out_dir):
    import keras

    hook = smd.KerasHook(out_dir)
    assert isinstance(hook, tf.keras.callbacks.Callback)
    assert isinstance(hook, keras.callbacks.Callback)
    assert smd.get_hook() is hook
    assert smd.get_hook("keras") is hook
    assert set(hook.include_collections) == {"losses", "metrics", "sm_metrics"}
    assert set(hook.get_collections()) >= {"weights", "layers", "optimizer_variables", "outputs"}


def test_importing_imports_no_framework():
    program = (
        "import sys, smdebug.tensorflow as smd\n"
        "print({'tensorflow', 'keras', 'numpy'} & set(sys.modules), 'KerasHook' in dir(smd))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert printed.stdout.decode().split() == ["set()", "True"]


def test_without_keras_one_sentence_says_what_to_install():
    program = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n"
    program += "import smdebug.tensorflow"
    failed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert failed.stderr.decode().splitlines()[-1] == (
        "ModuleNotFoundError: smdebug.tensorflow needs Keras, which is not installed: "
        "pip install tensorflow-cpu, or pip install keras jax"
    )


@pytest.mark.parametrize("name", ["SessionHook", "EstimatorHook"])
def test_the_hooks_of_tensorflow_1_say_that_it_is_gone(name, out_dir):
    with pytest.raises(SMDebugNotImplementedError, match=f"^{name} is for .*use .*KerasHook$"):
        getattr(smd, name)(out_dir)


def test_an_unknown_type_of_hook():
    with pytest.raises(ValueError, match="'torch'.*'keras'"):
        smd.get_hook("torch")


def test_it_is_made_from_the_services_configuration(out_dir, tmp_path, monkeypatch):
    file = tmp_path / "hook.json"
    config = {
        "LocalPath": out_dir,
        "HookParameters": {"train.save_interval": "2", "eval.save_interval": "3"},
        "CollectionConfigurations": [
            {"CollectionName": "gradients"},
            {"CollectionName": "mine", "CollectionParameters": {"include_regex": "relu"}},
        ],
    }
    file.write_text(json.dumps(config))
    assert smd.get_hook("keras") is None
    assert smd.get_hook("keras", str(tmp_path / "missing"), create_if_not_exists=True) is None
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(file))
    hook = smd.get_hook("keras", create_if_not_exists=True)
    assert isinstance(hook, smd.KerasHook)
    with hook:
        fit(network(), hook, validation_data=(X, Y), validation_batch_size=8)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("gradients/dense/kernelGrad").steps(TRAIN) == [0, 2]
    # The last step is the end of the epoch.
    assert trial.tensor("loss").steps(EVAL) == [0, 3]
    assert trial.collection("mine").include_regex == ["relu"]


def test_smdebug_may_be_switched_off(out_dir, monkeypatch):
    smd.KerasHook(out_dir)
    monkeypatch.setenv("USE_SMDEBUG", "false")
    assert smd.get_hook("keras") is None


# ---- failures ------------------------------------------------------------------------------


class Unsavable:
    """Looks like a tensor but cannot be saved."""

    shape, dtype = (), "float32"


class Failing(smd.KerasHook):
    """Fails in every method that Keras or a model calls."""

    def _begin_batch(self, mode):
        super()._begin_batch(mode)
        raise RuntimeError("at the batch's beginning")

    def _see(self, collection, named):
        super()._see(collection, [(name, Unsavable()) for name, _ in named])

    def _start_watches(self, watches):
        super()._start_watches(watches)
        self._fail()

    @guarded
    def _fail(self):
        raise RuntimeError("before a step is looked into")

    def _end_epoch(self, logs):
        raise RuntimeError("at the epoch's end")


@pytest.mark.parametrize("eager", [False, True])
def test_its_failures_never_stop_a_training(out_dir, monkeypatch, eager):
    monkeypatch.delenv("SMDEBUG_RAISE_ERRORS")
    model = network(run_eagerly=eager)
    hook = Failing(out_dir, save_config=EVERY_STEP, save_all=True)
    logged = []
    monkeypatch.setattr(hook.logger, "error", lambda *words, **more: logged.append(words))
    with hook:
        history = fit(model, hook, epochs=2, validation_data=(X, Y))
        model.predict(X, callbacks=[hook], verbose=0)
    assert len(history.history["val_loss"]) == 2
    assert hook.failures > 2 * BATCHES
    assert len(logged) == 1
    trial = smd.create_trial(out_dir)
    assert trial.tensor("dense/weights/dense/kernel:0").steps(TRAIN) == list(range(2 * BATCHES))


def test_its_failures_are_raised_on_demand(out_dir):
    with pytest.raises(RuntimeError, match="batch's beginning"):
        fit(network(), Failing(out_dir, save_all=True))


def test_a_training_that_is_broken_off(out_dir):
    model = network()

    class Break(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                raise KeyboardInterrupt

    with smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        with pytest.raises(KeyboardInterrupt):
            fit(model, hook, callbacks=[Break()])
        fit(model, hook)
    assert "make_train_function" not in vars(model)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("dense/outputs").steps(TRAIN) == list(range(2 + BATCHES))


# ---- life ----------------------------------------------------------------------------------


def test_a_copy_records_nothing(out_dir):
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        for double in (copy.deepcopy(hook), pickle.loads(pickle.dumps(hook))):
            fit(network(), double)
            double.close()
        fit(network(), hook)
    assert smd.create_trial(out_dir).steps(TRAIN) == list(range(BATCHES))


def test_one_hook_after_another(out_dir, tmp_path):
    model = network()
    for folder in (out_dir, str(tmp_path / "other")):
        trial = recorded(folder, model, include_collections=["gradients", "layers"])
        assert trial.tensor("gradients/dense/kernelGrad").steps() == list(range(BATCHES))
        assert trial.tensor("dense/outputs").steps() == list(range(BATCHES))


def test_two_hooks_at_once(out_dir, tmp_path):
    model, other = network(), str(tmp_path / "other")
    first = smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=["gradients"])
    second = smd.KerasHook(
        other, save_config=smd.SaveConfig(save_interval=3), include_collections=["layers"]
    )
    with first, second:
        fit(model, first, callbacks=[second])
    assert smd.create_trial(out_dir).tensor("gradients/dense/kernelGrad").steps() == [0, 1, 2, 3]
    assert smd.create_trial(other).tensor("dense/outputs").steps() == [0, 3]
    assert "call" not in vars(model.layers[0])


def test_saving_a_model_meanwhile(out_dir, tmp_path):
    model, file = network(), str(tmp_path / "model")
    keeper = tf.keras.callbacks.ModelCheckpoint(file)
    trial = recorded(out_dir, model, save_all=True, training={"callbacks": [keeper]})
    assert trial.tensor("dense/outputs").steps(TRAIN) == list(range(BATCHES))
    again = tf.keras.models.load_model(file)
    assert again.predict(X, verbose=0).tolist() == model.predict(X, verbose=0).tolist()


# ---- several processes ---------------------------------------------------------------------


def test_a_worker_of_a_cluster(monkeypatch):
    assert place_of_process() == ("worker_0", 1)
    cluster = {"worker": ["a:1", "b:1"], "ps": ["c:1"]}
    for task, expected in (
        ({"type": "worker", "index": 1}, ("worker_1", 2)),
        ({"type": "ps", "index": 0}, ("ps_0", 2)),
    ):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
        assert place_of_process() == expected
    cluster["chief"] = ["d:1"]
    task = {"type": "chief", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    assert place_of_process() == ("chief_0", 3)
    monkeypatch.setenv("TF_CONFIG", "{no json")
    assert place_of_process() == ("worker_0", 1)


def test_a_worker_of_horovod(out_dir, monkeypatch):
    horovod = types.ModuleType("horovod.tensorflow")
    horovod.__file__ = "horovod/tensorflow/__init__.py"
    horovod.is_initialized = lambda: True
    horovod.rank, horovod.size = lambda: 3, lambda: 4
    monkeypatch.setitem(sys.modules, "horovod.tensorflow", horovod)
    assert place_of_process() == ("worker_3", 4)
    assert smd.KerasHook(out_dir, include_workers="all").worker == "worker_3"
    horovod.is_initialized = lambda: False
    assert place_of_process() == ("worker_0", 1)


def test_two_workers_record_into_one_trial(out_dir, monkeypatch):
    for index in (1, 0):
        tf.keras.backend.clear_session()
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": task}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        hook = smd.KerasHook(
            out_dir, include_workers="all", save_config=EVERY_STEP, include_collections=["weights"]
        )
        fit(network(), hook)
        # The first process that closes marks the trial as finished while the other still writes.
        hook.flush()
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.workers() == ["worker_0", "worker_1"]
    kernel = trial.tensor("dense/weights/dense/kernel:0")
    assert kernel.workers(2, TRAIN) == ["worker_0", "worker_1"]
    for worker in trial.workers():
        assert kernel.value(2, TRAIN, worker).shape == (3, 4)


# ---- a rule --------------------------------------------------------------------------------


class LossBelow(Rule):
    """The loss is below a limit."""

    def __init__(self, base_trial, bound):
        super().__init__(base_trial)
        self.bound = bound

    def set_required_tensors(self, step):
        self.req_tensors.add("loss", [step])

    def invoke_at_step(self, step):
        return self.base_trial.tensor("loss").value(step) < self.bound


def test_a_rule_sees_what_was_recorded(out_dir):
    trial = recorded(out_dir, network(optimizer="sgd"), epochs=6)
    losses = trial.tensor("loss").values()
    bound = losses[20] * 1.0001
    with pytest.raises(RuleEvaluationConditionMet) as met:
        invoke_rule(LossBelow(trial, bound), raise_eval_cond=True)
    assert met.value.step == min(step for step, loss in losses.items() if loss < bound)
    with pytest.raises(NoMoreData):
        invoke_rule(LossBelow(trial, 0.0), raise_eval_cond=True)


def test_hook_is_another_name():
    assert smd.Hook is smd.KerasHook and "Hook" in smd.__all__
