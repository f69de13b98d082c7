"""Records a training of Lightning."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import Any, Mapping

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


class LightningCallback(TorchCallback, _lightning().Callback):  # type: ignore[misc]
    """Records a training: ``Trainer(callbacks=[LightningCallback("run")])``.

    A step is one of the optimizers; a batch of a validation is a step of the mode EVAL.  The
    losses that `training_step` and `validation_step` return, the learning rate and logged metrics
    are recorded.  If an attached rule recommends to stop, the trainer stops after the batch.  The
    trial is finished when the training ends.

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

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._register(pl_module, trainer.optimizers, counts_calls=False)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *unused: Any) -> None:
        self._begin_batch(pl_module)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, *unused: Any
    ) -> None:
        self._save_loss(outputs)
        if self._end_step():
            trainer.should_stop = True

    def on_validation_batch_start(self, trainer: Any, pl_module: Any, *unused: Any) -> None:
        self._begin_batch(pl_module)

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, *unused: Any
    ) -> None:
        self._save_loss(outputs)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._save_metrics(trainer.callback_metrics)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.close()

    def _begin_batch(self, module: Any) -> None:
        if self._recorder is not None:
            self._recorder._begin_batch(module)

    def _save_loss(self, outputs: Any) -> None:
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if self._recorder is not None and hasattr(loss, "detach"):
            self._recorder.record_tensor_value("loss", loss)
