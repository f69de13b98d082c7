"""TensorFlow with two devices on the CPU, which must be set before TensorFlow starts."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)

from seeding import seeded  # noqa: E402, F401
