"""A layer of 8-bit floats with delayed scaling."""

from __future__ import annotations

from typing import Any, List

import smdebug.pytorch as smd
import torch
from torch import Tensor, nn
from training import Training

__all__ = ["EightBits", "use_eight_bits"]

LARGEST = 448.0


class EightBits(nn.Module):
    """Rounds its input to e4m3, by a scale from the largest elements of the last steps."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.factor = name, 1.0
        self.largest: List[float] = []

    def forward(self, x: Tensor) -> Tensor:
        largest = x.detach().abs().max().item()
        scale = self.factor * LARGEST / max(self.largest or [largest])
        self.largest = [*self.largest, largest][-16:]
        smd.tap(x, f"e4m3_{self.name}")
        smd.tap(torch.tensor(scale), f"e4m3_{self.name}_scale")
        scaled = (x.detach() * scale).clamp(-LARGEST, LARGEST)
        rounded = scaled.to(torch.float8_e4m3fn).float() / scale
        return x + (rounded - x.detach())


def use_eight_bits(t: Training) -> None:
    """Rounds the inputs of the first block's attention and perceptron."""

    def round_inputs(model: Any) -> None:
        block = model.blocks[0]
        block.norm1 = nn.Sequential(block.norm1, EightBits("block0_attention"))
        block.mlp = nn.Sequential(EightBits("block0_mlp"), block.mlp)

    t.prepare.append(round_inputs)
