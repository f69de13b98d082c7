"""Trainings by transformers.Trainer, Lightning and accelerate."""

from __future__ import annotations

import math
import tempfile
from typing import Any

import lightning
import torch
import transformers
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import data
from common import Batches, TinyGPT, accuracy, mlp, small_cnn, tensors
from registry import healthy, pair, score


class Rows(torch.utils.data.Dataset):
    """Tensors as rows of named fields."""

    def __init__(self, **columns: Tensor) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, i: int) -> dict[str, Tensor]:
        return {name: column[i] for name, column in self.columns.items()}


def train(
    record: Any, model: nn.Module, rows: Rows, steps: int, seed: int, **settings: Any
) -> None:
    """Run transformers.Trainer on the CPU."""
    others = {k: settings.pop(k) for k in ("eval_dataset", "optimizers") if k in settings}
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "per_device_train_batch_size": 16, "learning_rate": 2e-3, "logging_steps": 10,
            **settings,
        }  # fmt: skip
        arguments = transformers.TrainingArguments(
            output_dir=folder, max_steps=steps, save_strategy="no", report_to=[], use_cpu=True,
            disable_tqdm=True, seed=seed, **settings,
        )  # fmt: skip
        transformers.Trainer(
            model, arguments, train_dataset=rows, callbacks=[record.callback("transformers")],
            **others,
        ).train()  # fmt: skip


def bert(seed: int, **settings: Any) -> nn.Module:
    """A small BERT for two classes."""
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=32, num_labels=2, **settings,
    )  # fmt: skip
    return transformers.BertForSequenceClassification(config)


def reviews(seed: int, count: int = 1500) -> Rows:
    """Texts as a Trainer takes them."""
    tokens, labels = tensors(*data.reviews(count, 20, 60, seed))
    return Rows(input_ids=tokens, attention_mask=(tokens > 0).long(), labels=labels)


@torch.no_grad()
def judged(model: nn.Module, rows: Rows) -> float:
    """The share of right answers."""
    columns = dict(rows.columns)
    labels = columns.pop("labels")
    return (model.eval()(**columns).logits.argmax(-1) == labels).float().mean().item()


def gpt(seed: int, **settings: Any) -> nn.Module:
    """A small GPT-2."""
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=48, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0,
        eos_token_id=0, **settings,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def text(seed: int) -> Rows:
    """Text for a language model."""
    (tokens,) = tensors(data.markov(1500, 20, 48, seed))
    return Rows(input_ids=tokens, labels=tokens)


@torch.no_grad()
def language_score(model: nn.Module, seed: int) -> None:
    """Score the loss of unseen text."""
    (tokens,) = tensors(data.markov(200, 20, 48, seed + 1))
    score(-model.eval()(input_ids=tokens, labels=tokens).loss, -math.log(48))


@healthy
def trainer_bert(record: Any, seed: int) -> None:
    """BERT by the Trainer with warmup and evaluation."""
    model = bert(seed)
    train(
        record, model, reviews(seed), 200, seed, warmup_steps=20, eval_strategy="steps",
        eval_steps=50, eval_dataset=reviews(seed + 1, 200),
    )  # fmt: skip
    score(judged(model, reviews(seed + 1, 500)), 0.5)


@healthy
def trainer_gpt_accumulation(record: Any, seed: int) -> None:
    """GPT-2 with gradient accumulation, cosine with restarts and Adafactor."""
    model = gpt(seed)
    train(
        record, model, text(seed), 120, seed, gradient_accumulation_steps=2, optim="adafactor",
        learning_rate=1e-2, lr_scheduler_type="cosine_with_restarts",
    )  # fmt: skip
    language_score(model, seed)


@pair(cause="learning rate a thousand times too high", severity="gross")
def trainer_rate(record: Any, seed: int, faulty: bool) -> None:
    """GPT-2 by the Trainer. Fault: 3.0 in place of 3e-3 (3e-3 was written as 3e0)."""
    model = gpt(seed)
    train(record, model, text(seed), 150, seed, learning_rate=3.0 if faulty else 3e-3)
    language_score(model, seed)


@pair(cause="labels of two texts in three shifted by one row", severity="middling")
def trainer_labels_shuffled(record: Any, seed: int, faulty: bool) -> None:
    """BERT by the Trainer. Fault: labels of two files out of three are off by one row."""
    model, rows = bert(seed), reviews(seed)
    if faulty:
        labels = rows.columns["labels"]
        shifted = torch.arange(len(rows)) % 3 > 0
        rows.columns["labels"] = torch.where(shifted, labels.roll(1), labels)
    train(record, model, rows, 200, seed)
    score(judged(model, reviews(seed + 1, 500)), 0.5)


@pair(cause="warmup longer than the training", severity="middling")
def trainer_endless_warmup(record: Any, seed: int, faulty: bool) -> None:
    """GPT-2 by the Trainer. Fault: 600 warmup steps, of a recipe for larger runs."""
    model = gpt(seed)
    train(record, model, text(seed), 200, seed, warmup_steps=600 if faulty else 20)
    language_score(model, seed)


@pair(cause="attention mask not passed, padding attended to", severity="mild")
def trainer_no_mask(record: Any, seed: int, faulty: bool) -> None:
    """BERT by the Trainer on texts with much padding. Fault: attention_mask is dropped."""
    model, rows = bert(seed), reviews(seed, 600)
    test = reviews(seed + 1, 500)
    if faulty:
        del rows.columns["attention_mask"], test.columns["attention_mask"]
    train(record, model, rows, 150, seed, learning_rate=1e-3)
    score(judged(model, test), 0.5)


