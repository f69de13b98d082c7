"""The states of a job that its checkpoints belong to, kept next to them."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Tuple

from smdebug.core.config_constants import (
    CHECKPOINT_CONFIG_FILE_PATH_ENV_VAR,
    CHECKPOINT_DIR_KEY,
    DEFAULT_CHECKPOINT_CONFIG_FILE,
    LATEST_GLOBAL_STEP_SAVED,
    LATEST_GLOBAL_STEP_SEEN,
    LATEST_MODE_STEP,
    METADATA_FILENAME,
    METADATA_FILENAME_S3_UPLOADED,
    TRAINING_RUN,
)
from smdebug.core.logger import get_logger
from smdebug.core.utils import write_file

__all__ = ["StateStore"]

State = Dict[str, Any]
_KEYS = (TRAINING_RUN, LATEST_GLOBAL_STEP_SAVED, LATEST_GLOBAL_STEP_SEEN, LATEST_MODE_STEP)


class StateStore:
    """The states in the file metadata.json of the folder of checkpoints.

    The configuration file that CHECKPOINT_CONFIG_FILE_PATH names says where that folder
    is.  Without one there are no states.
    """

    def __init__(self) -> None:
        self._checkpoint_dir: Optional[str] = _folder_of_checkpoints()
        self._saved_states: List[State] = self._read()
        self._seen = self._checkpoints()

    @property
    def _states_file(self) -> Optional[str]:
        folder = self._checkpoint_dir
        return None if folder is None else os.path.join(folder, METADATA_FILENAME)

    def is_checkpoint_updated(self) -> bool:
        """Returns True if checkpoints were added, removed or resized since the last True.

        The first call compares with the checkpoints at construction.  Always False if the folder
        has no checkpoints.
        """
        found = self._checkpoints()
        if not found or found == self._seen:
            return False
        self._seen = found
        return True

    def get_last_saved_state(self) -> Optional[State]:
        """Returns the state of the latest step seen; None if there are no states."""
        return self._saved_states[-1] if self._saved_states else None

    def update_state(self, ts_state: State) -> None:
        """Adds a state to the file.  Does nothing without a folder of checkpoints."""
        self._saved_states.append(ts_state)
        if self._states_file is not None:
            write_file(self._states_file, json.dumps(self._saved_states))

    def _read(self) -> List[State]:
        path = self._states_file
        if path is None or not os.path.exists(path) or os.path.getsize(path) == 0:
            return []
        try:
            with open(path, encoding="utf-8") as file:
                states = [{key: state[key] for key in _KEYS} for state in json.load(file)]
        except (OSError, ValueError, KeyError, TypeError) as error:
            get_logger().warning("%s holds no states of a job: %r", path, error)
            return []
        return sorted(states, key=lambda state: int(state[LATEST_GLOBAL_STEP_SEEN]))

    def _checkpoints(self) -> List[Tuple[str, int]]:
        """The files of the folder and below with their sizes, without those of this class."""
        found = []
        for folder, _, names in os.walk(self._checkpoint_dir or ""):
            for name in names:
                if name in (METADATA_FILENAME, METADATA_FILENAME_S3_UPLOADED):
                    continue
                if "sagemaker-uploaded" not in name:
                    path = os.path.join(folder, name)
                    found.append((path, _size(path)))
        return sorted(found)


def _size(path: str) -> int:
    # The training may remove old checkpoints at any time.
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _folder_of_checkpoints() -> Optional[str]:
    path = os.environ.get(CHECKPOINT_CONFIG_FILE_PATH_ENV_VAR, DEFAULT_CHECKPOINT_CONFIG_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            folder = json.load(file).get(CHECKPOINT_DIR_KEY)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        get_logger().warning("%s does not say where checkpoints are: %s", path, error)
        return None
    return str(folder) if folder else None
