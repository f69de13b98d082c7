"""The hook for PyTorch, which records parameters, gradients, losses and module tensors."""

from __future__ import annotations

import inspect
import itertools
import numbers
import re
import sys
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, List, Mapping, Optional, Sequence, Tuple, Type
from weakref import WeakKeyDictionary

from smdebug import _raw
from smdebug._arrays import view_of
from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.hook import Regexes
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveSettings
from smdebug.core.utils import import_framework, match_inc
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.pytorch.callbacks import (
    AfterForward,
    AfterLoss,
    AfterModel,
    BeforeInplace,
    BeforeModel,
    OnHeldGradient,
    changes_inputs,
)
from smdebug.pytorch.collection import BUILTIN_COLLECTIONS, OF_PARAMETERS, Collection
from smdebug.pytorch.containers import parts_of
from smdebug.pytorch.emptiness import warn_of_emptiness
from smdebug.pytorch.late_entry import PLAIN
from smdebug.pytorch.losses.modules import collections_of
from smdebug.pytorch.models import (
    RegisteredModel, called_parts, collection_of_inputs, module_name,
)  # fmt: skip
from smdebug.pytorch.occasional import Occasional
from smdebug.pytorch.optimizers import WatchedOptimizer, inner_optimizer
from smdebug.pytorch.scalers import forget_scaled, watch_scaled
from smdebug.pytorch.torch_state import note_graph
from smdebug.pytorch.updates import UpdateHook
from smdebug.pytorch.wrapped import unwrapped

if TYPE_CHECKING:
    from smdebug.rules.rule_set import RuleSet

