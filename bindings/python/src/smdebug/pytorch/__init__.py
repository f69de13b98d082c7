"""smdebug for PyTorch: ``import smdebug.pytorch as smd``."""

from smdebug.core.collection import CollectionKeys
from smdebug.core.modes import ModeKeys as modes
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig, SaveConfigMode
from smdebug.pytorch.collection import Collection
from smdebug.pytorch.hook import Hook
from smdebug.pytorch.singleton_utils import del_hook, get_hook, set_hook
from smdebug.pytorch.taps import tap
from smdebug.rules import Rule
from smdebug.trials import Trial, create_trial

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "ReductionConfig",
    "Rule",
    "SaveConfig",
    "SaveConfigMode",
    "Trial",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
    "tap",
]
