"""Folders of a hook."""

from __future__ import annotations

import os
from typing import Optional

from smdebug.core.access_layer.utils import check_dir_exists
from smdebug.core.hook_arguments import tensorboard_folder
from smdebug.core.utils import is_s3
from smdebug.exceptions import SMDebugRuntimeError

__all__ = ["get_tensorboard_dir", "verify_and_get_out_dir"]


def verify_and_get_out_dir(out_dir: Optional[str]) -> str:
    """Returns the folder of a trial to record, with "~" expanded.

    Raises
    ------
    SMDebugRuntimeError
        If it is None, or a finished trial lies there.
    """
    if out_dir is None:
        raise SMDebugRuntimeError("out_dir is required: the folder of the trial")
    folder = out_dir if is_s3(out_dir)[0] else os.path.expanduser(out_dir)
    if check_dir_exists(folder):
        raise SMDebugRuntimeError(f"{folder}: a finished trial lies there; give another out_dir")
    return folder


def get_tensorboard_dir(
    export_tensorboard: bool, tensorboard_dir: Optional[str], out_dir: str
) -> Optional[str]:
    """Returns the folder of files for TensorBoard; None if none are written.

    A `tensorboard_dir` alone enables the export.
    """
    return tensorboard_folder(export_tensorboard, tensorboard_dir or None, out_dir)
