"""The steps of a training with PyTorch: when one begins, and what it records."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Set, Tuple

from smdebug import _raw
from smdebug.core.error_policy import guarded
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.hook import Hook as BaseHook
from smdebug.core.modes import ModeKeys
from smdebug.core.utils import import_framework
from smdebug.pytorch.callbacks import OnGradient, OnHeldGradient
from smdebug.pytorch.collected import Collected
from smdebug.pytorch.collection import BUILTIN_COLLECTIONS, OF_PARAMETERS
from smdebug.pytorch.gradient_sum import GradientSum
from smdebug.pytorch.late_tensors import LateTensors
from smdebug.pytorch.layer_settings import LayerSettings
from smdebug.pytorch.losses.graphs import LossGraphs
from smdebug.pytorch.losses.returned import ReturnedLosses
from smdebug.pytorch.models import RegisteredModel
from smdebug.pytorch.optimizers import MissingUpdates, WatchedOptimizer
from smdebug.pytorch.parameters import is_bare
from smdebug.pytorch.shards import Parts, is_distributed
from smdebug.pytorch.torch_state import in_backward, is_generating, is_probing, was_compiled
from smdebug.pytorch.unregistered import Unregistered
from smdebug.pytorch.unused import UnusedLayers

__all__ = ["StepHook"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

_EVALUATION = (ModeKeys.EVAL, ModeKeys.PREDICT)


class StepHook(FrameworkHook):
    """Begins and ends the steps of a training.

    Without a registered optimizer, a step is one call of a registered model.  With one, a step of
    the training ends with the optimizers' updates: further calls belong to it, and the next call
    after an update begins the next step.
    """

    # Whether the open step saves something, and the model that runs is recorded.
    _is_saving = False
    # Whether the open step is one of a training, and not of an evaluation.
    _is_training = False
    # Whether a call of a model began the open step, which another event did otherwise.
    _was_called = False
    # Whether the user has set a mode: then the hook does not change it.
    _mode_is_set = False
    # Whether the training ends by the framework's own means, and not by an exception.
    _stops_gracefully = False
    # Whether an evaluation runs that would cut the open step in two.
    _is_interrupted = False
    _has_warned_of_interruption = False
    # Whether gradients arrive in models that are not in training mode.
    _trains_in_eval = False

    # What the hook has seen, for the warnings of `close`.
    _training_steps = 0
    _saw_gradient = False

    #: The number of steps that a GradScaler has skipped, because a gradient was not finite.
    skipped_steps = 0

    # Whether a step ends when the results of devices are there.
    _waits = False
    # Whether results are taken when the model returns: the device has work to do by then.
    _takes_on_return = False

    @cached_property
    def _late(self) -> LateTensors:
        return LateTensors(self)

    @cached_property
    def _models(self) -> List[RegisteredModel]:
        return []

    @cached_property
    def _optimizers(self) -> List[WatchedOptimizer]:
        return []

    @cached_property
    def _missing_updates(self) -> MissingUpdates:
        return MissingUpdates(self)

    @cached_property
    def _unregistered(self) -> Unregistered:
        return Unregistered()

    @cached_property
    def _applied(self) -> Set[WatchedOptimizer]:
        """The optimizers that have updated their parameters in the open step."""
        return set()

    @cached_property
    def _shown(self) -> Set[RegisteredModel]:
        """The models whose parameters the open step has."""
        return set()

    @cached_property
    def _losses_seen(self) -> Set[str]:
        """The names of the losses that the open step has."""
        return set()

    # What the collection "frozen" holds for: for each model, its parameters, and which need a
    # gradient.
    _frozen_of: Any = None

    @cached_property
    def _bare(self) -> Set[str]:
        """The parameters that a collection got by their names."""
        return set()

    @cached_property
    def _unused(self) -> UnusedLayers:
        return UnusedLayers()

    _unused_told = 0  # parameters
    _was_saved = False  # the last step, or it is to be

    @cached_property
    def _parts(self) -> Parts:
        return Parts(self)

    @cached_property
    def _sums(self) -> Dict[str, Any]:
        """For each gradient in the open step its sum; None while the parameter holds it."""
        return {}

    @cached_property
    def _returned(self) -> ReturnedLosses:
        return ReturnedLosses(self)

    @cached_property
    def _loss_graphs(self) -> LossGraphs:
        return LossGraphs(self)

    @cached_property
    def _layer_settings(self) -> LayerSettings:
        return LayerSettings(self)

    @cached_property
    def _collected(self) -> Collected:
        return Collected(self)

    @cached_property
    def _states(self) -> Dict[str, Tuple[Tuple[str, ...], List[Tuple[str, str]]]]:
        """For each parameter, what its optimizer's state has, and what is collected of that."""
        return {}

    @cached_property
    def _kinds_collected(self) -> Dict[Tuple[str, Tuple[str, ...]], bool]:
        """Whether anything of one kind is collected for these parameters."""
        return {}

    # ---- modes -----------------------------------------------------------------------

    def set_mode(self, mode: ModeKeys) -> None:
        super().set_mode(mode)
        self._mode_is_set = True

    def _follow(self, is_training: bool) -> bool:
        """Sets the mode, if the user has set none.  Returns True for that of a training."""
        if not self._mode_is_set:
            mode = ModeKeys.TRAIN if is_training else ModeKeys.EVAL
            if self.mode is not mode:
                BaseHook.set_mode(self, mode)
            return is_training
        return self.mode not in _EVALUATION

    def _trains(self, module: Any) -> bool:
        """Returns True if a call of the module is one of a training."""
        if module is None or module.training:
            return True
        return self._trains_in_eval and bool(torch.is_grad_enabled())

    # ---- steps -------------------------------------------------------------------------

    def end_step(self) -> None:
        """Ends the open step, after ``optimizer.step()``; does nothing if no step is open.

        Then `action` and `stop_finding` say what attached rules recommend for it.  A training
        that does not call this ends a step when the next one begins.
        """
        if self._step_is_open:
            try:
                self._late.end_step(self._waits, takes=not self._takes_on_return)
            finally:
                super().end_step()
            self._hear_rules()
        self._is_saving = False

    def discard_step(self) -> None:
        super().discard_step()
        self._late.discard()
        self._is_saving = False

    def flush(self, timeout: Optional[float] = None) -> None:
        self._late.wait()
        self._hear_rules()
        super().flush(timeout)

    @guarded(even_if_disabled=True)
    def _finish_late(self) -> None:
        """Waits for what devices still compute for the hook."""
        self._late.end_step(waits=True)

    @guarded
    def _collect_late(self) -> None:
        """Takes what devices have computed for earlier steps."""
        self._late.collect()
        self._hear_rules()

    @property
    def has_updated(self) -> bool:
        """Whether a registered optimizer has updated its parameters in the open step."""
        return self._step_is_open and bool(self._applied)

    @property
    def _stops_by_raising(self) -> bool:
        return not self._stops_gracefully

    def _begin_batch(self, module: Any) -> None:
        """Begins or continues a step, as a call of a registered model does."""
        for model in self._models:
            if model.module is module:
                self._on_call(model, module)

    def _start(self, was_called: bool) -> None:
        """Ends the open step, and begins the next one of the mode."""
        # Rules learn of frozen parameters when a step is saved or evaluated: of a change between
        # other steps, at the next one.
        if self._was_saved or not self._is_prepared:
            self._tell_frozen()
        self._tell_unused()
        self._is_saving = False
        self._takes_on_return = (
            was_called and self._late.expects and not self._waits and not self._takes_on_return
        )
        self._next_step()
        self._loss_graphs.begin_step()
        self._applied.clear()
        self._shown.clear()
        self._losses_seen.clear()
        self._sums.clear()
        self._is_interrupted = False
        self._was_called = was_called
        self._is_training = self.mode not in _EVALUATION
        self._training_steps += self._is_training
        self._layer_settings.is_due = self._has_rules
        self._is_saving = self._was_saved = self._saves_step
        if self._is_saving:
            self._look_at_collections()
        self._watch_modules()

    @guarded
    def _on_call(self, model: RegisteredModel, module: Any) -> None:
        """Begins or continues a step, before a model runs."""
        model.was_called = True
        if in_backward():
            return
        has_gradients = model.has_gradients = torch.is_grad_enabled()
        if is_probing() or (not has_gradients and is_generating()):
            self._is_saving = False
            return
        is_training = self._follow(self._trains(module))
        if self._interrupts(is_training):
            self._is_saving = False
            return
        if self._optimizers and is_training:
            continues = self._step_is_open and self._is_training and not self._applied
            if not has_gradients:
                # Nothing comes of this call that an optimizer could apply.
                self._is_saving = continues and self._saves_step
                return
            if not continues:
                self._start(was_called=True)
            self._missing_updates.note_call()
        elif model.begins_step(module):
            self._start(was_called=True)
        self._is_saving = self._saves_step
        self._show(model)

    @guarded
    def _on_return(self, model: RegisteredModel, outputs: Any) -> None:
        """Records the loss that a model returns by name, and ends what `generate` switched off."""
        if self._takes_on_return:
            self._takes_on_return = False
            self._collect_late()
            if self._stops_by_raising:
                self._raise_if_to_stop()
        self._is_saving = self._saves_step and not self._is_interrupted
        if not self._is_saving or in_backward() or is_probing():
            return
        self._returned.save(model, outputs)
        if self._has_rules:
            model.look_outside(outputs, self._models)
        self._late.on_return()

    @guarded
    def _on_loss(self, name: str) -> None:
        """Begins a step if no model's call did: compiled models call nothing."""
        if self._was_called and self._step_is_open:
            self._losses_seen.add(name)
            return
        is_training = any(self._trains(model.module) for model in self._models)
        if self._optimizers and not self._was_called and not self._mode_is_set:
            self._interrupts(is_training)
        if not self._is_interrupted and self._begins_with_loss(name, is_training):
            self._follow(is_training)
            self._start(was_called=False)
            for model in self._models:
                self._show(model)
        self._losses_seen.add(name)

    def _interrupts(self, is_training: bool) -> bool:
        """Returns True for an evaluation between the micro-batches of an update.

        It is not recorded: a step of the trial is one of the optimizer.
        """
        self._is_interrupted = (
            not is_training
            and self._step_is_open
            and self._is_training
            and not self._applied
            and any(each.has_gradients() for each in self._optimizers)
        )
        if self._is_interrupted and not self._has_warned_of_interruption:
            self._has_warned_of_interruption = True
            self.logger.warning(
                "an evaluation before optimizer.step() has applied the gradients is not recorded; "
                "evaluate after it"
            )
        return self._is_interrupted

    def _begins_with_loss(self, name: str, is_training: bool) -> bool:
        is_compiled = any(was_compiled(model.key) for model in self._models)
        if not (self._optimizers or is_compiled) or not self._models:
            return False
        if not self._step_is_open:
            return is_compiled or bool(torch.is_grad_enabled())
        if self._was_called:
            return False
        if not self._mode_is_set and is_training != self._is_training:
            return True
        is_over = bool(self._applied) or not self._optimizers or not self._is_training
        return is_over and name in self._losses_seen

    @guarded
    def _on_backward(self, roots: Any) -> None:
        """Reads what losses were computed from, before a backward pass frees it."""
        if self._is_saving:
            self._loss_graphs.on_backward(roots)

    def _look_at_collections(self) -> None:
        if self._collected.look():
            self._states.clear()
            self._kinds_collected.clear()

    def _watch_modules(self) -> None:
        """Watches those inner modules whose tensors the open step can save."""

    # ---- parameters ----------------------------------------------------------------------

    def _show(self, model: RegisteredModel) -> None:
        """Saves the parameters of a model, and watches the gradients of those that need one.

        Those of a registered optimizer are saved when it updates them.
        """
        if model in self._shown:
            return
        self._shown.add(model)
        self._watch_unused(model)
        if not self._is_saving:
            model.forget_parameters()
            return
        if self._has_rules and not self._is_training:
            self._layer_settings.save_at_evaluation(model)
        applied = self._updated_parameters()
        named = model.named()
        self._parts.tell(named)
        shown = model.without(applied, named) if self._is_training else named
        if shown:
            with self._late.batch():
                self._save_each([name for name, _ in shown], [each for _, each in shown])
        model.watch_gradients(self._on_gradient_of, applied, named)
        model.watch_held(partial(OnHeldGradient, self))

    def _updated_parameters(self) -> FrozenSet[int]:
        """Returns the ids of the parameters of registered optimizers."""
        of_each = [watched.parameters() for watched in self._optimizers]
        return of_each[0] if len(of_each) == 1 else frozenset().union(*of_each)

    def _on_gradient_of(self, name: str, parameter: Any) -> OnGradient:
        return OnGradient(self, name, parameter)

    @guarded
    def _on_gradient(self, name: str, gradient: Any, parameter: Any) -> None:
        """Saves a gradient, as the sum of those of the step's backward passes."""
        self._saw_gradient = True
        if not self._is_training and not self._mode_is_set:
            self._trains_in_eval = True
        if self._layer_settings.is_due:
            self._layer_settings.save_at_update()
        held = None if parameter is None else parameter.grad
        is_first = name not in self._sums
        if is_first and held is None:
            # Until the next backward pass the parameter holds this one alone.
            self._sums[name] = None
        elif not _raw.wants(self._handle, name):
            return
        elif is_first:
            self._sums[name] = gradient.detach().clone()
        else:
            before = held if self._sums[name] is None else self._sums[name]
            if before is not None:
                gradient = before.detach() + gradient.detach()
                self._sums[name] = gradient
        self._save_gradient(name, gradient)

    def _on_held(self, name: str, held: Any) -> None:
        raise NotImplementedError

    @guarded
    def _note_reset(self) -> None:
        """Tells those who read the trial that the script resets gradients."""
        self._tell("reset_gradients", "^gradient/")

    @guarded
    def _on_sum(self, gradients: GradientSum, is_added: bool) -> None:
        """Tells rules, and the trial, how many steps' gradients an update applies."""
        if self._optimizers or self._missing_updates.set_aside:
            return
        before = self._unregistered.summed
        # An evaluation may come between the batches of an update.
        step = _raw.smd_hook_last_step(self._handle, self.mode.value)
        self._unregistered.note_backward(gradients, step, is_added)
        now = self._unregistered.summed
        if now != before:
            super().save_scalar("batches_per_update", now)
        if self._is_saving and self._has_rules and max(now, before) > 1:
            self._save_settings([("batches_per_update", now)])

    def _save_gradient(self, name: str, gradient: Any) -> None:
        raise NotImplementedError

    def _tell_frozen(self) -> None:
        """Tells rules which parameters need no gradient."""
        frozen_of = [(model.key, model.needs()) for model in self._models]
        if frozen_of == self._frozen_of:
            return
        self._frozen_of = frozen_of
        self._tell_unnamed()
        self._set_frozen(
            name
            for model in self._models
            for name, parameter in model.named()
            if not parameter.requires_grad
        )

    def _tell_unnamed(self) -> None:
        """Puts parameters into "weights" and "biases" whose names say neither."""
        for model in self._models:
            for name, parameter in model.named():
                # Of one that processes share, nobody knows whether it is used.
                if is_bare(name) and name not in self._bare and not is_distributed(parameter):
                    self._bare.add(name)
                    is_weight = sum(length > 1 for length in parameter.shape) > 1
                    self._put_bare(name, "weights" if is_weight else "biases")

    def _put_bare(self, name: str, kind: str) -> None:
        collection = self.get_collection(kind)
        builtin = {*BUILTIN_COLLECTIONS[kind], OF_PARAMETERS[kind]}
        # A script may have chosen others.
        if not builtin.isdisjoint(collection.include_regex):
            collection.add_tensor_name(name)

    @guarded
    def _watch_unused(self, model: RegisteredModel) -> None:
        if self._is_training:
            self._unused.begin_call(model)

    @guarded
    def _tell_unused(self) -> None:
        """Tells rules which parameters are those of layers that a model does not use."""
        if self._is_training:
            self._unused.end_step(self._shown)
        if len(self._unused.names) != self._unused_told:
            self._unused_told = len(self._unused.names)
            self._fill("not_used", self._unused.names)
            if self._is_prepared:  # The file is written: who reads a running trial needs it.
                self.export_collections()

    def _save_settings(self, named: Sequence[Tuple[str, Any]]) -> None:
        for name, value in named:
            if self.wants(name):
                is_tensor = self._is_tensor(value)
                self._save(name, value if is_tensor else torch.tensor(float(value), device="cpu"))

    def _save_each(self, names: List[str], tensors: List[Any]) -> None:
        """Saves tensors of the training; where there is None, nothing."""
        raise NotImplementedError
