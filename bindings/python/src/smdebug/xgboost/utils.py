"""Data in files, as XGBoost's matrices."""

from __future__ import annotations

import csv
import os
import re
from typing import Any, List, Optional

from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugError

__all__ = ["CSV", "LIBSVM", "get_content_type", "get_dmatrix", "validate_data_file_path"]

xgb = import_framework("xgboost", "xgboost-cpu", "smdebug.xgboost")

CSV = "csv"
LIBSVM = "libsvm"

_CONTENT_TYPES = {
    "libsvm": LIBSVM,
    "text/libsvm": LIBSVM,
    "text/x-libsvm": LIBSVM,
    "csv": CSV,
    "text/csv": CSV,
}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LIBSVM_LINE = re.compile(rf"\s*{_NUMBER}(?::{_NUMBER})?(?P<features>(?:\s+[^\s:]+:[^\s:]+)*)\s*")


def get_content_type(content_type_cfg_val: Optional[str]) -> str:
    """What a type of content, as "text/csv", means: "csv" or "libsvm"; None: "libsvm".

    Raises
    ------
    SMDebugError
        If it is neither.
    """
    if content_type_cfg_val is None:
        return LIBSVM
    try:
        return _CONTENT_TYPES[content_type_cfg_val.lower()]
    except (AttributeError, KeyError):
        known = ", ".join(map(repr, _CONTENT_TYPES))
        raise SMDebugError(
            f"{content_type_cfg_val!r} is not a type of data files; these are: {known}"
        ) from None


def validate_data_file_path(data_path: str, content_type: Optional[str]) -> None:
    """Looks whether data begin as their type says; XGBoost reads the rest.

    Parameters
    ----------
    data_path : str
        A file, or a folder of them.
    content_type : str, optional
        As `get_content_type` takes it.

    Raises
    ------
    SMDebugError
        If they do not, or are not there.
    """
    kind = get_content_type(content_type)
    if not os.path.exists(data_path):
        raise SMDebugError(f"{data_path} does not exist")
    for path in _files(data_path):
        with open(path, encoding="utf-8", errors="replace") as file:
            if kind == CSV:
                _validate_csv(path, file.readline())
            else:
                _validate_libsvm(path, file)


def get_dmatrix(data_path: str, content_type: str, csv_weights: int = 0) -> Any:
    """Data in files as a matrix with labels.

    Parameters
    ----------
    data_path : str
        A file, or a folder of them.
    content_type : str
        As `get_content_type` takes it.
    csv_weights : int
        1 if the second column of CSV files holds weights; the first holds the labels.

    Raises
    ------
    SMDebugError
        If XGBoost cannot read them, or finds no labels.
    """
    if get_content_type(content_type) == CSV:
        files = _files(data_path)
        with open(files[0], encoding="utf-8", errors="replace") as file:
            delimiter = _delimiter(files[0], file.readline())
        uri = f"{data_path}?format=csv&label_column=0&delimiter={delimiter}"
        uri += "&weight_column=1" if csv_weights == 1 else ""
    else:
        uri = f"{data_path}?format=libsvm"
    try:
        matrix = xgb.DMatrix(uri)
    except Exception as error:
        raise SMDebugError(f"XGBoost cannot read {data_path}: {error}") from error
    if matrix.get_label().size == 0:
        raise SMDebugError(f"{data_path} holds no labels")
    return matrix


def _files(path: str) -> List[str]:
    """A file, or the files of a folder that are not hidden."""
    if os.path.isfile(path):
        return [path]
    files = sorted(
        entry.path
        for entry in os.scandir(path)
        if entry.is_file() and not entry.name.startswith((".", "_"))
    )
    if not files:
        raise SMDebugError(f"{path} holds no files")
    return files


def _validate_csv(path: str, line: str) -> None:
    _delimiter(path, line)
    match = _LIBSVM_LINE.fullmatch(line)
    if match is not None and match["features"]:
        raise SMDebugError(f"{path} is not CSV: it begins with {line[:50]!r}, which is LIBSVM")


def _validate_libsvm(path: str, lines: Any) -> None:
    """Looks at the lines up to the first with features."""
    for line in lines:
        match = _LIBSVM_LINE.fullmatch(line)
        if match is None:
            raise SMDebugError(f"{path} is not LIBSVM: it has the line {line[:50]!r}")
        if match["features"]:
            return


def _delimiter(path: str, line: str) -> str:
    try:
        return csv.Sniffer().sniff(line, delimiters=",;|\t ").delimiter
    except csv.Error:
        raise SMDebugError(
            f"{path} is not CSV: its first line, {line[:50]!r}, has no delimiter"
        ) from None
