"""Rules that stop a training of Keras."""

import smdebug.tensorflow as smd
from trainings import X, Y, network

from smdebug.rules import RuleSet


def watched(out_dir, action):
    model = network()
    hook = smd.KerasHook(out_dir)
    hook.wrap_optimizer(model.optimizer)
    rule_set = RuleSet("aws").add("VanishingGradient", {"threshold": 1e9}, action=action)
    hook.attach(rule_set)
    history = model.fit(X, Y, batch_size=4, epochs=3, callbacks=[hook], verbose=0)
    hook.close()
    return hook, history


def test_a_finding_ends_fit(out_dir):
    hook, history = watched(out_dir, "stop")
    assert hook.stop_finding.step == 0 and hook.stop_finding.tensor.startswith("gradients/")
    assert hook.step == 1  # Keras ends a training after a batch
    assert len(history.history["loss"]) == 1


def test_a_warning_stops_nothing(out_dir):
    hook, history = watched(out_dir, "warn")
    assert hook.stop_finding is None and len(history.history["loss"]) == 3
    assert len(hook.take_findings()) == hook.step + 1
