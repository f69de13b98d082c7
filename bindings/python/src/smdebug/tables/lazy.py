"""Scans as lazy frames of Polars."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Protocol, Sequence

from smdebug.core.utils import import_framework
from smdebug.tables.conditions import Conditions, Option, narrowing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["lazy_frame"]

_COMPARISONS = {"Eq": "=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Source(Protocol):
    """What a lazy frame needs of a scan, which imports this module."""

    @property
    def table(self) -> str: ...
    @property
    def options(self) -> List[Option]: ...
    @property
    def schema(self) -> Dict[str, str]: ...
    def partitions(self) -> Sequence[object]: ...


def lazy_frame(scan: Source, with_options: Callable[[List[Option]], Source]) -> pl.LazyFrame:
    """Returns a frame that reads the scan when it is collected.

    `with_options` makes a scan of the same table with other options.
    """
    polars: Any = import_framework("polars", "polars", "Scan.lazy()")
    plugins: Any = import_framework("polars.io.plugins", "polars", "Scan.lazy()")

    def read(
        columns: Optional[List[str]],
        predicate: Optional[pl.Expr],
        rows: Optional[int],
        batch_size: Optional[int],
    ) -> Iterator[pl.DataFrame]:
        # Rows are counted before the predicate drops some, so these must be read.
        options = _narrowed(scan, columns, predicate, is_counted=rows is not None)
        is_empty = True
        for part in with_options(options).partitions():
            frame = polars.DataFrame(part)
            if rows is not None:
                frame = frame.head(rows)
                rows -= frame.height
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)
            is_empty = False
            if rows == 0:
                break
        if is_empty:
            frame = polars.DataFrame(schema=dict(polars.Schema(scan)))
            yield frame if columns is None else frame.select(columns)

    frame: pl.LazyFrame = plugins.register_io_source(read, schema=dict(polars.Schema(scan)))
    return frame


def _narrowed(
    scan: Source, columns: Optional[List[str]], predicate: Optional[pl.Expr], is_counted: bool
) -> List[Option]:
    """Returns the options of a scan with the columns, and those of the predicate, and without rows that the
    predicate drops where that is simple to see."""
    options = scan.options
    if columns is not None:
        wanted = set(columns)
        if predicate is not None:
            wanted |= set(predicate.meta.root_names())
        kept = [name for name in scan.schema if name in wanted] or list(scan.schema)[:1]
        options = [each for each in options if each[0] != "column"]
        options += [("column", name) for name in kept]
    if predicate is not None and not is_counted:
        options += _conditions(scan, predicate)
    return options


def _conditions(scan: Source, predicate: pl.Expr) -> List[Option]:
    found = Conditions(scan.table)
    for condition in _conjuncts(_tree(predicate)):
        for operator, left, right in _compared(condition):
            column, value = left.get("Column"), _constant(right)
            if isinstance(column, str) and value is not None:
                found.compare(column, operator, value)
    return narrowing(scan.options, found.options())


def _tree(predicate: pl.Expr) -> Dict[str, Any]:
    # Polars says of this form that it may change; then nothing is found in it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = json.loads(predicate.meta.serialize(format="json"))
        except Exception:
            return {}
    return tree if isinstance(tree, dict) else {}


def _part(node: object, key: str) -> Dict[str, Any]:
    found = node.get(key) if isinstance(node, dict) else None
    return found if isinstance(found, dict) else {}


def _conjuncts(node: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    both = _part(node, "BinaryExpr")
    if both.get("op") not in ("And", "LogicalAnd"):
        yield node
        return
    yield from _conjuncts(_part(both, "left"))
    yield from _conjuncts(_part(both, "right"))


def _compared(node: Dict[str, Any]) -> Iterator[Any]:
    """Yields (operator, left, right) in both directions."""
    both = _part(node, "BinaryExpr")
    operator = _COMPARISONS.get(str(both.get("op")))
    if operator is not None:
        left, right = _part(both, "left"), _part(both, "right")
        yield operator, left, right
        yield _MIRRORED[operator], right, left


def _constant(node: Dict[str, Any]) -> object:
    literal = _part(node, "Literal")
    text = _part(literal, "Scalar").get("String")
    if isinstance(text, str):
        return text
    for number in (_part(literal, "Dyn").get("Int"), _part(literal, "Scalar").get("Int64")):
        if type(number) is int:
            return number
    return None
