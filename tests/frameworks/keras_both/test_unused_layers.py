"""Layers that nothing needs have no gradient, and are no fault; those cut off from the loss are."""

import keras
import numpy as np
import pytest
import smdebug.tensorflow as smd
from smdebug.integrations import KerasCallback
from smdebug.rules import Level, RuleSet

layers = keras.layers
COMPUTES_ZEROS = getattr(keras, "backend", None) and keras.backend.backend() == "jax"


class Net(keras.Model):
    """A token that is not used, two layers, one of which a test decides about, and a head."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        if kind == "has_token":
            self.token = self.add_weight(shape=(1, 8), initializer="zeros", name="mask_token")
        self.body = layers.Dense(16, activation="relu")
        self.middle = layers.Dense(16, activation="relu")
        self.other = layers.Dense(16)
        self.head = layers.Dense(3)
        self.body(np.zeros((1, 8), "float32"))
        for each in (self.middle, self.other, self.head):
            each(np.zeros((1, 16), "float32"))

    def call(self, x):
        x = self.body(x)
        if self.kind == "first_is_cut":
            x = cut(x)
        x = self.middle(x)
        if self.kind == "most_is_cut":
            x = cut(x)
        if self.kind != "not_called":
            other = self.other(x)
            x = x if self.kind == "not_needed" else x + other
        return self.head(x)


def cut(x):
    if hasattr(keras, "ops"):
        return keras.ops.stop_gradient(x)
    import tensorflow as tf  # with Keras 2

    return tf.stop_gradient(x)


def batches():
    random = np.random.default_rng(0)
    for _ in range(30):
        x = random.normal(size=(32, 8)).astype("float32")
        yield x, x[:, :3].argmax(axis=1)


def loss_of():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def told(rules):
    return {(each.rule, each.first.check, each.first.level) for each in rules.results() if each.first}


LOOK = {("UpdateNotApplied", "not_used", Level.WORTH_A_LOOK)}
FINDING = {("UpdateNotApplied", "no_gradient", Level.FINDING)}
EXPECTED = {
    "needed": set(),
    "not_needed": LOOK,
    "not_called": LOOK,
    "has_token": LOOK,
    "first_is_cut": FINDING,
    "most_is_cut": FINDING,
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_what_fit_leaves_out(kind, out_dir):
    keras.utils.set_random_seed(1)
    model = Net(kind)
    model.compile(keras.optimizers.Adam(0.01), loss_of())
    rules = RuleSet().add("UpdateNotApplied")
    x, y = (np.concatenate(each) for each in zip(*batches()))
    with KerasCallback(out_dir, rules=rules) as callback:
        model.fit(x, y, batch_size=32, verbose=0, callbacks=[callback])
        assert callback.hook.failures == 0
    assert told(rules) == (set() if COMPUTES_ZEROS else EXPECTED[kind])
    if EXPECTED[kind] == LOOK and not COMPUTES_ZEROS:
        names = smd.create_trial(out_dir).collections()["not_used"].tensor_names
        assert len(names) == (2 if kind == "has_token" else 4)


def test_each_of_two_models_is_judged_by_itself(out_dir):
    keras.utils.set_random_seed(1)
    rules = RuleSet().add("UpdateNotApplied")
    hook = smd.KerasHook(out_dir)
    hook.attach(rules)
    x, y = (np.concatenate(each) for each in zip(*batches()))
    for kind in ("not_needed", "first_is_cut"):
        model = Net(kind)
        model.compile(keras.optimizers.Adam(0.01), loss_of())
        model.fit(x, y, batch_size=32, verbose=0, callbacks=[hook])
    hook.close()
    if COMPUTES_ZEROS:
        return
    assert told(rules) == FINDING
    names = smd.create_trial(out_dir).collections()["not_used"].tensor_names
    assert len(names) == 4, "of the first model"


class TestLoopsWithATape:
    """Of TensorFlow alone."""

    __test__ = not COMPUTES_ZEROS

    @pytest.mark.parametrize("is_compiled", [False, True])
    @pytest.mark.parametrize("kind", EXPECTED)
    def test_what_is_left_out(self, kind, is_compiled, out_dir):
        import tensorflow as tf

        keras.utils.set_random_seed(1)
        model, optimizer, compute_loss = Net(kind), keras.optimizers.Adam(0.01), loss_of()
        rules = RuleSet().add("UpdateNotApplied")
        hook = smd.KerasHook(out_dir)
        hook.attach(rules)
        hook.register_model(model)
        hook.wrap_optimizer(optimizer)

        def train_step(x, y):
            with hook.wrap_tape(tf.GradientTape()) as tape:
                loss = compute_loss(y, model(x, training=True))
            gradients = tape.gradient(loss, model.trainable_variables)
            pairs = zip(gradients, model.trainable_variables)
            optimizer.apply_gradients(pairs)

        step = tf.function(train_step) if is_compiled else train_step
        for x, y in batches():
            step(tf.constant(x), tf.constant(y))
        hook.close()
        assert hook.failures == 0
        # No other variable of the kind of the token has a gradient.
        assert told(rules) == (set() if kind == "has_token" else EXPECTED[kind])
