"""What a text of SQL reads: its tables, their columns, and conditions on their rows.

DuckDB itself parses the text.  What is found is at least what the SQL reads: a column too many, or
a condition too few, costs time and changes no answer.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.tables.conditions import Conditions, Option
from smdebug.tables.scan import Scan

__all__ = ["TABLES", "TableUse", "is_column", "parse", "tables_in", "unknown_tables"]

TABLES = ("tensors", "scalars", "findings", "trials", "profile_events", "system_metrics")

Node = Dict[str, Any]

# Parts of the syntax tree that name no column.
_NO_NAMES = frozenset(
    {"type", "class", "function_name", "qualified_name", "alias", "table_name"}
)
# Parts of a FROM clause whose columns are named where they are used.
_PLAIN_SOURCES = frozenset({"BASE_TABLE", "JOIN", "SUBQUERY", "EMPTY", "TABLE_FUNCTION"})
_PLAIN_JOINS = frozenset({"REGULAR", "CROSS"})
_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class TableUse:
    """How a text of SQL uses a table.

    Attributes
    ----------
    table : str
        The name of the table.
    columns : list of str
        The columns, in the order of the table.
    conditions : list of (str, str)
        Options of a scan that leave out only rows that the SQL drops.
    """

    def __init__(self, table: str, columns: Sequence[str], conditions: Sequence[Option]) -> None:
        self.table = table
        self.columns = list(columns)
        self.conditions = list(conditions)


def parse(connection: Any, text: str) -> Node:
    """Returns the syntax tree of one SELECT statement.

    Raises
    ------
    SMDebugValueError
        If the text does not parse, or is anything else.
    """
    answer = connection.execute("select json_serialize_sql(?::varchar)", [text]).fetchall()
    tree: Node = json.loads(answer[0][0])
    if tree["error"] and tree.get("error_type") == "parser":
        raise SMDebugValueError(f"the SQL does not parse: {tree['error_message']}")
    if tree["error"] or len(tree["statements"]) != 1:
        raise SMDebugValueError("the SQL must be one SELECT statement")
    statement: Node = tree["statements"][0]
    return statement


def tables_in(statement: Node) -> List[TableUse]:
    """Returns how a statement uses each table that it names."""
    nodes = list(_nodes(statement))
    shadowed = {str(each["key"]).lower() for node in nodes for each in _ctes(node)}
    named = [node for node in nodes if node.get("type") == "BASE_TABLE" and _is_ours(node)]
    names = [_name(node) for node in named]
    identifiers = {text.lower() for text in _identifiers(statement)}
    takes_all = _takes_all(nodes)
    uses = []
    for table in TABLES:
        if table not in names:
            continue
        conditions: List[Option] = []
        # Rows that one part of the SQL drops may be what another wants.
        if names.count(table) == 1 and table not in shadowed:
            conditions = _conditions_on(table, nodes)
        uses.append(TableUse(table, _columns(table, identifiers, takes_all), conditions))
    return uses


def unknown_tables(statement: Node) -> List[str]:
    """Returns the plain names in FROM clauses that are neither tables nor defined in the SQL."""
    nodes = list(_nodes(statement))
    known = {str(each["key"]).lower() for node in nodes for each in _ctes(node)} | set(TABLES)
    return [
        str(node["table_name"])
        for node in nodes
        if node.get("type") == "BASE_TABLE" and not node.get("schema_name") and _name(node) not in known
    ]


def is_column(table: str, name: str) -> bool:
    """Returns whether a table has a column."""
    try:
        Scan(table, [("column", name)])
    except (SMDebugValueError, SMDebugTypeError):
        return False
    return True


def _nodes(part: object) -> Iterator[Node]:
    """Yields all objects of a syntax tree."""
    waiting = [part]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


def _identifiers(part: object) -> Iterator[str]:
    """Yields all texts of a syntax tree that may name a column."""
    waiting = [part]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict) and each.get("class") != "CONSTANT":
            waiting.extend(value for key, value in each.items() if key not in _NO_NAMES)
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, str):
            yield each


def _ctes(node: Node) -> List[Node]:
    found = node.get("cte_map")
    return found["map"] if isinstance(found, dict) else []


def _name(node: Node) -> str:
    return str(node["table_name"]).lower()


def _is_ours(node: Node) -> bool:
    is_plain = not node.get("schema_name") and not node.get("catalog_name")
    return is_plain and _name(node) in TABLES


def _takes_all(nodes: Sequence[Node]) -> bool:
    """Returns whether a statement may read columns that it does not name."""
    rows = {str(node.get("alias") or node["table_name"]).lower()
            for node in nodes if node.get("type") == "BASE_TABLE"}  # fmt: skip
    for node in nodes:
        kind = node.get("type")
        if kind == "COLUMN_REF" and str(node["column_names"][-1]).lower() in rows:
            return True
        if node.get("class") == "STAR" or node.get("ref_type") == "NATURAL":
            return True
        # These names stand for columns by their positions.
        if node.get("column_name_alias"):
            return True
        source = node.get("from_table")
        if isinstance(source, dict) and any(
            each.get("type") not in _PLAIN_SOURCES for each in _sources(source)
        ):
            return True
    return False


def _sources(source: Node) -> Iterator[Node]:
    yield source
    if source.get("type") == "JOIN":
        yield from _sources(source["left"])
        yield from _sources(source["right"])


def _columns(table: str, identifiers: Set[str], takes_all: bool) -> List[str]:
    defaults = list(Scan(table, []).schema)
    named = sorted(name for name in identifiers if name not in defaults and is_column(table, name))
    if takes_all:
        return defaults + named
    # To count rows, one column is enough.
    return [name for name in defaults if name in identifiers] + named or ["trial"]


# ---- conditions -----------------------------------------------------------------


def _conditions_on(table: str, nodes: Sequence[Node]) -> List[Option]:
    """Returns the conditions on the only use of a table."""
    for node in nodes:
        source, where = node.get("from_table"), node.get("where_clause")
        if node.get("type") != "SELECT_NODE" or not isinstance(source, dict):
            continue
        leaves = list(_sources(source))
        own = [leaf for leaf in leaves if leaf.get("type") == "BASE_TABLE" and _name(leaf) == table]
        if not own or where is None:
            continue
        # A sample is taken before rows are dropped.
        if node.get("sample") or any(leaf.get("sample") for leaf in leaves):
            continue
        if not all(_is_plain(leaf) for leaf in leaves) or own[0].get("column_name_alias"):
            continue
        found = Conditions(table)
        names = _Names(own[0], is_alone=len(leaves) == 1, hidden=_own_names(node))
        for condition in _conjuncts(where):
            _add(condition, names, found)
        return found.options()
    return []


def _is_plain(leaf: Node) -> bool:
    """Returns whether rows may be dropped before a join."""
    if leaf.get("type") != "JOIN":
        return True
    return leaf.get("join_type") == "INNER" and leaf.get("ref_type") in _PLAIN_JOINS


def _own_names(select: Node) -> Set[str]:
    """Returns the names that a SELECT gives to what it computes."""
    return {str(each["alias"]).lower() for each in select["select_list"] if each.get("alias")}


class _Names:
    """Which column references are those of one table."""

    def __init__(self, table: Node, is_alone: bool, hidden: Set[str]) -> None:
        self._alias = str(table.get("alias") or table["table_name"]).lower()
        self._is_alone = is_alone
        self._hidden = hidden

    def column(self, node: Node) -> Optional[str]:
        if node.get("class") != "COLUMN_REF":
            return None
        parts = [str(part).lower() for part in node["column_names"]]
        if len(parts) == 1 and self._is_alone and parts[0] not in self._hidden:
            return parts[0]
        return parts[1] if len(parts) == 2 and parts[0] == self._alias else None


def _conjuncts(condition: Node) -> Iterator[Node]:
    if condition.get("type") != "CONJUNCTION_AND":
        yield condition
        return
    for child in condition["children"]:
        yield from _conjuncts(child)


def _constant(node: Node) -> object:
    """Returns the text or whole number that a node is, else None."""
    literal, old = node.get("literal"), node.get("value")
    if node.get("class") != "CONSTANT":
        return None
    if isinstance(literal, dict):
        if literal.get("kind") == "STRING":
            return literal.get("text")
        return _whole(str(literal.get("text"))) if literal.get("kind") == "INTEGER" else None
    # As releases before 2 write it.
    if isinstance(old, dict) and not old.get("is_null"):
        kind = old.get("type", {}).get("id")
        if kind == "VARCHAR" or (kind in ("INTEGER", "BIGINT") and type(old.get("value")) is int):
            return old.get("value")
    return None


def _whole(text: str) -> Optional[int]:
    try:
        return int(text)
    except ValueError:
        return None


def _add(condition: Node, names: _Names, found: Conditions) -> None:
    kind = str(condition.get("type"))
    if kind in _COMPARISONS:
        operator = _COMPARISONS[kind]
        _compare(condition["left"], operator, condition["right"], names, found)
        _compare(condition["right"], _MIRRORED[operator], condition["left"], names, found)
    elif kind == "COMPARE_BETWEEN":
        _compare(condition["input"], ">=", condition["lower"], names, found)
        _compare(condition["input"], "<=", condition["upper"], names, found)
    elif kind == "COMPARE_IN":
        first, *values = condition["children"]
        column = names.column(first)
        if column is not None:
            found.is_one_of(column, [_constant(value) for value in values])


def _compare(left: Node, operator: str, right: Node, names: _Names, found: Conditions) -> None:
    column, value = names.column(left), _constant(right)
    if column is not None and value is not None:
        found.compare(column, operator, value)
