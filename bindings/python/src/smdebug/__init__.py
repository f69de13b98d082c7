"""smdebug records the tensors of training jobs, reads them back, and evaluates rules.

`Hook` records, `create_trial` opens a recorded trial, and `smdebug.rules` evaluates
rules over it.  Importing this package loads neither numpy nor any framework.
"""

from smdebug import _setup, doctor
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.hook import Hook
from smdebug.core.modes import ModeKeys as modes
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig, SaveConfigMode
from smdebug.core.tensor import StepState, Tensor
from smdebug.notebook.watching import watch
from smdebug.tables import Scan, scan
from smdebug.trials import LocalTrial, S3Trial, Trial, create_trial

__version__: str = _setup.version

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "LocalTrial",
    "ReductionConfig",
    "S3Trial",
    "SaveConfig",
    "SaveConfigMode",
    "Scan",
    "StepState",
    "Tensor",
    "Trial",
    "__version__",
    "create_trial",
    "doctor",
    "modes",
    "scan",
    "watch",
]
