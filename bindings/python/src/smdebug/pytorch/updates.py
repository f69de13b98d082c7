"""The updates of a training with PyTorch: what is recorded before and after each."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple

from smdebug.core.error_policy import guarded
from smdebug.core.utils import import_framework
from smdebug.pytorch.optimizers import WatchedOptimizer, missing_gradients, settings_of
from smdebug.pytorch.scalers import inverse_scale, is_skipping
from smdebug.pytorch.steps import StepHook

__all__ = ["UpdateHook"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


class UpdateHook(StepHook):
    """Records what optimizers update: parameters, gradients, settings, changes and states.

    Rules also hear the learning rates of optimizers that are not registered.
    """

    # ---- registered optimizers -----------------------------------------------------------

    @guarded
    def _before_update(self, watched: WatchedOptimizer, optimizer: Any) -> None:
        """Saves parameters and gradients, before an optimizer applies them."""
        self._begin_update(watched)
        watched.forget()
        if not self._is_saving:
            return
        if self._late.expects:
            self._collect_late()
        found = getattr(optimizer, "found_inf", None)
        if found is not None and self._late.takes(found):
            # Whether it skips this update is known on the device.
            self._late.begin_guard(found, lambda: self._note_skipped(watched))
        elif is_skipping(optimizer):
            self._note_skipped(watched)
            return
        self._saw_gradient = True
        self._save_settings(settings_of(optimizer, watched.name))
        if self._layer_settings.is_due:
            self._layer_settings.save_at_update()
        parameters = watched.names.parameters_of(optimizer, self._models)
        watched.named = list(zip(watched.names.names, parameters))
        self._missing_updates.note_unknown(watched.names.unknown)
        with self._late.batch():
            self._save_parameters(watched, parameters, inverse_scale(optimizer))

    def _save_parameters(self, watched: WatchedOptimizer, parameters: Any, scale: Any) -> None:
        self._parts.tell(watched.named)
        are_missing = True
        if scale is None:
            are_missing = self._save_with_gradients(watched.names.with_gradients, parameters) > 0
        else:
            for name, parameter in watched.named:
                self._save(name, parameter)
                self._save_unscaled(f"gradient/{name}", parameter.grad, scale)
        if are_missing:
            missing = missing_gradients(watched.named, watched.name)
            self._save_each(missing, [torch.zeros((), device="cpu")] * len(missing))
        if not self._may_collect("update/", watched.names.names):
            return
        for name, parameter in watched.named:
            if self._is_collected(f"update/{name}") and self.wants(f"update/{name}"):
                watched.before[name] = parameter.detach().clone()

    def _save_unscaled(self, name: str, gradient: Any, scale: Any) -> None:
        if gradient is not None and self.wants(name):
            self._save_made(name, gradient.detach() * scale)

    def _save_with_gradients(self, names: List[str], parameters: List[Any]) -> int:
        """Saves parameters and their gradients; returns how many have none."""
        raise NotImplementedError

    def _save_later(self, named: List[Tuple[str, Any]], are_made: bool = False) -> None:
        """Saves tensors of devices, if they are wanted."""
        raise NotImplementedError

    def _save_made(self, name: str, tensor: Any) -> None:
        """Saves a tensor that the hook has made."""
        if self._late.takes(tensor):
            self._save_later([(name, tensor)], are_made=True)
        else:
            self._save(name, tensor)

    def _begin_update(self, watched: WatchedOptimizer) -> None:
        """Begins a step, if none of a training is open that the optimizer can end."""
        if not any(self._trains(model.module) for model in self._models):
            self._trains_in_eval = True
        if not self._step_is_open or not self._is_training or watched in self._applied:
            self._follow(is_training=True)
            self._start(was_called=False)
        self._is_interrupted = False
        self._missing_updates.note_update()
        self._is_saving = self._saves_step
        self._applied.add(watched)

    @guarded
    def _after_update(self, watched: WatchedOptimizer, optimizer: Any) -> None:
        """Saves what an update has changed."""
        named, before = watched.named, watched.before
        watched.forget()
        if not before and not self._may_collect("optimizer_state/", watched.names.names):
            self._late.end_guard()
            return
        try:
            with self._late.batch():
                names: List[str] = []
                tensors: List[Any] = []
                for name, parameter in named:
                    if name in before:
                        update = parameter.detach() - before.pop(name)
                        if self._late.takes(update):
                            self._save_later([(f"update/{name}", update)], are_made=True)
                        else:
                            names.append(f"update/{name}")
                            tensors.append(update)
                    state = optimizer.state.get(parameter, {})
                    for key, full_name in self._collected_state(name, state):
                        if self._is_tensor(state[key]):
                            self._parts.tell_state(name, key, state[key])
                            names.append(full_name)
                            tensors.append(state[key])
                self._save_each(names, tensors)
        finally:
            self._late.end_guard()

    def _may_collect(self, kind: str, names: Tuple[str, ...]) -> bool:
        """Returns False if nothing of a kind is collected: then no parameter need be read."""
        key = (kind, names)
        if key not in self._kinds_collected:
            examples = (f"{kind}{name}/exp_avg" for name in names)
            self._kinds_collected[key] = self._collected.may_have_under(kind, examples)
        return self._kinds_collected[key]

    def _collected_state(self, name: str, state: Mapping[str, Any]) -> List[Tuple[str, str]]:
        """Returns the keys and names of what is collected of an optimizer's state."""
        keys = tuple(state)
        known = self._states.get(name)
        if known is None or known[0] != keys:
            names = [(key, f"optimizer_state/{name}/{key}") for key in keys if key != "step"]
            known = (keys, [pair for pair in names if self._is_collected(pair[1])])
            self._states[name] = known
        return known[1]

    def _is_collected(self, name: str) -> bool:
        """Returns False if only rules would want a tensor of an optimizer.

        Rules that evaluate all tensors would triple what each step reads, and what
        `optimizer.step()` holds; gradients and parameters tell them the same.
        """
        if self._collected.has_foreign and not self._has_rules:
            return True  # The core decides, which bounds a search.
        return self._collected.has(name)

    @guarded
    def _on_skipped(self, watched: WatchedOptimizer) -> None:
        """Records that a GradScaler has skipped an update."""
        self._begin_update(watched)
        self._note_skipped(watched)

    def _note_skipped(self, watched: WatchedOptimizer) -> None:
        self.skipped_steps += 1
        self.save_scalar(f"{watched.name}_skipped_steps", self.skipped_steps)

    # ---- others --------------------------------------------------------------------------

    @guarded
    def _on_any_update(self, optimizer: Any) -> None:
        """Lets rules know the learning rates of optimizers that nobody has registered."""
        if self._is_saving and self._is_training and self._has_rules and not self._optimizers:
            self._save_settings(self._unregistered.changed_rates(optimizer, self._models))
