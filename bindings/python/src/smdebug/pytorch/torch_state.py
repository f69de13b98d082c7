"""What PyTorch is doing: compiling, running a backward pass, generating text."""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterator, Optional, Set

from smdebug.core.utils import import_framework

__all__ = [
    "in_backward",
    "in_stage",
    "is_compiling",
    "is_generating",
    "is_probing",
    "note_graph",
    "was_compiled",
]

torch = import_framework("torch", "torch", "smdebug.pytorch")

_compiler = getattr(torch, "compiler", None)
_traced: Set[int] = set()


def _never() -> bool:
    return False


# Returns True while a model is traced.  PyTorch 1 and 2.0 have no such function.
is_compiling: Callable[[], bool] = getattr(_compiler, "is_compiling", _never)


def _note_graph(key: int) -> int:
    _traced.add(key)
    return 0


# Notes that a graph contains the model.  The compiler calls it while it traces, and puts its
# result into the graph as a constant.
note_graph: Callable[[int], int] = getattr(
    _compiler, "assume_constant_result", lambda function: function
)(_note_graph)


def was_compiled(key: int) -> bool:
    """Returns True if a graph contains the model with this key."""
    return key in _traced


_graph_task: Optional[Callable[[], int]] = getattr(torch._C, "_current_graph_task_id", None)


def _in_checkpoint() -> bool:
    """Returns True if a checkpoint computes again what it did not keep; for PyTorch 1."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("backward", "unpack") and code.co_filename.endswith("checkpoint.py"):
            return True
        frame = frame.f_back
    return False


def _in_graph_task() -> bool:
    assert _graph_task is not None
    return _graph_task() != -1


# Returns True in a backward pass, in which only checkpoints call modules.
in_backward: Callable[[], bool] = _in_checkpoint if _graph_task is None else _in_graph_task


def is_generating() -> bool:
    """Returns True if a method `generate` of a module calls, which runs its model repeatedly."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "generate" and isinstance(
            frame.f_locals.get("self"), torch.nn.Module
        ):
            return True
        frame = frame.f_back
    return False


_STAGES = "torch.distributed.pipelining.stage"


def _callers_in_stage() -> Iterator[str]:
    """Yields the names of the functions of a stage of a pipeline that are being called."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("pipelining/stage.py"):
            yield frame.f_code.co_name
        frame = frame.f_back


def in_stage() -> bool:
    """Returns True if a stage of a pipeline calls its part of the model, or the loss."""
    return _STAGES in sys.modules and any(_callers_in_stage())


def is_probing() -> bool:
    """Returns True if a stage of a pipeline calls its part of the model, or the loss, with tensors
    that hold no data, to learn the shapes of the results: once, before the first step."""
    return _STAGES in sys.modules and any("inference" in name for name in _callers_in_stage())
