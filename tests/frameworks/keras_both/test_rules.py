"""What rules see of a training with Keras, whatever is saved."""

import keras
import numpy as np
import pytest
import smdebug.tensorflow as smd
from smdebug.integrations import KerasCallback
from smdebug.rules import RuleSet

layers = keras.layers


def classes(count):
    random = np.random.default_rng(0)
    x = random.normal(size=(count, 8)).astype("float32")
    return x, x[:, :3].argmax(axis=1)


def train(out_dir, last, loss, x, y, *, first=(), hidden=1, activation="relu", epochs=3):
    """Returns the findings of all rules, with their tensors, and the first cause."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        keras.Input(x.shape[1:]), *first,
        *[layers.Dense(32, activation=activation) for _ in range(hidden)], last,
    ])  # fmt: skip
    model.compile(keras.optimizers.Adam(0.01), loss)
    rules = RuleSet().add_all()
    with KerasCallback(out_dir, rules=rules) as callback:
        model.fit(x, y, batch_size=32, epochs=epochs, verbose=0, callbacks=[callback])
        assert callback.hook.failures == 0
        found = callback.hook.take_findings()
    causes = [each.id for each in rules.diagnose()]
    seen = {(each.rule, each.check, each.tensor) for each in found}
    return seen, {(each.rule, each.check) for each in found}, causes[:1]


@pytest.mark.parametrize("is_one_hot", [False, True])
@pytest.mark.parametrize("activation", ["softmax", None])
def test_a_softmax_too_many(activation, is_one_hot, out_dir):
    x, y = classes(960)
    if is_one_hot:
        loss, y = keras.losses.CategoricalCrossentropy(from_logits=True), np.eye(3)[y]
    else:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    seen, found, causes = train(out_dir, layers.Dense(3, activation=activation), loss, x, y)
    if activation is None:
        assert not found
    else:
        assert ("LossInput", "probabilities", "loss/CrossEntropyLoss_input_0") in seen
        assert causes == ["loss_of_wrong_output"]
    assert not [each for each in smd.create_trial(out_dir).tensor_names() if "/" in each]


def test_probabilities_where_the_loss_takes_them(out_dir):
    x, y = classes(960)
    last = layers.Dense(3, activation="softmax")
    assert not train(out_dir, last, "sparse_categorical_crossentropy", x, y)[1]


@pytest.mark.parametrize("normalises", [False, True])
def test_inputs_in_their_own_units(normalises, out_dir):
    x, _ = classes(960)
    inputs, y = 1000 + 300 * x, x.sum(axis=1)
    first = [layers.BatchNormalization()] if normalises else []
    seen, found, causes = train(out_dir, layers.Dense(1), "mse", inputs, y, first=first)
    if normalises:
        assert not found and not causes
    else:
        assert ("InputScale", "", "inputs_0") in seen and causes == ["inputs_not_normalised"]


def test_a_sample_that_is_no_number(out_dir):
    x, _ = classes(960)
    y = x.sum(axis=1)
    x[700, 3] = np.nan
    seen, _, causes = train(out_dir, layers.Dense(1), "mse", x, y)
    assert ("FirstNonFinite", "nan", "inputs_0") in seen
    assert causes == ["batch_corrupt"]


def test_the_first_of_many_sigmoids(out_dir):
    x, y = classes(960)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    _, found, causes = train(
        out_dir, layers.Dense(3), loss, x, y, hidden=8, activation="sigmoid"
    )
    assert ("VanishingGradient", "ratio") in found
    assert causes == ["gradients_vanish"]


def test_other_steps_than_those_of_the_training_are_left_alone(out_dir):
    x, y = classes(64)
    model = keras.Sequential([keras.Input((8,)), layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    hook = smd.KerasHook(out_dir)
    hook.attach(RuleSet().add_all())
    before = model.make_test_function, model.make_predict_function
    model.fit(x, y, batch_size=32, verbose=0, validation_data=(x, y), callbacks=[hook])
    model.predict(x, verbose=0, callbacks=[hook])
    hook.close()
    assert (model.make_test_function, model.make_predict_function) == before
    assert hook.failures == 0


@pytest.mark.parametrize("rate", [0.0, 1e-12, 0.01])
def test_an_optimizer_that_changes_nothing(rate, out_dir):
    x, y = classes(960)
    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        keras.Input((8,)), layers.Dense(32, activation="relu"), layers.Dense(3),
    ])  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(rate), loss)
    rules = RuleSet().add_all()
    with KerasCallback(out_dir, rules=rules) as callback:
        model.fit(x, y, batch_size=32, epochs=3, verbose=0, callbacks=[callback])
        found = {(each.rule, each.check) for each in callback.hook.take_findings()}
    assert ("UpdateNotApplied" in {rule for rule, _ in found}) == (rate < 0.01)


def frozen(hook):
    return set(hook.get_collection("frozen").tensor_names)


def test_a_frozen_layer_is_not_blamed(out_dir):
    x, y = classes(960)
    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        keras.Input((8,)), layers.Dense(32, activation="relu", name="first"),
        layers.Dense(32, activation="relu", name="second"), layers.Dense(3),
    ])  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    hook = smd.KerasHook(out_dir)
    hook.attach(RuleSet().add_all())
    for is_frozen in (True, False, True):
        model.get_layer("first").trainable = not is_frozen
        model.compile(keras.optimizers.Adam(0.01), loss)
        model.fit(x, y, batch_size=32, verbose=0, callbacks=[hook])
        names = {f"first/weights/first/{kind}:0" for kind in ("bias", "kernel")}
        assert frozen(hook) == (names if is_frozen else set())
    hook.close()
    assert hook.failures == 0
    assert not hook.take_findings()


@pytest.mark.parametrize("is_weighted", [False, True])
def test_rare_classes_that_have_a_weight_are_worth_a_look(is_weighted, out_dir):
    x, _ = classes(3200)
    y = (x[:, 0] > 1.6).astype("int32")
    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        keras.Input((8,)), layers.Dense(32, activation="relu"), layers.Dense(2),
    ])  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    weights = {0: 1.0, 1: 10.0} if is_weighted else None
    with KerasCallback(out_dir, rules=RuleSet().add("ClassImbalance")) as callback:
        model.fit(
            x, y, batch_size=32, epochs=2, verbose=0, class_weight=weights, callbacks=[callback]
        )
        levels = {each.level.name for each in callback.hook.take_findings()}
    # Once the model tells them, they are worth a look in any case.
    assert levels == {"WORTH_A_LOOK"} if is_weighted else "FINDING" in levels


def test_several_classes_at_once_are_no_class_each(out_dir):
    x, _ = classes(3200)
    y = (x[:, :5] > [0.5, 1, 1, 1, 2]).astype("float32")
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    assert not train(out_dir, layers.Dense(5), loss, x, y)[1]
