"""The trees of one boosting round, as columns."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Tuple

from smdebug.exceptions import SMDebugError

__all__ = ["COLUMNS", "parse_tree_model", "rows_of_tree"]

_LINE = re.compile(
    r"\t*(?P<node>\d+):"
    r"(?:leaf=(?P<leaf>[^,]+)"
    r"|\[(?P<split>.*)\] yes=(?P<yes>\d+),no=(?P<no>\d+)(?:,missing=(?P<missing>\d+))?"
    r",gain=(?P<gain>[^,]+))"
    r",cover=(?P<cover>[^,]+)"
)
# The split of a node: a threshold, a set of categories, or an indicator.
_SPLIT = re.compile(
    r"(?P<feature>.*?)(?:<(?P<threshold>[^<]+)|:\{(?P<categories>[^}]*)\})?", re.DOTALL
)
_NAN = float("nan")

Row = Tuple[Any, ...]
COLUMNS = (
    "Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover", "Category",
)  # fmt: skip


def parse_tree_model(booster: Any, iteration: int) -> Dict[str, List[Any]]:
    """Returns the trees that one boosting round added, node by node.

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
        the columns of text, "nan" stands for what a node lacks.  Categories are joined by
        commas.

    Raises
    ------
    SMDebugError
        If XGBoost writes trees in an unknown format.
    """
    trees = booster[iteration : iteration + 1].get_dump(with_stats=True)
    first = iteration * len(trees)
    rows = [row for i, tree in enumerate(trees) for row in rows_of_tree(tree, first + i)]
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def rows_of_tree(dump: str, tree: int) -> List[Row]:
    """Returns the nodes of a tree, in order, from its text.

    Parameters
    ----------
    dump : str
        The tree as `xgboost.Booster.get_dump` writes it, with statistics.
    tree : int
        The tree's number.
    """
    return sorted(_rows(tree, dump))


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
        # An indicator has no missing values of its own: a missing one goes to "no".
        f"{tree}-{match['missing'] or match['no']}",
        float(match["gain"]),
        float(match["cover"]),
        "nan" if categories is None else categories,
    )
