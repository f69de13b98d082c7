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


def _will_log(args: Any, state: Any, control: Any) -> bool:
    """Returns True if the trainer logs something after this step, or ends after it."""
    ends_epoch = args.logging_strategy == "epoch" and float(state.epoch or 0).is_integer()
    return bool(control.should_log or control.should_training_stop or ends_epoch)


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

    # The batch size that the trainer tries.
    _batch_size: Optional[int] = None

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **given: Any
    ) -> None:
        is_retry = self._tries_again(args, state)
        self._batch_size = getattr(state, "train_batch_size", None)
        if is_retry:
            self._register_again(model, [given["optimizer"]])
            return
        if self._register(model, [given["optimizer"]]) is None:
            return
        self._describe(_chosen(args))
        trainer = trainer_above()
        if trainer is not None:
            callback = weakref.ref(self)  # which the trainer must not keep
            self._undo = record_loss(trainer, lambda: getattr(callback(), "_recorder", None))

    def _tries_again(self, args: Any, state: Any) -> bool:
        """Returns True if the trainer has halved its batches, after it ran out of memory."""
        if self._recorder is None or not getattr(args, "auto_find_batch_size", False):
            return False
        before, now = self._batch_size, getattr(state, "train_batch_size", None)
        return before is not None and now is not None and now < before

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if not _will_log(args, state, control):
            self._end_update(control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        is_training = not any(name.startswith("eval_") for name in logs or {})
        self._save_metrics(logs or {}, is_training)
        if not control.should_training_stop:
            self._end_update(control)

    def _end_update(self, control: Any) -> None:
        if self._end_step():
            control.should_training_stop = True

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._end_update(control)  # a step that was evaluated when the evaluation began

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.close()

    def close(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()
        super().close()
