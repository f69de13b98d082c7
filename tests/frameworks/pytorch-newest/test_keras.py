"""Keras 3 with PyTorch as its backend."""

import pytest
from backends import run_with


@pytest.mark.whole  # keras3 runs it with JAX and TensorFlow
@pytest.mark.timeout(300)
def test_all_that_keras_records():
    run_with("torch")
