"""Records a training of XGBoost."""

from __future__ import annotations

from typing import Any, Mapping

from smdebug.integrations.callback import RecordingCallback
from smdebug.xgboost.hook import Hook, xgb

__all__ = ["XGBoostCallback"]


class XGBoostCallback(RecordingCallback, xgb.callback.TrainingCallback):  # type: ignore[misc]
    """Records a training: ``xgb.train(..., callbacks=[XGBoostCallback("run")])``.

    A step is a boosting round.  Metrics, which are named after their data as "train-logloss" and
    "test-logloss", and the learning rate are recorded.  If an attached rule recommends to stop,
    the training stops after the round.  The trial is finished when the training ends.

    Parameters
    ----------
    out_dir : str or path, optional
        Folder of the trial.
    hook : smdebug.xgboost.Hook, optional
        A hook instead of `out_dir`.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    **settings
        Further parameters of `smdebug.xgboost.Hook`.
    """

    def _hook_class(self) -> Any:
        return Hook

    def before_training(self, model: Any) -> Any:
        self._begin()
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        if self._recorder is not None:
            self._recorder.before_iteration(model, epoch, evals_log)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        if self._recorder is None:
            return False
        return bool(self._recorder.after_iteration(model, epoch, evals_log))

    def after_training(self, model: Any) -> Any:
        if self._recorder is not None:
            self._recorder.after_training(model)
            self.close()
        return model
