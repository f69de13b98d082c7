"""The package has no import cycles, and the native part no call cycles between sources."""

import ast
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "bindings" / "python" / "src"
PACKAGE = SOURCES / "smdebug"
NATIVE = SOURCES / "native"


def module_name(path):
    parts = list(path.relative_to(SOURCES).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py*") if path.suffix in (".py", ".pyi")}


def imported(name, path):
    """Returns the package's modules that a module imports: at its top, in functions, for types.

    Importing `a.b` also runs `a`, but by then the package is being imported.  So only the named
    module counts, unless the package itself defines the name.
    """
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *filter(None, [base])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in MODULES else base


def included(path):
    """Returns the native files that a source includes, and those whose functions it calls."""
    text = path.read_text(encoding="utf-8")
    for header in re.findall(r'#include "([\w.]+)"', text):
        if (NATIVE / header).exists():
            yield header


def calls(sources):
    """Returns which source calls a function that another source defines."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sources}
    defined = {}
    for name, text in texts.items():
        for function in re.findall(r"^(?!static)[\w *]+?\b(\w+)\([^;]*?\) \{", text, re.M):
            defined[function] = name
    graph = {}
    for name, text in texts.items():
        words = set(re.findall(r"\w+", text))
        graph[name] = {defined[word] for word in words & set(defined)} - {name}
    return graph


def circles(graph):
    """Returns the strongly connected groups of nodes, by Tarjan's algorithm."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for after in sorted(graph.get(node, ())):
            if after not in order:
                visit(after)
                low[node] = min(low[node], low[after])
            elif after in stack:
                low[node] = min(low[node], order[after])
        if low[node] == order[node]:
            place = stack.index(node)
            group = sorted(stack[place:])
            del stack[place:]
            if len(group) > 1 or node in graph.get(node, ()):
                found.append(group)

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def test_modules_do_not_import_each_other():
    graph = {
        name: {module for module in imported(name, path) if module in MODULES}
        for name, path in MODULES.items()
    }
    assert graph["smdebug"], "the package imports its own modules"
    assert circles(graph) == []


def test_headers_do_not_include_each_other():
    sources = [*NATIVE.glob("*.c"), *NATIVE.glob("*.h")]
    assert circles({path.name: set(included(path)) for path in sources}) == []


def test_sources_do_not_call_each_other():
    graph = calls(sorted(NATIVE.glob("*.c")))
    assert any(graph.values())
    assert circles(graph) == []


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, [["a", "b"]]),
        ({"a": {"a"}}, [["a"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, [["a", "b", "c"]]),
    ],
)
def test_circles_are_found(graph, expected):
    assert circles(graph) == expected
