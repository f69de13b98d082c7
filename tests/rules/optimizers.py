"""The optimizers of drawn trainings: those that rules are tuned on, and strangers to them."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, NamedTuple, Tuple

import torch
from torch import Tensor

__all__ = ["OPTIMIZERS", "STRANGERS", "Lion", "OptimizerKind"]


class OptimizerKind(NamedTuple):
    """How an optimizer is made, and the rate at which small models learn in a hundred steps."""

    rate: float
    # From parameters, the rate and weight decay.
    make: Callable[[Iterable[Any], float, float], torch.optim.Optimizer]


class _ByParameter(torch.optim.Optimizer):
    """Updates one parameter after another."""

    def __init__(self, params: Iterable[Any], lr: float) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    state = self.state[parameter]
                    state["step"] = state.get("step", 0) + 1
                    self.update(parameter, parameter.grad, state, group["lr"])

    def update(self, weight: Tensor, gradient: Tensor, state: Dict[str, Any], lr: float) -> None:
        raise NotImplementedError


def _average(state: Dict[str, Any], name: str, value: Tensor, factor: float) -> Tensor:
    mean: Tensor = state.setdefault(name, torch.zeros_like(value))
    return mean.lerp_(value, 1 - factor)


def _direction_of_adam(state: Dict[str, Any], gradient: Tensor, slow: float) -> Tensor:
    step = state["step"]
    mean = _average(state, "exp_avg", gradient, 0.9) / (1 - 0.9**step)
    squares = _average(state, "exp_avg_sq", gradient.square(), slow) / (1 - slow**step)
    return mean / (squares.sqrt() + 1e-8)


class Lion(_ByParameter):
    """Steps of equal size in the direction of a sign."""

    def __init__(
        self, params: Iterable[Any], lr: float, betas: Tuple[float, float] = (0.9, 0.99)
    ) -> None:
        super().__init__(params, lr)
        self._fast, self._slow = betas

    def update(self, weight: Tensor, gradient: Tensor, state: Dict[str, Any], lr: float) -> None:
        mean = state.setdefault("mean", torch.zeros_like(weight))
        weight.add_((self._fast * mean + (1 - self._fast) * gradient).sign(), alpha=-lr)
        mean.mul_(self._slow).add_(gradient, alpha=1 - self._slow)


class Muon(_ByParameter):
    """Updates of matrices with all singular values near 1, and Adam for the rest."""

    def update(self, weight: Tensor, gradient: Tensor, state: Dict[str, Any], lr: float) -> None:
        if weight.ndim < 2:
            weight.add_(_direction_of_adam(state, gradient, 0.95), alpha=-lr)
            return
        mean = _average(state, "momentum_buffer", gradient, 0.95)
        matrix = gradient.lerp(mean, 0.95).flatten(1)
        longer = max(1.0, matrix.shape[0] / matrix.shape[1]) ** 0.5
        update = self._orthogonal(matrix).mul(longer).view_as(weight)
        weight.mul_(1 - 0.01 * lr).add_(update, alpha=-4 * lr)

    @staticmethod
    def _orthogonal(matrix: Tensor) -> Tensor:
        """Five steps of Newton and Schulz."""
        is_tall = matrix.shape[0] > matrix.shape[1]
        x = (matrix.T if is_tall else matrix).bfloat16()
        x = x / (x.norm() + 1e-7)
        for _ in range(5):
            squares = x @ x.T
            x = 3.4445 * x + (2.0315 * squares @ squares - 4.7750 * squares) @ x
        return (x.T if is_tall else x).float()


class Lamb(_ByParameter):
    """Adam, with updates as large as their weights."""

    def update(self, weight: Tensor, gradient: Tensor, state: Dict[str, Any], lr: float) -> None:
        update = _direction_of_adam(state, gradient, 0.999)
        size, length = weight.norm().item(), update.norm().item()
        weight.add_(update, alpha=-lr * (size / length if size > 0 and length > 0 else 1.0))


class ScheduleFree(_ByParameter):
    """Trains between a fast copy of the weights and the average of all its values."""

    def update(self, weight: Tensor, gradient: Tensor, state: Dict[str, Any], lr: float) -> None:
        fast = state.setdefault("z", weight.clone())
        mean = state.setdefault("x", weight.clone())
        squares = _average(state, "exp_avg_sq", gradient.square(), 0.999)
        fast.sub_(lr * gradient / ((squares / (1 - 0.999 ** state["step"])).sqrt() + 1e-8))
        mean.lerp_(fast, 1 / state["step"])
        weight.copy_(fast.lerp(mean, 0.9))


_T = torch.optim

OPTIMIZERS = {
    "sgd": OptimizerKind(0.1, lambda p, lr, decay: _T.SGD(p, lr=lr, weight_decay=decay)),
    "momentum": OptimizerKind(
        0.02, lambda p, lr, decay: _T.SGD(p, lr=lr, momentum=0.9, weight_decay=decay)
    ),
    "nesterov": OptimizerKind(
        0.02,
        lambda p, lr, decay: _T.SGD(p, lr=lr, momentum=0.9, nesterov=True, weight_decay=decay),
    ),
    "adam": OptimizerKind(0.005, lambda p, lr, decay: _T.Adam(p, lr=lr)),
    "adamw": OptimizerKind(0.005, lambda p, lr, decay: _T.AdamW(p, lr=lr, weight_decay=decay)),
    "rmsprop": OptimizerKind(0.002, lambda p, lr, decay: _T.RMSprop(p, lr=lr)),
    "lion": OptimizerKind(0.001, lambda p, lr, decay: Lion(p, lr=lr)),
}

# No limit of a rule was chosen on these, but that of squares in ExplodingTensor: on two trainings
# with Adagrad, of other seeds.
STRANGERS = {
    "muon": OptimizerKind(0.005, lambda p, lr, decay: Muon(p, lr)),
    "lamb": OptimizerKind(0.02, lambda p, lr, decay: Lamb(p, lr)),
    "schedule_free": OptimizerKind(0.005, lambda p, lr, decay: ScheduleFree(p, lr)),
    "adafactor": OptimizerKind(0.02, lambda p, lr, decay: _T.Adafactor(p, lr=lr)),
    "adagrad": OptimizerKind(0.03, lambda p, lr, decay: _T.Adagrad(p, lr=lr)),
    "adadelta": OptimizerKind(1.0, lambda p, lr, decay: _T.Adadelta(p, lr=lr)),
    "adamax": OptimizerKind(0.01, lambda p, lr, decay: _T.Adamax(p, lr=lr)),
    "amsgrad": OptimizerKind(
        0.005, lambda p, lr, decay: _T.AdamW(p, lr=lr, weight_decay=decay, amsgrad=True)
    ),
    "nadam": OptimizerKind(0.005, lambda p, lr, decay: _T.NAdam(p, lr=lr)),
    "radam": OptimizerKind(0.005, lambda p, lr, decay: _T.RAdam(p, lr=lr)),
    "asgd": OptimizerKind(0.1, lambda p, lr, decay: _T.ASGD(p, lr=lr)),
    "sign_momentum": OptimizerKind(
        0.001, lambda p, lr, decay: Lion(p, lr=lr, betas=(0.95, 0.98))
    ),
}
