"""Optimizers that nobody has registered: rules want to know their learning rates."""

from __future__ import annotations

import itertools
import sys
import weakref
from typing import Any, Callable, List, MutableMapping, Optional, Protocol, Sequence, Set, Tuple

from smdebug.core.utils import import_framework
from smdebug.pytorch.models import RegisteredModel
from smdebug.pytorch.torch_state import is_compiling

__all__ = ["Unregistered"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# PyTorch 1 has none: a training has to register its optimizers.
_register: Optional[Callable[[Callable[..., None]], Any]] = getattr(
    sys.modules[torch.optim.Optimizer.__module__], "register_optimizer_step_pre_hook", None
)


_SOME = 64  # elements of a gradient


def _has_gradients(optimizer: Any) -> bool:
    """Returns False if all gradients that the update applies are zeros, or there is none.

    One of a device, or a part of one, counts: to look at it would wait for others.
    """
    gradients = (
        each.grad
        for group in optimizer.param_groups
        for each in group["params"]
        if each.grad is not None
    )
    return any(
        type(gradient) is not torch.Tensor
        or gradient.device.type != "cpu"
        or gradient.layout is not torch.strided
        or bool(gradient.detach().reshape(-1)[:_SOME].any())
        for gradient in gradients
    )


class _Listener(Protocol):
    """The part of the hook that this module uses."""

    @property
    def _handles(self) -> List[Any]: ...

    @property
    def _models(self) -> List[RegisteredModel]: ...

    def _on_any_update(self, optimizer: Any) -> None: ...


class Unregistered:
    """Names the learning rates of the optimizers that update registered models, once a step."""

    def __init__(self) -> None:
        self._names: MutableMapping[Any, str] = weakref.WeakKeyDictionary()
        self._seen: Set[str] = set()
        self._step = -1

    def watch(self, hook: _Listener) -> None:
        """Calls the hook's `_on_any_update` before each `step` of each optimizer.

        This ends when the hook's handles are removed.
        """
        if _register is None or hook._models:
            return
        listener = weakref.ref(hook)

        def before(optimizer: Any, *unused: Any) -> None:
            if is_compiling():
                return
            found = listener()
            if found is not None:
                found._on_any_update(optimizer)

        hook._handles.append(_register(before))

    def rates_of(
        self, optimizer: Any, models: Sequence[RegisteredModel], step: int
    ) -> List[Tuple[str, Any]]:
        """Returns the name and the learning rate of each group of parameters.

        Returns nothing for an optimizer of other models or without gradients, and if it has
        updated in this step before.
        """
        firsts = [id(group["params"][0]) for group in optimizer.param_groups if group["params"]]
        is_of_models = any(first in model.names() for model in models for first in firsts)
        if not is_of_models or not _has_gradients(optimizer):
            return []
        if step != self._step:
            self._step = step
            self._seen.clear()
        name = self._name_of(optimizer)
        if name in self._seen:
            return []
        self._seen.add(name)
        return [
            (f"learning_rate/{name}_{number}", group["lr"])
            for number, group in enumerate(optimizer.param_groups)
            if group.get("lr") is not None
        ]

    def _name_of(self, optimizer: Any) -> str:
        """Returns its class, numbered if another one of it lives."""
        kind = type(optimizer).__name__
        try:
            name = self._names.get(optimizer)
        except TypeError:  # not hashable
            return kind
        if name is None:
            taken = set(self._names.values())
            more = (f"{kind}_{number}" for number in itertools.count(2))
            name = kind if kind not in taken else next(each for each in more if each not in taken)
            self._names[optimizer] = name
        return name
