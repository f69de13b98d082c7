"""smdebug for scikit-learn: ``import smdebug.sklearn as smd``."""

from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.modes import ModeKeys as modes
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig, SaveConfigMode
from smdebug.core.singleton_utils import del_hook, set_hook
from smdebug.rules import Rule
from smdebug.sklearn.hook import Hook, get_hook
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
]
