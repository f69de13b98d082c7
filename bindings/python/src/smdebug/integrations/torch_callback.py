"""The common part of what records a training with PyTorch."""

from __future__ import annotations

import copyreg
import enum
from typing import Any, Iterable, Mapping, Optional, Tuple

from smdebug.core.logger import get_logger
from smdebug.exceptions import SMDebugError
from smdebug.integrations.callback import RecordingCallback
from smdebug.pytorch.hook import Hook

__all__ = ["TorchCallback"]


class TorchCallback(RecordingCallback):
    """Registers a model and its optimizers when the training begins.

    Parameters
    ----------
    out_dir : str or path, optional
        Folder of the trial.
    hook : smdebug.pytorch.Hook, optional
        A hook instead of `out_dir`.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    **settings
        Further parameters of `smdebug.pytorch.Hook`.
    """

    def _hook_class(self) -> Any:
        return Hook

    def _register(
        self, model: Any, optimizers: Iterable[Any], counts_calls: bool = True
    ) -> Optional[Hook]:
        """Begins the training.  Returns the hook; None for a second training.

        Without `counts_calls` the caller begins the steps.
        """
        hook: Optional[Hook] = self._begin()
        if hook is not None:
            hook._stops_gracefully = True
            hook._register(model, None, counts_calls)
            hook.register_optimizer(*optimizers)
        return hook

    def _end_step(self) -> bool:
        """Lets rules evaluate a step that an optimizer has ended.

        Returns True if the training has to stop.  Without rules the step stays open: what the
        framework logs for it still belongs to it.
        """
        hook = self._recorder
        if hook is None:
            return False
        if hook.has_updated and hook._has_rules:
            hook.end_step()
        return hook.stop_finding is not None

    def _save_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Saves the numbers that a framework logs as scalars."""
        if self._recorder is None:
            return
        for name, value in metrics.items():
            if isinstance(value, (int, float)) or getattr(value, "numel", lambda: 0)() == 1:
                self._recorder.save_scalar(name, value)

    def _describe(self, parameters: Mapping[Any, Any]) -> None:
        """Records hyper-parameters, for `Trial.metadata`: those that are numbers or texts."""
        if self._recorder is None:
            return
        for name, value in parameters.items():
            plain = value.value if isinstance(value, enum.Enum) else value
            if not isinstance(plain, (int, float, str)):
                continue
            try:
                self._recorder.set_metadata({str(name): plain})
            except SMDebugError as failure:
                get_logger().warning("a hyper-parameter is not recorded: %s", failure)

    def __reduce__(self) -> Tuple[Any, ...]:
        """Trainers send a callback to the processes that they start: there it records."""
        if self._has_begun or self._is_copy:
            return super().__reduce__()
        return copyreg.__newobj__, (type(self),), self.__dict__  # type: ignore[attr-defined]
