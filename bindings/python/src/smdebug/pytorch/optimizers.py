"""An optimizer that is registered with the hook."""

from __future__ import annotations

import functools
import sys
import types
import weakref
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Protocol, Sequence, Tuple

from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugTypeError
from smdebug.pytorch.optimizer_names import OptimizerNames
from smdebug.pytorch.torch_state import is_compiling

__all__ = [
    "MissingUpdates",
    "WatchedOptimizer",
    "inner_optimizer",
    "missing_gradients",
    "settings_of",
]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# What runs each `step` of each optimizer, and calls hooks before and after it.
_STEP: Any = getattr(torch.optim.Optimizer, "profile_hook_step", lambda step: step)(lambda: None)


class _Listener(Protocol):
    """The part of the hook that this module uses."""

    def _before_update(self, watched: WatchedOptimizer, optimizer: Any) -> None: ...

    def _after_update(self, watched: WatchedOptimizer, optimizer: Any) -> None: ...


class MissingUpdates:
    """Warns once of registered optimizers that never update anything, or update what is unknown.

    A training without an update would be one step, which no rule sees the end of.  So optimizers
    that were never called are set aside, and each call of the model is a step, until one updates
    something.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook whose optimizers these are.
    """

    _MANY = 200  # calls of the model
    _VERY_MANY = 2000  # calls, if gradients are accumulated

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        #: The registered optimizers that were never called.
        self.set_aside: List[WatchedOptimizer] = []
        #: Whether one was called.
        self.has_updated = False
        self._calls = 0
        self._most = self._MANY
        self._knows_unknown = False

    def note_call(self) -> None:
        """Counts a call of the model in a training step."""
        self._calls += 1
        if self._calls == self._MANY and self._accumulates():
            self._most = self._VERY_MANY
        if self._calls == self._most:
            self._hook.logger.warning(
                "step() of the registered optimizers was not called in %d calls of the model; from "
                "now on each call is a step of the trial; call it after each backward pass, or do "
                "not register the optimizers",
                self._calls,
            )
            self.set_aside.extend(self._hook._optimizers)
            self._hook._optimizers.clear()

    def note_update(self) -> None:
        """Notes that an optimizer is called."""
        self.has_updated = True
        self._calls = self._VERY_MANY
        self._hook._optimizers.extend(self.set_aside)
        self.set_aside.clear()

    def _accumulates(self) -> bool:
        """Whether each call added to the same gradients: none was reset or newly made."""
        optimizers = [each.optimizer for each in self._hook._optimizers]
        groups = [group for each in optimizers if each is not None for group in each.param_groups]
        for parameter in (each for group in groups for each in group["params"]):
            if parameter.grad is not None:
                # Resetting it in place would be a change more.
                return bool(self._calls / 2 < parameter.grad._version < self._calls * 3 / 2)
        return False

    def note_unknown(self, count: int) -> None:
        if count == 0 or self._knows_unknown:
            return
        self._knows_unknown = True
        self._hook.logger.warning(
            "%d parameters of a registered optimizer belong to no registered module, and are not "
            "recorded; give their module to register_module",
            count,
        )


def inner_optimizer(optimizer: Any) -> Any:
    """Returns PyTorch's optimizer within those of Accelerate and Lightning.

    Raises
    ------
    SMDebugTypeError
        If there is none.
    """
    found, seen = optimizer, 0
    while seen < 8:
        inner = getattr(found, "optimizer", None)
        if not isinstance(inner, torch.optim.Optimizer) or inner is found:
            break
        found, seen = inner, seen + 1
    if not isinstance(found, torch.optim.Optimizer):
        raise SMDebugTypeError(f"a {type(optimizer).__name__} is not a torch.optim.Optimizer")
    return found


def missing_gradients(named: Sequence[Tuple[str, Any]], optimizer: str) -> List[str]:
    """Returns a name for each parameter that an update should change and that has no gradient.

    If none of the optimizer's parameters has one, the update changes nothing: returns one name.
    """
    missing = [
        f"missing_gradient/{name}"
        for name, parameter in named
        if parameter.grad is None and parameter.requires_grad and parameter.numel() > 0
    ]
    if missing and all(parameter.grad is None for _, parameter in named):
        return [f"idle_update/{optimizer}"]
    return missing


def has_gradients(optimizer: Any) -> bool:
    """Returns True if a parameter has a gradient."""
    return any(each.grad is not None for group in optimizer.param_groups for each in group["params"])


def settings_of(optimizer: Any, name: str) -> List[Tuple[str, Any]]:
    """Returns the name and the value of each group's learning rate and weight decay, and of betas
    that are swapped.

    Returns nothing for an update without gradients, as of another model's parameters: it applies
    nothing at this rate.
    """
    if not has_gradients(optimizer):
        return []
    return [
        (f"{collection}/{name}_{number}", group[key])
        for number, group in enumerate(optimizer.param_groups)
        for key, collection in (("lr", "learning_rate"), ("weight_decay", "weight_decay"))
        if group.get(key) is not None
    ] + swapped_betas(optimizer, name)


def swapped_betas(optimizer: Any, name: str) -> List[Tuple[str, float]]:
    """Returns, of each group whose first beta is above the second, the difference.

    Then the mean of squared gradients forgets faster than that of gradients.
    """
    found = []
    for number, group in enumerate(optimizer.param_groups):
        betas = group.get("betas")
        is_pair = isinstance(betas, (tuple, list)) and len(betas) == 2
        if is_pair and all(isinstance(beta, float) for beta in betas) and betas[0] > betas[1]:
            found.append((f"beta_excess/{name}_{number}", betas[0] - betas[1]))
    return found


