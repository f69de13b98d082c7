"""Records a training of LightGBM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from smdebug.integrations.callback import RecordingCallback
from smdebug.lightgbm.hook import Hook

if TYPE_CHECKING:
    from smdebug.rules.rule_set import RuleSet

__all__ = ["LightGBMCallback"]


class LightGBMCallback(RecordingCallback):
    """Records a training: ``lgb.train(..., callbacks=[LightGBMCallback("run")])``.

    A step is a boosting round.  Metrics, which are named after their data as "train-auc" and
    "test-auc", and the learning rate are recorded.  If an attached rule recommends to stop, the
    training stops after the round.  The trial is finished after the last round.  LightGBM does
    not report that another callback, as `early_stopping`, ended the training: then the trial is
    finished when the callback is deleted, or by `close`.

    Parameters
    ----------
    out_dir : str or path, optional
        Folder of the trial.
    hook : smdebug.lightgbm.Hook, optional
        A hook instead of `out_dir`.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    **settings
        Further parameters of `smdebug.lightgbm.Hook`.
    """

    def __init__(
        self,
        out_dir: Any = None,
        *,
        hook: Optional[Hook] = None,
        rules: Optional[RuleSet] = None,
        **settings: Any,
    ) -> None:
        super().__init__(out_dir, hook=hook, rules=rules, **settings)
        # As of the hook: before early_stopping, which may end the training.
        self.order = 20

    def _hook_class(self) -> Any:
        return Hook

    def __call__(self, env: Any) -> None:
        """Records a boosting round.  Ends the training if a rule requests it."""
        if env.iteration == env.begin_iteration:
            self._begin()
        if self._recorder is None:
            return
        try:
            self._recorder(env)
        except BaseException:
            self.close()
            raise
        if env.iteration + 1 == env.end_iteration:
            self.close()
