"""The page on PyTorch, with the newest PyTorch, transformers and Lightning."""

from pages import run_page


def test_the_page(tmp_path):
    run_page("pytorch.md", tmp_path)
