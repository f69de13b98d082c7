"""Tests that a script writes the same files with the original library and with this one."""

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def both(tmp_path_factory, original, ours):
    """Returns the folders of the trial: the original's, and this library's."""
    folders = [tmp_path_factory.mktemp("trials") / name for name in ("original", "ours")]
    for run, folder in zip((original, ours), folders):
        run("write_trial.py", folder)
    return folders


def files(folder, pattern):
    return {path.relative_to(folder): path for path in Path(folder).rglob(pattern)}


def without_our_keys(index):
    """Removes checksums, and the numbers that records of one element hold."""
    dtypes = {np.dtype(code).name for code in "?bhilBHILefd"}
    index["meta"].pop("time_us", None)
    index.pop("crc32c", None)
    for entry in index["tensor_payload"]:
        for key in {"crc32c", "us", "rank", *dtypes}:
            entry.pop(key, None)
    return index


def test_both_write_the_same_files(both):
    theirs, ours = (sorted(files(folder, "*.*")) for folder in both)
    assert theirs == ours


def test_event_files_are_equal_byte_for_byte(both):
    theirs, ours = (files(folder, "*.tfevents") for folder in both)
    assert theirs
    for name, path in theirs.items():
        assert ours[name].read_bytes() == path.read_bytes(), name


def test_index_files_differ_by_our_keys_only(both):
    theirs, ours = (files(folder / "index", "*.json") for folder in both)
    assert theirs
    for name, path in theirs.items():
        mine = json.loads(ours[name].read_text())
        assert without_our_keys(mine) == json.loads(path.read_text()), name


def test_collections_files_are_equal_as_text(both):
    theirs, ours = (files(folder / "collections", "*.json") for folder in both)
    assert theirs
    for name, path in theirs.items():
        assert ours[name].read_text() == path.read_text(), name


def test_both_read_the_same_from_each(both, original, ours):
    expected = original("dump_trial.py", both[0])
    assert original("dump_trial.py", both[1]) == expected
    for folder in both:
        assert ours("dump_trial.py", folder) == expected
