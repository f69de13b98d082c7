"""Models of all kinds."""

import numpy as np
import smdebug.tensorflow as smd
import tensorflow as tf
from trainings import BATCHES, EVERYTHING, TRAIN, X, Y, batch, recorded

layers = tf.keras.layers


def test_convolutions(out_dir):
    model = tf.keras.Sequential(
        [
            layers.Conv2D(2, 3, activation="relu", input_shape=(8, 8, 1)),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    images = np.random.default_rng(1).random((16, 8, 8, 1), dtype="float32")
    with smd.KerasHook(
        out_dir, save_config=smd.SaveConfig(save_interval=1), include_collections=EVERYTHING
    ) as hook:
        model.fit(images, np.arange(16) % 3, batch_size=8, verbose=0, callbacks=[hook])
    trial = smd.create_trial(out_dir)
    assert trial.tensor("conv2d/outputs").value(1, TRAIN).shape == (8, 6, 6, 2)
    assert trial.tensor("gradients/conv2d/kernelGrad").value(1, TRAIN).shape == (3, 3, 1, 2)
    assert trial.tensor("predictions_0").value(1, TRAIN).shape == (8, 3)
    assert 0 <= trial.tensor("accuracy").value(1, TRAIN) <= 1
    mean = trial.tensor("batch_normalization/weights/batch_normalization/moving_mean:0")
    np.testing.assert_array_equal(mean.value(1, TRAIN), model.layers[1].moving_mean.numpy())
    assert "gradients/batch_normalization/moving_meanGrad" not in trial.tensor_names()


def test_several_inputs_and_outputs(out_dir):
    left, right = tf.keras.Input((3,), name="left"), tf.keras.Input((3,), name="right")
    joined = layers.Concatenate(name="joined")([left, right])
    outputs = [layers.Dense(1, name="one")(joined), layers.Dense(2, name="two")(joined)]
    model = tf.keras.Model([left, right], outputs)
    model.compile("sgd", "mse")
    with smd.KerasHook(
        out_dir, save_config=smd.SaveConfig(save_interval=1), include_collections=EVERYTHING
    ) as hook:
        model.fit(
            {"left": X, "right": 2 * X},
            [Y, np.hstack([Y, -Y])],
            batch_size=8,
            shuffle=False,
            verbose=0,
            callbacks=[hook],
        )
    trial = smd.create_trial(out_dir)
    x, y = batch(1)
    np.testing.assert_array_equal(trial.tensor("joined/inputs_0").value(1, TRAIN), x)
    np.testing.assert_array_equal(trial.tensor("joined/inputs_1").value(1, TRAIN), 2 * x)
    np.testing.assert_array_equal(
        trial.tensor("joined/outputs").value(1, TRAIN), np.hstack([x, 2 * x])
    )
    labels = trial.labels(5 - 4, TRAIN)
    assert [label.shape for label in labels] == [(8, 1), (8, 2)]
    np.testing.assert_array_equal(labels[0], y)
    assert [value.shape for value in trial.predictions(1, TRAIN)] == [(8, 1), (8, 2)]
    assert [value.shape for value in trial.inputs(1, TRAIN)] == [(8, 3), (8, 3)]
    assert {"loss", "one_loss", "two_loss"} <= set(trial.tensor_names())


class Branching(tf.keras.Model):
    """A model that is built when it is called, with a branch that AutoGraph must rewrite."""

    def __init__(self):
        super().__init__()
        self.first = layers.Dense(4, name="first")
        self.last = layers.Dense(1, name="last")
        self.scale = tf.Variable(2.0, name="scale")

    def call(self, inputs):
        hidden = self.first(inputs)
        if tf.reduce_sum(hidden) > 0:
            hidden = hidden * self.scale
        return self.last(hidden)


def test_a_model_of_ones_own_class(out_dir):
    model = Branching()
    model.compile("sgd", "mse")
    trial = recorded(out_dir, model, include_collections=EVERYTHING, include_regex="first/outputs")
    names = set(trial.tensor_names())
    assert {"first/weights/branching/first/kernel:0", "branching/weights/scale:0"} <= names
    assert {"gradients/branching/first/kernelGrad", "gradients/scaleGrad"} <= names
    for name in ("first/outputs", "last/inputs", "gradients/scaleGrad"):
        assert trial.tensor(name).steps(TRAIN) == list(range(BATCHES)), name
    hidden = trial.tensor("first/outputs").value(2, TRAIN)
    scale = 1.0
    if hidden.sum() > 0:
        scale = trial.tensor("branching/weights/scale:0").value(1, TRAIN)
    np.testing.assert_allclose(
        trial.tensor("last/inputs").value(2, TRAIN), hidden * scale, rtol=1e-5
    )


def test_a_training_step_of_ones_own(out_dir):
    class Own(tf.keras.Sequential):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compiled_loss(y, self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"loss": loss, "twice": 2 * loss}

    model = Own([layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    trial = recorded(out_dir, model, include_collections=EVERYTHING)
    assert trial.tensor("gradients/dense/kernelGrad").steps(TRAIN) == list(range(BATCHES))
    loss, twice = (trial.tensor(name).value(2, TRAIN) for name in ("loss", "twice"))
    assert twice == 2 * loss
    assert "twice" in trial.tensor_names(collection="metrics")


def test_gradients_of_a_few_rows_are_whole(out_dir):
    model = tf.keras.Sequential([layers.Embedding(10, 2, input_length=1), layers.Flatten()])
    model.compile("sgd", "mse")
    words = np.arange(8)[:, None] % 4
    with smd.KerasHook(
        out_dir, save_config=smd.SaveConfig(save_interval=1), include_collections=["gradients"]
    ) as hook:
        model.fit(words, np.ones((8, 2)), batch_size=8, verbose=0, callbacks=[hook])
    gradient = (
        smd.create_trial(out_dir).tensor("gradients/embedding/embeddingsGrad").value(0, TRAIN)
    )
    assert gradient.shape == (10, 2)
    assert gradient[:4].all()
    assert not gradient[4:].any()


def test_texts_as_inputs(out_dir):
    lookup = layers.StringLookup(vocabulary=["good", "bad"], output_mode="one_hot")
    model = tf.keras.Sequential([tf.keras.Input((1,), dtype=tf.string), lookup, layers.Dense(1)])
    model.compile("sgd", "mse")
    words = tf.constant([["good"], ["bad"]] * 4)
    with smd.KerasHook(
        out_dir, save_config=smd.SaveConfig(save_interval=1), include_collections=["inputs"]
    ) as hook:
        model.fit(words, np.ones((8, 1)), batch_size=2, verbose=0, shuffle=False, callbacks=[hook])
    value = smd.create_trial(out_dir).tensor("inputs_0").value(1, TRAIN)
    assert value.ravel().tolist() == ["good", "bad"]


def test_half_precision(out_dir):
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = tf.keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.Dense(1)])
        model.compile(tf.keras.optimizers.SGD(0.01), "mse")
        trial = recorded(out_dir, model, include_collections=EVERYTHING)
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")
    assert trial.tensor("dense/outputs").value(1, TRAIN).dtype == np.float16
    kernel = trial.tensor("dense/weights/dense/kernel:0")
    # The applied gradient is recorded, not the scaled one.
    moved = (kernel.value(0, TRAIN) - kernel.value(1, TRAIN)) / 0.01
    gradient = trial.tensor("gradients/dense/kernelGrad").value(1, TRAIN)
    np.testing.assert_allclose(gradient, moved, rtol=1e-2, atol=1e-3)


def test_two_devices_record_the_first(out_dir, caplog):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = tf.keras.Sequential([layers.Dense(1, input_shape=(3,))])
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    with smd.KerasHook(
        out_dir, save_config=smd.SaveConfig(save_interval=1), include_collections=EVERYTHING
    ) as hook:
        model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[hook])
    trial = smd.create_trial(out_dir)
    assert trial.workers() == ["worker_0"]
    np.testing.assert_array_equal(trial.tensor("inputs_0").value(1, TRAIN), batch(1)[0][:4])
    kernel = trial.tensor("dense/weights/dense/kernel:0")
    np.testing.assert_array_equal(kernel.value(3, TRAIN), model.get_weights()[0])
    assert trial.tensor("gradients/dense/kernelGrad").steps(TRAIN) == list(range(BATCHES))
    assert trial.tensor("dense/outputs").value(1, TRAIN).shape == (4, 1)


class Gan(tf.keras.Model):
    """Trains two models, each with an optimizer of its own, and is never called itself."""

    def __init__(self):
        super().__init__()
        self.judge = tf.keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(1)])
        self.forger = tf.keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(3)])

    def compile(self, of_judge, of_forger):
        super().compile()
        self.of_judge, self.of_forger = of_judge, of_forger
        self.is_real = tf.keras.losses.BinaryCrossentropy(from_logits=True)

    def train_step(self, real):
        count = tf.shape(real)[0]
        noise = tf.random.normal((count, 4))
        ones, zeros = tf.ones((count, 1)), tf.zeros((count, 1))
        with tf.GradientTape() as tape:
            of_real = self.is_real(ones, self.judge(real))
            loss = of_real + self.is_real(zeros, self.judge(self.forger(noise)))
        weights = self.judge.trainable_variables
        self.of_judge.apply_gradients(zip(tape.gradient(loss, weights), weights))
        with tf.GradientTape() as tape:
            other = self.is_real(ones, self.judge(self.forger(noise)))
        weights = self.forger.trainable_variables
        self.of_forger.apply_gradients(zip(tape.gradient(other, weights), weights))
        return {"loss": loss, "forger_loss": other}


def test_a_model_with_several_optimizers(out_dir):
    model = Gan()
    model.compile(tf.keras.optimizers.Adam(0.01), tf.keras.optimizers.SGD(0.02))
    collections = ["weights", "biases", "gradients", "optimizer_variables"]
    every_step = smd.SaveConfig(save_interval=1)
    with smd.KerasHook(out_dir, save_config=every_step, include_collections=collections) as hook:
        model.fit(X, batch_size=8, epochs=2, verbose=0, callbacks=[hook])
        assert hook.failures == 0
    trial = smd.create_trial(out_dir)
    gradients = trial.tensor_names(collection="gradients")
    assert len(gradients) == len(model.trainable_variables) == 8
    for name in gradients:
        assert trial.tensor(name).steps(smd.modes.TRAIN) == list(range(8))
    # What came into being within the first step.
    for variable in model.trainable_variables:
        [name] = trial.tensor_names(regex=f"/weights/{variable.name}$")
        np.testing.assert_array_equal(trial.tensor(name).value(7), variable.numpy())
    states = trial.tensor_names(collection="optimizer_variables")
    assert [each for each in states if "m/" in each or "momentum" in each]
