"""Data that is passed to the hook as files."""

import numpy as np
import pytest
import smdebug.xgboost as smd
from smdebug.exceptions import SMDebugError
from smdebug.xgboost.utils import get_content_type, get_dmatrix, validate_data_file_path

pytestmark = pytest.mark.filterwarnings("ignore:.*Text file input has been deprecated")

COMMA = "1,0.5,2\n0,0.25,3\n"
SVM = "1 0:0.5 1:2\n0 0:0.25 1:3\n"


@pytest.fixture
def file(tmp_path):
    """Writes a file and returns its path."""

    def write(content, name="data"):
        path = tmp_path / name
        path.write_text(content)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (COMMA, "csv"),
        (COMMA.replace(",", ";"), "text/csv"),
        (COMMA.replace(",", "\t"), "CSV"),
        (SVM, "libsvm"),
        (SVM, "text/x-libsvm"),
        (SVM, None),
    ],
)
def test_files_become_matrices(out_dir, file, content, content_type):
    path = file(content)
    with smd.Hook(out_dir, train_data=(path, content_type), validation_data=None) as hook:
        assert hook.train_data.get_label().tolist() == [1, 0]
        dense = hook.train_data.get_data().toarray()
        assert np.array_equal(dense, [[0.5, 2], [0.25, 3]])


def test_a_home_folder_and_a_folder_of_files(file, tmp_path, out_dir, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    file(COMMA, "train.csv")
    with smd.Hook(out_dir, validation_data=("~/train.csv", "csv")) as hook:
        assert hook.validation_data.num_row() == 2
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in (("a.csv", COMMA), ("b.csv", COMMA), (".hidden", "?")):
        (folder / name).write_text(content)
    validate_data_file_path(str(folder), "csv")
    assert get_dmatrix(str(folder / "a.csv"), "csv").num_row() == 2


def test_weights_in_the_second_column(file):
    matrix = get_dmatrix(file(COMMA), "csv", csv_weights=1)
    assert matrix.get_weight().tolist() == [0.5, 0.25]
    assert matrix.num_col() == 1


@pytest.mark.parametrize(
    ("content", "content_type", "message"),
    [
        (SVM, "csv", "is not CSV: it begins with '1 0:0.5 1:2.n', which is LIBSVM"),
        ("1\n0\n", "csv", "is not CSV: its first line, '1.n', has no delimiter"),
        ("", "csv", "is not CSV: its first line, '', has no delimiter"),
        (COMMA, "libsvm", "is not LIBSVM: it has the line '1,0.5,2.n'"),
        ("1\nx 0:1\n", "libsvm", "is not LIBSVM: it has the line 'x 0:1.n'"),
        ("1 0:0.5:7\n", "libsvm", "is not LIBSVM"),
        (COMMA, "parquet", "'parquet' is not a type of data files; these are: 'libsvm',"),
        (COMMA, 7, "7 is not a type of data files"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(out_dir, file, content, content_type, message):
    with pytest.raises(SMDebugError, match=message):
        smd.Hook(out_dir, train_data=(file(content), content_type))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (("/no/such/file", "csv"), "train_data: /no/such/file is not a local file"),
        (("s3://bucket/train.csv", "csv"), "is not a local file"),
        ("train.csv", "train_data is an xgboost.DMatrix, or a tuple of a path"),
        (("train.csv",), "train_data is an xgboost.DMatrix"),
        ((None, "csv"), "train_data is an xgboost.DMatrix"),
        (np.zeros((2, 2)), "train_data is an xgboost.DMatrix"),
    ],
)
def test_what_is_no_data_is_refused(out_dir, data, message):
    with pytest.raises(SMDebugError, match=message):
        smd.Hook(out_dir, train_data=data)


def test_a_file_that_is_not_there():
    with pytest.raises(SMDebugError, match="/no/such/file does not exist"):
        validate_data_file_path("/no/such/file", "csv")


def test_a_folder_without_files(tmp_path):
    with pytest.raises(SMDebugError, match="holds no files"):
        validate_data_file_path(str(tmp_path), "csv")


def test_lines_without_features_come_first(file):
    validate_data_file_path(file("1\n0:2.5\n-1e3 3:4 7:.5\n"), "libsvm")
    assert get_content_type("Text/LibSVM") == "libsvm"


def test_a_file_that_xgboost_cannot_read(file):
    with pytest.raises(SMDebugError, match="XGBoost cannot read|holds no labels"):
        get_dmatrix(file("# nothing\n"), "libsvm")
