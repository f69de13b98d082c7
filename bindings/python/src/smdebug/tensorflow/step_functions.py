"""Two versions of a model's step functions: the plain one and the recorded one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, ContextManager, Dict, Iterator, Tuple

from smdebug.core.modes import ModeKeys
from smdebug.tensorflow.patches import Patches
from smdebug.tensorflow.utils import wait_for_calls

__all__ = ["StepFunctions"]

_FUNCTIONS = {
    ModeKeys.TRAIN: "train_function",
    ModeKeys.EVAL: "test_function",
    ModeKeys.PREDICT: "predict_function",
}


class StepFunctions:
    """Runs a second version of a model's step functions at the steps that are recorded.

    The recorded version is compiled separately: other steps run the same code as without a
    hook.

    Parameters
    ----------
    model
        A Keras model.
    looks_into
        Returns whether the next step of a mode is recorded.
    looking
        A context in which the recorded version is compiled and run.
    failed
        Called with the error if the recorded version cannot be made.
    """

    def __init__(
        self,
        model: Any,
        looks_into: Callable[[ModeKeys], bool],
        looking: Callable[[], ContextManager[None]],
        failed: Callable[[str, Exception], None],
    ) -> None:
        self.model = model
        self._looks_into = looks_into
        self._looking = looking
        self._failed = failed
        self._patches = Patches()
        # By the identity of the functions that Keras made: these functions and their versions.
        self._versions: Dict[int, Tuple[Any, Any]] = {}
        self.is_installed = False

    def install(self) -> None:
        """Replaces every step function that the model makes from now on."""
        self.remove()
        self.is_installed = True
        for mode, name in _FUNCTIONS.items():
            make = getattr(self.model, f"make_{name}", None)
            if make is not None:
                self._patches.put(self.model, f"make_{name}", self._making(mode, name, make))

    def remove(self) -> None:
        """Restores the model.  Compiled functions are kept."""
        self._patches.remove()
        self.is_installed = False
        for name in _FUNCTIONS.values():
            function = getattr(self.model, name, None)
            while isinstance(function, _StepFunction) and not function.owner.is_installed:
                function = function.plain
                setattr(self.model, name, function)

    def _making(self, mode: ModeKeys, name: str, original: Any) -> Any:
        def make(*args: Any, **kwargs: Any) -> Any:
            original(*args, **kwargs)
            function = getattr(self.model, name)
            if not isinstance(function, _StepFunction) or function.owner is not self:
                function = _StepFunction(self, mode, function, original)
                setattr(self.model, name, function)
                # Before training begins: JAX moves a model's variables out of it while it trains.
                self._second_version(function)
            return function

        return make

    def run(self, function: _StepFunction, *args: Any) -> Any:
        """Runs the plain or the recorded version of a step."""
        if not self._looks_into(function.mode):
            return function.plain(*args)
        with self._looking(), _without_xla(self.model):
            result = self._second_version(function)(*args)
            wait_for_calls()
        return result

    def _second_version(self, function: _StepFunction) -> Any:
        if id(function.plain) not in self._versions:
            version = self._make_version(function)
            self._versions[id(function.plain)] = (function.plain, version)
        return self._versions[id(function.plain)][1]

    def _make_version(self, function: _StepFunction) -> Any:
        name = _FUNCTIONS[function.mode]
        step = name.replace("function", "step")
        original = getattr(self.model, step)
        patches = Patches()
        # JAX reuses what it compiled for a function that is equal to this one.
        patches.put(self.model, step, lambda *args: original(*args))
        try:
            with _without_xla(self.model):
                function.make(force=True)
            return getattr(self.model, name)
        except Exception as error:
            self._failed(f"make_{name}", error)
            return function.plain
        finally:
            patches.remove()
            setattr(self.model, name, function)


class _StepFunction:
    """A model's step function in two versions."""

    def __init__(self, owner: StepFunctions, mode: ModeKeys, plain: Any, make: Any) -> None:
        self.mode = mode
        self.plain = plain
        self.make = make
        self.owner = owner

    def __call__(self, *args: Any) -> Any:
        return self.owner.run(self, *args)


@contextmanager
def _without_xla(model: Any) -> Iterator[None]:
    """Switches XLA off in the block, unless JAX runs the model.

    Code compiled by XLA can call Python in JAX, but not in TensorFlow.
    """
    if hasattr(model, "jax_state_sync") or not hasattr(model, "_jit_compile"):
        yield
        return
    before = model._jit_compile
    model._jit_compile = False
    try:
        yield
    finally:
        model._jit_compile = before
