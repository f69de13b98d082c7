"""The page on tables."""

from pages import run_page


def test_the_page(tmp_path):
    run_page("tables.md", tmp_path)
