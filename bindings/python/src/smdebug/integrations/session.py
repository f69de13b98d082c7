"""The hook of one training that a framework runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping, Optional

from smdebug.core.logger import get_logger
from smdebug.integrations.callback import check_arguments
from smdebug.pytorch.hook import Hook

if TYPE_CHECKING:
    from smdebug.rules.rule_set import RuleSet

__all__ = ["Session"]


class Session:
    """Makes the hook when the training begins, and closes it at its end.

    Parameters
    ----------
    out_dir : str or path, optional
        Folder of the trial.
    hook : smdebug.pytorch.Hook, optional
        A hook instead.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    settings
        Further parameters of `smdebug.pytorch.Hook`.
    """

    def __init__(
        self,
        out_dir: Any,
        hook: Optional[Hook],
        rules: Optional[RuleSet],
        settings: Dict[str, Any],
    ) -> None:
        check_arguments(out_dir, hook, settings)
        self._out_dir = out_dir
        self._rules = rules
        self._settings = settings
        self._is_over = False
        self.hook = hook

    def begin(
        self, model: Any, optimizers: Iterable[Any], counts_calls: bool = True
    ) -> Optional[Hook]:
        """Registers a model and its optimizers.  Returns the hook, or None after the end.

        Without `counts_calls` the caller begins the steps.
        """
        if self._is_over:
            get_logger().warning(
                "%s holds a finished trial: this training is not recorded; give each training a "
                "callback and a folder of its own",
                self._out_dir or "the hook",
            )
            return None
        if self.hook is None:
            included = list(self._settings.pop("include_collections", None) or ())
            self.hook = Hook(
                self._out_dir, include_collections=[*included, "learning_rate"], **self._settings
            )
        self.hook._stops_gracefully = True
        if self._rules is not None:
            self.hook.attach(self._rules)
        self.hook._register(model, None, counts_calls)
        self.hook.register_optimizer(*optimizers)
        return self.hook

    def end_step(self) -> bool:
        """Lets rules evaluate a step that an optimizer has ended.

        Returns True if the training has to stop.  Without rules the step stays open: what the
        framework logs for it still belongs to it.
        """
        if self.hook is None or self._is_over:
            return False
        if self.hook.has_updated and self.hook._has_rules:
            self.hook.end_step()
        return self.hook.stop_finding is not None

    def save_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Saves the numbers that a framework logs as scalars."""
        if self.hook is None or self._is_over:
            return
        for name, value in metrics.items():
            if isinstance(value, (int, float)) or getattr(value, "numel", lambda: 0)() == 1:
                self.hook.save_scalar(name, value)

    def end(self) -> None:
        """Closes the hook: the trial is finished.  A second call does nothing."""
        if self.hook is not None and not self._is_over:
            self._is_over = True
            self.hook.close()
