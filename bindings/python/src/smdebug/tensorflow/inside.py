"""Records tensors from inside a model's steps: layers, inputs, gradients."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.modes import ModeKeys
from smdebug.core.save_config import SaveConfigMode
from smdebug.tensorflow.base_hook import TensorflowBaseHook
from smdebug.tensorflow.loss_inputs import LOSS_INPUTS, normalises_inputs
from smdebug.tensorflow.step_functions import StepFunctions
from smdebug.tensorflow.unused import MISSING_GRADIENTS, NO_GRADIENT, UnusedVariables, missing_name, of_tape
from smdebug.tensorflow.utils import flat_tensors, is_built, is_symbolic, loaded, zero_now
from smdebug.tensorflow.watch import GradientWatch, Listener, ModelWatch, NamedTensors

__all__ = ["InsideHook"]

# Collections whose tensors exist only while a step runs, by mode.
_INSIDE = {
    ModeKeys.TRAIN: ("gradients", "layers", "inputs", "outputs"),
    ModeKeys.EVAL: ("layers", "inputs", "outputs"),
    ModeKeys.PREDICT: ("layers", "inputs"),
}


class InsideHook(TensorflowBaseHook):
    """A hook that records tensors from inside the steps that save such tensors.

    While Keras runs a model, the hook records a step by running a second version of the
    model's step function.  In a custom loop it observes the registered model and the wrapped
    optimizers all the time.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The modes that Keras runs now, innermost last: evaluation may run within training.
        self._running: List[ModeKeys] = []
        self._is_looking = False
        # The mode of a batch that Keras announced, but that may not exist: its step has not begun.
        self._announced: Optional[ModeKeys] = None
        self._seen: Set[str] = set()
        # By mode: the names selected by name that the first recorded step contained.
        self._asked_inside: Dict[ModeKeys, Set[str]] = {}
        self._listener = Listener(
            self._listens,
            self._see_inside,
            self._gradient_name,
            self._note_weights,
            self._note_gradients,
        )
        self._unused = UnusedVariables()
        self._unused_before: Set[str] = set()  # variables of models before this one
        self._unused_told: Set[str] = set()
        self._step_functions: Optional[StepFunctions] = None
        # Registered models and wrapped optimizers wait for the first step.  From then on the hook
        # observes them until it is closed.
        self._is_registered = False
        self._waiting: List[Any] = []
        self._watches: List[Any] = []
        self._is_closed = False
        super().__init__(*args, **kwargs)

    def close(self) -> None:
        try:
            if not self._is_copy:
                self._leave(everything=True)
        finally:
            self._is_closed = True
            self._announced = None
            super().close()
            if not self._is_copy and not self._running:
                self._forget()

    def __exit__(self, error_type: Any, *error: Any) -> None:
        if error_type is not None and not self._is_copy:
            self._running.clear()  # Keras does not tell of a training that an exception ends.
        super().__exit__(error_type, *error)

    def _forget(self) -> None:
        """Lets go of what was recorded: get_hook() keeps the hook."""
        self._watched_model = self._model_variables = self._step_functions = None
        self._wrapped_optimizers.clear()
        self._other_variables.clear()
        self._waiting.clear()

    @property
    def _is_in_loop(self) -> bool:
        """Returns True if a step of a custom loop is running."""
        raise NotImplementedError

    # ---- steps run by Keras --------------------------------------------------------------

    def _watch(self, model: Any) -> None:
        """Records the steps of a model if a collection selects tensors inside them."""
        if model is not self._watched_model:
            self._take(model)
        if self._has_rules and normalises_inputs(model):
            self._tell("normalised_inputs", "^inputs_")
        may_look = any(self._may_look_into(mode) for mode in _INSIDE) and self._can_look()
        if may_look and self._step_functions is not None:
            self._step_functions.install()

    def _take(self, model: Any) -> None:
        self._leave(everything=True)
        self._watched_model = model
        self._model_variables = None
        self._asked_inside.clear()
        self._unused, self._unused_before = UnusedVariables(), self._unused_told
        self._step_functions = StepFunctions(
            model, self._looks_into, self._looking, self._note_failure
        )

    def _can_look(self) -> bool:
        tf = loaded("tensorflow")
        strategy = tf.distribute.get_strategy() if tf is not None else None
        name = type(strategy).__name__
        if "TPU" not in name and "ParameterServer" not in name:
            return True
        self._say_once(f"gradients and layers are not recorded: {name} runs steps elsewhere")
        return False

    def _may_look_into(self, mode: ModeKeys) -> bool:
        """Returns True if a step of a mode may save tensors from inside."""
        if any(self._is_of_interest(collection, mode) for collection in _INSIDE[mode]):
            return True
        return bool(self._asked_for(self._names_inside(mode)))

    def _is_of_interest(self, collection: str, mode: ModeKeys) -> bool:
        """Returns True if a collection is a reason to look into the steps of a mode.

        Rules evaluate what a model learns from, which is no reason to compile other steps.
        """
        if mode is ModeKeys.TRAIN:
            return self._is_included(collection)
        return self._is_chosen(collection)

    def _names_inside(self, mode: ModeKeys) -> List[str]:
        """Returns the known names of the tensors inside the steps of a mode."""
        model = self._watched_model
        names = ["inputs_0"]
        for layer in model.layers:
            names += [f"{layer.name}/inputs", f"{layer.name}/outputs"]
        if mode is not ModeKeys.PREDICT:
            names += ["labels_0", "predictions_0"]
        if mode is ModeKeys.TRAIN and is_built(model):
            names += [self._gradient_name(variable) for variable in model.trainable_variables]
        elif mode is ModeKeys.TRAIN:
            names += ["gradients/kernelGrad", "gradients/biasGrad"]
        return names

    @guarded(returns=False)
    def _looks_into(self, mode: ModeKeys) -> bool:
        # A callback of the user's may call the model in another mode, within an open step.
        if not self._running or mode is not self._running[-1]:
            return False
        if self._announced is not None:
            return self._looks_into_next(mode)
        if not self._saves_step:
            return False
        for name in _INSIDE[mode]:
            if self._is_of_interest(name, mode) and self._saves_now(self.get_collection(name)):
                return True
        if mode not in self._asked_inside:
            if self._asked_for(self._names_inside(mode)):
                return True
            self._asked_inside[mode] = set()
        return any(self.wants(name) for name in self._asked_inside[mode])

    def _looks_into_next(self, mode: ModeKeys) -> bool:
        """Returns True if the step after the open one may save tensors from inside."""
        for name in _INSIDE[mode]:
            if self._is_of_interest(name, mode) and self._saves_next(name, mode):
                return True
        if not self._saves_any_next(mode):
            return False
        if mode in self._asked_inside:
            return bool(self._asked_inside[mode])
        return bool(self._asked_for(self._names_inside(mode)))

    def _saves_any_next(self, mode: ModeKeys) -> bool:
        return any(self._saves_next(name, mode) for name in list(self.get_collections()))

    def _saves_next(self, name: str, mode: ModeKeys) -> bool:
        """Returns True if the next step of a mode saves a collection, or rules evaluate it."""
        if self._is_evaluated(name):
            return True
        if not self._is_chosen(name):
            return False
        collection: Collection = self.get_collection(name)
        own = collection.save_config.mode_save_configs[mode] if collection.save_config else None
        settings = own or self.save_config.mode_save_configs[mode] or SaveConfigMode()
        return settings.should_save_step(self.mode_steps.get(mode, -1) + 1)

    @contextmanager
    def _looking(self) -> Iterator[None]:
        mode = self._running[-1]
        watches: List[Any] = []
        self._seen.clear()
        self._start_watches(watches)
        self._is_looking = True
        try:
            yield
        finally:
            self._is_looking = False
            for watch in reversed(watches):
                watch.remove()
            if mode not in self._asked_inside:
                self._asked_inside[mode] = self._asked_for(self._seen)

    @guarded
    def _start_watches(self, watches: List[Any]) -> None:
        """Observes the model and its optimizer, and appends the observers to a list."""
        for thing in (self._watched_model, *self._optimizers()):
            if not self._is_watched(thing):
                watches.append(self._watch_of(thing))

    def _is_watched(self, thing: Any, waiting: Sequence[Any] = ()) -> bool:
        known = [*waiting, *(watch.thing for watch in self._watches)]
        return any(thing is each for each in known)

    def _watch_of(self, thing: Any) -> Any:
        if thing is self._watched_model:
            return ModelWatch(thing, self._listener)
        return GradientWatch(thing, self._listener)

    def _leave(self, everything: bool) -> None:
        """Restores the model; `everything` also restores registered models and optimizers."""
        if self._step_functions is not None:
            self._step_functions.remove()
        if everything:
            for watch in reversed(self._watches):
                watch.remove()
            self._watches.clear()
            self._is_registered = False

    # ---- custom loops --------------------------------------------------------------------

    @guarded
    def register_model(self, model: Any) -> None:
        """Observes a model that a custom loop calls, until the hook is closed."""
        self._take(model)
        self._is_registered = True
        self._waiting.append(model)

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Records an optimizer's variables and the gradients that it applies.

        Returns
        -------
        optimizer
            The same optimizer.
        """
        self._wrap_optimizer(optimizer)
        return optimizer

    @guarded
    def _wrap_optimizer(self, optimizer: Any) -> None:
        if not hasattr(optimizer, "apply_gradients"):
            self.logger.warning("%r is not a Keras optimizer and is not recorded", optimizer)
        elif not any(optimizer is each for each in self._wrapped_optimizers):
            self._wrapped_optimizers.append(optimizer)
            self._waiting.append(optimizer)

    @guarded
    def _watch_waiting(self) -> None:
        """Observes registered models and optimizers if a collection selects their tensors."""
        if not self._waiting or self._running:
            return
        waiting, self._waiting = self._waiting, []
        own = self._optimizers() if self._is_registered else []
        waiting += [each for each in own if not self._is_watched(each, waiting)]
        for thing in waiting:
            if thing is self._watched_model:
                is_asked_for = any(self._may_look_into(mode) for mode in _INSIDE)
            else:
                is_asked_for = self._may_save(CollectionKeys.GRADIENTS, "gradients/kernelGrad")
            if is_asked_for:
                self._watches.append(self._watch_of(thing))

    # ---- observed tensors ----------------------------------------------------------------

    def _listens(self, value: Any) -> bool:
        """Returns True if the hook records what happens in a model."""
        if self._running:
            return self._is_looking
        if not self._is_in_loop:
            return False
        return self._saves_step or any(is_symbolic(tensor) for tensor in flat_tensors(value))

    @guarded
    def _note_weights(self) -> None:
        """Tells rules that the training knows of its rare classes."""
        self._tell("weighted_losses", "^(labels_|loss/)")

    @guarded
    def _note_gradients(self, given: Sequence[Tuple[Any, Any]]) -> None:
        """Tells rules for which variables of an optimizer there is no gradient."""
        if self._has_rules:
            missing = self._note_unused(given)
            if missing:  # They are no biases, whatever is in their names.
                regexes = self.get_collection(CollectionKeys.BIASES).include_regex
                regexes[:] = [each.replace("(?!gradient)", NO_GRADIENT) for each in regexes]
            self._see(MISSING_GRADIENTS, [(missing_name(each), zero_now()) for each in missing])

    def _note_unused(self, given: Sequence[Tuple[Any, Any]]) -> List[str]:
        """Tells rules which variables need no gradient; returns the gradients that are None."""
        before = self._unused.changes
        missing = self._unused.note([(self._gradient_name(each), value) for each, value in given])
        if self._unused.changes != before and (missing or self._unused_told):
            self._tell_unused()
        return missing

    def _tell_unused(self) -> None:
        known = self._variables_by_gradient()
        unused = self._unused.names(known)
        told = self._unused_before.union(*(known.get(each, {of_tape(each)}) for each in unused))
        if told == self._unused_told:
            return
        self._unused_told = told
        self._fill("not_used", told)
        if self.mode_steps:  # The file is written: who reads a running trial needs it.
            self.export_collections()

    def _see_inside(self, collection: str, named: NamedTensors) -> None:
        if collection == LOSS_INPUTS and not self._has_rules:
            return
        if self._is_looking:
            self._seen.update(name for name, _ in named)
            # Keras passes predictions to the callback at the end of the batch.
            if self._running[-1] is ModeKeys.PREDICT and collection == CollectionKeys.OUTPUTS:
                return
        self._see(collection, named)
