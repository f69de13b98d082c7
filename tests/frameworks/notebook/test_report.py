"""Reports inside notebooks."""

from __future__ import annotations

import os
import stat
from html.parser import HTMLParser

import pytest
from training import record_odd

import smdebug as smd
from smdebug.exceptions import SMDebugRuntimeError
from smdebug.notebook import report_page


class Frame(HTMLParser):
    """Collects the attributes of a frame."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.frames: list[dict[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str]]) -> None:
        assert tag == "iframe"
        self.frames.append(dict(attrs))


def test_the_page_is_in_a_sandbox(run, tmp_path):
    with smd.create_trial(run) as trial:
        page = trial.report(height=500)
    [frame] = Frame(page._repr_html_()).frames
    assert (frame["height"], frame["sandbox"], frame["srcdoc"]) == ("500", "allow-scripts", page.html)
    assert "<!doctype html>" in page.html.lower()[:20] and "loss" in page.html
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html
    assert "characters" in repr(page)


def test_rules_and_profiles(run):
    with smd.create_trial(run) as trial:
        page = trial.report([("VanishingGradient", {"threshold": 0.5}), "ExplodingTensor"], profile="aws").html
        assert "VanishingGradient" in page and "ExplodingTensor" in page and "Overfit" not in page
        with pytest.raises(SMDebugRuntimeError, match="NoSuchRule"):
            trial.report(["NoSuchRule"])


def test_a_path_that_looks_like_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record_odd("-o")
    with smd.create_trial("-o") as trial:
        assert trial.report().html


def test_secrets_are_not_among_the_words_of_the_process(run, tmp_path, monkeypatch):
    spy = tmp_path / "spy"
    spy.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@" > $SPY/words\nenv > $SPY/environment\necho page > "$3"\n', encoding="utf-8"
    )
    spy.chmod(spy.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setattr(report_page, "PROGRAM", spy)
    monkeypatch.setenv("SPY", str(tmp_path))
    options = {"s3_secret_key": "hidden", "s3_access_key": "known", "s3_region": "eu-west-1"}
    with smd.create_trial(run, options=options) as trial:
        assert trial.report().html == "page\n"
    words = (tmp_path / "words").read_text()
    assert "hidden" not in words and "known" not in words and "--set=s3_region=eu-west-1" in words
    assert "AWS_SECRET_ACCESS_KEY=hidden" in (tmp_path / "environment").read_text()


def test_a_package_without_the_program(run, tmp_path, monkeypatch):
    monkeypatch.setattr(report_page, "PROGRAM", tmp_path / "none")
    with smd.create_trial(run) as trial, pytest.raises(SMDebugRuntimeError, match="built without the program"):
        trial.report()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("smdebug-report")]
