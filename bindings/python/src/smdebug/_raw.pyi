"""The extension module: the C library's functions under their own names, made by SWIG,
and the fast parts of the Python binding."""

from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np

class Pointer:
    """A handle of the C library, owned by nobody."""

Handle = Union[Pointer, Any]

class View:
    """Memory of a Python object, lent as a tensor."""

    this: Pointer

class Value:
    """One tensor's elements; read-only, in host memory; a buffer and DLPack exporter."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    def numpy(self) -> np.ndarray[Any, Any]: ...
    def strings(self) -> List[str]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> object: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...

Left = List[Tuple[str, Any, Optional[Exception]]]

class Saver:
    """Saves PyTorch tensors whose elements are what their memory holds.

    Left are, with their names: wanted tensors that are not of that kind, and those whose
    saving failed, with the error.
    """

    def save(self, name: str, tensor: object, /) -> Optional[Left]: ...
    def save_numbered(self, prefix: str, value: object, /) -> Any:
        """What is left, or None; NotImplemented, and nothing is numbered, of a value that is
        neither a tensor of the saver's types nor a tuple of such."""

    def save_each(self, names: List[str], tensors: List[Any], /) -> Optional[Left]:
        """Saves several tensors; where there is None, nothing."""

    def save_parameters(
        self, names: List[str], parameters: List[Any], /
    ) -> Tuple[Optional[Left], int]:
        """Saves parameters and their gradients, whose names are given in turn.

        Returns what is left, and how many parameters have no gradient.
        """

    def wanted(self, groups: Tuple[Tuple[str, ...], ...], /) -> bytes:
        """For each group of names 1 if the open step wants one, or there is none; else 0."""

def configure(
    exception_from: Callable[[Pointer], BaseException],
    value_error: type,
    type_error: type,
    modes: Tuple[Any, ...],
    dtype_for: Callable[[int], Any],
    log_line: Callable[[int, str, bool], None],
) -> None: ...
def check(error: Optional[Pointer], /) -> None: ...
def take_text(text: Pointer, /) -> str: ...
def take_bytes(text: Pointer, /) -> bytes: ...
def take_strings(strings: Pointer, /) -> List[str]: ...
def take_integers(integers: Pointer, /) -> List[int]: ...
def take_value(value: Pointer, /) -> Value: ...
def take_array(value: Pointer, /) -> np.ndarray[Any, Any]: ...
def lend(value: object, dtype: int = 0, /) -> Optional[View]: ...
def lend_text(texts: List[str], shape: Tuple[int, ...], /) -> View: ...
def lend_dlpack(capsule: object, /) -> View: ...
def flush_log() -> None: ...
def stop_log(level: int, /) -> None: ...
def wants(hook: Handle, name: str, /) -> bool: ...
def save(hook: Handle, name: str, value: object, /) -> bool: ...
def save_statistics(
    hook: Handle,
    name: str,
    shape: Tuple[int, ...],
    dtype: int,
    given: int,
    figures: Tuple[float, ...],
    counts: Tuple[int, ...],
    sample: Optional[View],
    /,
) -> None: ...
def set_placement(
    hook: Handle,
    name: str,
    shape: Tuple[int, ...],
    offset: Tuple[int, ...],
    part: Tuple[int, ...],
    is_flat: bool,
    mesh: Tuple[int, ...],
    split: Tuple[int, ...],
    /,
) -> None: ...
def read_placement(
    tensor: Handle, worker: str, /
) -> Optional[
    Tuple[
        Tuple[int, ...], Tuple[int, ...], Tuple[int, ...], bool, Tuple[int, ...], Tuple[int, ...]
    ]
]: ...
def scan_columns(scan: Handle, /) -> List[Tuple[str, str, str]]: ...
def scan_schema(scan: Handle, /) -> object: ...
def scan_stream(scan: Handle, /) -> object: ...
def scan_partitions(scan: Handle, /) -> List[Tuple[str, str, str, int, int]]: ...
def column_texts(array: int, /) -> List[Optional[str]]: ...
def column_wholes(array: int, /) -> List[Union[int, float]]: ...
def column_objects(array: int, parse: Callable[[str], Any], /) -> List[Any]: ...
def column_find(array: int, parts: Tuple[bytes, ...], /) -> List[int]: ...
def time_texts(microseconds: object, /) -> List[Optional[str]]: ...
def save_dlpack(hook: Handle, name: str, capsule: object, /) -> None: ...
def expect(hook: Handle, name: str, /) -> int: ...
def save_late(hook: Handle, name: str, step: int, value: object, /) -> bool: ...
def save_late_dlpack(hook: Handle, name: str, step: int, capsule: object, /) -> None: ...
def save_late_statistics(
    step: int,
    hook: Handle,
    name: str,
    shape: Tuple[int, ...],
    dtype: int,
    given: int,
    figures: Tuple[float, ...],
    counts: Tuple[int, ...],
    sample: Optional[View],
    /,
) -> None: ...
def save_late_rows(
    hook: Handle,
    step: int,
    rows: memoryview[float],
    items: Tuple[Optional[Tuple[str, Tuple[int, ...], int, int, Optional[View]]], ...],
    /,
) -> List[Tuple[int, Exception]]:
    """Saves the statistics in each row of a table of float64, but those of items of None.

    An item is (name, shape, dtype, wanted figures, sample).  Returns what failed.
    """

