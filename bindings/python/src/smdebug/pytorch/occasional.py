"""The callbacks of inner modules, which PyTorch has only at steps that can want their tensors.

PyTorch calls modules without callbacks faster.
"""

from __future__ import annotations

import weakref
from typing import Any, List, Tuple

from smdebug import _raw
from smdebug.pytorch.callbacks import AfterForward
from smdebug.pytorch.collected import examples_of
from smdebug.pytorch.torch_state import was_compiled

__all__ = ["Occasional"]

_Watched = Tuple[int, Any, AfterForward]
_NONE: List[_Watched] = []


class Occasional:
    """Adds and removes callbacks of inner modules.

    Rules are asked again when the core says that their answers may have changed.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook, which attaches callbacks to modules.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        # The keys of the models, references to the modules, and their callbacks.
        self._all: List[_Watched] = []
        self._handles: List[Any] = []
        # Those that PyTorch has, as these flags say.
        self._added = _NONE
        self._flags = b""
        # Whether collections can want tensors of a module; if not, which names rules are asked
        # for, and none if rules can want any.
        self._why: Any = None
        self._collected = b""
        self._groups: Tuple[Tuple[str, ...], ...] = ()
        # What rules, or collections after all, want, and for which of the core's selections.
        self._wanted_now = b""
        self._selections = -1

    def add(self, key: int, module: Any, callback: AfterForward) -> None:
        """Knows one more module, of the model with that key."""
        self._all.append((key, weakref.ref(module), callback))

    def forget(self) -> None:
        """Removes all callbacks, and knows no module."""
        self._replace(_NONE, b"")
        self._all.clear()

    def watch(self) -> None:
        """Adds the callbacks that the open step can want, and removes the others."""
        flags = self._wanted() if self._hook._is_saving else b""
        if flags == self._flags:
            return
        wanted = [each for each, is_wanted in zip(self._all, flags) if is_wanted]
        self._replace(wanted, flags)

    def _replace(self, wanted: List[_Watched], flags: bytes) -> None:
        if wanted != self._added:
            for handle in self._handles:
                handle.remove()
            self._handles.clear()
            for key, reference, callback in wanted:
                module = reference()
                if module is not None and not was_compiled(key):
                    self._hook._attach_to(module, callback, self._handles)
        self._added, self._flags = wanted, flags

    def _wanted(self) -> bytes:
        """Returns a byte for each callback: 1 if the open step can want a tensor of its module."""
        hook = self._hook
        why = (hook._collected.changes, len(self._all), hook._metrics is not None)
        if why != self._why:
            self._why = why
            self._look(hook)
            self._selections = -1
        if not hook._has_rules:
            return self._collected
        selections = _raw.smd_hook_count(hook._handle, "selections")
        if selections != self._selections:
            self._selections = selections
            self._wanted_now = hook._saver.wanted(self._groups)
        return self._wanted_now

    def _look(self, hook: Any) -> None:
        is_collected = [
            hook._metrics is not None or hook._collected.may_have_of(reference(), callback.name)
            for _, reference, callback in self._all
        ]
        self._collected = bytes(is_collected)
        self._groups = tuple(
            () if is_needed else examples_of(reference(), callback.name)
            for is_needed, (_, reference, callback) in zip(is_collected, self._all)
        )
