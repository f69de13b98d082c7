"""The hook for Keras: a callback, and functions for custom training loops."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set

from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.hook import Regexes
from smdebug.core.modes import ModeKeys
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveSettings
from smdebug.tensorflow.inside import InsideHook
from smdebug.tensorflow.tape import recording_tape_class
from smdebug.tensorflow.utils import (
    callback_class,
    flat_tensors,
    host_value,
    is_symbolic,
    loaded,
    runs_in_sessions,
    summed_batches,
    unconverted,
    variable_name,
    wait_for_calls,
)
from smdebug.tensorflow.watch import NamedTensors, all_numbered, dense

__all__ = ["KerasHook"]

_Callback: Any = callback_class()

# Tapes name their tensors, so these collections also accept them by name.
_TAPE_REGEXES = {
    CollectionKeys.WEIGHTS: "^weights/.*/((?!bias).)*$",
    CollectionKeys.LOSSES: ".*loss.*",
    CollectionKeys.GRADIENTS: "^gradient",
}


class KerasHook(InsideHook, _Callback):  # type: ignore[misc]
    """Records trainings with Keras 2 or 3, and with TensorFlow's GradientTape.

    As a callback of `fit`, `evaluate` and `predict` it counts each batch as a step and sets
    the mode.  Losses, metrics and variables are recorded at the end of the batch.
    Gradients, inputs, and inputs and outputs of layers are recorded inside the step, by a
    second version of the step that is compiled only if a collection selects them.

    In a custom loop, `wrap_tape` counts the steps and records losses, gradients and weights;
    ``with hook.step(modes.TRAIN):`` counts steps without a tape.  `register_model` and
    `wrap_optimizer` make the hook observe a model and an optimizer.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers
        As `smdebug.Hook` takes them.
    **kwargs
        raise_errors, options: as `smdebug.core.framework_hook.FrameworkHook` takes them.
    """

    def __init__(
        self,
        out_dir: Any = None,
        export_tensorboard: bool = False,
        tensorboard_dir: Optional[str] = None,
        dry_run: bool = False,
        reduction_config: Optional[ReductionConfig] = None,
        save_config: SaveSettings = None,
        include_regex: Regexes = None,
        include_collections: Optional[List[Any]] = None,
        save_all: bool = False,
        include_workers: str = "one",
        **kwargs: Any,
    ) -> None:
        self._batch_logs: Dict[str, Any] = {}
        self._logged: Set[str] = set()
        self._begins_itself = False
        self._announced_rate: Any = None
        # What compiled functions report of an announced batch, until its step begins.
        self._held: List[Callable[[], None]] = []
        # The modes whose datasets had no known length in this training.
        self._endless: Set[ModeKeys] = set()
        # Whether rules know what is frozen: in the training that Keras runs, all the time.
        self._knows_frozen = False
        self._tape_class: Any = None
        self._open_tapes = 0
        _Callback.__init__(self)
        # With this, Keras does not copy the logs of every batch to the host for the hook.
        self._supports_tf_logs = True
        super().__init__(
            out_dir,
            export_tensorboard,
            tensorboard_dir,
            dry_run,
            reduction_config,
            save_config,
            include_regex,
            include_collections,
            save_all,
            include_workers,
            **kwargs,
        )

    # ---- steps ------------------------------------------------------------------------

    def begin_step(self, mode: Optional[ModeKeys] = None) -> int:
        if self._begins_itself and self._step_is_open:
            self._finish_step()
        self._begins_itself = False
        self._logged.clear()
        self._name_added(with_tape=self._tape_class is not None)
        self._watch_waiting()
        # A loop may freeze layers at any step; what Keras trains changes only between trainings.
        if not self._knows_frozen or (self._has_rules and not self._running):
            self._tell_frozen()
            self._knows_frozen = bool(self._model_variables)
        step = super().begin_step(mode)
        self._announced = None
        return step

    def _next_step(self) -> None:
        super()._next_step()
        self._begins_itself = True

    def end_step(self) -> None:
        if self._is_registered and not self._running and self._saves_step:
            wait_for_calls()
            if self._tape_class is None:
                self._save_all_variables()
        super().end_step()

    @guarded
    def _save_all_variables(self) -> None:
        self._save_variables(
            [
                *self._variables_of_model(),
                *self._variables_of_optimizers(),
                *self._other_variables,
            ]
        )

    # ---- called by Keras -----------------------------------------------------------------

    def set_model(self, model: Any) -> None:
        """Receives the model that Keras is about to run."""
        _Callback.set_model(self, model)
        self._take_model(model)

    def _forget(self) -> None:
        super()._forget()
        _Callback.set_model(self, None)

    @guarded
    def _take_model(self, model: Any) -> None:
        self._running.clear()
        self._endless.clear()
        self._announced = None
        if runs_in_sessions():
            self._say_once(
                "eager execution is switched off: variables, losses and metrics are recorded, but "
                "no gradients and no inputs and outputs of layers; leave out "
                "tf.compat.v1.disable_eager_execution() to record them"
            )
        self._watch(model)

    @guarded
    def on_train_begin(self, logs: Any = None) -> None:
        if self._selects_learning_rate:
            # A collection that a step finds missing counts from the next step on.
            self._join("learning_rate", "learning_rate")
        self._knows_frozen = False
        # Each step of `fit` computes gradients anew; a loop may add them up by itself.
        self._tell("reset_gradients", "^gradients/")
        self._begin(ModeKeys.TRAIN)

    @guarded
    def on_test_begin(self, logs: Any = None) -> None:
        if self._running:
            self._end_epoch({})
        self._begin(ModeKeys.EVAL)

    @guarded
    def on_predict_begin(self, logs: Any = None) -> None:
        self._begin(ModeKeys.PREDICT)

    @guarded
    def on_train_end(self, logs: Any = None) -> None:
        self._end()

    @guarded
    def on_test_end(self, logs: Any = None) -> None:
        self._end()

    @guarded
    def on_predict_end(self, logs: Any = None) -> None:
        self._end()

    @guarded
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._begin_batch(ModeKeys.TRAIN)

    @guarded
    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._begin_batch(ModeKeys.EVAL)

    @guarded
    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._begin_batch(ModeKeys.PREDICT)

    @guarded
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        # With JAX, `self.model` would copy the state of the training into the model.
        optimizer = getattr(self._watched_model, "optimizer", None)
        self._end_batch(batch, {**(logs or {}), **summed_batches(optimizer)})

    @guarded
    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self._end_batch(batch, logs)

    @guarded
    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        outputs = (logs or {}).get("outputs")
        self._see(CollectionKeys.OUTPUTS, all_numbered("predictions", outputs))
        self._end_batch(batch, None)

    @guarded
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._end_epoch({} if logs is None else logs)

    def _begin(self, mode: ModeKeys) -> None:
        self._running.append(mode)
        self.set_mode(mode)

    def _end(self) -> None:
        self._announced = None
        if self._running:
            self._running.pop()
        if not self._running:
            self._finish_step()
            self._leave(everything=False)
            if self._is_closed:
                self._forget()

    def _begin_batch(self, mode: ModeKeys) -> None:
        rate = self._read_learning_rate(mode)
        if self._knows_length(mode):
            self._begin_batch_step(mode, rate)
        else:
            # Keras also announces a batch after the last one.
            # JAX deletes the rate's array when the step runs.
            self._announced_rate = None if rate is None else loaded("numpy").array(rate)
            self._announced = mode
            self._held.clear()

    def _knows_length(self, mode: ModeKeys) -> bool:
        """Returns True if Keras knows how many batches a dataset has."""
        if mode in self._endless:
            return False
        if len(self._running) < 2:
            length = (self.params or {}).get("steps")
        else:
            # A validation within a training, whose parameters are those of the training.
            length = getattr(
                getattr(self.model, "_eval_epoch_iterator", None), "num_batches", None
            )
        if length is None:
            # After the first epoch, Keras counts the batch that it only announced.
            self._endless.add(mode)
        return length is not None

    def _begin_announced(self) -> None:
        """Begins the step of a batch that Keras announced, if it has not begun."""
        if self._announced is None:
            return
        try:
            self._begin_batch_step(self._announced, self._announced_rate)
        finally:
            self._announced = None
            held, self._held = self._held, []
        for save in held:
            save()

    def _when_begun(self, save: Callable[[], None]) -> None:
        """Saves a value now, or when the step of an announced batch has begun.

        Compiled functions report in threads of the framework, where beginning a step could wait
        for the same function.
        """
        if self._announced is None:
            save()
        else:
            self._held.append(save)

    def _begin_batch_step(self, mode: ModeKeys, rate: Any) -> None:
        self.set_mode(mode)
        self._next_step()
        if self.stop_finding is not None and mode is ModeKeys.TRAIN:
            # The finding was made when the last step ended; Keras checks the flag after the batch.
            self.model.stop_training = True
        if rate is not None and self._saves_step:
            super()._record("learning_rate", "learning_rate", rate)

    @property
    def _selects_learning_rate(self) -> bool:
        return "learning_rate" in self.include_collections

    @guarded
    def _read_learning_rate(self, mode: ModeKeys) -> Any:
        """Returns the batch's rate, or None if its step does not save it."""
        if mode is not ModeKeys.TRAIN or not self._selects_learning_rate:
            return None
        if not self._saves_any_next(mode):
            return None
        # Now, because at the end of the batch a schedule has the rate of the next one.
        optimizer = self.model.optimizer
        rate = optimizer.learning_rate
        if callable(rate) and not hasattr(rate, "assign"):
            rate = rate(optimizer.iterations)
        return host_value(rate)

    @property
    def _stops_by_raising(self) -> bool:
        return not self._running

    def _end_batch(self, batch: int, logs: Optional[Mapping[str, Any]]) -> None:
        self._begin_announced()
        self._batch_logs = {**(logs or {}), "batch": batch}
        if self._saves_step:
            self._save_logs(self._batch_logs)
            self._save_all_variables()

    def _end_epoch(self, logs: Mapping[str, Any]) -> None:
        """Saves the losses and metrics of an epoch with its last step, and ends the step.

        The values are those of the last batch, which are running means in Keras, and those of
        the validation.
        """
        self._announced = None
        if not self._step_is_open:
            return
        validation = {name: value for name, value in logs.items() if name.startswith("val_")}
        self._add_to_step(*self._always_saved)
        self._save_logs({**self._batch_logs, **validation})
        self._finish_step()

    def _save_logs(self, logs: Mapping[str, Any]) -> None:
        for name, value in logs.items():
            if name in self._logged or not self._is_number(value):
                continue
            is_loss = name in ("loss", "val_loss")
            collection = CollectionKeys.LOSSES if is_loss else CollectionKeys.METRICS
            self._record(collection, name, value)
            if self.wants(name):
                self._logged.add(name)

    @staticmethod
    def _is_number(value: Any) -> bool:
        return isinstance(value, (int, float)) or flat_tensors([value]) != []

    # ---- custom loops --------------------------------------------------------------------

    @unconverted
    def wrap_tape(self, tape: Any) -> Any:
        """Records what a GradientTape computes; each ``with`` block of the tape is a step.

        The step holds the target as "loss", the gradients, and the variables of the gradients
        as "weights/<name>", with the values that the tape used.

        Parameters
        ----------
        tape : tf.GradientTape
            A tape that has not started recording.

        Returns
        -------
        tf.GradientTape
            The same tape.
        """
        self._wrap_tape(tape)
        return tape

    @guarded
    def _wrap_tape(self, tape: Any) -> None:
        tf = loaded("tensorflow")
        if tf is None or not isinstance(tape, tf.GradientTape):
            self.logger.warning("%r is no GradientTape, and is not recorded", tape)
            return
        self.set_mode(ModeKeys.TRAIN)
        if self._tape_class is not None and isinstance(tape, self._tape_class):
            return
        if self._tape_class is None or self._tape_class.__base__ is not type(tape):
            self._tape_class = recording_tape_class(
                type(tape), self._tape_began, self._tape_ended, self._tape_computed
            )
            for name, regex in _TAPE_REGEXES.items():
                collection = self.get_collection(name)
                if regex not in collection.include_regex:
                    collection.include(regex)
        tape.__class__ = self._tape_class

    @property
    def _is_in_loop(self) -> bool:
        """Returns True inside a tape's block, or inside a step that the script began."""
        return self._open_tapes > 0 or (self._step_is_open and not self._begins_itself)

    def _see_inside(self, collection: str, named: NamedTensors) -> None:
        # Code may change the tape's gradients before they are applied; the tape's are recorded.
        is_told = not self._running and self._tape_class is not None
        if not is_told or collection != CollectionKeys.GRADIENTS:
            super()._see_inside(collection, named)

    def _tape_ended(self) -> None:
        self._open_tapes -= 1

    @guarded
    def _tape_began(self) -> None:
        self._open_tapes += 1
        self._watch_waiting()
        if not self._is_chief_replica():
            return
        if loaded("tensorflow").executing_eagerly():
            self._begin_announced()
            self._next_step()
        else:
            self._at_run_time(self._begin_tape_step, [])

    @guarded
    def _begin_tape_step(self, values: Any) -> None:
        # A function that was compiled with the hook may outlive the hook.
        if not self._is_closed:
            self._begin_announced()
            self.set_mode(ModeKeys.TRAIN)
            self._next_step()

    @guarded
    def _tape_computed(self, target: Any, sources: Any, gradients: Any) -> None:
        tf = loaded("tensorflow")
        if tf.executing_eagerly() and not self._saves_step:
            return
        given = [
            (source, gradient)
            for source, gradient in zip(tf.nest.flatten(sources), tf.nest.flatten(gradients))
            if hasattr(source, "assign")
        ]
        if self._has_rules:
            self._note_unused(given)
        pairs = [(source, gradient) for source, gradient in given if gradient is not None]
        self._see(
            CollectionKeys.GRADIENTS,
            [(self._gradient_name(v), dense(g)) for v, g in pairs],
        )
        for variable, _ in given if self._has_rules else pairs:
            name = f"weights/{variable_name(variable, self._watched_model)}"
            self._see_variables(self._weights_or_biases(name), [(name, variable)])
        self._see_variables(
            CollectionKeys.OPTIMIZER_VARIABLES,
            [(name, variable) for _, name, variable in self._variables_of_optimizers()],
        )
        targets = flat_tensors(target)
        names = ["loss"] if len(targets) == 1 else [f"loss_{i}" for i in range(len(targets))]
        self._see(CollectionKeys.LOSSES, list(zip(names, targets)))

    def _see_variables(self, collection: str, named: NamedTensors) -> None:
        if not loaded("tensorflow").executing_eagerly():
            # Read the values now: the step changes them.
            named = [(n, host_value(v)) for n, v in named if self._may_save(collection, n)]
        self._see(collection, named)

    # ---- single tensors ------------------------------------------------------------------

    def _record(self, collection: str, name: str, value: Any) -> None:
        record = super()._record
        self._when_begun(lambda: record(collection, name, value))

    def _see(self, collection: str, named: NamedTensors) -> None:
        values = [value for _, value in named]
        if self._announced is not None and any(not is_symbolic(value) for value in values):
            self._begin_announced()
        super()._see(collection, named)

    @unconverted
    def save_scalar(
        self, name: str, value: Any, sm_metric: bool = False, timestamp: Optional[float] = None
    ) -> None:
        parent = super().save_scalar

        def save(value: Any) -> None:
            parent(name, value, sm_metric, timestamp)

        if is_symbolic(value):
            self._at_run_time(lambda values: self._when_begun(lambda: save(values[0])), [value])
        else:
            self._begin_announced()
            save(value)

    @unconverted
    def save_tensor(
        self, tensor_name: str, tensor_value: Any, collections_to_write: Any = "default"
    ) -> None:
        parent = super().save_tensor

        def save(value: Any) -> None:
            parent(tensor_name, value, collections_to_write)

        if is_symbolic(tensor_value):
            self._at_run_time(
                lambda values: self._when_begun(lambda: save(values[0])), [tensor_value]
            )
        else:
            self._begin_announced()
            save(tensor_value)

    @guarded
    def record_tensor_value(self, tensor_name: str, tensor_value: Any) -> None:
        """Saves a tensor as a metric, if the open step saves metrics."""
        self._see(CollectionKeys.METRICS, [(tensor_name, tensor_value)])

    @guarded
    def set_gradients(self, gradients: Any = None, gradients_and_variables: Any = None) -> None:
        """Saves gradients that a custom loop has computed.

        Parameters
        ----------
        gradients : list of tensors, optional
            The gradients of the registered model's trainable variables, in the same order.
        gradients_and_variables : list of pairs, optional
            Pairs of a gradient and its variable.
        """
        pairs = gradients_and_variables
        if pairs is None:
            pairs = zip(gradients, self._watched_model.trainable_variables)
        self._see(
            CollectionKeys.GRADIENTS,
            [(self._gradient_name(v), dense(g)) for g, v in pairs if g is not None],
        )

    @guarded
    def set_optimizer_variables(self, optimizer_variables: Any) -> None:
        """Also records these variables, in the collection of optimizer variables."""
        if not isinstance(optimizer_variables, (list, tuple)):
            optimizer_variables = [optimizer_variables]
        for variable in optimizer_variables:
            self._other_variables.append(
                (CollectionKeys.OPTIMIZER_VARIABLES, variable_name(variable), variable)
            )

    @guarded
    def save_tape_logs(self, model_inputs: Any = None, outputs: Any = None) -> None:
        """Saves the inputs and predictions of a custom loop."""
        self._see(CollectionKeys.INPUTS, all_numbered("inputs", model_inputs))
        self._see(CollectionKeys.OUTPUTS, all_numbered("predictions", outputs))

    def should_save_layer(self, layer_name: str) -> bool:
        """Returns True if the open step saves a layer's inputs and outputs."""
        return self.should_save_tensor_or_collection(layer_name, CollectionKeys.LAYERS)

    # ---- the original's profiler ---------------------------------------------------------

    @contextmanager
    def profiler(self, mode: ModeKeys = ModeKeys.TRAIN) -> Iterator[None]:
        """Sets the mode.  Profiling is not supported."""
        self.set_mode(mode)
        yield

    def profiling_start_batch(self, mode: ModeKeys = ModeKeys.TRAIN) -> None:
        """Does nothing."""

    def profiling_end_batch(self, mode: ModeKeys = ModeKeys.TRAIN) -> None:
        """Does nothing."""

    def profiling_end(self) -> None:
        """Closes the hook."""
        self.close()
