"""Writes and parses reports."""

import json
from html.parser import HTMLParser

from cli_program import Program


class Page(HTMLParser):
    """A parsed report."""

    def __init__(self, text):
        super().__init__()
        self.text = text
        self.elements = []  # (name, attributes)
        self.said = []
        self.open = []
        self.scripts = []
        self.feed(text)
        self.close()
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.said.append(data)

    def words(self):
        return " ".join(" ".join(self.said).split())

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]

    def ids(self):
        return {attributes["id"] for _, attributes in self.elements if "id" in attributes}


def report(folder, trial, *options):
    """Writes the page about a trial, and returns it."""
    Program(folder).run(f"report {trial} -o page.html {' '.join(options)}")
    return Page((folder / "page.html").read_text(encoding="utf-8"))
