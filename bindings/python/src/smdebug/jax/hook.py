"""The hook for JAX, which records the leaves of pytrees, outside of jit and inside."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, ClassVar, Iterator, List, Mapping, Optional, Sequence, Tuple

from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.modes import ModeKeys
from smdebug.core.singleton_utils import get_hook
from smdebug.core.utils import import_framework, match_inc
from smdebug.exceptions import SMDebugTypeError
from smdebug.jax.collection import COLLECTIONS
from smdebug.jax.optimizers import learning_rates, summed_batches

__all__ = ["Hook"]

jax = import_framework("jax", "jax", "smdebug.jax")
np = import_framework("numpy", "numpy", "smdebug.jax")
custom_vmap = import_framework("jax.custom_batching", "jax", "smdebug.jax").custom_vmap

_NUMBERS = (bool, int, float, complex)

# Of Flax's nnx: the second one until 0.10.
_VARIABLES = ("Variable", "VariableState")

# Older versions drop callbacks inside of custom_vmap.  With them, under vmap each example
# calls back, and the last value is kept.
_BATCHES_CALLBACKS = jax.__version_info__ >= (0, 9)


class Hook(FrameworkHook):
    """Records pytrees of arrays, leaf by leaf.

    A step is the block of ``with hook.step(mode):``.  Outside of jit a leaf is copied from
    its device if the step saves it.  Inside of jit, grad, vmap or a loop the compiled program
    contains a callback for each leaf that an included collection names.  The callback runs at
    every step: pass `saves_step` as a static argument to compile the function without it.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers, raise_errors, options
        As `smdebug.Hook` takes them.  Losses and metrics are always saved.

    Notes
    -----
    In a job of several processes, make it after `jax.distributed.initialize`.
    """

    _builtin_collections = COLLECTIONS
    _always_saved = (CollectionKeys.LOSSES, CollectionKeys.METRICS)

    _steps_are_explicit = True

    # Whether a traced function has callbacks, of whichever hook, and whether one that arrives now
    # belongs to the open step.
    _has_callbacks: ClassVar[bool] = False
    _is_listening = False
    _is_closed = False
    _has_told_of_keys = False

    _most_summed = 1  # batches before an update, as far as seen

    def has_default_hook_configuration(
        self, default_saved_collections: Sequence[str] = _always_saved
    ) -> bool:
        return super().has_default_hook_configuration(default_saved_collections)

    # ---- steps ---------------------------------------------------------------------

    @property
    def saves_step(self) -> bool:
        """Returns True if the open step saves anything."""
        return self._saves_step

    def begin_step(self, mode: Optional[ModeKeys] = None) -> int:
        """Begins the next step, as `smdebug.Hook.begin_step`.

        Raises
        ------
        TrainingStopped
            Once, if an attached rule requests the end of the training.
        """
        self._raise_if_to_stop()
        self._is_listening = False
        step = super().begin_step(mode)
        self._await_callbacks()
        self._is_listening = True
        return step

    def end_step(self) -> None:
        """Waits for the callbacks of jitted functions, then ends the step."""
        self._await_callbacks()
        self._is_listening = False
        super().end_step()
        self._hear_rules()

    def discard_step(self) -> None:
        """Waits for the callbacks of jitted functions, then closes the step unrecorded."""
        self._await_callbacks()
        self._is_listening = False
        super().discard_step()

    def close(self) -> None:
        """Ends an open step, writes what is queued, and marks the trial as finished.

        A second call does nothing.  A write error counts as a failure.
        """
        try:
            self._await_callbacks()
        finally:
            self._is_closed = True
            super().close()

    @guarded
    def _await_callbacks(self) -> None:
        # Computations run asynchronously: the hook does not wait for steps that save nothing, and
        # ignores their callbacks.
        if self._has_callbacks and self._saves_step:
            jax.effects_barrier()

    # ---- tensors -------------------------------------------------------------------

    def save(self, name: str, value: Any) -> None:
        """Saves a tensor for the open step, if a collection selects it.

        Parameters
        ----------
        name : str
            The tensor's name.
        value
            An array of JAX, which may be traced, or any value that `smdebug.Hook.save`
            takes, with the exceptions of that method.
        """
        if isinstance(value, jax.Array):
            self.save_tree(name, value)
        else:
            super().save(name, value)

    def record(
        self,
        loss: Any = None,
        *,
        params: Any = None,
        gradients: Any = None,
        opt_state: Any = None,
        mode: Optional[ModeKeys] = None,
        **values: Any,
    ) -> None:
        """Records what a jitted training step returned, as one step.

        Parameters
        ----------
        loss : optional
            The tensor "loss".
        params, gradients, opt_state : pytree, optional
            The tensors "params/...", "gradient/params/..." and "opt_state/...".  The learning
            rate in the state of `optax.inject_hyperparams` is recorded as "learning_rate".  Where
            `optax.MultiSteps` sums batches up, "batches_per_update" is the most seen so far.
        mode : ModeKeys, optional
            The mode of the step; TRAIN, if not given.
        **values
            Further tensors or pytrees, by name.

        Raises
        ------
        SMDebugTypeError
            If it is called inside of jit.
        """
        given: Mapping[str, Any] = {
            "loss": loss,
            "params": params,
            "gradient/params": gradients,
            "opt_state": opt_state,
            **values,
        }
        given = {name: tree for name, tree in given.items() if tree is not None}
        leaves = jax.tree_util.tree_leaves(given)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            raise SMDebugTypeError(
                "record is called outside of jit: return the values, or save them by save_tree "
                "inside of a step"
            )
        with self.step(ModeKeys.TRAIN if mode is None else mode):
            for name, tree in given.items():
                self.save_tree(name, tree)
            for name, rate in learning_rates(opt_state):
                # Flax NNX wraps it.
                for leaf in jax.tree_util.tree_leaves(rate):
                    self.save_tree(name, leaf)
            self._save_summed_batches(opt_state)

    @guarded
    def _save_summed_batches(self, opt_state: Any) -> None:
        if not self._saves_step:
            return
        for leaf in jax.tree_util.tree_leaves(summed_batches(opt_state)):
            if not isinstance(leaf, jax.Array) or leaf.is_fully_addressable:
                # Replicas and members of an ensemble have one each.
                self._most_summed = max(self._most_summed, int(np.max(leaf)) + 1)
        if self._most_summed > 1:
            self._save("batches_per_update", self._most_summed)

    @guarded
    def save_tree(self, prefix: str, tree: Any) -> None:
        """Saves the selected leaves of a pytree for the open step.

        Parameters
        ----------
        prefix : str
            The prefix of the names.  With "params" the leaf at ``tree["dense"]["kernel"]``
            is called "params/dense/kernel"; with "" names are the paths alone.
        tree
            Any pytree.  Leaves that are neither arrays nor numbers are skipped, and so are
            typed PRNG keys.
        """
        leaves = jax.tree_util.tree_leaves(tree)
        is_traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
        if not is_traced and not self._saves_step:
            return
        is_wanted = self._is_included if is_traced else self.wants
        wanted = [(name, leaf) for name, leaf in self._named(prefix, tree) if is_wanted(name)]
        if is_traced:
            self._stage(wanted)
        else:
            self._save_leaves(wanted)

    # ---- called by the base class --------------------------------------------------

    def _place(self) -> Tuple[str, int]:
        return f"worker_{jax.process_index()}", jax.process_count()

    def _is_tensor(self, value: Any) -> bool:
        if not isinstance(value, jax.Array):
            return isinstance(value, (np.ndarray, np.generic, *_NUMBERS))
        return not jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)

    def _as_saveable(self, value: Any) -> Any:
        if not isinstance(value, jax.Array):
            return value
        if isinstance(value, jax.core.Tracer):
            raise SMDebugTypeError("a traced array has no value yet: use save or save_tree")
        if not value.is_fully_addressable:
            if not value.is_fully_replicated:
                raise SMDebugTypeError(
                    "an array that is spread over processes cannot be saved: save the result of "
                    "jax.experimental.multihost_utils.process_allgather"
                )
            value = value.addressable_data(0)
        return np.asarray(value)

    # ---- helpers -------------------------------------------------------------------

    def _named(self, prefix: str, tree: Any) -> List[Tuple[str, Any]]:
        """Returns the leaves of a tree that are tensors, by their names."""
        named = []
        for path, leaf in _leaves(tree):
            keys = [_key(entry) for entry in path]
            name = "/".join([prefix, *keys] if prefix else keys)
            if self._is_tensor(leaf):
                named.append((name, leaf))
            elif isinstance(leaf, jax.Array) and not self._has_told_of_keys:
                self._has_told_of_keys = True
                self.logger.warning(
                    "%s is a PRNG key: keys are not saved; jax.random.key_data converts them "
                    "to tensors",
                    name,
                )
        return named

    def _is_included(self, name: str) -> bool:
        """Returns True if a step may save the tensor, or a rule evaluates it."""
        if self.save_all or self.wants(name):
            return True
        included = [*self.include_collections]
        if self.include_regex:
            included.append(CollectionKeys.DEFAULT)
        return any(
            match_inc(name, collection.include_regex) or name in collection.tensor_names
            for collection in map(self.get_collection, included)
        )

    def _save_leaves(self, leaves: Sequence[Tuple[str, Any]]) -> None:
        for _, leaf in leaves:
            if isinstance(leaf, jax.Array) and leaf.is_fully_addressable:
                leaf.copy_to_host_async()
        for name, leaf in leaves:
            self._save_leaf(name, leaf)

    @guarded
    def _save_leaf(self, name: str, leaf: Any) -> None:
        self._save(name, leaf)

    def _stage(self, leaves: Sequence[Tuple[str, Any]]) -> None:
        """Adds a callback with the values to the function that is being traced."""
        if not leaves:
            return
        Hook._has_callbacks = True
        names, values = zip(*leaves)
        _send(partial(self._receive, names), *map(jax.lax.stop_gradient, values))

    @guarded
    def _receive(self, names: Sequence[str], *values: Any) -> None:
        current = get_hook() if self._is_closed else self
        if isinstance(current, Hook) and not current._is_closed:
            # A function that was compiled under this hook goes on under the next one.
            current._take(names, values)

    @guarded
    def _take(self, names: Sequence[str], values: Sequence[Any]) -> None:
        if self._is_listening and self._saves_step:
            self._save_leaves([pair for pair in zip(names, values) if self.wants(pair[0])])


def _send(receive: Any, *values: Any) -> None:
    """Calls `receive` with the values when they are computed; once, also under vmap.

    Callbacks may arrive in any order: JAX orders them on a single device only.
    """
    if not _BATCHES_CALLBACKS:
        jax.debug.callback(receive, *values)
        return

    @custom_vmap  # type: ignore[untyped-decorator]
    def send(*values: Any) -> Tuple[()]:
        jax.debug.callback(receive, *values)
        return ()

    @send.def_vmap  # type: ignore[untyped-decorator]
    def send_batch(size: int, is_batched: Any, *values: Any) -> Tuple[Tuple[()], Tuple[()]]:
        send(*values)
        return (), ()

    send(*values)


def _leaves(tree: Any) -> Iterator[Tuple[Sequence[Any], Any]]:
    """Yields the leaves of a tree with their paths, without the "value" of the variables of Flax."""
    nnx = sys.modules.get("flax.nnx")
    kinds = tuple(filter(None, (getattr(nnx, each, None) for each in _VARIABLES)))
    if not kinds:
        yield from jax.tree_util.tree_flatten_with_path(tree)[0]
        return

    def is_variable(part: Any) -> bool:
        return isinstance(part, kinds)

    for path, leaf in jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_variable)[0]:
        inner = jax.tree_util.tree_flatten_with_path(leaf)[0] if is_variable(leaf) else [((), leaf)]
        yield from (((*path, *rest[1:]), part) for rest, part in inner)


def _key(entry: Any) -> str:
    """Returns one part of a leaf's path: a key, an index or an attribute's name."""
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)
