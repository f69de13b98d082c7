"""What trainings with Lightning need."""

from __future__ import annotations

from typing import Any, List

import lightning
import torch
from torch import nn

__all__ = ["Lit", "fit"]


class Lit(lightning.LightningModule):
    def __init__(self, manual: bool = False) -> None:
        super().__init__()
        torch.manual_seed(10)
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.automatic_optimization = not manual
        self.seen: List[Any] = []

    def forward(self, x: Any) -> Any:
        return self.net(x)

    def training_step(self, batch: Any, number: int) -> Any:
        loss = self(batch).square().mean()
        self.log("train_loss", loss)
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return loss

    def validation_step(self, batch: Any, number: int) -> Any:
        loss = self(batch).square().mean()
        self.log("val_loss", loss)
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.parameters(), lr=0.01)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(*args, **kwargs)
        self.seen.append(self.net[0].weight.grad.clone())


def fit(
    model: Lit, callbacks: List[Any], folder: Any, epochs: int = 1, **settings: Any
) -> Any:
    torch.manual_seed(11)
    data, held_out = list(torch.randn(12, 5, 3)), list(torch.randn(2, 5, 3))
    trainer = lightning.Trainer(
        callbacks=callbacks, max_epochs=epochs, accelerator="cpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=folder, **settings,
    )  # fmt: skip
    loaders = [torch.utils.data.DataLoader(each, batch_size=None) for each in (data, held_out)]
    trainer.fit(model, *loaders)
    return trainer
