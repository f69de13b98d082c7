"""Feeds a profile with what a training with PyTorch spends its time on."""

from __future__ import annotations

import importlib
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

from smdebug import _raw
from smdebug.core.step_profile import StepProfile
from smdebug.core.utils import import_framework
from smdebug.profiler.recording import Profiler
from smdebug.pytorch.loader_profiling import watch_loaders
from smdebug.pytorch.torch_state import in_backward, is_compiling

__all__ = ["TorchProfile"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

_event = _raw.profiler_event
_now = _raw.profiler_now

# The functions of torch.distributed that wait for other processes.
_COLLECTIVES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
)


class TorchProfile(StepProfile):
    """Records steps, forward and backward passes, updates, waits for data and for processes.

    In the steps that DetailedProfilingConfig selects, also each module's passes.  Times are those
    of the host: what a device computes later is waited for by whatever reads its result.
    """

    def __init__(self, profiler: Profiler) -> None:
        super().__init__(profiler)
        self._forward: Optional[int] = None
        self._after_forward: Optional[int] = None
        self._update: Optional[int] = None
        self._restore: List[Callable[[], None]] = [watch_loaders(self)]
        self._modules = _ModuleEvents(self)
        self._inside = _Inside()
        try:
            self._watch_optimizers()
            self._watch_collectives()
        except BaseException:
            self.forget()
            raise

    def begin_step(self, step: int, mode: Any) -> None:
        if self._modules.watches:
            self._modules.end_backward()
        super().begin_step(step, mode)
        self._after_forward = None
        if self.is_detailed or self._modules.watches:
            self._modules.watch(self.is_detailed)

    def close(self) -> None:
        try:
            self.forget()
        finally:
            super().close()

    def forget(self) -> None:
        self._modules.watch(False)
        while self._restore:
            self._restore.pop()()

    # ---- passes -------------------------------------------------------------------------

    def before_model(self) -> None:
        """A registered model begins to run."""
        self._forward = _now(self._handle) if self.is_on and not in_backward() else None

    def after_model(self, name: str) -> None:
        """The model has run."""
        begin, self._forward = self._forward, None
        if begin is None:
            return
        self._after_forward = _event(
            self._handle, name, "Forward", begin, None, self.step, None
        )
        if self._sampler is not None:
            self.sample_python("forwardpassend")

    def _watch_optimizers(self) -> None:
        module = importlib.import_module("torch.optim.optimizer")
        if not hasattr(module, "register_optimizer_step_pre_hook"):
            return  # PyTorch before 2.0
        for handle in (
            module.register_optimizer_step_pre_hook(self._before_update),
            module.register_optimizer_step_post_hook(self._after_update),
        ):
            self._restore.append(handle.remove)

    def _before_update(self, optimizer: Any, *unused: Any) -> None:
        if not self.is_on or is_compiling():
            return
        if self._modules.watches:
            self._modules.end_backward()
        begin, self._after_forward = self._after_forward, None
        if begin is None:
            self._update = _now(self._handle)
            return
        phase = "Backward(post-forward)"
        self._update = _event(self._handle, phase, phase, begin, None, self.step, None)

    def _after_update(self, optimizer: Any, *unused: Any) -> None:
        begin, self._update = self._update, None
        if begin is not None:
            name = type(optimizer).__name__
            _event(self._handle, name, "Optimizer", begin, None, self.step, None)

    # ---- other processes ------------------------------------------------------------------

    def _watch_collectives(self) -> None:
        if not torch.distributed.is_available():
            return
        for name in _COLLECTIVES:
            function = getattr(torch.distributed, name, None)
            if function is not None:
                self._restore.append(self._watch_collective(torch.distributed, name, function))
        # With async_op=True, the call only begins; this waits for its end.
        work = getattr(torch.distributed, "Work", None)
        if work is not None:
            self._restore.append(self._watch_collective(work, "wait", work.wait))

    def _watch_collective(
        self, owner: Any, name: str, function: Callable[..., Any]
    ) -> Callable[[], None]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if not self.is_on or self._inside.collective or is_compiling():
                return function(*args, **kwargs)
            begin = _now(self._handle)
            self._inside.collective = True
            try:
                return function(*args, **kwargs)
            finally:
                self._inside.collective = False
                self.record(name, "Communication", begin)

        timed.__name__, timed.__doc__ = name, function.__doc__
        timed.__wrapped__ = function  # type: ignore[attr-defined]
        setattr(owner, name, timed)

        def restore() -> None:
            # Someone else's wrapper around this one stays; this one then only calls on.
            if getattr(owner, name, None) is timed:
                setattr(owner, name, function)

        return restore

    def now(self) -> int:
        """Returns the time of events."""
        return _now(self._handle)

    def record(self, name: str, phase: str, begin: int, args: Optional[str] = None) -> None:
        """Records an event that ends now; a failure must not stop what the job does."""
        try:
            _event(self._handle, name, phase, begin, None, self.step, args)
        except Exception:
            self.is_on = False  # closed, or the process was forked


class _Inside(threading.local):
    """What a thread is inside of: some collectives call others."""

    collective = False


class _ModuleEvents:
    """Records each module's passes while it watches.

    The pass back through a module begins when the gradient of its output is there, and ends when
    that of the next module's is.
    """

    def __init__(self, profile: TorchProfile) -> None:
        self._profile = profile
        self._handle = profile._handle
        self._handles: List[Any] = []
        self.watches = False  # whether modules are recorded
        self._begun: Dict[Tuple[int, int], int] = {}
        self._backward: Optional[Tuple[str, int]] = None

    def watch(self, is_detailed: bool) -> None:
        if self.watches == is_detailed:
            return
        self.watches = is_detailed
        if not is_detailed:
            self.end_backward()
            for handle in self._handles:
                handle.remove()
            self._handles.clear()
            self._begun.clear()
            return
        hooks = torch.nn.modules.module
        self._handles += [
            hooks.register_module_forward_pre_hook(self._before),
            hooks.register_module_forward_hook(self._after),
        ]

    def _before(self, module: Any, inputs: Any) -> None:
        if not is_compiling() and not in_backward():
            self._begun[id(module), self._profile.step] = _now(self._handle)

    def _after(self, module: Any, inputs: Any, outputs: Any) -> None:
        if is_compiling():
            return
        begin = self._begun.pop((id(module), self._profile.step), None)
        if begin is None:
            return
        name = type(module).__name__
        self._profile.record(name, "Forward-SubModuleInternal", begin)
        output = outputs[0] if isinstance(outputs, tuple) and outputs else outputs
        if isinstance(output, torch.Tensor) and output.requires_grad and not output.is_leaf:
            output.register_hook(lambda gradient: self._begin_backward(name))

    def _begin_backward(self, name: str) -> None:
        self.end_backward()
        if self._handles:
            self._backward = name, _now(self._handle)

    def end_backward(self) -> None:
        """Ends the pass back through the last module."""
        backward, self._backward = self._backward, None
        if backward is not None:
            self._profile.record(backward[0], "Backward-SubModuleInternal", backward[1])
