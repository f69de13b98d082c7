"""The hook for MXNet's Gluon, which records blocks, parameters, gradients and losses."""

from __future__ import annotations

import atexit
import sys
from functools import cached_property
from typing import Any, List, Set, Tuple

from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.open_hooks import close_all
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugTypeError
from smdebug.mxnet.collection import COLLECTIONS, Collection

__all__ = ["Hook"]

try:
    mx = import_framework("mxnet", "mxnet", "smdebug.mxnet")
except AttributeError as error:
    raise ImportError(
        f"smdebug.mxnet needs an MXNet that can be imported; with MXNet 1.9 that takes NumPy "
        f"before 1.24: pip install 'numpy<1.24' ({error})"
    ) from error

# Before MXNet shuts down: afterwards a wait for an array may never return.
atexit.register(close_all)

GRADIENT_PREFIX = "gradient/"

# Collections that can be recorded without hooks in the model's blocks.
_OF_WHOLE_MODELS = {
    CollectionKeys.WEIGHTS,
    CollectionKeys.BIASES,
    CollectionKeys.GRADIENTS,
    CollectionKeys.LOSSES,
}


class Hook(FrameworkHook):
    """Records a Gluon model and its losses.  One forward pass is a step.

    Register it to the model and to each block of a loss.  The next forward pass of the model
    begins the next step.  Until then everything belongs to the open step, the update of
    parameters too.  The hook does not know the mode of a step: set it with `set_mode`.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers, raise_errors, options
        As `smdebug.Hook` takes them.  Losses are always saved.

    Attributes
    ----------
    registered_blocks : set of mxnet.gluon.Block
        The blocks that call it.

    Notes
    -----
    Inside of the model, the hook observes blocks only if more is to be saved than weights,
    biases, gradients and losses.  It cannot observe blocks inside of a hybridized block.
    """

    _builtin_collections = COLLECTIONS
    _collection_class = Collection

    _last_model: Any = None

    @cached_property
    def registered_blocks(self) -> Set[Any]:
        """The blocks that call it."""
        return set()

    @cached_property
    def _handles(self) -> List[Any]:
        """The handles that detach the hook from the blocks."""
        return []

    # ---- called by a script ---------------------------------------------------------

    @guarded
    def register_block(self, block: Any) -> None:
        """Records a model, from its next forward pass on, or a loss.

        Parameters
        ----------
        block : mxnet.gluon.Block
            A model, or a block of `mxnet.gluon.loss`, which begins no steps.
        """
        if not isinstance(block, mx.gluon.Block):
            raise SMDebugTypeError(f"a {type(block).__name__} is not a block of Gluon")
        if block in self.registered_blocks:
            self.logger.warning("the hook is already registered to the block %s", block.name)
            return
        if not isinstance(block, mx.gluon.loss.Loss):
            self._handles.append(block.register_forward_pre_hook(self.forward_pre_hook))
            if self._looks_inside():
                block.apply(self._register_forward)
                return
        self._register_forward(block)

    def register_hook(self, block: Any) -> None:
        """Another name of `register_block`."""
        self.register_block(block)

    def close(self) -> None:
        """Detaches from the blocks, ends an open step, and marks the trial as finished.

        A second call does nothing.  A write error counts as a failure.
        """
        try:
            for handle in self._handles:
                handle.detach()
            self._handles.clear()
            self._finish_last_step()
        finally:
            super().close()

    # ---- called by MXNet ------------------------------------------------------------

    @guarded
    def forward_pre_hook(self, block: Any, inputs: Any) -> None:
        """Ends the last step and begins the next."""
        self._next_step()
        self._last_model = block

    @guarded
    def forward_hook(self, block: Any, inputs: Any, outputs: Any) -> None:
        """Records the inputs and outputs of a block."""
        if self._saves_step:
            self._save_numbered(f"{block.name}_input_", inputs)
            self._save_numbered(f"{block.name}_output_", outputs)

    # ---- called by the base class ---------------------------------------------------

    def _place(self) -> Tuple[str, int]:
        # A job may import Horovod before it initializes it: there is no rank yet.
        horovod = sys.modules.get("horovod.mxnet")
        if horovod is None or not horovod.is_initialized():
            return super()._place()
        return f"worker_{horovod.rank()}", horovod.size()

    def _is_tensor(self, value: Any) -> bool:
        # Hybridized blocks are also called with symbols, which have no values.
        return isinstance(value, mx.nd.NDArray)

    def _as_saveable(self, value: Any) -> Any:
        if not isinstance(value, mx.nd.NDArray):
            return value
        if isinstance(value, mx.nd.sparse.BaseSparseNDArray):
            value = value.tostype("default")
        value = value.as_in_context(mx.cpu())
        # MXNet's DLPack uses a type code of its own for bool.
        return value.asnumpy() if value.dtype is mx.np.bool_ else _Lent(value)

    def _finish_step(self) -> None:
        if self._saves_step and self._last_model is not None:
            for parameter in self._last_model.collect_params().values():
                self._save_parameter(parameter)
        super()._finish_step()

    # ---- helpers --------------------------------------------------------------------

    def _looks_inside(self) -> bool:
        if self.save_all or self.include_regex:
            return True
        return not _OF_WHOLE_MODELS.issuperset(self.include_collections)

    def _register_forward(self, block: Any) -> None:
        if block not in self.registered_blocks:
            self._handles.append(block.register_forward_hook(self.forward_hook))
            self.registered_blocks.add(block)

    @guarded
    def _finish_last_step(self) -> None:
        self._finish_step()

    @guarded
    def _save_parameter(self, parameter: Any) -> None:
        """Records a parameter and its gradient on its first device."""
        gradient = GRADIENT_PREFIX + parameter.name
        try:
            if self.wants(parameter.name):
                self._save(parameter.name, _data(parameter))
            if parameter.grad_req != "null" and self.wants(gradient):
                self._save(gradient, parameter.grad(parameter.list_ctx()[0]))
        except mx.gluon.parameter.DeferredInitializationError:
            self.logger.debug("%s has no values yet", parameter.name)


class _Lent:
    """An array on the host that `save` reads in place: MXNet's own arrays lack `__dlpack__`."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **unused: Any) -> object:
        return mx.nd.to_dlpack_for_read(self._array)

    def __array__(self, dtype: Any = None) -> Any:
        array = self._array.asnumpy()
        return array if dtype is None else array.astype(dtype)


def _data(parameter: Any) -> Any:
    """Returns the values of a parameter on its first device."""
    device = parameter.list_ctx()[0]
    if parameter._stype == "default":
        return parameter.data(device)
    rows = mx.nd.arange(parameter.shape[0], dtype="int64", ctx=device)
    return parameter.row_sparse_data(rows)
