"""The page on PyTorch, with the newest PyTorch, transformers and Lightning."""

from pages import run_page


def test_the_page(tmp_path):
    run_page("pytorch.md", tmp_path)


def test_the_page_on_large_trainings(tmp_path):
    run_page("llm_rules.md", tmp_path)
