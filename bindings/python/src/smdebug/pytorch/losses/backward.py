"""What losses were computed from that are recorded only when their backward pass has freed it."""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any, Callable, Dict, List, MutableSet, NamedTuple, Optional, Tuple

from smdebug.core.utils import import_framework
from smdebug.pytorch.host_copies import is_capturing
from smdebug.pytorch.late_entry import PLAIN, version_of
from smdebug.pytorch.losses.nodes import LossInputs, inputs_of, is_over, losses_behind, unscaled
from smdebug.pytorch.patch import Patch
from smdebug.pytorch.torch_state import in_backward, is_compiling

__all__ = ["BackwardLosses"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# The most passes of a step whose losses are kept.
_MOST_PASSES = 4
# After so many passes of which no loss was recorded, none is read any more.
_MOST_VAIN = 1024
# After so many passes without it, a number that is recorded before them is not looked for.
_MOST_MISSES = 8
# How far apart a loss and the same loss, scaled and scaled back, may be.
_ROUNDING = 4.0

_KEY = "smdebug"

_Losses = List[Tuple[LossInputs, bool]]

# The hooks that want to know of backward passes.
_listeners: MutableSet[Any] = weakref.WeakSet()


def _telling(original: Callable[..., Any]) -> Callable[..., Any]:
    def backward(*args: Any, **kwargs: Any) -> Any:
        # A checkpoint runs passes within a pass.
        if not is_compiling() and not in_backward():
            roots = args[0] if args else kwargs.get("tensors")
            for each in tuple(_listeners):
                each._on_backward(roots)
        return original(*args, **kwargs)

    return backward


_patch = Patch(lambda: torch.autograd, "backward", _telling)


class _Kept(NamedTuple):
    """A loss whose backward pass has begun: its value, and what it and its parts got.

    Its node, and only that, has the mark.
    """

    mark: object
    value: Any
    losses: _Losses
    versions: List[Optional[int]]


class BackwardLosses:
    """Keeps what losses got, from their backward pass until they are recorded, or the step ends.

    A loss is known again by its node, or by its value if it is recorded without one.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook that records losses.
    save : callable
        Saves what a loss got.
    """

    def __init__(self, hook: Any, save: Callable[[str, _Losses], None]) -> None:
        self._hook = hook
        self._save = save
        self._passes: List[List[_Kept]] = []
        self._expected: Dict[str, float] = {}  # numbers that were recorded before their pass
        self._misses: Dict[str, int] = {}  # passes of other losses, by such a number's name
        self._vain = 0  # passes since a loss was known again
        self._thread = 0
        #: Whether the open step has the inputs of its loss from elsewhere.
        self.is_needless = False

    def begin_step(self) -> None:
        """Forgets the passes of the step before."""
        self.is_needless = False
        self._thread = threading.get_ident()
        self._passes.clear()
        self._expected.clear()

    def forget(self) -> None:
        """Ends to listen, and forgets all passes."""
        self.begin_step()
        _listeners.discard(self._hook)
        if not _listeners:
            _patch.end()

    def listen(self) -> None:
        """Makes backward passes tell the hook."""
        _listeners.add(self._hook)
        _patch.begin()

    def expect(self, name: str, loss: Any) -> None:
        """Listens to backward passes from now on: a loss was recorded without its graph."""
        if self._vain >= _MOST_VAIN:
            return
        self.listen()
        is_number = type(loss) in PLAIN and loss.numel() == 1 and loss.device.type == "cpu"
        if is_number and loss.grad_fn is None and self._misses.get(name, 0) < _MOST_MISSES:
            self._expected[name] = float(loss.detach())

    @property
    def has_any(self) -> bool:
        """Whether the open step had a pass with such a loss."""
        return bool(self._passes)

    def take(self, name: str, loss: Any) -> bool:
        """Saves what a loss got, and returns True, if its pass is kept."""
        for kept in self._passes:
            for each in reversed(kept):
                if _is_of(each, loss):
                    self._found(name, each, kept)
                    return True
        return False

    def on_backward(self, roots: Any) -> None:
        """Reads the graphs of the losses at the roots of a pass."""
        self._vain += 1
        if self._vain > _MOST_VAIN:
            self.forget()
            return
        if self.is_needless or threading.get_ident() != self._thread:
            return
        for root in roots if isinstance(roots, (list, tuple)) else (roots,):
            kept = _read(root)
            if kept:
                self._passes = [*self._passes[1 - _MOST_PASSES :], kept]
                self._find_expected(kept)

    def _find_expected(self, kept: List[_Kept]) -> None:
        for name, number in self._expected.items():
            for each in reversed(kept):
                if _is_same(each.value, number):
                    self._found(name, each, kept)
                    return
        for name in self._expected:
            self._misses[name] = self._misses.get(name, 0) + 1

    def _found(self, name: str, loss: _Kept, kept: List[_Kept]) -> None:
        self._vain = 0
        self._expected.pop(name, None)
        self._misses.pop(name, None)
        # Under another name nothing of it is saved again.
        kept[:] = [each._replace(losses=[], versions=[]) for each in kept]
        if loss.versions == _versions_of(loss.losses):
            self._save(name, loss.losses)


def _read(root: Any) -> List[_Kept]:
    """Returns a loss, what it was before it was scaled, and its parts; of others, nothing."""
    if type(root) not in PLAIN or root.grad_fn is None or root.numel() != 1:
        return []
    if is_capturing(root.device):
        return []  # Elements are computed when the graph is replayed.
    nodes = list(unscaled(root))
    parts = [node for node, _ in losses_behind(nodes[-1][0])]
    if not parts or any(map(is_over, parts)):
        return []
    inputs = [inputs_of(node) for node in parts]
    kept = [
        _keep(node, value, list(zip(inputs, (whole for _, whole in losses_behind(node)))))
        for node, value in nodes
    ]
    if len(parts) > 1:
        kept += [_keep(node, None, [(each, True)]) for node, each in zip(parts, inputs)]
    return kept


def _keep(node: Any, value: Any, losses: _Losses) -> _Kept:
    mark = node.metadata.setdefault(_KEY, object())  # the same for several hooks
    return _Kept(mark, value, losses, _versions_of(losses))


def _versions_of(losses: _Losses) -> List[Optional[int]]:
    return [
        None if tensor is None else version_of(tensor)
        for inputs, _ in losses
        for tensor in (inputs.outputs, inputs.targets)
    ]


def _is_of(kept: _Kept, loss: Any) -> bool:
    """Returns True if this is the loss, with its graph or without."""
    if loss.grad_fn is not None:
        return loss.grad_fn.metadata.get(_KEY) is kept.mark
    if kept.value is None or type(loss) not in PLAIN or loss.numel() != 1:
        return False
    if loss.device.type == "cpu":
        return _is_same(kept.value, float(loss))
    # To ask a device for the value would wait for it.
    return bool(loss.device == kept.value.device and loss.data_ptr() == kept.value.data_ptr())


def _is_same(value: Any, number: float) -> bool:
    """Returns True if a loss has this value.  Many numbers are 0, as losses seldom are."""
    if value is None or number == 0 or not math.isfinite(number):
        return False
    least = torch.finfo(value.dtype).eps if value.is_floating_point() else 0.0
    tolerance = _ROUNDING * max(least, torch.finfo(torch.float32).eps)
    return math.isclose(float(value), number, rel_tol=tolerance)
