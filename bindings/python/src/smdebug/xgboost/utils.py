"""Matrices from data files, and trees as columns."""

from __future__ import annotations

import csv
import os
import re
from typing import Any, Dict, List, Optional

from smdebug.core.frameworks import numbers_of
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugError
from smdebug.xgboost import trees

__all__ = [
    "CSV",
    "LIBSVM",
    "get_content_type",
    "get_dmatrix",
    "is_xgb_1_3_and_later",
    "is_xgb_1_5_and_later",
    "is_xgb_1_7_and_later",
    "parse_tree_model",
    "validate_data_file_path",
]

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


def is_xgb_1_3_and_later() -> bool:
    """Returns whether XGBoost 1.3 or a later version is installed."""
    return numbers_of(xgb.__version__) >= (1, 3)


def is_xgb_1_5_and_later() -> bool:
    """Returns whether XGBoost 1.5 or a later version is installed."""
    return numbers_of(xgb.__version__) >= (1, 5)


def is_xgb_1_7_and_later() -> bool:
    """Returns whether XGBoost 1.7 or a later version is installed."""
    return numbers_of(xgb.__version__) >= (1, 7)


def parse_tree_model(booster: Any, iteration: int, fmap: str = "") -> Dict[str, Any]:
    """Returns the nodes of one tree as columns.

    Parameters
    ----------
    booster : xgboost.Booster
        A model of trees.
    iteration : int
        The number of the tree.  If each round adds one tree, this is the round.
    fmap : str
        Ignored.

    Returns
    -------
    dict of str to numpy.ndarray
        The columns of `xgboost.Booster.trees_to_dataframe`, sorted by node.  The column
        "Category" exists since XGBoost 1.5.
    """
    import numpy as np

    dumps = booster.get_dump(with_stats=True)[iteration : iteration + 1]
    rows = [row for dump in dumps for row in trees.rows_of_tree(dump, iteration)]
    columns = {name: np.array([row[i] for row in rows]) for i, name in enumerate(trees.COLUMNS)}
    if not is_xgb_1_5_and_later():
        del columns["Category"]
    return columns


def get_content_type(content_type_cfg_val: Optional[str]) -> str:
    """Returns "csv" or "libsvm" for a content type such as "text/csv"; "libsvm" for None.

    Raises
    ------
    SMDebugError
        If the type is neither.
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
    """Checks that the beginning of data files matches their type.  XGBoost checks the rest.

    Parameters
    ----------
    data_path : str
        A file, or a folder of files.
    content_type : str, optional
        As `get_content_type` takes it.

    Raises
    ------
    SMDebugError
        If it does not match, or there are no such files.
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
    """Returns the data in files as a matrix with labels.

    Parameters
    ----------
    data_path : str
        A file, or a folder of files.
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
    """Returns the file itself, or the visible files of a folder."""
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
    """Checks the lines up to the first one with features."""
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
