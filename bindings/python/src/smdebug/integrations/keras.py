"""Records a training of Keras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from smdebug.integrations.callback import RecordingCallback
from smdebug.tensorflow.keras import KerasHook
from smdebug.tensorflow.utils import callback_class

if TYPE_CHECKING:
    from smdebug.rules.rule_set import RuleSet

__all__ = ["KerasCallback"]

_Callback: Any = callback_class()


class KerasCallback(RecordingCallback, _Callback):  # type: ignore[misc]
    """Records a training: ``model.fit(..., callbacks=[KerasCallback("run")])``.

    A step is a batch.  Losses, metrics and the learning rate are recorded; batches of a
    validation have the mode EVAL.  If an attached rule recommends to stop, Keras stops after the
    next batch, or at the end of the epoch.  The trial is finished when `fit` ends.  An `evaluate`
    before `fit` is recorded too.

    Parameters
    ----------
    out_dir : str or path, optional
        Folder of the trial.
    hook : smdebug.tensorflow.KerasHook, optional
        A hook instead of `out_dir`.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    **settings
        Further parameters of `smdebug.tensorflow.KerasHook`.
    """

    def __init__(
        self,
        out_dir: Any = None,
        *,
        hook: Optional[KerasHook] = None,
        rules: Optional[RuleSet] = None,
        **settings: Any,
    ) -> None:
        _Callback.__init__(self)
        # With this, Keras does not copy the logs of every batch to the host for the hook.
        self._supports_tf_logs = True
        # Keras 2 sets the model before the parameters.
        self.params: Any = None
        RecordingCallback.__init__(self, out_dir, hook=hook, rules=rules, **settings)

    def _hook_class(self) -> Any:
        return KerasHook

    def set_params(self, params: Any) -> None:
        _Callback.set_params(self, params)
        if self._recorder is not None:
            self._recorder.set_params(params)

    def set_model(self, model: Any) -> None:
        _Callback.set_model(self, model)
        # Before Keras builds its step functions, into which the hook looks.
        hook = self._open()
        if hook is not None:
            hook.set_params(self.params)
            hook.set_model(model)

    def on_train_begin(self, logs: Any = None) -> None:
        if self._begin() is not None:
            self._recorder.on_train_begin(logs)

    def on_train_end(self, logs: Any = None) -> None:
        if self._recorder is not None:
            self._recorder.on_train_end(logs)
            self.close()

    def on_test_begin(self, logs: Any = None) -> None:
        self._begin_other("on_test_begin", logs)

    def on_predict_begin(self, logs: Any = None) -> None:
        self._begin_other("on_predict_begin", logs)

    def on_test_end(self, logs: Any = None) -> None:
        self._forward("on_test_end", logs)

    def on_predict_end(self, logs: Any = None) -> None:
        self._forward("on_predict_end", logs)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._forward("on_train_batch_begin", batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._forward("on_test_batch_begin", batch, logs)

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._forward("on_predict_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._forward("on_train_batch_end", batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self._forward("on_test_batch_end", batch, logs)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        self._forward("on_predict_batch_end", batch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._forward("on_epoch_end", epoch, logs)
        # The hook ends the epoch's last step only now.
        if self._recorder is not None and self._recorder.stop_finding is not None:
            self._recorder.model.stop_training = True

    def _begin_other(self, name: str, logs: Any) -> None:
        if self._is_over:
            self._tell_over()
        self._forward(name, logs)

    def _forward(self, name: str, *arguments: Any) -> None:
        if self._recorder is not None:
            getattr(self._recorder, name)(*arguments)
