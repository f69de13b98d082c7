"""Trainings on images that are fine."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, accuracy, evaluate, mlp, run, small_cnn, tensors
from registry import healthy, score


@healthy
def digits_one_cycle(record: Any, seed: int) -> None:
    """A CNN on digits with label smoothing, AdamW and a one-cycle schedule."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = small_cnn(1, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=250)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return criterion(model(images), labels)

    run(
        record, model, optimizer, 250, loss_of, criterion=criterion, schedule=schedule,
        validate=lambda: F.cross_entropy(model(test_x), test_y),
    )  # fmt: skip
    score(accuracy(model, test_x, test_y), 0.1)


@healthy
def mixup_nesterov(record: Any, seed: int) -> None:
    """Mixup with strong noise: the training loss stays high while the accuracy gets good."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = small_cnn(1, 10)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 75)
    draw = Batches(seed, 64, x, y)
    beta = torch.distributions.Beta(1.0, 1.0)

    def loss_of() -> Tensor:
        (images, labels), share = draw(), beta.sample()
        other = torch.randperm(len(images))
        images = share * images + (1 - share) * images[other]
        logits = model(images + 0.1 * torch.randn_like(images))
        first, second = F.cross_entropy(logits, labels), F.cross_entropy(logits, labels[other])
        return share * first + (1 - share) * second

    run(record, model, optimizer, 300, loss_of, schedule=schedule, late=True)
    score(accuracy(model, test_x, test_y), 0.1)


def dice_loss(logits: Tensor, mask: Tensor) -> Tensor:
    """One minus the soft Dice score."""
    share = logits.sigmoid()
    overlap = (share * mask).sum((1, 2, 3))
    return 1 - ((2 * overlap + 1) / (share.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean()


@healthy
def segmentation_dice(record: Any, seed: int) -> None:
    """A small encoder and decoder for masks, Dice plus cross-entropy, batches of two."""
    torch.manual_seed(seed)
    x, mask = tensors(*data.masks(400, 16, seed))
    test_x, test_mask = tensors(*data.masks(100, 16, seed + 1))
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.GroupNorm(3, 12), nn.SiLU(),
        nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.GroupNorm(3, 24), nn.SiLU(),
        nn.ConvTranspose2d(24, 12, 2, stride=2), nn.SiLU(), nn.Conv2d(12, 1, 3, padding=1),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    draw = Batches(seed, 2, x, mask)

    def loss_of() -> Tensor:
        images, masks = draw()
        logits = model(images)
        return dice_loss(logits, masks) + F.binary_cross_entropy_with_logits(logits, masks)

    run(record, model, optimizer, 350, loss_of, name="train_loss")
    with torch.no_grad():
        score(1 - dice_loss(model(test_x), test_mask), 0.2)


@healthy
def simsiam(record: Any, seed: int) -> None:
    """Self-supervised views with a stop-gradient: the loss is a negative cosine."""
    torch.manual_seed(seed)
    x, y = tensors(*data.shapes(800, 12, seed, noise=0.2))
    encoder = nn.Sequential(
        small_cnn(1, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.BatchNorm1d(32)
    )
    predictor = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 32))
    model = nn.ModuleDict({"encoder": encoder, "predictor": predictor})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    draw = Batches(seed, 64, x)

    def view(images: Tensor) -> Tensor:
        moved = torch.roll(images, tuple(np.random.randint(-2, 3, 2)), (2, 3))
        bright = 0.8 + 0.4 * torch.rand(len(images), 1, 1, 1)
        return moved * bright + 0.2 * torch.randn_like(moved)

    def loss_of() -> Tensor:
        (images,) = draw()
        a, b = encoder(view(images)), encoder(view(images))
        p, q = predictor(a), predictor(b)
        near = F.cosine_similarity(p, b.detach()).mean() + F.cosine_similarity(q, a.detach()).mean()
        return -near / 2

    np.random.seed(seed)
    run(record, model, optimizer, 200, loss_of)
    model.eval()
    with torch.no_grad():
        near = F.normalize(encoder(x), dim=1)
        similarity = near @ near.T - 2 * torch.eye(len(x))
        score((y[similarity.argmax(1)] == y).float().mean(), 0.25)


@healthy
def focal_anchors(record: Any, seed: int) -> None:
    """Dense detection of rare cells by a focal loss with a prior bias and a box head."""
    torch.manual_seed(seed)
    x, mask = tensors(*data.masks(600, 16, seed))
    trunk = nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
    )  # fmt: skip
    heads = nn.ModuleDict({"object": nn.Conv2d(32, 1, 1), "box": nn.Conv2d(32, 2, 1)})
    nn.init.constant_(heads["object"].bias, -4.6)
    model = nn.ModuleDict({"trunk": trunk, "heads": heads})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    area = F.avg_pool2d(mask, 4)
    target = (area == area.amax((2, 3), keepdim=True)).float()
    size = torch.stack([mask.amax(3).sum(2), mask.amax(2).sum(2)], 1).view(-1, 2, 1, 1) / 8
    draw = Batches(seed, 16, x, target, size)

    def loss_of() -> Tensor:
        images, wanted, sizes = draw()
        features = trunk(images)
        logits, boxes = heads["object"](features), heads["box"](features)
        share = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
        focal = (1 - torch.exp(-share)) ** 2 * share * (0.25 + 0.5 * wanted)
        box = (F.smooth_l1_loss(boxes, sizes.expand_as(boxes), reduction="none") * wanted).sum()
        return (focal.sum() + box) / wanted.sum()

    run(record, model, optimizer, 300, loss_of, clip=5.0)
    with torch.no_grad():
        found = heads["object"](trunk(x)).flatten(1).argmax(1)
        score(target.flatten(1).gather(1, found[:, None]).mean(), 1 / 16)


class FakeQuantised(nn.Linear):
    """A linear layer whose weights are rounded to four bits, straight-through."""

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight.detach().abs().max() / 7
        rounded = (self.weight / scale).round() * scale
        weight = self.weight + (rounded - self.weight).detach()
        return F.linear(x, weight, self.bias)


@healthy
def quantisation_aware(record: Any, seed: int) -> None:
    """Four-bit weights with a straight-through estimator on digits."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = nn.Sequential(
        nn.Flatten(), FakeQuantised(64, 96), nn.Hardtanh(0, 6), FakeQuantised(96, 96),
        nn.Hardtanh(0, 6), FakeQuantised(96, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return criterion(model(images), labels)

    run(record, model, optimizer, 300, loss_of, criterion=criterion, late=True)
    score(accuracy(model, test_x, test_y), 0.1)


class Spike(torch.autograd.Function):
    """A step forwards, a fast sigmoid's slope backwards."""

    @staticmethod
    def forward(context: Any, potential: Tensor) -> Tensor:
        context.save_for_backward(potential)
        return (potential > 0).float()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        (potential,) = context.saved_tensors
        return gradient / (1 + 10 * potential.abs()) ** 2


class SpikingNet(nn.Module):
    """Leaky integrate-and-fire neurons over twelve time steps of rate-coded pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 128), nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        hidden, total = torch.zeros(len(x), 128), torch.zeros(len(x), 10)
        for _ in range(12):
            hidden = 0.9 * hidden + self.first(torch.bernoulli(x))
            spikes = Spike.apply(hidden - 1)
            hidden = hidden - spikes.detach()
            total = 0.95 * total + self.second(spikes)
        return total / 4


@healthy
def spiking_digits(record: Any, seed: int) -> None:
    """A spiking network with surrogate gradients: most activations are zero."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = SpikingNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(record, model, optimizer, 200, loss_of)
    score(accuracy(model, test_x, test_y), 0.1)


@healthy
def frozen_backbone(record: Any, seed: int) -> None:
    """Transfer: a pretrained backbone is frozen and in eval mode, unfrozen for the last third."""
    torch.manual_seed(seed)
    x, y = tensors(*data.shapes(600, 12, seed))
    backbone = small_cnn(1, 4)
    early = torch.optim.Adam(backbone.parameters(), lr=3e-3)
    for i in range(60):  # the pretraining, on another task
        loss = F.cross_entropy(backbone(x[i % 9 * 64 :][:64]), y[i % 9 * 64 :][:64])
        early.zero_grad()
        loss.backward()
        early.step()
    backbone[-1] = nn.Identity()
    head = mlp(128, 32, 2)
    target = (y >= 2).long()
    backbone.requires_grad_(False).eval()
    model = nn.Sequential(backbone, head)
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
    draw = Batches(seed, 32, x, target)
    with record(model, optimizer) as hook:
        for step in range(180):
            if step == 120:
                backbone.requires_grad_(True)
                optimizer.add_param_group({"params": backbone.parameters(), "lr": 1e-5})
            images, labels = draw()
            loss = F.cross_entropy(model(images), labels)
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.end_step()
    test_x, test_y = tensors(*data.shapes(200, 12, seed + 5))
    score(accuracy(model, test_x, (test_y >= 2).long()), 0.5)


@healthy
def sharpness_aware(record: Any, seed: int) -> None:
    """SAM: two passes forwards and backwards for each step, and stochastic weight averaging."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = small_cnn(1, 10, norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    average = torch.optim.swa_utils.AveragedModel(model)
    draw = Batches(seed, 32, x, y)
    with record(model, optimizer) as hook:
        for step in range(280):
            images, labels = draw()
            loss = F.cross_entropy(model(images), labels)
            hook.record_tensor_value("loss", loss)
            loss.backward()
            gradients = [p.grad for p in model.parameters()]
            norm = torch.cat([g.flatten() for g in gradients]).norm() + 1e-12
            moves = [0.05 * g / norm for g in gradients]
            with torch.no_grad():
                torch._foreach_add_(list(model.parameters()), moves)
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            with torch.no_grad():
                torch._foreach_sub_(list(model.parameters()), moves)
            optimizer.step()
            optimizer.zero_grad()
            hook.end_step()
            if step >= 200:
                average.update_parameters(model)
            if step % 50 == 49:
                evaluate(record, hook, model, lambda: F.cross_entropy(model(test_x), test_y))
    score(accuracy(average, test_x, test_y), 0.1)
