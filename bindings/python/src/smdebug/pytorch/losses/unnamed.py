"""The loss of a training whose script gives the hook none."""

from __future__ import annotations

import re
import threading
from typing import Any, Callable, List, Mapping, Set, Tuple

from smdebug.core.collection import CollectionKeys
from smdebug.core.utils import match_inc
from smdebug.pytorch.host_copies import is_capturing
from smdebug.pytorch.late_entry import PLAIN
from smdebug.pytorch.losses.nodes import (
    LossInputs,
    LossNode,
    inputs_of,
    is_mean_difference,
    is_over,
    losses_behind,
    unscaled,
)

__all__ = ["UnnamedLosses"]

_NAME = "backward_loss"
# What nodes are marked by: those of recorded numbers, with (hook's mark, names), and those with which
# a pass began.  To keep the nodes would keep the parameters of a model that is gone.
_RECORDED = "smdebug recorded as"
_ROOT = "smdebug root"
# A script that gives no loss in so many updates gives none.
_UPDATES = 2
# After so many passes without a loss of a function, there is none.
_MOST_VAIN = 64


class UnnamedLosses:
    """Saves for rules the losses with which backward passes begin, if the script gives none.

    A loss that a function has computed is saved with what it got; a mean of squares that the script
    writes is saved alone.  A sum of a loss and other terms need not fall: only what the loss got is
    saved.  With several optimizers nothing is saved: passes are those of opponents, in turns that
    no hook knows.

    A script may give its loss a name that says nothing of losses, such as "triplet".  For rules, a
    number that it records is a loss if it is the one root of a backward pass that has a name.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook that saves them.
    save : callable
        Saves what losses of one name got.
    """

    def __init__(self, hook: Any, save: Callable[[str, List[Tuple[LossInputs, bool]]], None]) -> None:
        self._hook = hook
        self._save = save
        self._updates = 0
        self._vain = 0  # passes without such a loss
        self._has_ended = False
        self._others: Set[str] = set()  # recorded numbers whose names say nothing of losses
        self._named: Set[str] = set()  # those with which a pass of the open step began
        self._mark = object()
        self._thread = 0

    @property
    def is_due(self) -> bool:
        """Whether backward passes are to be told from now on."""
        return not self._has_ended and self._updates >= _UPDATES

    def end(self) -> None:
        """Saves nothing more."""
        self._has_ended = True

    def note(self, name: str, value: Any) -> None:
        """Notes a number that the script records."""
        if self._has_ended or value.numel() != 1 or name.startswith("scalar/"):
            return
        if name not in self._others:
            expressions = self._hook.get_collection(CollectionKeys.LOSSES).include_regex
            if match_inc(f"{name}_output_0", expressions):
                return
            self._others.add(name)
        if value.grad_fn is None:
            return
        facts = value.grad_fn.metadata
        if facts.get(_ROOT) is self._mark:
            self._named.add(name)
        else:
            facts[_RECORDED] = (self._mark, [*self._names_in(facts), name])

    def _names_in(self, facts: Mapping[str, Any]) -> List[str]:
        """Returns the names under which the number of a node was recorded."""
        mark, names = facts.get(_RECORDED, (None, []))
        return list(names) if mark is self._mark else []

    def end_step(self) -> None:
        """Notes what the step was that ends."""
        hook = self._hook
        self._thread = threading.get_ident()
        named, self._named = self._named, set()
        if self._has_ended:
            return
        if not hook._losses_seen <= self._others or len(hook._optimizers) > 1:
            self.end()
        elif hook._has_rules and hook._applied:
            self._updates += 1
            if len(named) == 1:
                hook._tell(CollectionKeys.LOSSES, f"^{re.escape(*named)}_output_")
                self.end()

    def on_backward(self, roots: Any) -> None:
        """Saves the losses at the roots of a pass, if it may be one of the hook's models.

        Others are trained in other threads, or while no model was called since the last update.
        """
        is_own = self._hook._was_called and not self._hook._applied
        if not is_own or threading.get_ident() != self._thread:
            return
        for root in roots if isinstance(roots, (list, tuple)) else (roots,):
            if type(root) in PLAIN and root.grad_fn is not None and root.numel() == 1:
                if not is_capturing(root.device):
                    names: List[str] = []
                    for node, _ in unscaled(root):
                        names += self._names_in(node.metadata)
                        node.metadata[_ROOT] = self._mark
                    self._named.update(names)
                    if not names:
                        self._save_loss(root)

    def _save_loss(self, root: Any) -> None:
        found: List[LossNode] = []
        # A division, as by the number of batches, follows the loss, unless that is a sum over samples.
        for node, value in unscaled(root):
            found = list(losses_behind(node))
            if any(is_over(each.node) for each in found):
                return
            if not found and is_mean_difference(node):
                self._hook._save_numbered(f"{_NAME}_output_", value)
                self._vain = 0
                return
            if len(found) == 1 and found[0].is_whole:
                self._hook._save_numbered(f"{_NAME}_output_", value)
                break
        self._vain = 0 if found else self._vain + 1
        if self._vain >= _MOST_VAIN:
            self.end()
        if found:
            self._save(_NAME, [(inputs_of(each.node), each.is_whole) for each in found])
