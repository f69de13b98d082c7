"""The page on PyTorch, and what the README has of it, with the newest PyTorch, transformers and Lightning."""

import pytest
from pages import run_page, run_readme

# Each snippet imports PyTorch by itself, beside other tests.
pytestmark = [pytest.mark.timeout(400), pytest.mark.whole]


def test_the_page(tmp_path):
    run_page("pytorch.md", tmp_path)


def test_the_readme(tmp_path):
    run_readme("torch", tmp_path)


def test_the_page_on_large_trainings(tmp_path):
    run_page("llm_rules.md", tmp_path)
