"""What functions compute losses from, as `F.cross_entropy` does: read from the losses' graphs."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Set, Tuple

from smdebug import _raw
from smdebug.core.utils import import_framework
from smdebug.pytorch.losses.backward import BackwardLosses
from smdebug.pytorch.losses.nodes import (
    CLASSES,
    LossInputs,
    are_of_parts,
    inputs_of,
    is_over,
    losses_behind,
)
from smdebug.pytorch.losses.unnamed import UnnamedLosses

__all__ = ["LossGraphs"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# Of all classes, those that rules may want.
_KINDS = sorted({*CLASSES.values(), "CrossEntropyLoss", "L1Loss"})

# After so many losses without such a node, or that no backward pass was seen of, losses of that
# name are left alone.
_MOST_TRIES = 8


class LossGraphs:
    """Saves the inputs of losses that functions compute.

    Those of the loss that the hook calls `name` are ``<name>/CrossEntropyLoss_input_0``, its scores,
    and ``<name>/CrossEntropyLoss_input_1``, its targets; likewise for other classes.  If the loss
    is not that alone, as a sum is not, they are ``<name>/term/CrossEntropyLoss_input_0`` ...

    The graph of a loss is there until its backward pass.  Once one was recorded later, or as a
    number, graphs are read when a backward pass begins.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook that saves them.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._tries: Dict[str, int] = {}  # in vain, by the loss's name
        self._has_warned = False
        self._read: Set[str] = set()  # losses whose graphs were there
        self._with_scores: Set[str] = set()  # losses of modules that were called
        self._with_weight: Set[str] = set()  # losses whose weights of classes were saved
        self._told: Dict[str, List[str]] = {}  # the collections of inputs by their prefix
        self._passes = BackwardLosses(hook, self._save_all)
        self._unnamed = UnnamedLosses(hook, self._save_wanted)
        # Whether rules want the inputs of a loss, by its name, for one of the core's selections.
        self._wanted: Dict[str, bool] = {}
        self._selections = -1

    def begin_step(self) -> None:
        """Forgets the backward passes of the step before, whose losses the hook still knows."""
        self._unnamed.end_step()
        self._passes.begin_step()
        if self._unnamed.is_due:
            self._passes.listen()

    def forget(self) -> None:
        """Reads no more graphs."""
        self._unnamed.end()
        self._passes.forget()

    def note_inputs(self) -> None:
        """Notes that the open step has the inputs of its loss from elsewhere."""
        self._passes.is_needless = True

    def note_module(self, name: str, module: Any, inputs: Any) -> None:
        """Tells rules, once, of a loss module's weights of classes, and whether it gets scores that
        a sample has several of."""
        if isinstance(module, (torch.nn.CrossEntropyLoss, torch.nn.NLLLoss)):
            self._save_weight(name, module.weight)
        if name in self._with_scores:
            return
        self._with_scores.add(name)
        try:
            if inputs and are_of_parts(getattr(inputs[0], "grad_fn", None)):
                self._hook._tell("losses_of_parts", f"^{re.escape(name)}_input_")
        except Exception as failure:
            self._hook._note_failure(f"reading what {name} gets", failure)

    def on_backward(self, roots: Any) -> None:
        """Reads the graphs of losses whose backward pass begins."""
        if self._unnamed.is_due:
            self._unnamed.on_backward(roots)
        else:
            self._passes.on_backward(roots)

    def save(self, name: str, loss: Any, is_scaled: bool = False) -> None:
        """Saves the inputs of a loss, now or when its backward pass begins.

        With `is_scaled` the hook records it before it was divided.
        """
        if not hasattr(loss, "grad_fn"):
            return
        self._unnamed.note(name, loss)
        if self._tries.get(name, 0) >= _MOST_TRIES:
            return
        try:
            if self._is_wanted(name):
                self._look(name, loss, is_scaled)
        except Exception as failure:
            self._hook._note_failure(f"reading the graph of {name}", failure)

    def _look(self, name: str, loss: Any, is_scaled: bool) -> None:
        if self._passes.take(name, loss):
            return
        found = [] if loss.grad_fn is None else list(losses_behind(loss.grad_fn, is_scaled))
        is_late = any(is_over(each.node) for each in found)
        # An error of PyTorch's costs a tenth of a millisecond: it is not raised at every step.  A
        # loss without a graph is sought in vain only where there was a pass: not in evaluations.
        if loss.grad_fn is not None or self._passes.has_any:
            self._tries[name] = self._tries.get(name, 0) + 1
        if is_late or loss.grad_fn is None:
            self._passes.expect(name, loss)
        if is_late and self._tries[name] == _MOST_TRIES:
            self._warn(name)
        if found and not is_late:
            self.note_inputs()
            self._save_all(name, [(inputs_of(node), is_whole) for node, is_whole in found])

    def _warn(self, name: str) -> None:
        if not self._has_warned and name not in self._read:
            self._has_warned = True
            self._hook.logger.warning(
                "%s was recorded after its graph was freed, as torch.autograd.grad does; record it "
                "before, so that rules see its inputs and targets",
                name,
            )

    def _save_all(self, name: str, losses: List[Tuple[LossInputs, bool]]) -> None:
        self._tries[name] = 0
        self._read.add(name)
        # Two cross entropies that are whole are the halves of a symmetric loss.
        is_pair = len(losses) == 2 and all(
            is_whole and inputs.kind == "CrossEntropyLoss" for inputs, is_whole in losses
        )
        for inputs, is_whole in losses:
            is_alone = is_pair or (is_whole and len(losses) == 1)
            self._save(name if is_alone else f"{name}/term", inputs)

    def _save_wanted(self, name: str, losses: List[Tuple[LossInputs, bool]]) -> None:
        if self._is_wanted(name):
            self._save_all(name, losses)

    def _is_wanted(self, name: str) -> bool:
        if self._hook._has_rules:
            return self._do_rules_want(name)
        collected = self._hook._collected
        # Trials of the original's scripts, which save all, have the tensors that it saves.
        return not collected.has_all and any(
            collected.has(f"{name}/{each}_input_{number}")
            for each in {*CLASSES.values(), "CrossEntropyLoss"}
            for number in (0, 1)
        )

    def _do_rules_want(self, name: str) -> bool:
        selections = _raw.smd_hook_count(self._hook._handle, "selections")
        if selections != self._selections:
            self._selections, self._wanted = selections, {}
        if name not in self._wanted:
            names = tuple(
                f"{prefix}/{kind}_input_{number}"
                for prefix in (name, f"{name}/term")
                for kind in _KINDS
                for number in (0, 1)
            )
            self._wanted[name] = self._hook._saver.wanted((names,)) != b"\0"
        return self._wanted[name]

    def _save(self, name: str, inputs: LossInputs) -> None:
        self._save_weight(f"{name}/{inputs.kind}", inputs.weight)
        prefix = f"{name}/{inputs.kind}_input_"
        if self._tells(prefix, inputs.collections):
            return  # Rules know of the collection at the next step.
        for tensor in (inputs.outputs, inputs.targets):
            number = _raw.take_number(self._hook._saved_counts, prefix)
            if tensor is not None:
                self._hook._save(f"{prefix}{number}", tensor)

    def _save_weight(self, loss: str, weight: Any) -> None:
        name = f"loss_weight/{loss}"
        if weight is None or loss in self._with_weight or not self._hook._has_rules:
            return
        if _raw.wants(self._hook._handle, name):
            self._with_weight.add(loss)
            self._hook._save(name, weight.detach())

    def _tells(self, prefix: str, collections: List[str]) -> bool:
        """Puts the inputs into collections for rules; returns True if they were not there."""
        if self._told.setdefault(prefix, []) == collections:
            return False
        self._told[prefix] = collections
        for each in collections:
            self._hook.get_collection(each).include(f"^{re.escape(prefix)}")
        return True
