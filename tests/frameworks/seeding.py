"""What the tests of Keras 2 and 3 share."""

from __future__ import annotations

import keras
import pytest


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch, strict_and_alone: None) -> None:
    """Seeds the training, and reads finished trials without a wait."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
