"""Views of users' tensors for the C library, and numpy dtypes of its element types.

The extension module makes views of buffers and numbers by itself.  This module handles
the rest: text, lists, framework tensors, arrays in a foreign byte order.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Dict, Optional

from smdebug import _raw
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["array_from", "dtype_for", "dtype_number", "view_of", "widened"]

# The memory of these devices of DLPack is the host's, or pinned there.
_HOST_DEVICES = (1, 3, 11)
_DEVICES: Dict[int, str] = {
    2: "cuda",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    9: "vpi",
    10: "rocm",
    12: "ext_dev",
    13: "cuda_managed",
    14: "oneapi",
    15: "webgpu",
    16: "hexagon",
    17: "maia",
}

_FIRST_OF_PACKAGES = 256

# Types that numpy knows only through the package ml_dtypes, and the integer of the same
# size.
_EXTENDED: Dict[str, str] = {
    "bfloat16": "uint16",
    "float8_e5m2": "uint8",
    "float8_e4m3fn": "uint8",
}
_EXTENDED_NUMBERS: Dict[str, int] = {
    "bfloat16": _raw.SMD_BFLOAT16,
    "float8_e5m2": _raw.SMD_FLOAT8_E5M2,
    "float8_e4m3fn": _raw.SMD_FLOAT8_E4M3FN,
}


def dtype_for(number: int) -> np.dtype[Any]:
    """Returns the numpy dtype of an element type of the C library.

    Without the package ml_dtypes, bfloat16 and the 8-bit floats are unsigned integers
    whose dtype names the real type in its metadata.
    """
    import numpy as np

    name = _raw.smd_dtype_name(number)
    if name not in _EXTENDED:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(_EXTENDED[name], metadata={"dtype": name})
    extended: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return extended


def widened(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array of a type that numpy lacks as float32, which holds all its numbers.

    Returns other arrays unchanged.  float16 is a type of numpy.
    """
    dtype = array.dtype
    # The types of other packages have larger numbers.
    if dtype.num < _FIRST_OF_PACKAGES and dtype.metadata is None:
        return array
    name = dtype.metadata.get("dtype", "") if dtype.metadata else dtype.name
    if name not in _EXTENDED:
        return array
    import numpy as np

    bits = array.view(_EXTENDED[name])
    if name == "bfloat16":
        floats: np.ndarray[Any, Any] = (bits.astype(np.uint32) << 16).view(np.float32)
    else:
        floats = _numbers_of_bytes(name)[bits]
    return floats


@functools.lru_cache(maxsize=None)
def _numbers_of_bytes(name: str) -> np.ndarray[Any, Any]:
    """Returns the numbers that the 256 bytes of an 8-bit float type represent."""
    import numpy as np

    exponents, mantissas = (5, 2) if name == "float8_e5m2" else (4, 3)
    byte = np.arange(256)
    exponent, mantissa = byte >> mantissas & (1 << exponents) - 1, byte & (1 << mantissas) - 1
    significand = (mantissa + np.where(exponent > 0, 1 << mantissas, 0)).astype(np.float32)
    bias = (1 << exponents - 1) - 1
    numbers = np.ldexp(significand, np.maximum(exponent, 1) - bias - mantissas)
    last = exponent == (1 << exponents) - 1
    if name == "float8_e5m2":
        numbers[last] = np.where(mantissa[last] == 0, np.inf, np.nan)
    else:
        numbers[last & (mantissa == (1 << mantissas) - 1)] = np.nan
    signed: np.ndarray[Any, Any] = np.where(byte < 128, numbers, -numbers).astype(np.float32)
    return signed


def dtype_number(dtype: object) -> int:
    """Returns the number of an element type: its name, or the dtype of numpy or a framework."""
    name = str(getattr(dtype, "__name__", dtype)).rpartition(".")[2]
    for number in range(1, _raw.SMD_STRING):
        if _raw.smd_dtype_name(number) == name:
            return number
    raise SMDebugTypeError(f"dtype {dtype!r} is not known; give a name such as 'float32'")


def view_of(value: object) -> _raw.View:
    """Returns a view of any value that can be saved as a tensor; copies only if it must.

    Raises
    ------
    SMDebugTypeError
        If it is not a tensor, or its element type cannot be saved.
    """
    if isinstance(value, _raw.View):
        return value
    view = _raw.lend(value)
    if view is not None:
        return view
    if isinstance(value, str):
        return _raw.lend_text([value], (1,))
    if isinstance(value, (bytes, bytearray)):
        raise _refused(value)
    if _is_numpy_array(value):
        return _view_of_array(value)
    view = _view_of_foreign(value)
    return view if view is not None else _view_of_array(array_from(value))


