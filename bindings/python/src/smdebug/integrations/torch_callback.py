"""The common part of what records a training with PyTorch."""

from __future__ import annotations

import copyreg
import enum
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple

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

    # What was logged for a training, and for an evaluation, while no such step was open.
    _logged: Dict[bool, Dict[str, Any]]

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
            self._logged = {True: {}, False: {}}
            hook._stops_gracefully = True
            hook._register(model, None, counts_calls)
            hook.register_optimizer(*optimizers)
        return hook

    def _register_again(self, model: Any, optimizers: Iterable[Any]) -> None:
        """Continues the training with a new optimizer; the open step is discarded."""
        hook: Hook = self._recorder
        if hook._step_is_open:
            hook.discard_step()
        hook._detach()
        hook._register(model, None, True)
        hook.register_optimizer(*optimizers)

    def _end_step(self) -> bool:
        """Lets rules evaluate a step that an optimizer has ended.

        Returns True if the training has to stop.  Without rules the step stays open: what the
        framework logs for it still belongs to it.
        """
        hook = self._recorder
        if hook is None:
            return False
        if hook.has_updated:
            self._save_logged()
            if hook._has_rules:
                hook.end_step()
        return hook.stop_finding is not None

    def _save_metrics(self, metrics: Mapping[str, Any], is_training: bool) -> None:
        """Saves the numbers that a framework logs as scalars of the open step.

        The step is saved even if its save config does not select it.  If no step of this kind is
        open, the last value of each name is saved with the next one.
        """
        if self._recorder is None:
            return
        for name, value in metrics.items():
            if isinstance(value, (int, float)) or getattr(value, "numel", lambda: 0)() == 1:
                self._logged[is_training][name] = value
        self._save_logged()

    def _save_logged(self) -> None:
        """Saves the logged numbers that belong to the open step, if there is one."""
        hook = self._recorder
        if hook is None or not hook._step_is_open:
            return
        for is_training, values in self._logged.items():
            if values and (hook._mode_is_set or hook._is_training == is_training):
                # The losses are computed already, so that only these numbers are saved.
                hook._add_to_step("losses")
                self._save_all(values)

    def _save_all(self, values: Dict[str, Any]) -> None:
        for name, value in values.items():
            self._hook.save_scalar(name, value)
        values.clear()

    def close(self) -> None:
        hook = self._recorder
        if hook is not None and any(self._logged.values()):
            if hook._step_is_open:
                hook._add_to_step("losses")
            for values in self._logged.values():
                self._save_all(values)
        super().close()

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
