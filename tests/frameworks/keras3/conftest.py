"""The backend of Keras 3: JAX without TensorFlow, or another."""

import os
import sys

BACKEND = os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
if BACKEND != "tensorflow":
    sys.modules["tensorflow"] = None
if BACKEND == "torch":
    # It is not installed; "import jax" would find the folder of the tests of JAX.
    sys.modules["jax"] = None

from seeding import seeded  # noqa: E402, F401