class Classifier(lightning.LightningModule):
    """A CNN on shapes."""

    def __init__(self, rate: float, part: str = "") -> None:
        super().__init__()
        self.net, self.rate, self.part = small_cnn(1, 4), rate, part

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        self.log("val_loss", F.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        trained = self.net[-1] if self.part == "head" else self.net
        return torch.optim.SGD(trained.parameters(), lr=self.rate, momentum=0.9)


def fit(record: Any, model: lightning.LightningModule, steps: int, *loaders: Any, **k: Any) -> None:
    """Run Lightning's Trainer quietly."""
    lightning.Trainer(
        max_steps=steps, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
        callbacks=[record.callback("lightning")], **k,
    ).fit(model, *loaders)  # fmt: skip


def shape_loaders(seed: int, noise: float = 0.7) -> tuple[DataLoader, DataLoader]:
    """Loaders of training and validation images."""
    train_set = TensorDataset(*tensors(*data.shapes(1600, 12, seed, noise=noise)))
    val_set = TensorDataset(*tensors(*data.shapes(400, 12, seed + 1, noise=noise)))
    return DataLoader(train_set, 32, shuffle=True), DataLoader(val_set, 200)


@healthy
def lightning_cnn(record: Any, seed: int) -> None:
    """A CNN by Lightning with validation and clipping."""
    lightning.seed_everything(seed, verbose=False)
    model, loaders = Classifier(rate=0.03), shape_loaders(seed)
    fit(record, model, 200, *loaders, gradient_clip_val=1.0)
    score(accuracy(model.net, *loaders[1].dataset.tensors), 0.25)


class Adversaries(lightning.LightningModule):
    """A GAN of a ring by manual optimisation."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.maker, self.judge = mlp(4, 64, 64, 2), mlp(2, 64, 64, 1, activation=nn.SiLU)

    def training_step(self, batch: list[Tensor], index: int) -> None:
        first, second = self.optimizers()
        (real,) = batch
        fake = self.maker(torch.randn(len(real), 4))
        judged = self.judge(fake.detach())
        loss_d = F.relu(1 - self.judge(real)).mean() + F.relu(1 + judged).mean()
        second.zero_grad()
        self.manual_backward(loss_d)
        second.step()
        loss_g = -self.judge(fake).mean()
        first.zero_grad()
        self.manual_backward(loss_g)
        first.step()
        self.log_dict({"d_loss": loss_d, "g_loss": loss_g})

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        return [torch.optim.Adam(self.maker.parameters(), lr=1e-3, betas=(0.0, 0.9)),
                torch.optim.Adam(self.judge.parameters(), lr=4e-3, betas=(0.0, 0.9))]  # fmt: skip


@healthy
def lightning_gan(record: Any, seed: int) -> None:
    """A GAN with two optimizers by hand: the losses settle and never vanish."""
    lightning.seed_everything(seed, verbose=False)
    angle = 6.283 * torch.rand(51200)
    ring = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(51200, 2)
    model = Adversaries()
    loader = DataLoader(TensorDataset(ring), 128, shuffle=True)
    fit(record, model, 800, loader)  # two optimizer steps per batch
    with torch.no_grad():
        radius = model.maker(torch.randn(500, 4)).norm(dim=1)
        score(-(radius - 1).abs().mean(), -0.7)


@pair(cause="only the last layer given to the optimizer", severity="middling")
def lightning_head_only(record: Any, seed: int, faulty: bool) -> None:
    """A CNN by Lightning. Fault: configure_optimizers returns the head's parameters only."""
    lightning.seed_everything(seed, verbose=False)
    loaders = shape_loaders(seed)
    model = Classifier(rate=0.02, part="head" if faulty else "")
    fit(record, model, 200, *loaders)
    score(accuracy(model.net, *loaders[1].dataset.tensors), 0.25)


@pair(cause="gradients clipped to a norm of 1e-5", severity="gross")
def lightning_clip(record: Any, seed: int, faulty: bool) -> None:
    """A CNN by Lightning. Fault: gradient_clip_val=1e-5 in place of 1.0."""
    lightning.seed_everything(seed, verbose=False)
    model, loaders = Classifier(rate=0.02), shape_loaders(seed)
    fit(record, model, 200, *loaders, gradient_clip_val=1e-5 if faulty else 1.0)
    score(accuracy(model.net, *loaders[1].dataset.tensors), 0.25)


@healthy
def accelerate_gpt(record: Any, seed: int) -> None:
    """A small language model by accelerate, logged after the step."""
    torch.manual_seed(seed)
    (tokens,) = tensors(data.markov(1500, 20, 48, seed))
    accelerator = Accelerator(cpu=True)
    model = TinyGPT(48, width=32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = DataLoader(TensorDataset(tokens), 16, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with record(model, optimizer) as hook:
        for _ in range(2):
            for (batch,) in loader:
                logits = model(batch[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                hook.record_tensor_value("train_loss", loss.item())
                hook.end_step()
    with torch.no_grad():
        logits = model(tokens[:200, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:200, 1:].flatten())
    score(-loss, -math.log(48))


@pair(cause="targets off by one row", severity="gross")
def accelerate_off_by_one(record: Any, seed: int, faulty: bool) -> None:
    """A regression by accelerate. Fault: the targets were shifted by one row by a header."""
    torch.manual_seed(seed)
    x, y = tensors(*data.regression(2000, 6, seed))
    test_x, test_y = tensors(*data.regression(500, 6, seed + 1))
    accelerator = Accelerator(cpu=True)
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(0))
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=3e-3))
    draw = Batches(seed, 64, x, y.roll(1) if faulty else y)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion) as hook:
        for _ in range(250):
            rows, values = draw()
            loss = criterion(model(rows), values)
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            hook.end_step()
    with torch.no_grad():
        score(-F.mse_loss(model(test_x), test_y), -test_y.var())
