"""The frameworks with a hook of their own, and which versions of them are installed."""

from __future__ import annotations

import re
import sys
from enum import Enum
from functools import lru_cache
from typing import Dict, Optional, Tuple

from smdebug.exceptions import SMDebugNotImplementedError

__all__ = ["FRAMEWORK", "is_framework_version_supported", "numbers_of", "version_of"]

Version = Tuple[int, ...]


class FRAMEWORK(Enum):
    """Frameworks with a hook of their own."""

    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MXNET = "mxnet"
    XGBOOST = "xgboost"


# Distributions of each, in the order in which they are looked for, after its own module.
_PACKAGES: Dict[FRAMEWORK, Tuple[str, ...]] = {
    FRAMEWORK.PYTORCH: ("torch",),
    FRAMEWORK.TENSORFLOW: ("tensorflow", "tensorflow-cpu", "tensorflow-gpu"),
    FRAMEWORK.MXNET: ("mxnet", "mxnet-mkl"),
    FRAMEWORK.XGBOOST: ("xgboost", "xgboost-cpu"),
}
# The first version whose trainings can be recorded.
_OLDEST: Dict[FRAMEWORK, Version] = {
    FRAMEWORK.PYTORCH: (1, 5),
    FRAMEWORK.TENSORFLOW: (2, 0),
    FRAMEWORK.MXNET: (0,),
    FRAMEWORK.XGBOOST: (0,),
}


def numbers_of(version: str) -> Version:
    """Returns the numbers at the head of a version: (2, 1, 0) for "2.1.0+cu121"."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in match.group().split(".")) if match else ()


def version_of(framework: FRAMEWORK) -> Optional[Version]:
    """Returns the version of a framework, without importing it; None if it is not installed."""
    first = _PACKAGES[framework][0]
    loaded = getattr(sys.modules.get(first), "__version__", None)
    if isinstance(loaded, str):
        return numbers_of(loaded)
    # Slow to import, and seldom asked.
    from importlib import metadata

    for package in _PACKAGES[framework]:
        try:
            return numbers_of(metadata.version(package))
        except metadata.PackageNotFoundError:
            pass
    return None


@lru_cache(maxsize=None)
def is_framework_version_supported(framework_type: FRAMEWORK) -> bool:
    """Returns whether trainings with the installed version of a framework can be recorded.

    Raises
    ------
    SMDebugNotImplementedError
        If it is not one of `FRAMEWORK`.
    """
    if framework_type not in _OLDEST:
        raise SMDebugNotImplementedError(f"{framework_type!r} is not one of FRAMEWORK")
    version = version_of(framework_type)
    return version is None or version >= _OLDEST[framework_type]
