"""Records a training of ``transformers.Trainer``."""

from __future__ import annotations

import dataclasses
import weakref
from typing import Any, Callable, Dict, Optional

from smdebug.core.utils import import_framework
from smdebug.integrations.torch_callback import TorchCallback
from smdebug.integrations.trainer_loss import record_loss, trainer_above

__all__ = ["TrainerCallback"]

transformers = import_framework("transformers", "transformers", "smdebug.integrations")


# Where a job writes, and what it may not tell.
_NOT_RECORDED = ("_dir", "_token", "_id")


def _chosen(arguments: Any) -> Dict[str, Any]:
    """Returns the arguments of a trainer that are not the defaults."""
    values = {
        field.name: (getattr(arguments, field.name), field.default)
        for field in dataclasses.fields(arguments)
        if not field.name.endswith(_NOT_RECORDED)
    }
    return {name: value for name, (value, default) in values.items() if value != default}


class TrainerCallback(TorchCallback, transformers.TrainerCallback):  # type: ignore[misc, name-defined]
    """Records a training: ``Trainer(..., callbacks=[TrainerCallback("run")])``.

    A step is one of the optimizer.  The loss that the trainer trains with, the learning rate, the
    numbers that it logs, and those of its arguments that are not the defaults are recorded;
    evaluations have the mode EVAL.  If an attached rule recommends to stop, the trainer stops after
    the step.  The trial is finished when the training ends.

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

    # Gives the trainer its own method back.
    _undo: Optional[Callable[[], None]] = None

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **given: Any
    ) -> None:
        if self._register(model, [given["optimizer"]]) is None:
            return
        self._describe(_chosen(args))
        trainer = trainer_above()
        if trainer is not None:
            callback = weakref.ref(self)  # which the trainer must not keep
            self._undo = record_loss(trainer, lambda: getattr(callback(), "_recorder", None))

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if self._end_step():
            control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        self._save_metrics(logs or {})

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.close()

    def close(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()
        super().close()
