"""The losses that models return by name."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, List, Optional, Tuple

from smdebug.core.utils import import_framework
from smdebug.pytorch.models import RegisteredModel
from smdebug.pytorch.torch_state import is_generating

__all__ = ["ReturnedLosses"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


class ReturnedLosses:
    """Saves the losses that models return by name, as those of ``transformers`` do.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook that saves them.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._withheld: Optional[List[Tuple[str, Any]]] = None

    def save(self, model: RegisteredModel, outputs: Any) -> None:
        """Saves the loss among a model's outputs, if there is one."""
        if type(outputs) is torch.Tensor or not hasattr(outputs, "get"):
            return
        if not torch.is_grad_enabled() and is_generating():
            return
        loss = outputs.get("loss")
        if not self._hook._is_tensor(loss):
            return
        if self._withheld is not None:
            self._withheld.append((f"{model.name}_loss", loss))
            return
        self._hook._losses_seen.add(model.name)
        self._hook._save_numbered(f"{model.name}_loss_output_", loss)
        self._hook._loss_graphs.save(f"{model.name}_loss", loss)

    @contextmanager
    def withheld(self) -> Iterator[List[Tuple[str, Any]]]:
        """Saves no losses, but lists them with the names that they would have."""
        before, self._withheld = self._withheld, []
        try:
            yield self._withheld
        finally:
            self._withheld = before
