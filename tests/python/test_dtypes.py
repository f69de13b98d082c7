"""The values that can be saved as a tensor, and the types that are read back."""

import array

import numpy as np
import pytest
import smdebug as smd
from helpers import record, saved_and_read
from smdebug._arrays import widened
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

DTYPES = [
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "bool", "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (2, 3, 4), (0,), (2, 0, 3)])
def test_arrays_come_back_as_they_are(out_dir, dtype, shape):
    data = (np.arange(np.prod(shape, dtype=int)) - 3).astype(dtype).reshape(shape)
    read = saved_and_read(out_dir, data)
    assert read.dtype == data.dtype
    assert read.shape == shape
    np.testing.assert_array_equal(read, data)


SMALL = pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])


@SMALL
def test_types_that_numpy_lacks_come_back_as_float32(out_dir, dtype):
    kind = getattr(pytest.importorskip("ml_dtypes"), dtype)
    every = np.arange(2 ** (8 * np.dtype(kind).itemsize), dtype=f"u{np.dtype(kind).itemsize}")
    data = every.view(kind).reshape(2, -1)
    record(out_dir, [{"x": data}])
    tensor = smd.create_trial(out_dir).tensor("x")
    read = tensor.value(0)
    assert read.dtype == np.float32 and read.flags.writeable
    np.testing.assert_array_equal(read, data.astype(np.float32))
    raw = tensor.value(0, raw=True)
    assert raw.dtype == data.dtype
    np.testing.assert_array_equal(raw.view(every.dtype), data.view(every.dtype))
    assert tensor.buffer(0).dtype == dtype
    tensor.cache = True
    for _ in range(2):
        np.testing.assert_array_equal(tensor.value(0), read)
        assert not tensor.value(0).flags.writeable


@SMALL
def test_types_that_numpy_lacks_without_ml_dtypes(out_dir, dtype):
    kind = getattr(pytest.importorskip("ml_dtypes"), dtype)
    size = np.dtype(kind).itemsize
    bits = np.arange(256, dtype=f"u{size}") << 8 * (size - 1)
    named = bits.view(np.dtype(bits.dtype, metadata={"dtype": dtype}))
    np.testing.assert_array_equal(widened(named), bits.view(kind).astype(np.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2"])
def test_reductions_of_small_floats_are_float32(out_dir, dtype):
    kind = getattr(pytest.importorskip("ml_dtypes"), dtype, dtype)
    data = np.full(2000, 57344, kind)
    config = smd.ReductionConfig(["mean", "sum", "max"], norms=["l2"], save_raw_tensor=True)
    record(out_dir, [{"x": data}], reduction_config=config)
    tensor = smd.create_trial(out_dir).tensor("x")
    expected = {"mean": 57344, "sum": 2000 * 57344, "max": 57344, "l2": 57344 * 2000**0.5}
    for name, number in expected.items():
        value = tensor.reduction_value(0, name)
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, number, rtol=1e-7)
    assert set(name for name, _ in tensor.reduction_values(0)) == set(expected)


def test_without_ml_dtypes_their_bits_come_back(out_dir, monkeypatch):
    from smdebug import _arrays, _raw

    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    dtype = _arrays.dtype_for(_raw.SMD_BFLOAT16)
    assert dtype == np.uint16
    assert dtype.metadata["dtype"] == "bfloat16"


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a.T,
        lambda a: a[::2, ::3],
        lambda a: a[::-1, ::-1],
        lambda a: np.asfortranarray(a),
        lambda a: np.broadcast_to(a[0], (5, 6)),
        lambda a: a[:, :1],
        lambda a: a.astype(">f8"),
        lambda a: a.astype(np.dtype([("x", "f8"), ("y", "i4")]))["x"],
    ],
)
def test_whatever_the_layout_the_elements_are_the_same(out_dir, make):
    data = make(np.arange(24.0).reshape(4, 6))
    read = saved_and_read(out_dir, data)
    np.testing.assert_array_equal(read, data)
    assert read.flags.c_contiguous


def test_special_numbers_survive(out_dir):
    data = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    read = saved_and_read(out_dir, data)
    assert read.tobytes() == data.tobytes()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (0.5, "float64"),
        (3, "int64"),
        (-(2**63), "int64"),
        (2**64 - 1, "uint64"),
        (True, "bool"),
        (1 + 2j, "complex128"),
        (np.float32(0.5), "float32"),
        (np.float64(0.5), "float64"),
        (np.int8(-1), "int8"),
        (np.bool_(True), "bool"),
        (np.complex64(1j), "complex64"),
    ],
)
def test_numbers_have_one_element(out_dir, value, dtype):
    read = saved_and_read(out_dir, value)
    assert read.dtype == dtype
    assert read.shape == (1,)
    assert read[0] == value


