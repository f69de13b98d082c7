"""Tests that docs/troubleshooting.md quotes messages of the library."""

import re

import pytest
from snippets import ROOT, blocks

PAGE = ROOT / "docs/troubleshooting.md"
MESSAGES = [
    line
    for _, text in blocks(PAGE, "text")
    for line in text.splitlines()
    if not line.startswith("smdebug ")
]


@pytest.fixture(scope="module")
def texts():
    """Returns the text of every string of the library; adjacent strings are joined."""
    sources = [*ROOT.glob("cpp_impl/**/*.cc"), *ROOT.glob("capi/src/*.cc")]
    return "\n".join(
        re.sub(r'"\s*\n?\s*"', "", path.read_text(encoding="utf-8")) for path in sources
    )


@pytest.mark.parametrize("message", MESSAGES)
def test_message_is_one_of_the_library(message, texts):
    parts = [part for part in message.split("…") if len(part) > 5]
    assert parts, "the message has no constant part"
    for part in parts:
        assert part in texts, f"no source contains {part!r}"


def test_the_page_quotes_messages():
    assert len(MESSAGES) > 15
