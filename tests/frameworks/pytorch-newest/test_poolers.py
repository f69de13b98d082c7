"""Models of Transformers have parts that a training does not use: they are not at fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import smdebug.pytorch as smd
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, ViTConfig, ViTModel

from smdebug.rules import Level, RuleSet

SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
}  # fmt: skip


class TokenClassifier(nn.Module):
    """Labels tokens, or patches, by what a model says of each; its pooler says nothing to it."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(32, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).last_hidden_state)


def bert() -> Any:
    return BertModel(BertConfig(vocab_size=50, max_position_embeddings=16, **SMALL))


def vit() -> Any:
    return ViTModel(ViTConfig(image_size=8, patch_size=4, num_channels=1, **SMALL))


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("body", [bert, vit])
def test_a_pooler_that_nobody_needs_is_worth_a_look(
    body: Any, is_compiled: bool, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    whole = TokenClassifier(body())
    model = torch.compile(whole, backend="aot_eager") if is_compiled else whole
    optimizer = torch.optim.AdamW(whole.parameters(), 1e-3)
    hook = smd.Hook(str(tmp_path / "run"))
    hook.register_module(model)
    hook.register_optimizer(optimizer)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for _ in range(8):
        x = torch.randint(0, 50, (8, 10)) if body is bert else torch.randn(8, 1, 8, 8)
        optimizer.zero_grad()
        scores = model(x)
        nn.functional.cross_entropy(
            scores.flatten(0, 1), torch.randint(0, 2, (scores[..., 0].numel(),))
        ).backward()
        optimizer.step()
    hook.close()
    (result,) = rules.results()
    assert result.first is not None
    assert (result.first.check, result.first.level) == ("not_used", Level.WORTH_A_LOOK)
    assert "body.pooler.dense" in result.first.tensor
    assert result.look_count == 1 and not rules.diagnose()
