"""Records small models."""

from __future__ import annotations

import re
from typing import Any, List

import smdebug.pytorch as smd
from torch import nn

EVERY_STEP = smd.SaveConfig(save_interval=1)


def recorded(out_dir: str, model: nn.Module, **settings: Any) -> smd.Hook:
    """Returns a hook that is registered with the model and saves everything at every step."""
    settings.setdefault("save_all", True)
    settings.setdefault("save_config", EVERY_STEP)
    hook = smd.Hook(out_dir, **settings)
    hook.register_module(model)
    return hook


def names_of(trial: smd.Trial, regex: str) -> List[str]:
    """Returns the tensors whose names contain a match of the expression."""
    return [name for name in trial.tensor_names() if re.search(regex, name)]
