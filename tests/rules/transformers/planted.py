"""Faults of large trainings, planted into small ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Tuple

import torch
from eight_bits import EightBits, use_eight_bits
from torch import nn
from training import TOKENS, Experts, Training

__all__ = ["CAUSES", "FAULTS", "Fault"]


@dataclass(frozen=True)
class Fault:
    """A fault, the rules that are to find it, and what they are to name."""

    plant: Callable[[Training, int], None]
    rules: Tuple[str, ...]
    culprit: str
    is_of_state: bool = False  # visible in the state of the step at which it begins
    is_mixture: Any = None


def at(begins: int, call: Callable[[Any, Any], None], only: bool = True) -> Any:
    def before(step: int, model: Any, optimizer: Any) -> None:
        if step == begins or (not only and step > begins):
            with torch.no_grad():
                call(model, optimizer)

    return before


def stuck_loader(t: Training, b: int) -> None:
    t.batch_of = lambda step: min(step, b - 1)


def replayed_batches(t: Training, b: int) -> None:
    t.batch_of = lambda step: step if step < b else step - 17


def shared_shard(t: Training, b: int) -> None:
    t.workers = 2
    t.shard_of = lambda step, rank: rank if step < b else 0


def replica_perturbed(t: Training, b: int) -> None:
    t.workers = 2

    def perturb(model: Any, optimizer: Any) -> None:
        if t.rank == 1:
            model.blocks[0].attention.out.weight[0, 0] += 1e-3

    t.before_step.append(at(b, perturb))


def gradients_not_averaged(t: Training, b: int) -> None:
    t.workers = 2
    t.averages = False


def tie_broken(t: Training, b: int) -> None:
    t.ties = True

    def untie(model: Any) -> None:
        model.head.weight = nn.Parameter(model.embedding.weight.detach().clone())

    t.prepare.append(untie)


def bf16_updates_lost(t: Training, b: int) -> None:
    t.rate, t.decay = 3e-5, 0.0
    t.prepare.append(lambda model: model.bfloat16() and None)


def expert_starved(t: Training, b: int) -> None:
    def starve(model: Any, optimizer: Any) -> None:
        for each in model.modules():
            if isinstance(each, Experts):
                each.router.bias[1] = -1e4

    t.before_step.append(at(b, starve, only=False))


def router_collapsed(t: Training, b: int) -> None:
    def collapse(model: Any, optimizer: Any) -> None:
        t.balance = 0.0  # before, it would let experts die
        for each in model.modules():
            if isinstance(each, Experts):
                each.router.bias[0] += 5

    t.before_step.append(at(b, collapse))


def layer_not_trained(t: Training, b: int) -> None:
    t.trained = lambda model: [
        each for name, each in model.named_parameters() if "blocks.0.attention.out" not in name
    ]


def other_copy_trained(t: Training, b: int) -> None:
    t.trained = lambda model: list(model.parameters())
    make = t.make_optimizer

    def of_copy(parameters: Any) -> Any:
        for each in parameters:
            each.data = each.data.clone()
        return make([nn.Parameter(each.detach().clone()) for each in parameters])

    t.make_optimizer = of_copy


def bit_flipped(t: Training, b: int) -> None:
    def flip(model: Any, optimizer: Any) -> None:
        weight = model.blocks[0].attention.qkv.weight
        weight.view(torch.int32)[3, 5] ^= 1 << 25

    t.before_step.append(at(b, flip))


def never_reset(t: Training, b: int) -> None:
    t.resets, t.clips = False, False


def loss_not_a_number(t: Training, b: int) -> None:
    t.loss_factor = lambda step: float("nan") if step >= b else 1.0


def rate_jumps(t: Training, b: int) -> None:
    t.factor = lambda step: 1.0 if step < b else 60.0


def gradient_scaled(t: Training, b: int) -> None:
    t.clips = False
    t.loss_factor = lambda step: 1.0 if step < b else 1024.0


def layer_gradient_wrong(t: Training, b: int) -> None:
    def scale(step: int, model: Any) -> None:
        if step >= b:
            model.blocks[0].attention.out.weight.grad *= 3000

    t.clips = False
    t.after_backward.append(scale)


def attention_scale_lost(t: Training, b: int) -> None:
    def scale(model: Any, optimizer: Any) -> None:
        model.blocks[0].attention.scale = 1e4

    t.before_step.append(at(b, scale))


def attention_collapsed(t: Training, b: int) -> None:
    def sharpen(model: Any, optimizer: Any) -> None:
        model.blocks[0].attention.qkv.weight *= 30

    t.before_step.append(at(b, sharpen))


def computed_wrong(t: Training, b: int) -> None:
    t.recomputed = lambda step, loss: loss if step < b else loss * (1 + 1e-3)


def labels_shuffled(t: Training, b: int) -> None:
    t.labels = lambda step, labels: labels if step < b else (labels * 7 + 11) % TOKENS


def weights_reset(t: Training, b: int) -> None:
    def reset(model: Any, optimizer: Any) -> None:
        nn.init.normal_(model.norm.weight, std=20)

    t.before_step.append(at(b, reset))


def rate_grows(t: Training, b: int) -> None:
    t.factor = lambda step: min(1e3, 1.2 ** max(0, step - b))


def gradient_grows(t: Training, b: int) -> None:
    def scale(step: int, model: Any) -> None:
        if step >= b:
            model.blocks[0].attention.out.weight.grad *= min(1e9, 1.4 ** (step - b + 1))

    t.clips, t.betas = False, (0.9, 0.999)
    t.after_backward.append(scale)


def attention_grows(t: Training, b: int) -> None:
    def sharpen(model: Any, optimizer: Any) -> None:
        model.blocks[0].attention.qkv.weight *= 1.15

    t.before_step.append(at(b, sharpen, only=False))


def second_moments_lost(t: Training, b: int) -> None:
    """A restart keeps first moments and the step, but not the second moments."""

    def lose(model: Any, optimizer: Any) -> None:
        for state in optimizer.state.values():
            state["exp_avg_sq"].zero_()

    t.betas = (0.9, 0.999)
    t.before_step.append(at(b, lose))


def second_moments_stale(t: Training, b: int) -> None:
    """A long stretch of a tiny weight of the loss, after which the weight grows step by step."""

    def weight(step: int) -> float:
        if step < b - 60:
            return 1.0
        return min(10.0, 0.02 * 1.25 ** max(0, step - b))

    t.clips, t.betas = False, (0.9, 0.98)
    t.loss_factor = weight


def unscaled_twice(t: Training, b: int) -> None:
    def scale(step: int, model: Any) -> None:
        for each in model.parameters():
            if each.grad is not None:
                each.grad /= 1 << 24

    t.clips = False
    t.after_backward.append(scale)


def scale_wrong(factor: float) -> Callable[[Training, int], None]:
    def plant(t: Training, b: int) -> None:
        def change(model: Any, optimizer: Any) -> None:
            for each in model.modules():
                if isinstance(each, EightBits):
                    each.factor = factor

        use_eight_bits(t)
        t.before_step.append(at(b, change))

    return plant


def z_loss_sign_wrong(t: Training, b: int) -> None:
    t.rate, t.steps = 5e-3, 200
    t.added_loss = lambda step, logits: -0.1 * logits.logsumexp(-1).square().mean()


def never_reset_long_tail(t: Training, b: int) -> None:
    t.rarity, t.ties = 1.2, False
    never_reset(t, b)


ANY = "."
FAULTS: Dict[str, Fault] = {
    "stuck_loader": Fault(stuck_loader, ("RepeatedBatch",), "input_0", True),
    "replayed_batches": Fault(replayed_batches, ("RepeatedBatch",), "input_0", True),
    "shared_shard": Fault(shared_shard, ("SharedShard",), "input_0", True),
    "replica_perturbed": Fault(
        replica_perturbed, ("WorkerDivergence",), r"blocks.0.attention.out.weight", True
    ),
    "gradients_not_averaged": Fault(gradients_not_averaged, ("WorkerDivergence",), ANY),
    "tie_broken": Fault(tie_broken, ("TiedWeightsBroken",), "head"),
    "bf16_updates_lost": Fault(bf16_updates_lost, ("LowPrecisionUpdateLost",), ANY),
    "expert_starved": Fault(
        expert_starved, ("DeadExpert",), r"router_load|experts\.1", is_mixture=True
    ),
    "router_collapsed": Fault(
        router_collapsed, ("RouterImbalance", "DeadExpert"), "router_load|experts", is_mixture=True
    ),
    "layer_not_trained": Fault(layer_not_trained, ("UpdateNotApplied",), "blocks.0.attention.out"),
    "other_copy_trained": Fault(other_copy_trained, ("UpdateNotApplied",), ANY),
    "bit_flipped": Fault(bit_flipped, ("WeightUpdateRatio",), "attention.qkv.weight", True),
    "never_reset": Fault(never_reset, ("UpdateNotApplied", "GradientNotReset"), ANY),
    "never_reset_long_tail": Fault(
        never_reset_long_tail, ("UpdateNotApplied", "GradientNotReset"), ANY
    ),
    "loss_not_a_number": Fault(loss_not_a_number, ("ExplodingTensor",), "loss|gradient", True),
    "rate_jumps": Fault(
        rate_jumps, ("LearningRateJump", "LossSpike", "GradNormSpike", "GradBlowup", "UpdateRMS"),
        ANY, True,
    ),
    "gradient_scaled": Fault(
        gradient_scaled, ("LossSpike", "GradNormSpike", "GradBlowup", "UpdateRMS"), ANY, True
    ),
    "layer_gradient_wrong": Fault(
        layer_gradient_wrong, ("GradNormSpike", "GradBlowup", "UpdateRMS"),
        "blocks.0.attention.out.weight", True,
    ),
    "attention_scale_lost": Fault(
        attention_scale_lost, ("AttentionLogitGrowth", "AttentionEntropyCollapse"), "block0", True
    ),
    "attention_collapsed": Fault(
        attention_collapsed, ("AttentionLogitGrowth", "AttentionEntropyCollapse"), "block0", True
    ),
    "computed_wrong": Fault(computed_wrong, ("StepRecompute",), "recomputed_loss", True),
    "labels_shuffled": Fault(labels_shuffled, ("LossSpike",), "loss", True),
    "rate_grows": Fault(
        rate_grows, ("LearningRateJump", "LossSpike", "GradNormSpike", "GradBlowup", "UpdateRMS"),
        ANY,
    ),
    "gradient_grows": Fault(
        gradient_grows, ("GradNormSpike", "GradBlowup", "UpdateRMS", "SecondMomentStale"),
        "blocks.0.attention.out.weight",
    ),
    "attention_grows": Fault(
        attention_grows, ("AttentionLogitGrowth", "AttentionEntropyCollapse"), "block0"
    ),
    "second_moments_lost": Fault(
        second_moments_lost, ("UpdateRMS", "SecondMomentStale"), ANY, True
    ),
    "second_moments_stale": Fault(second_moments_stale, ("SecondMomentStale", "UpdateRMS"), ANY),
    "unscaled_twice": Fault(unscaled_twice, ("AdamEpsDominates",), "exp_avg_sq"),
    "overflow_of_eight_bits": Fault(scale_wrong(64.0), ("Fp8Range",), "e4m3_block0", True),
    "underflow_of_eight_bits": Fault(scale_wrong(2.0**-18), ("Fp8Range",), "e4m3_block0", True),
    "z_loss_sign_wrong": Fault(z_loss_sign_wrong, ("OutputLogitDrift",), "head"),
    "weights_reset": Fault(weights_reset, ("LossSpike", "GradNormSpike", "GradBlowup"), ANY),
}  # fmt: skip

# The causes that a diagnosis names, in the order of the table, and the faults that have them.
CAUSES: Dict[str, Tuple[str, ...]] = {
    "rate_too_high": ("rate_jumps", "rate_grows"),
    "labels_wrong": ("labels_shuffled",),
    "batches_repeated": ("stuck_loader", "replayed_batches"),
    "nothing_updated": ("other_copy_trained",),
    "optimizer_incomplete": ("layer_not_trained",),
    "gradients_not_reset": ("never_reset", "never_reset_long_tail"),
    "precision": ("bf16_updates_lost", "overflow_of_eight_bits", "underflow_of_eight_bits"),
    "undefined_operation": ("loss_not_a_number",),
    "memory_corrupt": ("bit_flipped", "weights_reset"),
    "replicas_apart": ("replica_perturbed", "gradients_not_averaged"),
    "shard_shared": ("shared_shard",),
    "tie_broken": ("tie_broken",),
    "experts_starved": ("expert_starved", "router_collapsed"),
    "gradients_scaled": ("gradient_scaled", "layer_gradient_wrong", "gradient_grows", "unscaled_twice"),
    "attention_unstable": ("attention_scale_lost", "attention_collapsed", "attention_grows"),
    "optimizer_state_lost": ("second_moments_lost", "second_moments_stale"),
    "logits_drift": ("z_loss_sign_wrong",),
    "computed_wrong": ("computed_wrong",),
}  # fmt: skip
