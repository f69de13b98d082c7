"""Sound trainings with GradientTape loops and a TensorFlow train_step."""

import keras
import numpy as np
import tensorflow as tf
from common17 import accuracy, cancer, classes, digits, fit, friedman, r2, waves
from keras import layers
from registry import healthy, score

SPARSE = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
BINARY = keras.losses.BinaryCrossentropy(from_logits=True)


def mlp(inputs, *widths, out=1, act="relu"):
    hidden = [layers.Dense(width, act) for width in widths]
    return keras.Sequential([keras.Input((inputs,)), *hidden, layers.Dense(out)])


def feed(seed, size, *data):
    return tf.data.Dataset.from_tensor_slices(data).shuffle(4000, seed=seed).batch(size)


@healthy
def tape_digits_warmup(record, seed):
    """A plain loop with a rate that warms up by hand, evaluated each epoch."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = digits(seed, flat=True)
    model = mlp(64, 64, out=10)
    with record.tape() as hook:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(keras.optimizers.SGD(0.0, momentum=0.9))
        count = 0
        for epoch in range(5):
            for a, b in feed(seed, 32, x, y):
                count += 1
                optimizer.learning_rate.assign(min(0.1, count * 2e-3))
                with hook.wrap_tape(tf.GradientTape()) as tape:
                    loss = SPARSE(b, model(a, training=True))
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
            with record.evaluation(hook):
                SPARSE(ty, model(tx, training=False))
    score(accuracy(model, tx, ty), 0.1)


@healthy
def tape_gan(record, seed):
    """A small GAN on a ring: two models, two optimizers and two tapes."""
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 4000)
    real = np.stack([np.cos(angle), np.sin(angle)], 1) * 2 + 0.1 * rng.normal(size=(4000, 2))
    gen, dis = mlp(4, 48, 48, out=2), mlp(2, 48, 48)
    with record.tape() as hook:
        hook.register_model(gen)
        hook.register_model(dis)
        slow = hook.wrap_optimizer(keras.optimizers.Adam(2e-3, beta_1=0.5))
        fast = hook.wrap_optimizer(keras.optimizers.Adam(4e-3, beta_1=0.5))
        for i in range(200):
            a = tf.constant(real[rng.integers(4000, size=128)], tf.float32)
            with hook.wrap_tape(tf.GradientTape()) as tape:
                true, false = dis(a), dis(gen(tf.random.normal((128, 4))))
                loss = BINARY(tf.ones_like(true), true) + BINARY(tf.zeros_like(false), false)
            grads = tape.gradient(loss, dis.trainable_variables)
            fast.apply_gradients(zip(grads, dis.trainable_variables))
            with hook.wrap_tape(tf.GradientTape()) as tape:
                false = dis(gen(tf.random.normal((128, 4))))
                loss = BINARY(tf.ones_like(false), false)
            grads = tape.gradient(loss, gen.trainable_variables)
            slow.apply_gradients(zip(grads, gen.trainable_variables))
    made = gen(tf.random.normal((1000, 4))).numpy()
    score(-np.abs(np.linalg.norm(made, axis=1) - 2).mean(), -1.5)


@healthy
def tape_distillation(record, seed):
    """A small student learns from a trained teacher's soft labels and the true ones."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = digits(seed, flat=True)
    teacher, student = mlp(64, 96, 96, out=10), mlp(64, 16, out=10)
    with record.tape() as hook:
        for model in (teacher, student):
            hook.register_model(model)
            optimizer = hook.wrap_optimizer(keras.optimizers.Adam(5e-3))
            for epoch in range(4 if model is teacher else 7):
                for a, b in feed(seed, 96, x, y):
                    soft = tf.nn.softmax(teacher(a) / 3)
                    with hook.wrap_tape(tf.GradientTape()) as tape:
                        out = model(a, training=True)
                        loss = SPARSE(b, out)
                        if model is student:
                            loss += 3 * tf.reduce_mean(
                                tf.nn.softmax_cross_entropy_with_logits(soft, out / 3)
                            )
                    grads = tape.gradient(loss, model.trainable_variables)
                    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    score(accuracy(student, tx, ty), 0.1)


