"""Every detail that the library gives an error is documented, and reaches Go, Java and Node.js."""

import re

import pytest
from snippets import ROOT

KEYS = {
    key
    for source in (ROOT / "cpp_impl").rglob("*")
    if source.suffix in {".cc", ".h"}
    for key in re.findall(r'\bWith\("([a-z_0-9]+)"', source.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("docs/error-handling.md", r"`(\w+)`"),
        ("bindings/go/smdebug/errors.go", r'"(\w+)"'),
        ("bindings/node/src/error.js", r"'(\w+)'"),
        ("bindings/java/src/main/java/org/smdebug/Errors.java", r'"(\w+)"'),
        ("bindings/java/src/main/java/org/smdebug/SmdebugException.java", r'"(\w+)"'),
    ],
)
def test_all_details_are_named(path, pattern):
    assert len(KEYS) > 15
    named = set(re.findall(pattern, (ROOT / path).read_text(encoding="utf-8")))
    assert sorted(KEYS - named) == []