__all__ = ["Hook"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# Since PyTorch 2.0 forward hooks can receive keyword arguments.
_WITH_KEYWORDS = (
    {"with_kwargs": True}
    if "with_kwargs" in inspect.signature(torch.nn.Module.register_forward_hook).parameters
    else {}
)

# The collections in which rules find the inputs and outputs of modules, whatever their names.
_ROLES: Mapping[type, Mapping[str, str]] = {
    torch.nn.ReLU: {"relu_input": "input", "relu_output": "output"},
    torch.nn.ReLU6: {"relu_input": "input", "relu_output": "output"},
    torch.nn.Tanh: {"tanh_input": "input"},
}

_HOST = torch.device("cpu")
_DTYPES = {
    torch.float16: _raw.SMD_FLOAT16,
    torch.bfloat16: _raw.SMD_BFLOAT16,
    torch.float32: _raw.SMD_FLOAT32,
    torch.float64: _raw.SMD_FLOAT64,
    torch.int8: _raw.SMD_INT8,
    torch.int16: _raw.SMD_INT16,
    torch.int32: _raw.SMD_INT32,
    torch.int64: _raw.SMD_INT64,
    torch.uint8: _raw.SMD_UINT8,
}
# PyTorch has 8-bit floats since 2.1.
for _name, _number in (
    ("float8_e5m2", _raw.SMD_FLOAT8_E5M2),
    ("float8_e4m3fn", _raw.SMD_FLOAT8_E4M3FN),
):
    if hasattr(torch, _name):
        _DTYPES[getattr(torch, _name)] = _number
_to_dlpack = torch.utils.dlpack.to_dlpack


# The collections of what optimizers do, which nobody saves by default.
_OF_OPTIMIZERS: Mapping[str, str] = {
    "updates": "^update/",
    "optimizer_state": "^optimizer_state/",
    "learning_rate": "^learning_rate/",
    "weight_decay": "^weight_decay/",
}


class Hook(UpdateHook):
    """Records a training with PyTorch.

    A step begins when a registered model is called.  Its parameters are saved then, as
    ``<Class>_<parameter>``.  Inputs and outputs of modules are ``<module>_input_<i>`` and
    ``<module>_output_<i>``, gradients ``gradient/<Class>_<parameter>``, losses
    ``<LossClass>_output_<i>``.  With `register_optimizer`, a step is one of the optimizer, and
    gradients are those that it applies.

    Until `set_mode` is called, the mode is TRAIN or EVAL, as ``module.training`` says.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers, raise_errors, options
        As `smdebug.core.framework_hook.FrameworkHook` takes them.
    sync : bool
        Whether a step ends only when the devices have computed what it records, so that rules
        evaluate it at once.  Default: results are taken at the following steps.

    Attributes
    ----------
    skipped_steps : int
        The number of steps that a GradScaler has skipped, because a gradient was not finite.
        Those of optimizers with ``fused=True`` are counted only at steps that save something.
    """

    _builtin_collections: ClassVar[Mapping[str, Sequence[str]]] = BUILTIN_COLLECTIONS
    _collection_class: ClassVar[Type[Collection]] = Collection
    _profile_class = "smdebug.pytorch.profiling.TorchProfile"

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
        *,
        raise_errors: Optional[bool] = None,
        sync: bool = False,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        super().__init__(
            out_dir=out_dir,
            export_tensorboard=export_tensorboard,
            tensorboard_dir=tensorboard_dir,
            dry_run=dry_run,
            reduction_config=reduction_config,
            save_config=save_config,
            include_regex=include_regex,
            include_collections=include_collections,
            save_all=save_all,
            include_workers=include_workers,
            raise_errors=raise_errors,
            options=options,
        )
        self._waits = sync
        self._collected.own_regexes.update(
            *BUILTIN_COLLECTIONS.values(), _OF_OPTIMIZERS.values(), OF_PARAMETERS.values()
        )

    # ---- registration ---------------------------------------------------------------

    @cached_property
    def _watched(self) -> WeakKeyDictionary[Any, AfterForward]:
        """The callback of each module."""
        return WeakKeyDictionary()

    @cached_property
    def _handles(self) -> List[Any]:
        """The handles that remove the callbacks."""
        return []

    @cached_property
    def _occasional(self) -> Occasional:
        """The callbacks that are added at steps that save."""
        return Occasional(self)

    @cached_property
    def _saver(self) -> _raw.Saver:
        """Saves most tensors, each in one call.  Leaves others to `_save_left`."""
        # Metrics are logged too: if there may be some, the saver leaves all tensors.
        types = PLAIN if self._metrics is None and not self._late.takes_all else ()
        return _raw.saver(self._handle, types, _DTYPES, self._saved_counts)

    def register_module(self, module: Any, name: Optional[str] = None) -> None:
        """Records a model.

        Parameters
        ----------
        module : torch.nn.Module
            The whole model, before or after `torch.compile`.  One without `forward`, such as a
            `ModuleDict`, is recorded where its parts are called.
        name : str, optional
            What its tensors' names begin with, if the job has several models of one class.
            Default: its class, for parameters, and nothing for the tensors of inner modules.

        Raises
        ------
        SMDebugTypeError
            If it is not a module.
        SMDebugValueError
            If the module, or one in it, is already registered, or a lazy parameter has no
            shape yet, or another model has this name.
        """
        self._register(module, name, counts_calls=True)

    @guarded(passes=(SMDebugTypeError, SMDebugValueError))
    def _register(self, module: Any, name: Optional[str], counts_calls: bool) -> None:
        """Registers a model, of which a call begins a step only with `counts_calls`."""
        _check_module(module)
        registered = [model.module for model in self._models]
        for path, inner in module.named_modules():
            if inner in self._watched or any(inner is each for each in registered):
                raise SMDebugValueError(
                    f"{path or module_name(module)} is registered already; register a module once"
                )
        for path, parameter in module.named_parameters():
            if torch.nn.parameter.is_lazy(parameter):
                raise SMDebugValueError(
                    f"{path} is not initialised yet; call the model once, then register it"
                )
        model = RegisteredModel(module, self._free_name(module, name), name is not None)
        self._unregistered.watch(self)
        self._models.append(model)
        if getattr(module, "_compiled_call_impl", None) is None:
            self._watch_calls(model, module, counts_calls)
        else:
            # Its calls are graphs, which a new callback would make PyTorch compile again.
            note_graph(model.key)
        model.watch_gradients(self._on_gradient_of, self._updated_parameters())
        model.watch_held(partial(OnHeldGradient, self))
        model.note_versions()

    def _watch_calls(self, model: RegisteredModel, module: Any, counts_calls: bool) -> None:
        called = called_parts(module)
        for part in called if counts_calls else ():
            self._handles.append(part.register_forward_pre_hook(BeforeModel(self, model)))
        for path, inner in module.named_modules():
            outer, _, last = path.rpartition(".")
            if last == "_orig_mod":
                # A compiled module holds the one that it was made from, which is the same.
                self._watched[inner] = self._watched[module.get_submodule(outer)]
                continue
            callback = AfterForward(self, model.name_of(path), self._saver, changes_inputs(inner))
            self._watched[inner] = callback
            if inner in called or "_orig_mod" in path.split("."):
                # A compiled module would be compiled again if its callbacks changed.
                self._attach_to(inner, callback, self._handles)
            else:
                self._occasional.add(model.key, inner, callback)
        for part in called:
            self._handles.append(part.register_forward_hook(AfterModel(self, model)))

    def _attach_to(self, module: Any, callback: AfterForward, handles: List[Any]) -> None:
        if changes_inputs(module):
            before = BeforeInplace(self, callback.name, self._saver)
            handles.append(module.register_forward_pre_hook(before))
        handles.append(module.register_forward_hook(callback, **_WITH_KEYWORDS))

    def _watch_modules(self) -> None:
        self._occasional.watch()

    def _free_name(self, module: Any, name: Optional[str]) -> str:
        taken = {model.name for model in self._models if model.module is not None}
        if name is not None:
            if name in taken:
                raise SMDebugValueError(f"another model has the name {name!r}; choose another one")
            return name
        name = module_name(module)
        if name not in taken:
            return name
        number = next(n for n in itertools.count(2) if f"{name}_{n}" not in taken)
        self.logger.warning(
            "a second %s is registered: its parameters are recorded as %s_%d_..., its modules' "
            "tensors under the names of the first one's; give it a name of its own by "
            "register_module(module, name=...)",
            name,
            name,
            number,
        )
        return f"{name}_{number}"

    def register_hook(self, module: Any) -> None:
        """Another name of `register_module`."""
        self.register_module(module)

    @guarded(passes=(SMDebugTypeError,))
    def register_optimizer(self, *optimizers: Any) -> None:
        """Records what optimizers apply: a step of the trial then is a step of theirs.

        At each `optimizer.step()`, gradients are recorded as they are applied: unscaled, clipped,
        summed over all backward passes, averaged over processes.  The collections "updates",
        "optimizer_state", "learning_rate" and "weight_decay" record more, if they are included.

        Parameters
        ----------
        *optimizers : torch.optim.Optimizer
            The optimizers, or lists of them, whose parameters are those of registered modules.

        Raises
        ------
        SMDebugTypeError
            If one is not an optimizer.
        """
        inner = [
            inner_optimizer(optimizer)
            for given in optimizers
            for optimizer in (given if isinstance(given, (list, tuple)) else (given,))
        ]
        for optimizer in inner:
            if any(each.optimizer is optimizer for each in self._optimizers):
                continue
            watched = WatchedOptimizer(self, optimizer, self._optimizer_name(optimizer))
            self._optimizers.append(watched)
            watch_scaled(watched, optimizer, self._on_skipped)
        for name, regex in _OF_OPTIMIZERS.items():
            if regex not in self.get_collection(name).include_regex:
                self.get_collection(name).include(regex)
        for name, regex in OF_PARAMETERS.items():
            regexes = self.get_collection(name).include_regex
            # Names of updates and optimizer states contain those of parameters.
            regexes[:] = [
                regex if each in BUILTIN_COLLECTIONS[name] else each for each in regexes
            ]
        for model in self._models:
            model.watch_gradients(self._on_gradient_of, self._updated_parameters())

    def _optimizer_name(self, optimizer: Any) -> str:
        name, taken = type(optimizer).__name__, {each.name for each in self._optimizers}
        if name not in taken:
            return name
        return next(f"{name}_{n}" for n in itertools.count(2) if f"{name}_{n}" not in taken)

    @guarded(passes=(SMDebugTypeError,))
    def register_loss(self, loss_module: Any) -> None:
        """Records the outputs of a loss module.

        Parameters
        ----------
        loss_module : torch.nn.Module
            As ``nn.CrossEntropyLoss()``.

        Raises
        ------
        SMDebugTypeError
            If it is not a module.
        """
        _check_module(loss_module)
        name = module_name(loss_module)
        if loss_module in self._watched:
            self._watched[loss_module].rename(name)
        else:
            callback = AfterLoss(self, name, self._saver, changes_inputs(loss_module))
            self._watched[loss_module] = callback
            self._attach_to(loss_module, callback, self._handles)
        losses = self.get_collection(CollectionKeys.LOSSES)
        if not match_inc(f"{name}_output_0", losses.include_regex):
            losses.include(f"^{name}_output_")
        self._collected.own_regexes.add(f"^{name}_output_")

    def close(self) -> None:
        """Detaches from the modules, ends an open step, and marks the trial as finished.

        Warns if a module was registered, and no step, loss or gradient of it was recorded.
        """
        try:
            self._finish_late()
            warn_of_emptiness(self)
            self._detach()
        finally:
            super().close()

    def _detach(self) -> None:
        self._is_saving = False
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._occasional.forget()
        self._unused.forget()
        self._loss_graphs.forget()
        for model in self._models:
            model.forget_gradients()
            model.forget_held()
        for watched in [*self._optimizers, *self._missing_updates.set_aside]:
            forget_scaled(watched)
            watched.detach()
        self._models.clear()
        self._optimizers.clear()
        self._watched.clear()
        self._sums.clear()

    # ---- saving ---------------------------------------------------------------------

    @guarded
    def _on_held(self, name: str, held: Any) -> None:
        """Saves a gradient that was not reset after an update."""
        if held.layout == torch.strided and _raw.wants(self._handle, name):
            self._save_made(name, held.detach().clone())

    @guarded(passes=(SMDebugTypeError,))
    def record_tensor_value(self, tensor_name: str, tensor_value: Any) -> None:
        """Saves a tensor, or a number, as ``<tensor_name>_output_<i>``.

        Raises
        ------
        SMDebugTypeError
            If it is neither.
        """
        if not self._is_tensor(tensor_value):
            if not isinstance(tensor_value, numbers.Number):  # such as loss.item()
                kind = type(tensor_value).__name__
                raise SMDebugTypeError(f"{tensor_name}: a {kind} is not a torch.Tensor")
            tensor_value = torch.as_tensor(tensor_value)
        self._on_loss(tensor_name)
        if self._saves_step and not self._is_interrupted:
            self._save_numbered(f"{tensor_name}_output_", tensor_value)
            self._loss_graphs.save(tensor_name, tensor_value)

    def save_scalar(
        self, name: str, value: Any, sm_metric: bool = False, timestamp: Optional[float] = None
    ) -> None:
        super().save_scalar(name, value, sm_metric, timestamp)
        is_loss = "loss" in name.lower() and isinstance(value, (float, torch.Tensor))
        if is_loss and self._is_saving:
            self._loss_graphs.save(f"scalar/{name}", torch.as_tensor(value))

    @guarded
    def _on_tap(self, tensor: Any, name: str) -> None:
        """Saves a tensor of a model, for `tap`."""
        self._on_loss(name)
        if self._is_saving:
            # A graph may use its memory again, and does not count that as a change.
            with self._late.batch():
                self._save_numbered(f"{name}_output_", tensor.detach())

    def _save(self, name: str, value: Any) -> None:
        left = self._saver.save(name, value)
        if left is not None:
            self._save_left(name, value, left)

    def _save_numbered(self, prefix: str, value: Any) -> None:
        left = self._saver.save_numbered(prefix, value)
        if left is not None:
            self._save_left(prefix, value, left)

    def _save_gradient(self, name: str, gradient: Any) -> None:
        left = self._saver.save(name, gradient)
        if left is None:
            return
        if self._late.takes(gradient):
            self._late.add_gradient(name, gradient)
        else:
            self._save_left(name, gradient, left)

    def _save_each(self, names: List[str], tensors: List[Any]) -> None:
        left = self._saver.save_each(names, tensors)
        if left is not None:
            self._save_left("", None, left)

    def _save_with_gradients(self, names: List[str], parameters: List[Any]) -> int:
        left, missing = self._saver.save_parameters(names, parameters)
        if left is not None:
            self._save_left("", None, left)
        return missing

    @guarded
    def _save_left(self, name: str, value: Any, left: Any) -> None:
        """Saves the tensors that the saver left, or the whole value for NotImplemented."""
        if left is NotImplemented:
            super()._save_numbered(name, parts_of(value))
            return
        later: List[Tuple[str, Any]] = []
        for tensor_name, tensor, error in left:
            if error is not None:
                self._note_failure(f"saving {tensor_name}", error)
            elif self._late.takes(tensor):
                later.append((tensor_name, tensor))
            else:
                super()._save(tensor_name, tensor)
        self._save_later(later)

    def _save_later(self, named: List[Tuple[str, Any]], are_made: bool = False) -> None:
        if not self._step_is_open:
            return
        for name, error in self._late.add_each(named, are_made):
            self._note_failure(f"saving {name}", error)

    @guarded
    def _save_keywords(self, prefix: str, keywords: Mapping[str, Any]) -> None:
        for keyword, value in keywords.items():
            self._save_numbered(f"{prefix}{keyword}_", value)

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:
        """Returns False: there is no profiler.  The service's own PyTorch calls this."""
        return False

    # ---- called by the base class ---------------------------------------------------

    def _place(self) -> Tuple[str, int]:
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return f"worker_{distributed.get_rank()}", distributed.get_world_size()
        horovod = sys.modules.get("horovod.torch")
        if horovod is not None and horovod.is_initialized():
            return f"worker_{horovod.rank()}", horovod.size()
        return super()._place()

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def _as_saveable(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        value = self._plain(value)
        return value if value.device == _HOST else value.cpu()

    def _plain(self, value: Any) -> Any:
        """Returns the elements of a tensor on its device: strided, and without a graph."""
        if type(value) not in PLAIN:
            if hasattr(value, "to_local"):
                value = value.to_local()  # this process's part of a distributed tensor
            if hasattr(value, "trigger_wait"):
                value = value.trigger_wait()  # an AsyncCollectiveTensor has no elements of its own
        value = unwrapped(value.detach())
        if value.layout is not torch.strided:
            value = value.to_dense()
        if value.is_floating_point() and value.dtype not in _DTYPES:
            value = value.float()  # another 8-bit float
        if value.is_conj() or value.is_neg():
            value = value.resolve_conj().resolve_neg()
        return value

    def save(self, name: str, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            super().save(name, value)
            return
        try:
            # Not through its numpy array, which would make the tensor's size fixed.
            _raw.save_dlpack(self._handle, name, _to_dlpack(value))
        except SMDebugError:
            raise
        except (BufferError, RuntimeError):
            # An element type that this PyTorch does not export, such as bool.
            super().save(name, view_of(value.clone()))

    def attach(self, rule_set: RuleSet) -> None:
        super().attach(rule_set)
        self._states.clear()  # What is collected depends on whether there are rules.
        if self._is_prepared:
            self._tell_roles()

    def _tell_roles(self) -> None:
        for model in self._models:
            collection = collection_of_inputs(model.module)
            if collection is not None:
                self._tell(collection, f"^{re.escape(model.name)}_input_")
        for module, callback in self._watched.items():
            for collection, side in _ROLES.get(type(module), {}).items():
                self._tell(collection, f"^{re.escape(callback.name)}_{side}_")
            if getattr(module, "batch_first", None) is False:
                self._tell("second_axis_samples", f"^{re.escape(callback.name)}_input_0$")
            for collection in collections_of(module) if isinstance(callback, AfterLoss) else ():
                self._tell(collection, f"^{re.escape(callback.name)}_input_")

    def _prepare_collections(self) -> None:
        super()._prepare_collections()
        if self._has_rules:
            self._tell_roles()
        for collection in self._collections.values():
            for module, (inputs, outputs) in getattr(collection, "modules", {}).items():
                if module not in self._watched:
                    self.logger.error(
                        "collection %s: its module %s is not registered with the hook",
                        collection.name,
                        module._get_name(),
                    )
                    continue
                name = self._watched[module].name
                if inputs:
                    collection.include(f"{name}_input_")
                if outputs:
                    collection.include(f"{name}_output_")


def _check_module(module: Any) -> None:
    if not isinstance(module, torch.nn.Module):
        raise SMDebugTypeError(f"a {type(module).__name__} is not a torch.nn.Module")
