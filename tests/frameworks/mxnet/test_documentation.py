"""The page on MXNet."""

from pages import run_page


def test_the_page(tmp_path):
    run_page("mxnet.md", tmp_path)
