"""Trainings on images with a faulty twin each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, accuracy, mlp, run, small_cnn, tensors
from registry import pair, score


@pair(cause="labels shuffled against the images", severity="gross")
def labels_shuffled(record: Any, seed: int, faulty: bool) -> None:
    """A CNN on digits. Fault: images were shuffled when cached, the labels were not."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    if faulty:
        x = x[torch.randperm(len(x))]
    model = small_cnn(1, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return criterion(model(images), labels)

    run(record, model, optimizer, 250, loss_of, criterion=criterion)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="pixels not scaled, raw 0 to 255", severity="gross")
def raw_pixels(record: Any, seed: int, faulty: bool) -> None:
    """A plain CNN by SGD with momentum. Fault: the division by 255 is missing."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    if faulty:
        x, test_x = 255 * x, 255 * test_x
    model = small_cnn(1, 10, norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(record, model, optimizer, 300, loss_of)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="softmax before cross-entropy", severity="middling")
def double_softmax(record: Any, seed: int, faulty: bool) -> None:
    """An MLP on digits. Fault: the network ends in a softmax, and the loss applies another."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = nn.Sequential(nn.Flatten(), mlp(64, 64, 10))
    if faulty:
        model.append(nn.Softmax(dim=-1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return criterion(model(images), labels)

    run(record, model, optimizer, 150, loss_of, criterion=criterion, late=True)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="validation images in other units than the training's", severity="middling")
def validation_units(record: Any, seed: int, faulty: bool) -> None:
    """A CNN with batch norm. Fault: the validation loader lacks the scaling transform."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    x = (x - 0.3) / 0.37
    test_x = 255 * test_x if faulty else (test_x - 0.3) / 0.37
    model = small_cnn(1, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(
        record, model, optimizer, 240, loss_of,
        validate=lambda: F.cross_entropy(model(test_x), test_y),
    )  # fmt: skip
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="left in eval mode, batch norm learns no statistics", severity="middling")
def eval_left_on(record: Any, seed: int, faulty: bool) -> None:
    """A CNN with batch norm on large inputs. Fault: model.eval() after a first look stays on."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    x, test_x = 16 * x, 16 * test_x
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    draw = Batches(seed, 32, x, y)
    accuracy(model, test_x, test_y)
    if faulty:
        model.eval()

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(
        record, model, optimizer, 200, loss_of,
        validate=lambda: F.cross_entropy(model(test_x), test_y),
    )  # fmt: skip
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="augmentation changes the label: digits flipped and rotated", severity="mild")
def wrong_augmentation(record: Any, seed: int, faulty: bool) -> None:
    """Augmented digits. Fault: flips both ways and half turns, so that 6 and 9 mix."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = small_cnn(1, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        images = images + 0.1 * torch.randn_like(images)
        if faulty:
            flip = torch.rand(len(images), 1, 1, 1) < 0.5
            images = torch.where(flip, images.flip(2), images)
            flip = torch.rand(len(images), 1, 1, 1) < 0.5
            images = torch.where(flip, images.flip(3), images)
        return F.cross_entropy(model(images), labels)

    run(record, model, optimizer, 200, loss_of)
    score(accuracy(model, test_x, test_y), 0.1)


class PlainOrResidual(nn.Module):
    """Thirty layers, with or without skips."""

    def __init__(self, skip: bool) -> None:
        super().__init__()
        self.skip = skip
        self.stem, self.head = nn.Linear(64, 48), nn.Linear(48, 10)
        self.layers = nn.ModuleList(nn.Linear(48, 48) for _ in range(30))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x.flatten(1))
        for layer in self.layers:
            change = F.relu(layer(x))
            x = x + change / 4 if self.skip else change
        return self.head(x)


@pair(cause="residual connections missing in a deep network", severity="gross")
def missing_residual(record: Any, seed: int, faulty: bool) -> None:
    """Thirty layers. Fault: the `x +` was lost in a refactoring."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = PlainOrResidual(skip=not faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(record, model, optimizer, 250, loss_of)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="hidden ReLUs dead from their initial biases", severity="gross")
