"""Optimizers that nobody has registered: rules want to know their rates, and when they update."""

from __future__ import annotations

import itertools
import sys
import weakref
from typing import Any, Callable, Dict, List, MutableMapping, Optional, Protocol, Sequence, Tuple

from smdebug.core.utils import import_framework
from smdebug.pytorch.gradient_sum import GradientSum
from smdebug.pytorch.models import RegisteredModel
from smdebug.pytorch.optimizers import has_gradients, swapped_betas
from smdebug.pytorch.torch_state import is_compiling

__all__ = ["Unregistered"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# PyTorch 1 has none: a training has to register its optimizers.
_register: Optional[Callable[[Callable[..., None]], Any]] = getattr(
    sys.modules[torch.optim.Optimizer.__module__], "register_optimizer_step_pre_hook", None
)

_SOME = 64  # elements of a gradient
# A single step without an update says nothing yet, and no rule minds it.
_LEAST_SUMMED = 2
# More steps without an update are rather those of a training whose optimizer is never called.
_MOST_SUMMED = 500
# Each seventh update tells the rates again: few intervals of steps are multiples of seven.
_BETWEEN = 6


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


class _Known:
    """What is known of an optimizer: its name, and the rates that rules last heard of.

    One of other models has no name yet.
    """

    __slots__ = ("name", "rates", "updates")

    def __init__(self) -> None:
        self.name = ""
        self.rates: Optional[Tuple[Any, ...]] = None
        self.updates = 0  # how many came since


class Unregistered:
    """Tells the learning rates of the optimizers that update registered models, as they change."""

    #: How many steps' gradients an update applies: those of the last one, or of the sum so far.
    summed = 1

    def __init__(self) -> None:
        self._updates = 0
        self._known: MutableMapping[Any, _Known] = weakref.WeakKeyDictionary()

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
                self._updates += 1
                found._on_any_update(optimizer)

        hook._handles.append(_register(before))

    def note_backward(self, gradients: GradientSum, step: int, is_added: bool) -> None:
        """Notes a backward pass, and whether it adds to the gradients of the pass before."""
        if _register is None:
            return  # An update of another model would be a batch more.
        steps = gradients.add(step, is_added, self._updates)
        steps = max(gradients.applied, steps if steps <= _MOST_SUMMED else 1)
        self.summed = steps if steps >= _LEAST_SUMMED else 1

    def changed_rates(
        self, optimizer: Any, models: Sequence[RegisteredModel]
    ) -> List[Tuple[str, Any]]:
        """Returns the name and the learning rate of each group of parameters, if one is new, and betas
        that are swapped.

        Returns them every few updates anyway: rules may look at some steps only.  Of an optimizer
        that never had a gradient, returns zeros for its parameters.  Returns nothing for one of
        other models, or one that has no hash.
        """
        groups = optimizer.param_groups
        rates = tuple([group.get("lr") for group in groups])
        try:
            known = self._known.get(optimizer)
        except TypeError:
            return []
        # One that is a tensor may have changed: to look at it could wait for a device.
        is_as_before = known is not None and (not known.name or known.rates == rates)
        if known is not None and is_as_before and known.updates < _BETWEEN:
            known.updates += 1
            return []
        firsts = [id(group["params"][0]) for group in groups if group["params"]]
        names = [model.names() for model in models]
        if not any(first in each for each in names for first in firsts):
            self._known[optimizer] = _Known()
            return []
        is_told = known is not None and known.rates is not None
        if not is_told and not _has_gradients(optimizer):
            had_some = known is not None and bool(known.name)
            is_new = not had_some and not has_gradients(optimizer)
            return self._missing(optimizer, names) if is_new else []
        if known is None:
            known = self._known[optimizer] = _Known()
        known.name = known.name or self._free_name(optimizer)
        known.rates = None if any(isinstance(rate, torch.Tensor) for rate in rates) else rates
        known.updates = 0
        return [
            (f"learning_rate/{known.name}_{number}", rate)
            for number, rate in enumerate(rates)
            if rate is not None
        ] + swapped_betas(optimizer, known.name)

    def _missing(self, optimizer: Any, names: Sequence[Dict[int, str]]) -> List[Tuple[str, Any]]:
        self._known[optimizer] = _Known()  # which is asked again after a few updates
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        return [
            (f"missing_gradient/{of_model[id(each)]}", 0.0)
            for each in parameters
            for of_model in names
            if id(each) in of_model and each.requires_grad and each.numel() > 0
        ]

    def _free_name(self, optimizer: Any) -> str:
        """Returns its class, numbered if another one of it lives."""
        kind = type(optimizer).__name__
        taken = {each.name for each in self._known.values()}
        if kind not in taken:
            return kind
        return next(f"{kind}_{n}" for n in itertools.count(2) if f"{kind}_{n}" not in taken)