@pytest.mark.parametrize(
    "value", [[1, 2, 3], (1.0, 2.0), [[1, 2], [3, 4]], [], [np.float32(1), np.float32(2)]]
)
def test_lists_and_tuples_are_arrays(out_dir, value):
    read = saved_and_read(out_dir, value)
    expected = np.asarray(value)
    assert read.dtype == expected.dtype
    np.testing.assert_array_equal(read, expected)


@pytest.mark.parametrize(
    "value", [array.array("d", [1, 2]), memoryview(array.array("i", [1, 2])), memoryview(b"ab")]
)
def test_any_buffer_is_an_array(out_dir, value):
    np.testing.assert_array_equal(saved_and_read(out_dir, value), np.asarray(value))


@pytest.mark.parametrize(
    "value",
    [
        np.array(["foo", "bär", ""]),
        np.array([["a", "b"], ["c", "d"]]),
        np.array("alone"),
        np.array(["a", "bc"], dtype=object),
        np.array([], dtype="<U1"),
        ["a", "bc"],
    ],
)
def test_text_of_any_shape_comes_back(out_dir, value):
    read = saved_and_read(out_dir, value)
    assert read.dtype.kind == "U"
    assert read.shape == np.shape(value)
    assert read.tolist() == np.asarray(value).tolist()


def test_one_text_has_one_element(out_dir):
    assert saved_and_read(out_dir, "hello").tolist() == ["hello"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"bytes",
        bytearray(b"bytes"),
        {"a": 1},
        {1, 2},
        object(),
        np.array([b"x"]),
        np.array([1, None], dtype=object),
        np.array([1], dtype="longdouble"),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.zeros(2, dtype=[("x", "f4")]),
        [1, [2, 3]],
        [2**70],
    ],
)
def test_what_is_no_tensor_is_refused(out_dir, value):
    with pytest.raises(SMDebugTypeError):
        record(out_dir, [{"t": value}])


def test_an_integer_of_more_than_64_bits_is_refused(out_dir):
    with pytest.raises(SMDebugValueError):
        record(out_dir, [{"t": 2**70}])


def test_a_text_with_a_nul_inside_is_refused(out_dir):
    with pytest.raises(SMDebugValueError):
        record(out_dir, [{"t": "a\0b"}])


# ---- other libraries' tensors -------------------------------------------------------


class WithInterface:
    """An array of another library, with `__array_interface__`."""

    def __init__(self, data):
        self._data = data
        self.__array_interface__ = data.__array_interface__


class WithDlpack:
    """An array of another library, with DLPack in the new or the old form."""

    def __init__(self, data, versioned):
        self._data = data
        self._versioned = versioned

    def __dlpack__(self, **kwargs):
        if not self._versioned and kwargs:
            raise TypeError("no keywords")
        return self._data.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("make", [lambda a: a, lambda a: a.T, lambda a: a[1:, ::2]])
def test_dlpack_tensors_are_taken(out_dir, make, versioned):
    data = make(np.arange(12.0).reshape(3, 4))
    read = saved_and_read(out_dir, WithDlpack(data, versioned))
    np.testing.assert_array_equal(read, data)


def test_array_interfaces_are_taken(out_dir):
    data = np.arange(12.0).reshape(3, 4).T
    np.testing.assert_array_equal(saved_and_read(out_dir, WithInterface(data)), data)


class OnDevice:
    """A tensor like PyTorch's on a device: it must be detached and copied to the host."""

    __module__ = "torch"

    def __init__(self, data, steps=()):
        self._data = data
        self._steps = steps

    def detach(self):
        return OnDevice(self._data, (*self._steps, "detach"))

    def cpu(self):
        return OnDevice(self._data, (*self._steps, "cpu"))

    def __dlpack__(self, **kwargs):
        assert self._steps == ("detach", "cpu")
        raise BufferError("no such type in DLPack")

    def numpy(self):
        return self._data


def test_tensors_on_a_device_are_copied_from_it(out_dir):
    data = np.array([True, False])
    np.testing.assert_array_equal(saved_and_read(out_dir, OnDevice(data)), data)
