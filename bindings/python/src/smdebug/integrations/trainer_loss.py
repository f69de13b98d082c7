"""The loss that a ``transformers.Trainer`` trains with."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, List, Optional, Tuple

from smdebug.core.utils import import_framework

__all__ = ["record_loss", "trainer_above"]

torch = import_framework("torch", "torch", "smdebug.integrations")
transformers = import_framework("transformers", "transformers", "smdebug.integrations")


def trainer_above() -> Any:
    """Returns the trainer that is calling a callback, which is not given it; None without one."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self")
        if issubclass(type(caller), transformers.Trainer):  # asks a proxy nothing
            return caller
        frame = frame.f_back
    return None


def record_loss(trainer: Any, recorder: Callable[[], Any]) -> Callable[[], None]:
    """Lets a hook record what ``trainer.compute_loss`` returns.

    That is often not what the model returns: classes of trainers have losses of their own, as
    those for preferences do, ``compute_loss_func`` and smoothed labels replace the model's, and
    what a compiled model returns is not seen.  Only a loss that is the model's has its name.

    Parameters
    ----------
    trainer : transformers.Trainer
        The trainer, which calls ``self.compute_loss``.
    recorder : callable
        Returns the hook while it records; otherwise None.

    Returns
    -------
    callable
        Gives the trainer its own method back.
    """
    compute = trainer.compute_loss
    before = trainer.__dict__.get("compute_loss")

    @functools.wraps(compute)
    def compute_loss(*arguments: Any, **keywords: Any) -> Any:
        hook = recorder()
        if hook is None:
            return compute(*arguments, **keywords)
        with hook._returned.withheld() as returned:
            result = compute(*arguments, **keywords)
        loss = result[0] if isinstance(result, tuple) else result
        if isinstance(loss, torch.Tensor) and (torch.is_grad_enabled() or not _trains(hook)):
            name = _name_of(loss, returned) or _own_name(trainer, compute, hook)
            hook.record_tensor_value(name, loss)
        return result

    def undo() -> None:
        if trainer.__dict__.get("compute_loss") is not compute_loss:
            return
        if before is None:
            del trainer.compute_loss
        else:
            trainer.compute_loss = before

    trainer.compute_loss = compute_loss
    return undo


def _trains(hook: Any) -> bool:
    modules = (model.module for model in hook._models)
    return any(module is not None and hook._trains(module) for module in modules)


def _name_of(loss: Any, returned: List[Tuple[str, Any]]) -> Optional[str]:
    return next((name for name, each in returned if each is loss), None)


def _own_name(trainer: Any, compute: Any, hook: Any) -> str:
    """Returns the model's name for a loss that a compiled model computes, else "loss"."""
    is_plain = (
        getattr(compute, "__func__", None) is transformers.Trainer.compute_loss
        and getattr(trainer, "compute_loss_func", None) is None
        and getattr(trainer, "label_smoother", None) is None
    )
    return f"{hook._models[0].name}_loss" if is_plain and hook._models else "loss"