def array_from(value: object) -> np.ndarray[Any, Any]:
    """Returns a numpy array of a list, a tuple, or an object that converts itself."""
    import numpy as np

    if isinstance(value, (dict, set, frozenset, type(None), bytes, bytearray)):
        raise _refused(value)
    if isinstance(value, np.generic):
        return np.array([value])
    if isinstance(value, (list, tuple)) or _converts_itself(value):
        try:
            return np.asarray(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = type(value).__name__
            raise _on_device(value) or SMDebugTypeError(
                f"a {kind} did not convert to a tensor: {error}"
            ) from error
    if isinstance(value, int):
        raise SMDebugValueError("an integer of more than 64 bits cannot be saved")
    raise _refused(value)


def _on_device(value: Any) -> Optional[SMDebugTypeError]:
    """Returns why a tensor in the memory of a device is not taken; None for others."""
    try:
        kind, number = value.__dlpack_device__()
    except Exception:
        return None
    if int(kind) in _HOST_DEVICES:
        return None
    device = _DEVICES.get(int(kind), f"device type {int(kind)}")
    return SMDebugTypeError(
        f"the tensor is on {device}:{number}; copy it to the host, or save its statistics by "
        "save_statistics()"
    )


def _refused(value: object) -> SMDebugTypeError:
    return _on_device(value) or SMDebugTypeError(f"a {type(value).__name__} cannot be saved as a tensor")


def _converts_itself(value: object) -> bool:
    return any(
        hasattr(value, name) for name in ("__array__", "__array_interface__", "__array_struct__")
    )


def _is_numpy_array(value: object) -> bool:
    return any(base.__module__ == "numpy" for base in type(value).__mro__) and hasattr(
        value, "dtype"
    )


def _view_of_foreign(value: Any) -> Optional[_raw.View]:
    """Returns a view of another library's tensor, by DLPack; None if it has no DLPack."""
    if not hasattr(value, "__dlpack__"):
        return None
    value = _on_host(value)
    try:
        return _raw.lend_dlpack(_capsule(value))
    except (BufferError, RuntimeError, TypeError, ValueError, NotImplementedError):
        return _view_of_own_array(value)


def _view_of_own_array(value: Any) -> Optional[_raw.View]:
    """Returns a view of the numpy array that another library makes of its tensor."""
    if not hasattr(value, "numpy"):
        return None
    try:
        return _view_of_array(value.numpy())
    except (RuntimeError, TypeError, ValueError) as error:
        kind = type(value).__name__
        raise _on_device(value) or SMDebugTypeError(
            f"a {kind} did not convert to a tensor: {error}"
        ) from error


def _on_host(value: Any) -> Any:
    """Moves a PyTorch tensor to host memory, without its graph; returns others unchanged."""
    if type(value).__module__.partition(".")[0] != "torch":
        return value
    value = value.detach().cpu()
    for resolve in ("resolve_conj", "resolve_neg"):
        value = getattr(value, resolve, lambda value=value: value)()
    return value


def _capsule(value: Any) -> object:
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:
        return value.__dlpack__()


def _view_of_array(array: Any) -> _raw.View:
    """Returns a view of a numpy array of any order and any type that can be saved."""
    import numpy as np

    if not isinstance(array, np.ndarray):
        array = np.array([array])
    kind = array.dtype.kind
    if kind in "UOT":
        return _view_of_text(array)
    number = _EXTENDED_NUMBERS.get(array.dtype.name, 0)
    if number:
        array = np.ascontiguousarray(array).view(_EXTENDED[array.dtype.name]).reshape(array.shape)
    elif kind in "biufc":
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
    view = _raw.lend(array, number)
    if view is None:
        raise SMDebugTypeError(f"tensors of dtype {array.dtype} cannot be saved")
    return view


def _view_of_text(array: np.ndarray[Any, Any]) -> _raw.View:
    texts = array.ravel().tolist()
    if array.dtype.kind == "O" and not all(isinstance(text, str) for text in texts):
        raise SMDebugTypeError(
            "tensors of dtype object can be saved only if every element is a str"
        )
    return _raw.lend_text(texts, array.shape)
