"""The trees of one boosting round, as columns."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Tuple

from smdebug.exceptions import SMDebugError

__all__ = ["COLUMNS", "parse_tree_model"]

_LINE = re.compile(
    r"\t*(?P<node>\d+):"
    r"(?:leaf=(?P<leaf>[^,]+)"
    r"|\[(?P<split>.*)\] yes=(?P<yes>\d+),no=(?P<no>\d+)(?:,missing=(?P<missing>\d+))?"
    r",gain=(?P<gain>[^,]+))"
    r",cover=(?P<cover>[^,]+)"
)
# What a node asks: a threshold, one of some categories, or whether an indicator is set.
_SPLIT = re.compile(
    r"(?P<feature>.*?)(?:<(?P<threshold>[^<]+)|:\{(?P<categories>[^}]*)\})?", re.DOTALL
)
_NAN = float("nan")

Row = Tuple[Any, ...]
COLUMNS = (
    "Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover", "Category",
)  # fmt: skip


def parse_tree_model(booster: Any, iteration: int) -> Dict[str, List[Any]]:
    """The trees that one boosting round added, node by node.

    Parameters
    ----------
    booster : xgboost.Booster
        A model of trees.
    iteration : int
        The round, counted from the model's first.

    Returns
    -------
    dict of str to list
        The columns of `xgboost.Booster.trees_to_dataframe`, sorted by tree and node.  In
        the columns of text, what a node does not have is "nan"; categories are joined by
        commas.

    Raises
    ------
    SMDebugError
        If XGBoost writes trees in a way that is not known.
    """
    trees = booster[iteration : iteration + 1].get_dump(with_stats=True)
    first = iteration * len(trees)
    rows = [row for i, tree in enumerate(trees) for row in sorted(_rows(first + i, tree))]
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def _rows(tree: int, dump: str) -> Iterator[Row]:
    for line in dump.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise SMDebugError(f"tree {tree} has a node that cannot be read: {line!r}")
        yield _leaf(tree, match) if match["leaf"] else _node(tree, match)


def _leaf(tree: int, match: re.Match[str]) -> Row:
    node = int(match["node"])
    gain, cover = float(match["leaf"]), float(match["cover"])
    return (tree, node, f"{tree}-{node}", "Leaf", _NAN, "nan", "nan", "nan", gain, cover, "nan")


def _node(tree: int, match: re.Match[str]) -> Row:
    node = int(match["node"])
    split = _SPLIT.fullmatch(match["split"])
    assert split is not None
    threshold, categories = split["threshold"], split["categories"]
    return (
        tree,
        node,
        f"{tree}-{node}",
        split["feature"],
        _NAN if threshold is None else float(threshold),
        f"{tree}-{match['yes']}",
        f"{tree}-{match['no']}",
        # An indicator has no missing values of its own: what is not set says no.
        f"{tree}-{match['missing'] or match['no']}",
        float(match["gain"]),
        float(match["cover"]),
        "nan" if categories is None else categories,
    )
