"""The same tests with TensorFlow as the backend of Keras 3."""

from backends import run_with


def test_with_tensorflow():
    """Runs the tests that differ between backends."""
    run_with(
        "tensorflow",
        "-k",
        "callback or names or jit_compile or saved_meanwhile or loop or test_integrations or test_rules",
    )
