"""The backend of Keras 3: JAX without TensorFlow, or another."""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
if os.environ["KERAS_BACKEND"] != "tensorflow":
    sys.modules["tensorflow"] = None

import keras
import pytest


@pytest.fixture(autouse=True)
def seeded(monkeypatch, strict_and_alone):
    """Seeds the training, and reads finished trials without a wait."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
