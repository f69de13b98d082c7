"""Files that mark where a job stands."""

from smdebug.core.access_layer.utils import (
    check_dir_exists,
    has_training_ended,
    training_has_ended,
)

__all__ = ["check_dir_exists", "has_training_ended", "training_has_ended"]
