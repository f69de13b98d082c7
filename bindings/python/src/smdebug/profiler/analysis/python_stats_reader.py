"""Finds Python profiles in folders and buckets."""

from __future__ import annotations

import os
from typing import Any, Iterator, List, Set, Tuple

from smdebug.core.access_layer.s3handler import ListRequest, ReadObjectRequest, S3Handler
from smdebug.core.logger import get_logger
from smdebug.core.utils import is_s3
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.analysis.utils.python_profile_analysis_utils import StepPythonProfileStats
from smdebug.profiler.profiler_constants import (
    CPROFILE_NAME,
    CPROFILE_STATS_FILENAME,
    PYINSTRUMENT_HTML_FILENAME,
    PYINSTRUMENT_JSON_FILENAME,
    PYINSTRUMENT_NAME,
)

__all__ = ["LocalPythonStatsReader", "PythonStatsReader", "S3PythonStatsReader"]

_PROFILERS = {
    CPROFILE_STATS_FILENAME: CPROFILE_NAME,
    PYINSTRUMENT_JSON_FILENAME: PYINSTRUMENT_NAME,
    PYINSTRUMENT_HTML_FILENAME: PYINSTRUMENT_NAME,
}


class PythonStatsReader:
    """Finds Python profiles.

    Parameters
    ----------
    profile_dir : str
        The folder of the profiles.
    """

    def __init__(self, profile_dir: str) -> None:
        self.profile_dir = profile_dir

    def load_python_profile_stats(self) -> List[StepPythonProfileStats]:
        """Returns the profiles, by the time at which they began, then by node."""
        found = []
        for framework, node, folder, path in self._files():
            profiler = _PROFILERS.get(os.path.basename(path))
            if profiler is None:
                get_logger().info("%s is no file of a Python profile", path)
                continue
            try:
                found.append(StepPythonProfileStats(framework, profiler, node, folder, path))
            except SMDebugValueError as error:
                get_logger().warning("%s: skipped: %s", path, error)
        found.sort(key=lambda each: (each.start_time_since_epoch_in_micros, each.node_id))
        return found

    def _files(self) -> Iterator[Tuple[str, str, str, str]]:
        """Yields framework, node and folder of each file, and its path."""
        raise NotImplementedError


class LocalPythonStatsReader(PythonStatsReader):
    """Finds Python profiles in a folder.

    Parameters
    ----------
    profile_dir : str
        The folder of a profiler, FRAMEWORK/cprofile or FRAMEWORK/pyinstrument, which holds a folder
        for each node; or the folder of a whole profile, which holds "framework".

    Raises
    ------
    SMDebugValueError
        If there is no such folder.
    """

    def __init__(self, profile_dir: str) -> None:
        if not os.path.isdir(profile_dir):
            raise SMDebugValueError(f"{profile_dir}: no such folder of Python profiles")
        super().__init__(profile_dir)

    def _files(self) -> Iterator[Tuple[str, str, str, str]]:
        for top in self._tops():
            framework = os.path.basename(os.path.dirname(os.path.abspath(top)))
            for node in _folders(top):
                for folder in _folders(os.path.join(top, node)):
                    place = os.path.join(top, node, folder)
                    for name in sorted(os.listdir(place)):
                        yield framework, node, folder, os.path.join(place, name)

    def _tops(self) -> List[str]:
        whole = os.path.join(self.profile_dir, "framework")
        if not os.path.isdir(whole):
            return [self.profile_dir]
        return [
            os.path.join(whole, framework, profiler)
            for framework in _folders(whole)
            for profiler in _folders(os.path.join(whole, framework))
            if profiler in _PROFILERS.values()
        ]


class S3PythonStatsReader(PythonStatsReader):
    """Finds Python profiles in a bucket, and copies them into a folder.

    Each file is copied once.

    Parameters
    ----------
    profile_dir : str
        An existing folder; the files are written into its folder "python_stats".
    s3_path : str
        s3://bucket/prefix of the profile, which holds "framework".

    Raises
    ------
    SMDebugValueError
        If there is no such folder, or the path is not in S3.
    """

    def __init__(self, profile_dir: str, s3_path: str) -> None:
        if not os.path.isdir(profile_dir):
            raise SMDebugValueError(f"{profile_dir}: no such folder")
        super().__init__(os.path.join(profile_dir, "python_stats"))
        on_s3, bucket, prefix = is_s3(s3_path)
        if not on_s3:
            raise SMDebugValueError(f"{s3_path}: not an address in S3 (s3://bucket/prefix)")
        self.bucket_name = str(bucket)
        self.prefix = os.path.join(prefix or "", "framework")
        self._copied: Set[str] = set()

    def _files(self) -> Iterator[Tuple[str, str, str, str]]:
        keys = [
            (key, parts)
            for key in S3Handler.list_prefix(ListRequest(self.bucket_name, self.prefix + "/"))
            for parts in [key[len(self.prefix) + 1 :].split("/")]
            # FRAMEWORK/PROFILER/NODE/FOLDER/FILE; a part such as ".." would leave the folder.
            if len(parts) == 5 and parts[4] in _PROFILERS and not {"", ".", ".."} & set(parts)
        ]
        new = [(key, parts) for key, parts in keys if key not in self._copied]
        requests = [ReadObjectRequest(f"s3://{self.bucket_name}/{key}") for key, _ in new]
        for (key, parts), content in zip(new, S3Handler.get_objects(requests)):
            if content is not None:  # what cannot be read is logged there
                self._copy(self._place(parts), content)
                self._copied.add(key)
        for key, parts in keys:
            if key in self._copied:
                yield parts[0], parts[2], parts[3], self._place(parts)

    def _place(self, parts: List[str]) -> str:
        return os.path.join(self.profile_dir, *parts[2:])

    @staticmethod
    def _copy(path: str, content: Any) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def _folders(path: str) -> List[str]:
    with os.scandir(path) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir())