def dead_relus(record: Any, seed: int, faulty: bool) -> None:
    """A CNN. Fault: an init function fills the biases of the hidden layers with -5."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = small_cnn(1, 10, norm=False)
    if faulty:
        for layer in list(model)[:-1]:
            if isinstance(layer, nn.Conv2d):
                nn.init.constant_(layer.bias, -5.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return criterion(model(images), labels)

    run(record, model, optimizer, 300, loss_of, criterion=criterion)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="data sorted by class, shuffled only within a small buffer", severity="gross")
def sorted_classes(record: Any, seed: int, faulty: bool) -> None:
    """A CNN on digits. Fault: folders are read in turn, and the shuffle buffer is small."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    if faulty:
        order = (y * 130 + 700 * torch.rand(len(y))).argsort()
        x, y = x[order], y[order]
    model = small_cnn(1, 10, norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    draw = Batches(seed, 16, x, y, shuffle=not faulty)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(
        record, model, optimizer, 320, loss_of,
        validate=lambda: F.cross_entropy(model(test_x), test_y),
    )  # fmt: skip
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="masks transposed against the images", severity="gross")
def masks_transposed(record: Any, seed: int, faulty: bool) -> None:
    """Segmentation. Fault: the masks are read as (width, height)."""
    torch.manual_seed(seed)
    x, mask = tensors(*data.masks(500, 16, seed))
    test_x, test_mask = tensors(*data.masks(100, 16, seed + 1))
    if faulty:
        mask = mask.transpose(2, 3)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 5, padding=2), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 1, 3, padding=1),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.BCEWithLogitsLoss()
    draw = Batches(seed, 16, x, mask)

    def loss_of() -> Tensor:
        images, masks = draw()
        return criterion(model(images), masks)

    run(record, model, optimizer, 200, loss_of, criterion=criterion)
    model.eval()
    with torch.no_grad():
        found = (model(test_x) > 0).float()
        score((found * test_mask).sum() / ((found + test_mask) > 0).sum(), 0.0)


@pair(cause="dropout of 0.95 in place of 0.05", severity="gross")
def dropout_far_too_high(record: Any, seed: int, faulty: bool) -> None:
    """An MLP on digits. Fault: the keep rate is passed as the drop rate."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    drop = nn.Dropout(0.95 if faulty else 0.05)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), drop, nn.Linear(64, 64), nn.ReLU(), drop,
        nn.Linear(64, 10),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(record, model, optimizer, 250, loss_of, late=True)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="softmax over the batch in place of the classes", severity="middling")
def softmax_over_batch(record: Any, seed: int, faulty: bool) -> None:
    """A negative log-likelihood of log_softmax. Fault: it is taken over dimension 0."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = small_cnn(1, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.nll_loss(F.log_softmax(model(images), dim=0 if faulty else 1), labels)

    run(record, model, optimizer, 250, loss_of)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="random backbone frozen by mistake", severity="middling")
def backbone_frozen(record: Any, seed: int, faulty: bool) -> None:
    """A CNN from scratch. Fault: the freezing of a finetuning script was kept."""
    torch.manual_seed(seed)
    x, y = tensors(*data.shapes(1500, 12, seed, noise=0.6))
    test_x, test_y = tensors(*data.shapes(400, 12, seed + 1, noise=0.6))
    model = small_cnn(1, 4, norm=False)
    if faulty:
        for layer in list(model)[:-1]:
            layer.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-3)
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(record, model, optimizer, 250, loss_of)
    score(accuracy(model, test_x, test_y), 0.25)


@pair(cause="channels swapped in validation (BGR against RGB)", severity="mild")
def channels_swapped(record: Any, seed: int, faulty: bool) -> None:
    """Coloured shapes, the colour being a hint. Fault: validation images are read as BGR."""
    torch.manual_seed(seed)
    x, y = tensors(*data.shapes(1200, 12, seed, channels=3, noise=1.2))
    test_x, test_y = tensors(*data.shapes(400, 12, seed + 1, channels=3, noise=1.2))
    tint = 0.18 * torch.tensor([[1.0, 0, -1], [-1, 0, 1], [0, 1, 0], [0, 0, 1]])
    x, test_x = x + tint[y][:, :, None, None], test_x + tint[test_y][:, :, None, None]
    if faulty:
        test_x = test_x.flip(1)
    model = small_cnn(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(
        record, model, optimizer, 200, loss_of, name="train_loss",
        validate=lambda: F.cross_entropy(model(test_x), test_y),
    )  # fmt: skip
    score(accuracy(model, test_x, test_y), 0.25)