def _is_within_step(optimizer: Any) -> bool:
    """Returns True in a `step` that another `step` of the optimizer calls, as a derived class does.

    PyTorch calls its hooks for each of both, if an optimizer of the base class was ever made.
    """
    if is_compiling():
        return False
    steps = 0
    frame: Any = sys._getframe(2)
    while frame is not None and steps < 2:
        if frame.f_code is _STEP.__code__ and frame.f_locals.get("self") is optimizer:
            steps += 1
        frame = frame.f_back
    return steps > 1


class WatchedOptimizer:
    """Tells the hook before and after each update of an optimizer, which it does not keep.

    Parameters
    ----------
    hook
        Its `_before_update` is called when the gradients are final, `_after_update` when the
        parameters have changed.
    optimizer : torch.optim.Optimizer
        The optimizer.
    name : str
        Its name in the names of tensors.
    """

    def __init__(self, hook: _Listener, optimizer: Any, name: str) -> None:
        self.name = name
        # Filled by `_before_update`, emptied by `_after_update`: all parameters with their names,
        # and copies of the parameters whose updates are recorded.
        self.named: List[Tuple[str, Any]] = []
        self.before: Dict[str, Any] = {}
        self.updates = 0
        self.names = OptimizerNames()
        self._ids: List[int] = []
        self._set_of_ids: FrozenSet[int] = frozenset()
        self._hook = hook
        self._optimizer = weakref.ref(optimizer)
        self._handles: List[Any] = []
        self._restore: Optional[Callable[[], None]] = None
        if hasattr(optimizer, "register_step_pre_hook"):
            self._handles.append(optimizer.register_step_pre_hook(self._before_step))
            self._handles.append(optimizer.register_step_post_hook(self._after_step))
        else:
            self._wrap(optimizer)

    @property
    def optimizer(self) -> Any:
        """The optimizer, or None if it is gone."""
        return self._optimizer()

    def parameters(self) -> FrozenSet[int]:
        """Returns the ids of its parameters; the same object as long as they are the same."""
        optimizer = self._optimizer()
        groups = () if optimizer is None else optimizer.param_groups
        ids = [id(parameter) for group in groups for parameter in group["params"]]
        if ids != self._ids:
            self._ids, self._set_of_ids = ids, frozenset(ids)
        return self._set_of_ids

    def has_gradients(self) -> bool:
        """Returns True if a parameter has a gradient."""
        optimizer = self._optimizer()
        return optimizer is not None and has_gradients(optimizer)

    def detach(self) -> None:
        """Leaves the optimizer as it was."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._restore is not None:
            self._restore()
            self._restore = None
        self.forget()

    def forget(self) -> None:
        """Holds no parameters: an update is over."""
        self.named, self.before = [], {}

    # ---- called by PyTorch ------------------------------------------------------------

    def _before_step(
        self, optimizer: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Optional[Tuple[Tuple[Any, ...], Dict[str, Any]]]:
        if _is_within_step(optimizer):
            return None
        # Among the arguments is the optimizer itself.
        place = 1 if args and args[0] is optimizer else 0
        closure = args[place] if len(args) > place else kwargs.get("closure")
        if closure is None:
            self._announce(optimizer)
            return None
        evaluate = self._announcing(optimizer, closure)
        if len(args) > place:
            return (*args[:place], evaluate, *args[place + 1 :]), kwargs
        return args, {**kwargs, "closure": evaluate}

    def _after_step(self, optimizer: Any, *unused: Any) -> None:
        if not _is_within_step(optimizer):
            self._hook._after_update(self, optimizer)

    def _announce(self, optimizer: Any) -> None:
        self.updates += 1
        self._hook._before_update(self, optimizer)

    def _announcing(self, optimizer: Any, closure: Callable[[], Any]) -> Callable[[], Any]:
        """Returns the closure so that its first call, which computes the gradients, announces."""
        calls: List[None] = []

        @functools.wraps(closure)
        def evaluate() -> Any:
            loss = closure()
            if not calls:
                calls.append(None)
                self._announce(optimizer)
            return loss

        return evaluate

    # ---- PyTorch before 2.0 ---------------------------------------------------------------

    def _wrap(self, optimizer: Any) -> None:
        """Replaces the optimizer's `step` by a method that calls it between the two calls."""
        before = optimizer.__dict__.get("step")
        step, watched = optimizer.step, weakref.ref(self)
        # The optimizer holds the method: it must not hold the optimizer in turn.
        function = step.__func__ if before is None else None

        @functools.wraps(step)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            call = before if function is None else functools.partial(function, self)
            now = watched()
            if now is None or not now._is_wrapped:
                return call(*args, **kwargs)
            changed = now._before_step(self, args, kwargs)
            args, kwargs = (args, kwargs) if changed is None else changed
            result = call(*args, **kwargs)
            now._after_step(self)
            return result

        method = types.MethodType(wrapper, optimizer)
        optimizer.step = method
        reference = weakref.ref(optimizer)

        def restore() -> None:
            optimizer = reference()
            # A wrapper of someone else's around this one stays; this one then only calls on.
            if optimizer is None or optimizer.__dict__.get("step") is not method:
                return
            if before is None:
                del optimizer.step
            else:
                optimizer.step = before

        self._restore = restore

    @property
    def _is_wrapped(self) -> bool:
        return self._restore is not None
