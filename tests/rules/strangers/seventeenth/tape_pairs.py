"""Pairs with faults in GradientTape loops."""

import keras
import tensorflow as tf
from common17 import accuracy, classes, digits, fit, friedman, r2
from keras import layers
from registry import pair, score

SPARSE = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def mlp(seed, inputs, *widths, out=1, act="relu", last=None):
    keras.utils.set_random_seed(seed)
    hidden = [layers.Dense(width, act) for width in widths]
    return keras.Sequential([keras.Input((inputs,)), *hidden, layers.Dense(out, last)])


def feed(seed, size, *data):
    return tf.data.Dataset.from_tensor_slices(data).shuffle(4000, seed=seed).batch(size)


def squares(y, out):
    return tf.reduce_mean((out - y) ** 2)


def loop(record, model, rule, data, loss_of, epochs=6, change=None, chosen=None, training=True):
    """The usual loop; `change` acts on the gradients, `chosen` are the variables."""
    chosen = chosen or model.trainable_variables
    with record.tape() as hook:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(rule)
        for epoch in range(epochs):
            for a, b in data:
                with hook.wrap_tape(tf.GradientTape()) as tape:
                    loss = loss_of(b, model(a, training=training))
                grads = tape.gradient(loss, chosen)
                optimizer.apply_gradients(zip(change(grads) if change else grads, chosen))


def digit_run(record, seed, rule, model=None, loss_of=SPARSE, epochs=6, **more):
    x, y, tx, ty = digits(seed, flat=True)
    model = model or mlp(seed, 64, 64, out=10)
    loop(record, model, rule, feed(seed, 64, x, y), loss_of, epochs, **more)
    score(accuracy(model, tx, ty), 0.1)


def table_run(record, seed, rule, model=None, loss_of=squares, epochs=7, **more):
    x, y, tx, ty = friedman(seed)
    model = model or mlp(seed, 8, 48, 48)
    loop(record, model, rule, feed(seed, 48, x, y[:, None]), loss_of, epochs, **more)
    score(r2(model.predict(tx, verbose=0), ty), 0)


@pair(cause="only the last layer's variables are trained", severity="middling")
def tape_head_only(record, seed, faulty):
    """Fault: the gradients are taken for the variables of the last layer only."""
    model = mlp(seed, 8, 24, 24)
    chosen = model.layers[-1].trainable_variables if faulty else None
    table_run(record, seed, keras.optimizers.Adam(5e-3), model, chosen=chosen)


@pair(cause="gradients and variables are paired in the wrong order", severity="gross")
def tape_gradients_misordered(record, seed, faulty):
    """Fault: equal layers get each other's gradients."""
    model = mlp(seed, 64, 64, 64, 64, out=10)

    def turn(grads):
        return grads[4:6] + grads[0:2] + grads[2:4] + grads[6:]

    rule = keras.optimizers.SGD(0.1, momentum=0.9)
    digit_run(record, seed, rule, model, change=turn if faulty else None)


@pair(cause="the loss is summed over the batch", severity="gross")
def tape_sum_not_mean(record, seed, faulty):
    """Fault: reduce_sum with a rate that is meant for a mean."""

    def loss_of(y, out):
        return squares(y, out) * (48 if faulty else 1)

    table_run(record, seed, keras.optimizers.SGD(0.05, momentum=0.9), loss_of=loss_of)


@pair(cause="gradients of the scaled loss are not scaled back", severity="gross")
def tape_not_unscaled(record, seed, faulty):
    """Fault: the loss is multiplied by 1024, the gradients are not divided by it."""

    def loss_of(y, out):
        return 1024 * SPARSE(y, out)

    def back(grads):
        return grads if faulty else [g / 1024 for g in grads]

    digit_run(record, seed, keras.optimizers.SGD(0.1), loss_of=loss_of, change=back)


