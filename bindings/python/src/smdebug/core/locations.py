"""Paths of the files of a trial."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, TypeVar

from smdebug.core.modes import ModeKeys
from smdebug.core.utils import get_immediate_subdirectories

__all__ = [
    "EventFileLocation",
    "IndexFileLocationUtils",
    "TensorFileLocation",
    "TensorLocation",
    "TensorShape",
    "TensorboardFileLocation",
]

STEP_NUMBER_FORMATTING_LENGTH = "012"

_Location = TypeVar("_Location", bound="EventFileLocation")


class TensorLocation:
    """The part of an event file that holds a tensor."""

    def __init__(
        self,
        tname: str,
        mode: Any,
        mode_step: int,
        event_file_name: str,
        start_idx: int,
        length: int,
        worker: str,
    ) -> None:
        self.tensorname = tname
        self.mode = mode
        self.mode_step = int(mode_step)
        self.event_file_name = event_file_name
        self.start_idx = start_idx
        self.length = length
        self.worker = worker

    def to_dict(self) -> Dict[str, Any]:
        """Returns the entry of an index file."""
        return {"tensorname": self.tensorname, "start_idx": self.start_idx, "length": self.length}


class TensorShape:
    """The shape of a tensor at a step, saved without the value."""

    def __init__(
        self,
        name: str,
        mode: Any,
        mode_step: int,
        shape: Sequence[int],
        original_name: Optional[str] = None,
    ) -> None:
        self.name = name
        self.original_name = name if original_name is None else original_name
        self.mode = mode
        self.mode_step = mode_step
        self.shape: Tuple[int, ...] = tuple(shape)

    def to_dict(self) -> Dict[str, Any]:
        """Returns the entry of an index file."""
        return {"tensorname": self.name, "originalname": self.original_name, "shape": self.shape}


class EventFileLocation(ABC):
    """The event file of one step and worker."""

    type: Optional[str] = None

    def __init__(self, step_num: int, worker_name: str) -> None:
        self.step_num = int(step_num)
        self.worker_name = worker_name

    def get_step_num_str(self) -> str:
        """Returns the step as it is written in file names."""
        return format(self.step_num, STEP_NUMBER_FORMATTING_LENGTH)

    def get_filename(self) -> str:
        """Returns the name of the file."""
        return f"{self.get_step_num_str()}_{self.worker_name}.tfevents"

    @classmethod
    def match_regex(cls: Type[_Location], s: str) -> Optional[_Location]:
        """Returns the location for a file name, or None if it is not the name of an event file."""
        return cls.load_filename(s, print_error=False)

    @classmethod
    def load_filename(
        cls: Type[_Location], s: str, print_error: bool = True
    ) -> Optional[_Location]:
        """Returns the location for a file name, or None if it is not the name of an event file."""
        match = re.search(r"^(\d+)_(.*)\.tfevents$", os.path.basename(s))
        return cls(step_num=int(match.group(1)), worker_name=match.group(2)) if match else None

    @abstractmethod
    def get_file_location(self, *args: Any, **kwargs: Any) -> str:
        """Returns the path of the file."""


class TensorFileLocation(EventFileLocation):
    """An event file with tensors."""

    type = "events"

    @staticmethod
    def get_dir(trial_dir: str) -> str:
        """Returns the folder of all event files of a trial."""
        return os.path.join(trial_dir, "events")

    def get_file_location(self, trial_dir: str = "") -> str:
        """Returns the path of the file; relative to the trial if `trial_dir` is not given."""
        return os.path.join(trial_dir, "events", self.get_step_num_str(), self.get_filename())

    @classmethod
    def get_step_dirs(cls, trial_dir: str) -> List[str]:
        """Returns the names of the folders of single steps."""
        return get_immediate_subdirectories(cls.get_dir(trial_dir))

    @classmethod
    def get_step_dir_path(cls, trial_dir: str, step_num: int) -> str:
        """Returns the folder of a step's event files."""
        step = format(int(step_num), STEP_NUMBER_FORMATTING_LENGTH)
        return os.path.join(cls.get_dir(trial_dir), step)


class TensorboardFileLocation(EventFileLocation):
    """An event file for TensorBoard."""

    type = "tensorboard"

    def __init__(self, step_num: int, worker_name: str, mode: Optional[ModeKeys] = None) -> None:
        super().__init__(step_num, worker_name)
        self.mode = mode

    def get_file_location(self, base_dir: str = "") -> str:
        """Returns the path of the file; relative to the trial if `base_dir` is not given."""
        mode = (self.mode or ModeKeys.GLOBAL).name
        return os.path.join(base_dir or "tensorboard", mode, self.get_filename())


class IndexFileLocationUtils:
    """Names and paths of index files."""

    MAX_INDEX_FILE_NUM_IN_INDEX_PREFIX = 1000

    @classmethod
    def get_index_prefix_for_step(cls, step_num: int) -> str:
        """Returns the folder of a step's index files."""
        return format(step_num // cls.MAX_INDEX_FILE_NUM_IN_INDEX_PREFIX, "09")

    @classmethod
    def next_index_prefix_for_step(cls, step_num: int) -> str:
        """Returns the folder that follows the one of a step's index files."""
        return format(step_num // cls.MAX_INDEX_FILE_NUM_IN_INDEX_PREFIX + 1, "09")

    @classmethod
    def get_index_key_for_step(cls, trial_prefix: str, step_num: int, worker_name: str) -> str:
        """Returns the path of the index file of a step and worker."""
        folder = cls.get_index_prefix_for_step(step_num)
        step = format(step_num, STEP_NUMBER_FORMATTING_LENGTH)
        return os.path.join(trial_prefix, "index", folder, f"{step}_{worker_name}.json")

    @staticmethod
    def parse_step_from_index_file_name(index_file_name: str) -> int:
        """Returns the step of an index file."""
        return int(os.path.basename(index_file_name).partition("_")[0])

    @staticmethod
    def get_index_path(path: str) -> str:
        """Returns the folder of all index files of a trial."""
        return os.path.join(path, "index")

    @staticmethod
    def get_prefix_from_index_file(index_file: str) -> str:
        """Returns the trial's folder, from the path of one of its index files."""
        return index_file.rpartition("/index/")[0]
