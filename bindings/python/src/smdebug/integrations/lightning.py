"""Records a training of Lightning."""

from __future__ import annotations

import importlib
import sys
import weakref
from functools import partial
from importlib.util import find_spec
from typing import Any, Callable, Mapping, Optional, Set

from smdebug.core.utils import import_framework
from smdebug.integrations.torch_callback import TorchCallback

__all__ = ["LightningCallback"]


def _lightning() -> Any:
    """Returns the package that the training uses: Lightning has two names."""
    is_imported = "lightning.pytorch" in sys.modules
    has_other = "pytorch_lightning" in sys.modules or find_spec("lightning") is None
    if not is_imported and has_other and find_spec("pytorch_lightning") is not None:
        return importlib.import_module("pytorch_lightning")
    import_framework("lightning", "lightning", "smdebug.integrations")
    return importlib.import_module("lightning.pytorch")


class _Scalars(_lightning().loggers.logger.DummyLogger):  # type: ignore[misc]
    """Takes what a trainer logs during a training, as its other loggers get it.

    Without others, it is also the logger of the module, whose further calls do nothing.

    Parameters
    ----------
    trainer : lightning.Trainer
        The trainer, whose folder stays as it was.
    save : callable
        Saves the numbers of a training by name.
    """

    def __init__(self, trainer: Any, save: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._folder: Optional[str] = trainer.log_dir
        self._save = save
        self._trainer = weakref.proxy(trainer)
        # The names that validations log.
        self.validated: Set[str] = set()

    @property
    def save_dir(self) -> Optional[str]:
        return self._folder

    def log_metrics(self, metrics: Mapping[str, Any], step: Optional[int] = None) -> None:
        if self._trainer.training:
            self._save(metrics)
        elif self._trainer.validating:
            self.validated.update(metrics)


def _will_log(trainer: Any) -> bool:
    """Returns True if the trainer logs something after this batch."""
    try:  # another version may keep this elsewhere: then rules do not wait for the log
        connector = trainer._logger_connector
        is_due = connector.should_update_logs or trainer.fast_dev_run
        return bool(is_due and connector.metrics["log"])
    except Exception:
        return False


class LightningCallback(TorchCallback, _lightning().Callback):  # type: ignore[misc]
    """Records a training: ``Trainer(callbacks=[LightningCallback("run")])``.

    A step is one of the optimizers; a batch of a validation is a step of the mode EVAL.  The
    losses that `training_step` and `validation_step` return, the learning rate, logged metrics and
    the hyper-parameters that the module keeps are recorded.  If an attached rule recommends to
    stop, the trainer stops after the batch.  The trial is finished when the training ends.

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

    _scalars: Optional[_Scalars] = None
    # The names that were known when a validation began.
    _known: Set[str] = set()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self._register(pl_module, trainer.optimizers, counts_calls=False) is None:
            return
        for owner in (trainer.datamodule, pl_module):
            self._describe(getattr(owner, "hparams", {}))
        self._scalars = _Scalars(trainer, partial(self._save_trained, weakref.proxy(trainer)))
        trainer.loggers = [*trainer.loggers, self._scalars]

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *unused: Any) -> None:
        self._begin_batch(pl_module)

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        if self._recorder is not None and self._recorder._is_saving:
            # `training_step` returned it before it was divided by the number of batches.
            self._recorder._loss_graphs.save("loss", loss, is_scaled=True)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, *unused: Any
    ) -> None:
        self._save_loss(outputs)
        if not _will_log(trainer):
            self._end_batch(trainer)

    def _save_trained(self, trainer: Any, metrics: Mapping[str, Any]) -> None:
        self._save_metrics(metrics, is_training=True)
        self._end_batch(trainer)

    def _end_batch(self, trainer: Any) -> None:
        if self._end_step():
            trainer.should_stop = True

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if self._recorder is not None:
            self._known = set(trainer.callback_metrics)

    def on_validation_batch_start(self, trainer: Any, pl_module: Any, *unused: Any) -> None:
        self._begin_batch(pl_module)

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, *unused: Any
    ) -> None:
        self._save_loss(outputs)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self._scalars is None:
            return
        metrics = trainer.callback_metrics
        names = self._scalars.validated
        names.update(each for each in metrics if each not in self._known)
        self._save_metrics({each: metrics[each] for each in metrics if each in names}, False)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end(trainer)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        if self._has_begun:  # otherwise it can still record a training
            self._fail(exception)
            self._end(trainer)

    def _end(self, trainer: Any) -> None:
        trainer.loggers = [each for each in trainer.loggers if each is not self._scalars]
        self._scalars = None
        self.close()

    def _begin_batch(self, module: Any) -> None:
        if self._recorder is not None:
            self._recorder._begin_batch(module)

    def _save_loss(self, outputs: Any) -> None:
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if self._recorder is not None and hasattr(loss, "detach"):
            self._recorder.record_tensor_value("loss", loss)