@pair(cause="take(2) is left in the pipeline", severity="middling")
def tape_few_batches(record, seed, faulty):
    """Fault: only the first two batches are used, again and again."""
    x, y, tx, ty = digits(seed, flat=True)
    model = mlp(seed, 64, 64, out=10)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    data = data.take(2).repeat(21) if faulty else feed(seed, 32, x, y)
    loop(record, model, keras.optimizers.Adam(3e-3), data, SPARSE, 6)
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="a new optimizer for each step", severity="mild")
def tape_new_optimizer(record, seed, faulty):
    """Fault: each step makes a new Adam, whose first step has the full rate."""
    x, y, tx, ty = digits(seed, flat=True)
    model = mlp(seed, 64, 48, out=10)
    with record.tape() as hook:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(keras.optimizers.Adam(1e-2))
        for epoch in range(5):
            for a, b in feed(seed, 32, x, y):
                if faulty:
                    optimizer = hook.wrap_optimizer(keras.optimizers.Adam(1e-2))
                with hook.wrap_tape(tf.GradientTape()) as tape:
                    loss = SPARSE(b, model(a, training=True))
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="the warm-up never ends", severity="gross")
def tape_warmup_forever(record, seed, faulty):
    """Fault: the warm-up is over 400000 steps in place of 40."""

    class Warm(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            part = tf.cast(step, tf.float32) / (400000.0 if faulty else 40.0)
            return 0.1 * tf.minimum(part, 1.0)

    digit_run(record, seed, keras.optimizers.SGD(Warm(), momentum=0.9))


@pair(cause="batch normalisation in inference mode during training", severity="gross")
def tape_training_false(record, seed, faulty):
    """Fault: training=False in the loop, so inputs around 500 are never normalised."""
    x, y, tx, ty = classes(seed, 1600)
    keras.utils.set_random_seed(seed)
    front = [keras.Input((16,)), layers.BatchNormalization(momentum=0.9)]
    model = keras.Sequential([*front, layers.Dense(48, "relu"), layers.Dense(4)])
    data = feed(seed, 32, 20 * x + 500, y)
    loop(record, model, keras.optimizers.SGD(0.05), data, SPARSE, 7, training=not faulty)
    score(accuracy(model, 20 * tx + 500, ty), 0.25)


@pair(cause="stop_gradient on the code of the autoencoder", severity="middling")
def tape_code_detached(record, seed, faulty):
    """Fault: the decoder gets a detached code, so the encoder does not learn."""
    x, _, tx, _ = digits(seed, flat=True)
    encoder, decoder = mlp(seed, 64, 48, out=4), mlp(seed, 4, 48, out=64)
    inputs = keras.Input((64,))
    held = layers.Lambda(tf.stop_gradient) if faulty else layers.Activation("linear")
    model = keras.Model(inputs, decoder(held(encoder(inputs))))
    data = feed(seed, 64, x, x)
    loop(record, model, keras.optimizers.Adam(3e-3), data, squares, 7)
    score(r2(model.predict(tx, verbose=0), tx), 0.46)


@pair(cause="accumulated gradients are never set back", severity="gross")
def tape_never_reset(record, seed, faulty):
    """Fault: the sum of the gradients is not set to zero after an update."""
    x, y, tx, ty = friedman(seed)
    model = mlp(seed, 8, 48, 48)
    with record.tape() as hook:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(keras.optimizers.SGD(0.05, momentum=0.9))
        total = [tf.zeros_like(v) for v in model.trainable_variables]
        for epoch in range(7):
            for a, b in feed(seed, 32, x, y[:, None]):
                with hook.wrap_tape(tf.GradientTape()) as tape:
                    loss = squares(b, model(a, training=True))
                grads = tape.gradient(loss, model.trainable_variables)
                total = [t + g for t, g in zip(total, grads)]
                optimizer.apply_gradients(zip(total, model.trainable_variables))
                if not faulty:
                    total = [tf.zeros_like(t) for t in total]
    score(r2(model.predict(tx, verbose=0), ty), 0)


class Guided(keras.Model):
    """A train_step of its own."""

    def __init__(self, body, sign):
        super().__init__()
        self.body, self.sign = body, sign

    def call(self, x, training=False):
        return self.body(x, training=training)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            out = self(x, training=True)
            loss = self.compute_loss(x, y, out)
            goal = self.sign * loss
        grads = tape.gradient(goal, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        for metric in self.metrics:
            metric.update_state(loss) if metric.name == "loss" else metric.update_state(y, out)
        return {metric.name: metric.result() for metric in self.metrics}


@pair(cause="train_step climbs the loss", severity="gross")
def train_step_sign(record, seed, faulty):
    """Fault: the gradient of the negative loss in a train_step."""
    x, y, tx, ty = digits(seed, flat=True)
    model = Guided(mlp(seed, 64, 48, out=10), -1.0 if faulty else 1.0)
    model.compile(keras.optimizers.Adam(2e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=7, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)
