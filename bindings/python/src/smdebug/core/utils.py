"""Small helpers for paths, names and lists, which users import too."""

from __future__ import annotations

import bisect
import importlib
import json
import os
import re
from pathlib import PurePath
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from smdebug.core.buckets import open_bucket
from smdebug.core.config_constants import CLAIM_FILENAME
from smdebug.core.error_handling_agent import ErrorHandlingAgent
from smdebug.core.frameworks import FRAMEWORK, is_framework_version_supported
from smdebug.core.logger import get_logger
from smdebug.core.simulators import SagemakerSimulator, ScriptSimulator
from smdebug.exceptions import (
    IndexReaderException,
    SMDebugRuntimeError,
    SMDebugValueError,
)

__all__ = [
    "FRAMEWORK",
    "SagemakerSimulator",
    "ScriptSimulator",
    "deserialize_tf_device",
    "ensure_dir",
    "error_handling_agent",
    "flatten",
    "get_aws_region_from_processing_job_arn",
    "get_immediate_subdirectories",
    "get_logger",
    "get_path_to_collections",
    "get_path_to_events_directory",
    "get_relative_event_file_path",
    "get_tb_worker",
    "get_worker_name_from_collection_file",
    "import_framework",
    "index",
    "is_first_process",
    "is_framework_version_supported",
    "is_s3",
    "list_collection_files_in_directory",
    "list_files_in_directory",
    "load_json_as_dict",
    "make_numpy_array",
    "match_inc",
    "merge_two_dicts",
    "parse_worker_name_from_file",
    "read_file",
    "remove_claim_file",
    "remove_file_if_exists",
    "serialize_tf_device",
    "size_and_shape",
    "split",
    "step_in_range",
    "unique_name",
    "write_file",
]

_COLLECTION_FILE = re.compile(r".*/collections/.+/(.+)_collections\.(json|ts)")
_STEP_FILE = re.compile(r"\d+_(.+)\.(json|csv|tfevents)$")


error_handling_agent = ErrorHandlingAgent.get_error_handling_agent()


def import_framework(module: str, package: str, user: str) -> Any:
    """Imports a framework for the part of smdebug that needs it.

    Parameters
    ----------
    module : str
        The module to import.
    package : str
        The package to install if the module is missing.
    user : str
        The module that needs it, as "smdebug.pytorch".

    Raises
    ------
    ImportError
        If it is missing.  The message says what to install.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        message = f"{user} needs {module}, which is not installed: pip install {package}"
        raise ModuleNotFoundError(message, name=error.name) from None


def make_numpy_array(x: Any) -> Any:
    """Returns `x` as a numpy array: numbers and text with shape (1,), arrays unchanged.

    Raises
    ------
    SMDebugTypeError
        If it does not convert to a tensor.
    """
    import numpy as np

    from smdebug._arrays import array_from

    if isinstance(x, np.ndarray):
        return x
    return np.array([x]) if np.isscalar(x) else array_from(x)


def ensure_dir(file_path: str, is_file: bool = True) -> None:
    """Creates the folder `file_path`, or the folder of that file if `is_file`."""
    folder = os.path.dirname(file_path) if is_file else file_path
    if folder:
        os.makedirs(folder, exist_ok=True)


def unique_name(path: str) -> str:
    """Returns `path` with a random suffix.

    Threads, processes and machines that write one path at once each begin with a file of their
    own.
    """
    return f"{path}.{os.urandom(8).hex()}"


def write_file(path: str, content: str) -> None:
    """Writes a text file, in a folder or a bucket.  Readers see all of it or nothing."""
    on_s3, bucket, key = is_s3(path)
    if on_s3:
        open_bucket(str(bucket)).write(str(key), content.encode())
        return
    ensure_dir(path)
    unfinished = f"{unique_name(path)}.tmp"
    try:
        with open(unfinished, "x", encoding="utf-8") as file:
            file.write(content)
        os.replace(unfinished, path)
    except BaseException:
        remove_file_if_exists(unfinished)
        raise


def read_file(path: str) -> bytes:
    """Returns the content of a file, in a folder or a bucket."""
    on_s3, bucket, key = is_s3(path)
    if on_s3:
        return open_bucket(str(bucket)).read(str(key))
    with open(path, "rb") as file:
        return file.read()


def load_json_as_dict(s: Any) -> Any:
    """Returns the object in a JSON text; a dict unchanged; None for None."""
    if s is None or s == "None":
        return None
    if isinstance(s, dict):
        return s
    if not isinstance(s, str):
        raise SMDebugValueError(f"neither a JSON text nor a dict: {s!r}")
    try:
        loaded = json.loads(s)
    except ValueError as error:
        raise SMDebugValueError(f"not valid JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise SMDebugValueError("not a JSON object")
    return loaded


def flatten(lis: Iterable[Any]) -> List[Any]:
    """Returns the items of a list and of all lists in it."""
    flat: List[Any] = []
    for item in lis:
        if isinstance(item, list):
            flat.extend(flatten(item))
        else:
            flat.append(item)
    return flat


def split(comma_separated_string: str) -> List[str]:
    """Returns the parts of a comma-separated list, without surrounding blanks."""
    return [part.strip() for part in comma_separated_string.split(",")]


def merge_two_dicts(x: Dict[Any, Any], y: Dict[Any, Any]) -> Dict[Any, Any]:
    """Returns both in one dict.  The values of `y` take precedence."""
    return {**x, **y}


def index(sorted_list: Sequence[Any], elem: Any) -> int:
    """Returns the index of `elem` in a sorted list.

    Raises
    ------
    SMDebugValueError
        If the list does not contain it.
    """
    place = bisect.bisect_left(sorted_list, elem)
    if place == len(sorted_list) or sorted_list[place] != elem:
        raise SMDebugValueError(f"{elem} is not in the list")
    return place


def match_inc(tname: str, include: Iterable[str]) -> bool:
    """Returns whether any of the regular expressions is found in the name."""
    return any(re.search(regex, tname) for regex in include)


def step_in_range(range_steps: Tuple[Optional[int], Optional[int]], step: int) -> bool:
    """Returns whether first <= step < end.  None leaves that side open."""
    first, end = range_steps
    return (first is None or int(step) >= int(first)) and (end is None or int(step) < int(end))


def size_and_shape(t: Any) -> Tuple[int, Any]:
    """Returns the bytes and the shape of an array; for a text, its length as both."""
    if isinstance(t, (bytes, str)):
        return len(t), [len(t)]
    return t.nbytes, t.shape


_BUCKET_AND_KEY = re.compile(
    r"s3://(?P<bucket>arn:[^/]*:accesspoint/[^/]*|[^/]*)/?(?P<key>.*)", re.DOTALL
)


def is_s3(path: str) -> Tuple[bool, Optional[str], Optional[str]]:
    """Returns (True, bucket, key) for a path in S3, otherwise (False, None, None).

    The bucket may be the ARN of an access point, with "/" or ":" before its name.
    """
    if not path.startswith("s3://"):
        return False, None, None
    found = _BUCKET_AND_KEY.match(path)
    assert found is not None  # the pattern matches every text
    return True, found["bucket"], found["key"]


def get_aws_region_from_processing_job_arn(processing_job_arn: str) -> str:
    """Returns the region in the name of a job: "arn:aws:sagemaker:<region>:<account>:..."

    Raises
    ------
    SMDebugValueError
        If it is no such name.
    """
    parts = processing_job_arn.split(":")
    if len(parts) < 4:
        raise SMDebugValueError(f"{processing_job_arn!r} is not the ARN of a job")
    return parts[3]


def get_immediate_subdirectories(a_dir: str) -> List[str]:
    """Returns the names of the folders in a folder."""
    return [entry.name for entry in os.scandir(a_dir) if entry.is_dir()]


def list_files_in_directory(directory: str, file_regex: Optional[Any] = None) -> List[str]:
    """Returns the paths of the files in a folder and below whose names match."""
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(directory)
        for name in names
        if file_regex is None or re.match(file_regex, name)
    ]


def list_collection_files_in_directory(directory: str) -> List[str]:
    """Returns the paths of the collections files in a folder and below."""
    return list_files_in_directory(directory, r".*_?collections\.json$")


def get_path_to_collections(directory: str) -> str:
    """Returns the folder of a trial's collections files."""
    return os.path.join(directory, "collections", "000000000", "")