@healthy
def tape_gru_clipped(record, seed):
    """A GRU forecast with gradients clipped by their global norm."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = waves(seed, 12, 900)
    model = keras.Sequential([keras.Input((12, 1)), layers.GRU(16, unroll=True), layers.Dense(1)])
    call = tf.function(model)
    with record.tape() as hook:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(keras.optimizers.Adam(1e-2))
        for epoch in range(6):
            for a, b in feed(seed, 32, x, y):
                with hook.wrap_tape(tf.GradientTape()) as tape:
                    loss = tf.reduce_mean((call(a)[:, 0] - b) ** 2)
                grads = tape.gradient(loss, model.trainable_variables)
                grads, _ = tf.clip_by_global_norm(grads, 1.0)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
    score(r2(model.predict(tx, verbose=0), ty), 0)


@healthy
def tape_accumulated(record, seed):
    """Gradients of four small batches are averaged by hand before each update."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = classes(seed, 1600)
    model = mlp(16, 48, out=4)
    with record.tape() as hook:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(keras.optimizers.Adam(1e-2))
        for epoch in range(4):
            total = [tf.zeros_like(v) for v in model.trainable_variables]
            for i, (a, b) in enumerate(feed(seed, 16, x, y)):
                with hook.wrap_tape(tf.GradientTape()) as tape:
                    loss = SPARSE(b, model(a, training=True))
                grads = tape.gradient(loss, model.trainable_variables)
                total = [t + g / 4 for t, g in zip(total, grads)]
                if i % 4 == 3:
                    optimizer.apply_gradients(zip(total, model.trainable_variables))
                    total = [tf.zeros_like(t) for t in total]
    score(accuracy(model, tx, ty), 0.25)


class Mixed(keras.Model):
    """A train_step of its own: mixup of the rows, with the loss of both labels."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def call(self, x, training=False):
        return self.body(x, training=training)

    def train_step(self, data):
        x, y = data
        part = tf.random.uniform((tf.shape(x)[0], 1), 0.7, 1.0)
        order = tf.random.shuffle(tf.range(tf.shape(x)[0]))
        z = tf.gather(y, order)
        with tf.GradientTape() as tape:
            out = self(part * x + (1 - part) * tf.gather(x, order), training=True)
            cross = keras.losses.sparse_categorical_crossentropy
            each = part[:, 0] * cross(y, out, True) + (1 - part[:, 0]) * cross(z, out, True)
            loss = tf.reduce_mean(each)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        for metric in self.metrics:
            metric.update_state(loss) if metric.name == "loss" else metric.update_state(y, out)
        return {metric.name: metric.result() for metric in self.metrics}


@healthy
def train_step_mixup(record, seed):
    """Keras fit with a TensorFlow train_step that mixes rows (mixup)."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = digits(seed, flat=True)
    model = Mixed(mlp(64, 64, out=10))
    model.compile(keras.optimizers.Adam(3e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@healthy
def tape_adversarial_rows(record, seed):
    """Training on inputs moved along the sign of their gradient; the loss stays higher."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = cancer(seed)
    model = mlp(30, 24)
    with record.tape() as hook:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(keras.optimizers.Adam(5e-3))
        for epoch in range(8):
            for a, b in feed(seed, 32, x, y[:, None]):
                with tf.GradientTape() as tape:
                    tape.watch(a)
                    loss = BINARY(b, model(a))
                a += 0.1 * tf.sign(tape.gradient(loss, a))
                with hook.wrap_tape(tf.GradientTape()) as tape:
                    loss = BINARY(b, model(a, training=True))
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
    score(accuracy(model, tx, ty), ty.mean())


@healthy
def tape_ensemble(record, seed):
    """Three nets with one optimizer, their losses added; a plateau near the noise."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = friedman(seed)
    parts = [mlp(8, 32, act="tanh") for _ in range(3)]
    inputs = keras.Input((8,))
    model = keras.Model(inputs, layers.Concatenate()([part(inputs) for part in parts]))
    with record.tape() as hook:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(keras.optimizers.AdamW(2e-2, weight_decay=1e-3))
        for epoch in range(7):
            for a, b in feed(seed, 64, x, y[:, None]):
                with hook.wrap_tape(tf.GradientTape()) as tape:
                    loss = tf.reduce_sum(tf.reduce_mean((model(a, training=True) - b) ** 2, 0))
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
    score(r2(model.predict(tx, verbose=0).mean(1), ty), 0)
