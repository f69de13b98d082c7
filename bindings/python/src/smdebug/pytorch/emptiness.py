"""The warnings of a hook that closes without what it was asked to record."""

from __future__ import annotations

import difflib
from typing import Any, List

from smdebug.core.collection import CollectionKeys
from smdebug.pytorch.torch_state import was_compiled

__all__ = ["warn_of_emptiness"]

# Collections that others are warned of, or that may well be empty.
_NOT_NAMED = {
    CollectionKeys.ALL,
    CollectionKeys.BIASES,
    CollectionKeys.DEFAULT,
    CollectionKeys.WEIGHTS,
    CollectionKeys.GRADIENTS,
    CollectionKeys.LOSSES,
}
_OF_OPTIMIZERS = ("updates", "optimizer_state", "learning_rate", "weight_decay")


def warn_of_emptiness(hook: Any) -> None:
    """Logs a warning for each kind of tensors that a hook should have recorded and did not.

    Says what to do.  Only for hooks that record, and have registered modules.
    """
    try:
        if hook._models and hook.is_recording:
            for warning in _warnings(hook):
                hook.logger.warning("%s: %s", hook.out_dir, warning)
    except Exception as failure:
        hook._note_failure("looking for what was not recorded", failure)


def _warnings(hook: Any) -> List[str]:
    names = ", ".join(model.name for model in hook._models)
    if not hook.mode_steps.get(hook.mode, -1) >= 0 and int(hook.step) < 0:
        return [
            f"no step was recorded: the hook saw no call of the registered {names}; register the "
            "module that the training calls, and the optimizer by register_optimizer"
        ]
    found = [
        f"the hook saw no call of the registered {model.name}, so its inputs, outputs and weights "
        "were not recorded; register the modules that the training calls"
        for model in hook._models
        if not model.was_called and not was_compiled(model.key)
    ]
    trained = hook._training_steps > 0 and any(model.has_changed() for model in hook._models)
    has_loss = bool(hook.get_collection(CollectionKeys.LOSSES).tensor_names)
    # Only the last stage of a pipeline has a loss.
    is_stage = any(model.is_stage for model in hook._models)
    if trained and not has_loss and not is_stage:
        found.append(
            "no loss was recorded; give the loss module to register_loss, or call "
            'record_tensor_value("loss", loss); a loss that the model returns can be included by '
            f'its name, as include_regex="{hook._models[0].name}_output_0"'
        )
    if trained and not hook._saw_gradient and _wants_gradients(hook):
        found.append(
            "weights have changed, but no gradient was recorded; give the optimizer to "
            "register_optimizer, and the module whose parameters it updates to register_module"
        )
    for name in hook.include_collections:
        if name not in _NOT_NAMED and not hook.get_collection(name).tensor_names:
            found.append(_without_tensors(hook, name))
    return found


def _wants_gradients(hook: Any) -> bool:
    return hook.save_all or CollectionKeys.GRADIENTS in hook.include_collections


def _without_tensors(hook: Any, name: str) -> str:
    if name in _OF_OPTIMIZERS:
        if hook._missing_updates.has_updated:
            advice = "the registered optimizer has none, or no step with an update was saved"
        elif hook._optimizers or hook._missing_updates.set_aside:
            advice = "the registered optimizer has updated nothing: call its step()"
        else:
            advice = "give the optimizer to register_optimizer"
    elif name not in hook._builtin_collections and not _has_expressions(hook, name):
        near = difflib.get_close_matches(name, hook._builtin_collections, 1)
        advice = f"did you mean {near[0]}?" if near else "it has no expressions: include some"
    else:
        advice = (
            "compiled models record no inputs and outputs of inner modules: record them by "
            "smdebug.pytorch.tap; otherwise check the collection's expressions"
        )
    return f"no tensor of the collection {name} was recorded; {advice}"


def _has_expressions(hook: Any, name: str) -> bool:
    return bool(hook.get_collection(name).include_regex)
