"""Names of the original for PyTorch that only its own tests import."""

import numpy as np
import pytest
import torch

from smdebug.core.utils import FRAMEWORK, is_framework_version_supported
from smdebug.pytorch import utils
from smdebug.pytorch.utils import (
    get_reduction_of_data,
    is_current_version_supported,
    is_pt_1_5,
    is_pt_1_6,
    is_pt_1_7,
)


def test_versions(monkeypatch):
    assert not is_pt_1_5() and not is_pt_1_6() and not is_pt_1_7()
    assert is_framework_version_supported(FRAMEWORK.PYTORCH) is True
    assert is_current_version_supported() and is_current_version_supported("1.5.1+cpu")
    assert not is_current_version_supported("1.4.0")
    for minor in (5, 6, 7, 8, 9):
        monkeypatch.setattr(torch, "__version__", f"1.{minor}.1+cu101")
        assert getattr(utils, f"is_pt_1_{minor}")()
        assert not getattr(utils, f"is_pt_1_{(minor + 1) % 5 + 5}")()


@pytest.mark.parametrize("data", [torch.tensor([[3.0, -4.0]]), np.array([[3.0, -4.0]])])
def test_reductions(data):
    assert float(get_reduction_of_data("l2", data, "t")) == 5
    assert float(get_reduction_of_data("min", data, "t", abs=True)) == 3
    assert float(get_reduction_of_data("mean", data, "t")) == -0.5
    if isinstance(data, torch.Tensor):
        assert float(get_reduction_of_data("max", data.requires_grad_(), "t")) == 3