def get_path_to_events_directory(path: str) -> str:
    """Returns the folder of a trial's event files."""
    return os.path.join(path, "events", "")


def get_relative_event_file_path(path: str) -> str:
    """Returns the path of an event file relative to its trial."""
    parts = PurePath(path).parts[-3:]
    if len(parts) < 3 or parts[0] not in ("events", "tensorboard"):
        raise SMDebugRuntimeError(f"{path} is not in a folder events or tensorboard")
    return os.path.join(*parts)


def serialize_tf_device(device: str) -> str:
    """Returns the name of a TensorFlow device as it is written in file names."""
    return device.replace("/", "_").replace(":", "-")


def deserialize_tf_device(device_name: str) -> str:
    """Returns the name of a TensorFlow device, from its form in file names."""
    return device_name.replace("_", "/").replace("-", ":")


def get_worker_name_from_collection_file(filename: str) -> str:
    """Returns the worker of a collections file."""
    match = _COLLECTION_FILE.match(filename)
    if match is None:
        raise IndexReaderException(f"{filename} is not the path of a collections file")
    worker = match.group(1)
    return deserialize_tf_device(worker) if worker.startswith("_") else worker


def parse_worker_name_from_file(filename: str) -> str:
    """Returns the worker of an index file or event file."""
    name = os.path.basename(filename)
    match = _STEP_FILE.match(name)
    if match is None or name == filename:
        raise IndexReaderException(f"{filename} is not the path of an index or event file")
    return deserialize_tf_device(match.group(1)) if "__" in name else match.group(1)


def get_tb_worker() -> str:
    """Returns the name of this process in TensorBoard files."""
    import socket  # imported late: only TensorBoard files need it

    return f"{os.getpid()}_{socket.gethostname()}"


def is_first_process(path: str, is_dir: bool = True) -> bool:
    """Returns whether this process is the first to claim a trial's folder, or a file."""
    if is_s3(path)[0]:
        return True
    claim = os.path.join(path, CLAIM_FILENAME) if is_dir else path
    ensure_dir(claim)
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


def remove_claim_file(path: str) -> None:
    """Releases the claim on a trial's folder."""
    if not is_s3(path)[0]:
        remove_file_if_exists(os.path.join(path, CLAIM_FILENAME))


def remove_file_if_exists(file_path: str) -> None:
    """Removes a file.  Does nothing if it does not exist."""
    try:
        os.remove(file_path)
    except FileNotFoundError:
        pass
