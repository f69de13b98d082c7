"""The hook of JAX: it records the leaves of pytrees, outside of jit and inside."""

from __future__ import annotations

from functools import partial
from typing import Any, List, Optional, Sequence, Tuple

from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.modes import ModeKeys
from smdebug.core.utils import import_framework, match_inc
from smdebug.exceptions import SMDebugTypeError
from smdebug.jax.collection import COLLECTIONS

__all__ = ["Hook"]

jax = import_framework("jax", "jax", "smdebug.jax")
np = import_framework("numpy", "numpy", "smdebug.jax")
custom_vmap = import_framework("jax.custom_batching", "jax", "smdebug.jax").custom_vmap

_NUMBERS = (bool, int, float, complex)

# Older ones drop callbacks inside of custom_vmap: under vmap each example calls, the last stays.
_BATCHES_CALLBACKS = jax.__version_info__ >= (0, 9)


class Hook(FrameworkHook):
    """Records pytrees of arrays, leaf by leaf.

    A step is what runs in ``with hook.step(mode):``.  Outside of jit a leaf is copied from
    its device if the step saves it.  Inside of jit, grad, vmap or a loop the compiled
    program gets a callback for those leaves that some included collection names, at
    whatever steps; it runs at every step, so give the function a static argument with
    `saves_step` that compiles it without.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers, raise_errors, options
        As `smdebug.Hook` takes them.  Losses are always saved.

    Notes
    -----
    In a job of several processes, make it after `jax.distributed.initialize`.
    """

    _builtin_collections = COLLECTIONS

    # Whether a traced function holds callbacks, and whether one that comes now is of the
    # open step.
    _has_callbacks = False
    _is_listening = False
    _has_told_of_keys = False

    # ---- steps ---------------------------------------------------------------------

    @property
    def saves_step(self) -> bool:
        """Whether the open step saves anything at all."""
        return self._saves_step

    def begin_step(self, mode: Optional[ModeKeys] = None) -> int:
        """Begins the next step, as `smdebug.Hook.begin_step`.

        Raises
        ------
        TrainingStopped
            Once, if rules that watch have asked for the end of the training.
        """
        self._raise_if_to_stop()
        self._is_listening = False
        step = super().begin_step(mode)
        self._await_callbacks()
        self._is_listening = True
        return step

    def end_step(self) -> None:
        """Waits for what jitted functions still record of the step, and ends it."""
        self._await_callbacks()
        self._is_listening = False
        super().end_step()
        self._hear_rules()

    def close(self) -> None:
        """Ends an open step, writes what waits, and marks the trial as finished.

        A second call does nothing.  What could not be written is a failure like others.
        """
        self._await_callbacks()
        super().close()

    @guarded
    def _await_callbacks(self) -> None:
        # Computations run ahead of Python: those of steps that save nothing are not waited
        # for, and what they send is not listened to.
        if self._has_callbacks and self._saves_step:
            jax.effects_barrier()

    # ---- tensors -------------------------------------------------------------------

    def save(self, name: str, value: Any) -> None:
        """Saves a tensor for the open step, if some collection wants it.

        Parameters
        ----------
        name : str
            The tensor's name.
        value
            An array of JAX, also a traced one, which is the same as a tree of one leaf; or
            what `smdebug.Hook.save` takes, which then raises what that raises.
        """
        if isinstance(value, jax.Array):
            self.save_tree(name, value)
        else:
            super().save(name, value)

    @guarded
    def save_tree(self, prefix: str, tree: Any) -> None:
        """Saves the leaves of a pytree for the open step, as far as they are wanted.

        Parameters
        ----------
        prefix : str
            What the names begin with: "params" makes "params/dense/kernel" of the leaf at
            ``tree["dense"]["kernel"]``; with "", names are just the paths.
        tree
            Any pytree.  Leaves that are neither arrays nor numbers, and typed PRNG keys,
            are passed over.
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

    # ---- what the base asks --------------------------------------------------------

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
            raise SMDebugTypeError("a traced array has no value yet: save it by save or save_tree")
        if not value.is_fully_addressable:
            if not value.is_fully_replicated:
                raise SMDebugTypeError(
                    "an array that is spread over processes cannot be saved: save what "
                    "jax.experimental.multihost_utils.process_allgather makes of it"
                )
            value = value.addressable_data(0)
        return np.asarray(value)

    # ---- parts ---------------------------------------------------------------------

    def _named(self, prefix: str, tree: Any) -> List[Tuple[str, Any]]:
        """The leaves of a tree that are tensors, by their names."""
        named = []
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            keys = [_key(entry) for entry in path]
            name = "/".join([prefix, *keys] if prefix else keys)
            if self._is_tensor(leaf):
                named.append((name, leaf))
            elif isinstance(leaf, jax.Array) and not self._has_told_of_keys:
                self._has_told_of_keys = True
                self.logger.warning(
                    "%s is a PRNG key: keys are not saved, jax.random.key_data makes tensors "
                    "of them",
                    name,
                )
        return named

    def _is_included(self, name: str) -> bool:
        """Whether some step may save the tensor, or rules look at it."""
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
        """Has the function that is being traced call back with the values."""
        if not leaves:
            return
        self._has_callbacks = True
        names, values = zip(*leaves)
        _send(partial(self._receive, names), *map(jax.lax.stop_gradient, values))

    @guarded
    def _receive(self, names: Sequence[str], *values: Any) -> None:
        if self._is_listening and self._saves_step:
            self._save_leaves([pair for pair in zip(names, values) if self.wants(pair[0])])


def _send(receive: Any, *values: Any) -> None:
    """Calls `receive` with the values when they are there; once, also under vmap.

    Not in order with other callbacks: JAX orders them on a single device only.
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


def _key(entry: Any) -> str:
    """One part of a leaf's path: a key, an index or an attribute's name."""
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)
