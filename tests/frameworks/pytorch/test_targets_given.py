"""Targets that the model reads, each beside the script without the mistake."""

from __future__ import annotations

from typing import Tuple

import pytest
import torch
from test_common_mistakes import train
from torch import Tensor, nn
from torch.nn import functional as F

TOKENS, LENGTH = 32, 12


class NextToken(nn.Module):
    """Reads tokens, and scores those of each place."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, 16)
        self.memory = nn.GRU(16, 32, batch_first=True)
        self.scores = nn.Linear(32, TOKENS)

    def forward(self, x: Tensor) -> Tensor:
        return self.scores(self.memory(self.tokens(x))[0]).flatten(0, 1)


def texts(count: int, length: int) -> Tensor:
    """Every token follows from the one before, and sometimes not."""
    rows = [torch.randint(TOKENS, (count,))]
    while len(rows) < length:
        rows.append(torch.where(torch.rand(count) < 0.8, (5 * rows[-1] + 7) % TOKENS, torch.randint(TOKENS, (count,))))
    return torch.stack(rows, 1)


@pytest.mark.parametrize("offset", [0, 1, 2])
@pytest.mark.parametrize("is_cut", [True, False])
def test_targets_of_a_language_model(offset: int, is_cut: bool, out_dir: str) -> None:
    def batch() -> Tuple[Tensor, Tensor]:
        text = texts(16, LENGTH)
        if is_cut:
            return text[:, : LENGTH - 2], text[:, offset : offset + LENGTH - 2].flatten()
        later = F.pad(text[:, offset:], (0, offset), value=-100)  # which the loss ignores
        return text, later.flatten()

    torch.manual_seed(1)
    found, causes = train(out_dir, NextToken(), nn.CrossEntropyLoss(), batch, steps=40)
    if offset == 0:
        assert ("LossInput", "given") in found and causes == ["targets_given"]
    else:
        assert (("LossInput", "shifted_twice") in found) == (offset == 2)
        assert ("LossInput", "given") not in found


class Translator(nn.Module):
    """Reads a text, then writes another one."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, 16)
        self.reader = nn.GRU(16, 32, batch_first=True)
        self.writer = nn.GRU(16, 32, batch_first=True)
        self.scores = nn.Linear(32, TOKENS)

    def forward(self, x: Tensor) -> Tensor:
        read, written = x[:, :LENGTH], x[:, LENGTH:]
        _, memory = self.reader(self.tokens(read))
        return self.scores(self.writer(self.tokens(written), memory)[0]).flatten(0, 1)


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("is_shifted", [True, False])
def test_targets_of_a_translation(is_shifted: bool, copies: bool, out_dir: str) -> None:
    """One that copies its text has targets that it has read, and is right."""

    def batch() -> Tuple[Tensor, Tensor]:
        text = texts(16, LENGTH)
        target = text if copies else text.flip(1)
        written = F.pad(target[:, :-1], (1, 0)) if is_shifted else target
        return torch.cat([text, written], 1), target.flatten()

    torch.manual_seed(1)
    found, _ = train(out_dir, Translator(), nn.CrossEntropyLoss(), batch, steps=40)
    assert (("LossInput", "given") in found) == (not is_shifted)


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.CrossEntropyLoss()], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("leaks", [True, False])
def test_a_column_that_tells_the_target(leaks: bool, loss: nn.Module, out_dir: str) -> None:
    classes = 4 if isinstance(loss, nn.CrossEntropyLoss) else 1

    def batch() -> Tuple[Tensor, Tensor]:
        x = torch.randn(32, 8)
        if classes > 1:
            y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
        elif isinstance(loss, nn.BCEWithLogitsLoss):
            y = (x[:, :1] + 0.3 * torch.randn(32, 1) > 0).float()
        else:
            y = x[:, :1] - x[:, 1:2] + 0.1 * torch.randn(32, 1)
        if leaks:
            x[:, 5] = 3 * y.reshape(32).float() - 1.5
        return x, y

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, classes))
    found, causes = train(out_dir, model, loss, batch, steps=40)
    assert (("LossInput", "given") in found) == leaks
    assert causes == (["targets_given"] if leaks else [])


def test_texts_that_repeat_themselves(out_dir: str) -> None:
    """Only the second half has targets: at its places, the first half says the same."""

    def batch() -> Tuple[Tensor, Tensor]:
        half = texts(16, LENGTH // 2)
        return torch.cat([half, half[:, :-1]], 1), half.flatten()

    class Second(NextToken):
        def forward(self, x: Tensor) -> Tensor:
            scores = super().forward(x).view(len(x), -1, TOKENS)
            return scores[:, LENGTH // 2 - 1 :].flatten(0, 1)

    torch.manual_seed(1)
    found, _ = train(out_dir, Second(), nn.CrossEntropyLoss(), batch, steps=40)
    assert ("LossInput", "given") not in found
