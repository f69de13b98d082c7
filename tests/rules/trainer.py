"""Trains a small model with a hook, to which a rule set may be attached."""

from __future__ import annotations

import multiprocessing
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import smdebug.pytorch as smd
import torch
from architectures import Architecture, Batch
from torch import Tensor, distributed, nn

from smdebug.core.singleton_utils import del_hook
from smdebug.rules import Finding, RuleSet

__all__ = ["Training", "WORKERS"]

WORKERS = 2


class Training:
    """A correct training.  Faults change its attributes before it runs.

    Attributes
    ----------
    model : torch.nn.Module
        The model.
    loss_of : callable
        Returns the loss of a batch.
    next_batch : callable
        Returns the next training batch, by default from `data`.
    next_evaluation : callable
        Returns the next evaluation batch.
    factor : callable
        Returns the factor of the learning rate at a step.
    trained : list of parameters
        The parameters of the optimiser.
    before_step : list of callable
        Called with the step number before each training step.
    after_backward : list of callable
        Called with the step number between the backward pass and the optimiser's step.
    scale : float
        A factor of the loss, after its module, as of loss scaling.
    steps_before : int
        The number of steps before anything is recorded.
    hides : str
        An expression for names that are not recorded; "" for none.
    saves : bool
        False to save nothing, so that only an attached rule set sees tensors.
    losses : list of float
        The losses of training so far.
    registers_optimizer : bool
        True if the hook knows the optimiser.
    scalars, tensors : dict
        What else is recorded at each step, by name.
    """

    def __init__(self, architecture: Architecture, seed: int) -> None:
        torch.manual_seed(seed)
        self.architecture = architecture
        self.model = architecture.model()
        self.loss_module = architecture.loss()
        self.data = architecture.data(seed)
        self.steps = 150
        self.batch_size = 32
        self.evaluates_every = 10
        self.batches_of_evaluation = 2
        self.make_optimizer: Callable[..., torch.optim.Optimizer] = architecture.optimizer
        self.learning_rate = architecture.learning_rate
        self.trained = [each for each in self.model.parameters()]
        self.factor: Callable[[int], float] = lambda step: 1.0
        self.resets_gradients = True
        self.batches_of_step = 1
        self.precision: Optional[torch.dtype] = None
        self.next_batch: Callable[[], Batch] = lambda: self.data.batch(self.batch_size)
        self.next_evaluation: Callable[[], Batch] = lambda: self.data.batch(self.batch_size)
        self.before_step: List[Callable[[int], None]] = []
        self.after_backward: List[Callable[[int], None]] = []
        self.frozen: List[str] = []
        self.scale = 1.0
        self.steps_before = 0
        self.hides = ""
        self.saves = True
        self.losses: List[float] = []
        self.registers_optimizer = False
        self.scalars: Dict[str, Callable[[int], float]] = {}
        self.tensors: Dict[str, Tensor] = {}
        self.workers = 1
        self.rank = 0

    # ---- running -------------------------------------------------------------------------

    def run(self, out_dir: Path, rule_set: Optional[RuleSet] = None) -> List[Finding]:
        """Trains, records the trial `out_dir`, and returns the findings of the rule set."""
        shutil.rmtree(out_dir, ignore_errors=True)
        if self.workers == 1:
            return self._run(out_dir, rule_set)
        meeting = f"file://{out_dir.resolve()}.meeting"
        context = multiprocessing.get_context("fork")
        processes = [
            context.Process(target=self._run_worker, args=(out_dir, meeting, rank))
            for rank in range(self.workers)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(100)
            assert process.exitcode == 0
        return []

    def _run_worker(self, out_dir: Path, meeting: str, rank: int) -> None:
        distributed.init_process_group("gloo", meeting, rank=rank, world_size=self.workers)
        self.rank = rank
        self.data.generator.manual_seed(1_000 + rank)
        self.after_backward.insert(0, self._average_gradients)
        self._run(out_dir, None)
        distributed.barrier()
        distributed.destroy_process_group()

    def _average_gradients(self, step: int) -> None:
        for parameter in self.model.parameters():
            distributed.all_reduce(parameter.grad)
            parameter.grad /= self.workers

    def _run(self, out_dir: Path, rule_set: Optional[RuleSet]) -> List[Finding]:
        optimizer = self._optimizer()
        for step in range(self.steps_before):
            self._update(optimizer, step)
        hook = smd.Hook(
            str(out_dir),
            save_all=self.saves and not self.hides,
            include_regex=[f"^(?!{self.hides})"] if self.hides else None,
            save_config=smd.SaveConfig(save_interval=1 if self.saves else 1_000_000),
            include_workers="all" if self.workers > 1 else "one",
        )
        if self.frozen:
            hook.get_collection("frozen").include(self.frozen)
        hook.register_module(self.model)
        hook.register_loss(self.loss_module)
        if rule_set is not None:
            hook.attach(rule_set)
        if self.registers_optimizer:
            hook.register_optimizer(optimizer)
        for step in range(self.steps):
            self._train(hook, optimizer, step)
            if step % self.evaluates_every == self.evaluates_every - 1:
                self._evaluate(hook)
        hook.close()
        del_hook()
        assert hook.failures == 0
        return hook.take_findings()

    def _optimizer(self) -> torch.optim.Optimizer:
        more = {"momentum": 0.9} if self.make_optimizer is torch.optim.SGD else {}
        return self.make_optimizer(self.trained, lr=self.learning_rate, **more)

    def _train(self, hook: smd.Hook, optimizer: torch.optim.Optimizer, step: int) -> None:
        hook.set_mode(smd.modes.TRAIN)
        self.model.train()
        for group in optimizer.param_groups:
            group["lr"] = self.learning_rate * self.factor(step)
        for call in self.before_step:
            call(step)
        for name, scalar in self.scalars.items():
            hook.record_tensor_value(name, torch.tensor(scalar(step)))
        for name, tensor in self.tensors.items():
            hook.record_tensor_value(name, tensor)
        self._update(optimizer, step)

    def _update(self, optimizer: torch.optim.Optimizer, step: int) -> None:
        if self.resets_gradients:
            optimizer.zero_grad()
        for _ in range(self.batches_of_step):
            loss = self.loss_of(*self.next_batch())
            self.losses.append(loss.item())
            (loss * self.scale).backward()
        for call in self.after_backward:
            call(step)
        optimizer.step()

    def _evaluate(self, hook: smd.Hook) -> None:
        hook.set_mode(smd.modes.EVAL)
        self.model.eval()
        with torch.no_grad():
            for _ in range(self.batches_of_evaluation):
                self.loss_of(*self.next_evaluation())

    def loss_of(self, x: Tensor, y: Tensor) -> Tensor:
        context: Any = nullcontext()
        if self.precision is not None:
            context = torch.autocast("cpu", self.precision)
        with context:
            return self.loss_module(self.model(x), y)

    # ---- for faults ----------------------------------------------------------------------

    def modules(self, kind: Any) -> List[Any]:
        """Returns the modules of a kind, in order."""
        return [each for each in self.model.modules() if isinstance(each, kind)]

    def module_names(self, kind: Any) -> List[str]:
        return [name for name, each in self.model.named_modules() if isinstance(each, kind)]

    def name_of(self, parameter: nn.Parameter) -> str:
        """Returns the name of a parameter as the hook records it."""
        for path, each in self.model.named_parameters():
            if each is parameter:
                return f"{self.model._get_name()}_{path}"
        raise KeyError("a parameter of another model")
