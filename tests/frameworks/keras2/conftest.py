"""TensorFlow with two devices on the CPU, which must be set before TensorFlow starts."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import pytest
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)


@pytest.fixture(autouse=True)
def seeded(monkeypatch, strict_and_alone):
    """Seeds the training, and reads finished trials without a wait."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    tf.keras.backend.clear_session()
    tf.keras.utils.set_random_seed(1)