def forgo(hook: Handle, name: str, step: int, /) -> None: ...
def saver(
    hook: Handle,
    types: Tuple[type, ...],
    dtypes: Dict[Any, int],
    counts: Dict[str, int],
    /,
) -> Saver: ...
def profiler_now(profiler: Handle, /) -> int: ...
def profiler_step(
    profiler: Handle, step: int, phase: Optional[str], begin: Optional[int], ended: int, /
) -> Tuple[int, int]:
    """The time, and 0: off; else 1, plus 2 for "detailed", 4 for "dataloader", 8 for "python".

    With a phase, records the step `ended`, which began at `begin`, as an event.
    """

def profiler_event(
    profiler: Handle,
    name: str,
    phase: str,
    begin: int,
    duration: Optional[int],
    step: Optional[int],
    args: Optional[str],
    /,
) -> int:
    """Returns when the event ends; without a duration, now."""

def take_number(counts: Dict[str, int], prefix: str, /) -> int: ...
def modules_hold(module: object, inner: Tuple[Any, ...], members: Tuple[Any, ...], /) -> bool: ...
def read_array(
    tensor: Handle, step: int, mode: object, worker: Optional[str], /
) -> np.ndarray[Any, Any]: ...
def read_value(tensor: Handle, step: int, mode: object, worker: Optional[str], /) -> Value: ...
def read_reduction(
    tensor: Handle, step: int, mode: object, worker: Optional[str], name: str, absolute: bool, /
) -> np.ndarray[Any, Any]: ...
def read_values(
    tensor: Handle,
    first: Optional[int],
    end: Optional[int],
    mode: object,
    worker: Optional[str],
    /,
) -> Tuple[Dict[int, np.ndarray[Any, Any]], bool]:
    """The values by step, and whether numpy knows all their types."""

def read_reductions(
    tensor: Handle,
    first: Optional[int],
    end: Optional[int],
    mode: object,
    worker: Optional[str],
    name: str,
    absolute: bool,
    /,
) -> Tuple[Dict[int, Any], bool]:
    """The reductions by step, and whether numpy knows all their types."""

def take_findings(hook: Handle, /) -> List[Tuple[Any, ...]]: ...
def rule_results(rule_set: Handle, /) -> List[Tuple[Any, ...]]: ...
def diagnose(rule_set: Handle, /) -> List[Tuple[Any, ...]]: ...
def diagnosis_seen(rule_set: Handle, /) -> List[Tuple[Any, ...]]: ...
def profile_findings(rules: Handle, /) -> List[Tuple[Any, ...]]: ...
def profile_results(rules: Handle, /) -> List[Tuple[Any, ...]]: ...
def profile_phases(rules: Handle, /) -> List[Tuple[Any, ...]]: ...
def profile_rules() -> List[Tuple[str, str, List[Tuple[str, str, str, str]], str]]: ...
def builtin_rules() -> List[Tuple[str, str, List[Tuple[str, str, str, str]], str]]: ...
def evaluate(
    rule_set: Handle, trial: Handle, first: int, end: int, flags: int, /
) -> Tuple[List[Tuple[Any, ...]], Optional[BaseException]]: ...
def add_function(
    rule_set: Handle, name: str, function: Callable[[int], Any], action: int, /
) -> None: ...

SMD_ABI_LEVEL: int
SMD_EVALUATE_INCOMPLETE: int
SMD_EVALUATE_STOP_AT_FINDING: int
SMD_MODE_ANY: int
SMD_MODE_GLOBAL: int
SMD_WANTS_VALUE: int
SMD_WANTS_STATISTICS: int
SMD_WANTS_SHAPE: int
SMD_BFLOAT16: int
SMD_FLOAT8_E5M2: int
SMD_FLOAT8_E4M3FN: int

def smd_version_string() -> str: ...
def smd_has_feature(feature: str) -> int: ...
def smd_error_code(error: Handle) -> int: ...
def smd_error_message(error: Handle) -> str: ...
def smd_error_detail(error: Handle, key: str) -> Optional[str]: ...
def smd_code_name(code: int) -> str: ...
def smd_dtype_name(dtype: int) -> str: ...
def smd_trial_name(trial: Handle) -> str: ...
def smd_trial_last_complete_step(trial: Handle) -> int: ...
def smd_step_file_path(file: Handle) -> str: ...
def smd_store_report_count(report: Handle) -> int: ...
def smd_store_report_name(report: Handle, index: int) -> str: ...
def smd_store_report_code(report: Handle, index: int) -> int: ...
def smd_store_report_message(report: Handle, index: int) -> str: ...
def smd_event_file_tensor(file: Handle) -> str: ...
def __getattr__(name: str) -> Any: ...
