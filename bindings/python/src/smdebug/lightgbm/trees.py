"""The trees of one boosting round, as columns."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Tuple

__all__ = ["COLUMNS", "tree_columns"]

_TEXT = "nan"
_NUMBER = float("nan")

# Stands for what a node lacks: a leaf has no children, the root no parent.
COLUMNS: Dict[str, Any] = {
    "tree_index": -1,
    "node_depth": -1,
    "node_index": _TEXT,
    "left_child": _TEXT,
    "right_child": _TEXT,
    "parent_index": _TEXT,
    "split_feature": _TEXT,
    "split_gain": _NUMBER,
    "threshold": _NUMBER,
    "categories": _TEXT,
    "decision_type": _TEXT,
    "missing_direction": _TEXT,
    "missing_type": _TEXT,
    "value": _NUMBER,
    "weight": _NUMBER,
    "count": -1,
}


def tree_columns(booster: Any, iteration: int) -> Dict[str, List[Any]]:
    """Returns the trees that one boosting round added, node by node.

    Parameters
    ----------
    booster : lightgbm.Booster
        The model.
    iteration : int
        The round, counted from the model's first.

    Returns
    -------
    dict of str to list
        The columns of `lightgbm.Booster.trees_to_dataframe`, each node before its children.
        The categories of a categorical split are in "categories", as "1||3", not in
        "threshold".
    """
    dump = booster.dump_model(num_iteration=1, start_iteration=iteration)
    features = dump["feature_names"]
    rows = [row for tree in dump["tree_info"] for row in _rows(tree, features)]
    return {name: [row.get(name, none) for row in rows] for name, none in COLUMNS.items()}


def _rows(tree: Dict[str, Any], features: List[str]) -> Iterator[Dict[str, Any]]:
    index = tree["tree_index"]
    # (node, its parent's index, depth); trees may be deeper than Python's stack.
    pending: List[Tuple[Dict[str, Any], str, int]] = [(tree["tree_structure"], _TEXT, 1)]
    while pending:
        node, parent, depth = pending.pop()
        row = {
            "tree_index": index,
            "node_depth": depth,
            "node_index": _name(index, node),
            "parent_index": parent,
        }
        if "split_feature" in node:
            children = [node["left_child"], node["right_child"]]
            row.update(_split(index, node, features))
            pending += [(child, row["node_index"], depth + 1) for child in reversed(children)]
        else:
            row.update(_facts(node, "leaf"))
        yield row


def _split(index: int, node: Dict[str, Any], features: List[str]) -> Dict[str, Any]:
    asked = "categories" if isinstance(node["threshold"], str) else "threshold"
    return {
        "left_child": _name(index, node["left_child"]),
        "right_child": _name(index, node["right_child"]),
        "split_feature": features[node["split_feature"]],
        "split_gain": node["split_gain"],
        asked: node["threshold"],
        "decision_type": node["decision_type"],
        "missing_direction": "left" if node["default_left"] else "right",
        "missing_type": node["missing_type"],
        **_facts(node, "internal"),
    }


def _facts(node: Dict[str, Any], kind: str) -> Dict[str, Any]:
    # A tree that is one leaf has neither weight nor count.
    names = [name for name in ("value", "weight", "count") if f"{kind}_{name}" in node]
    return {name: node[f"{kind}_{name}"] for name in names}


def _name(index: int, node: Dict[str, Any]) -> str:
    if "split_index" in node:
        return f"{index}-S{node['split_index']}"
    return f"{index}-L{node.get('leaf_index', 0)}"
