"""Faults of optimizers, schedules, precision and losses."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, TinyGPT, accuracy, mlp, next_token, run, tensors
from registry import pair, score


def digit_rows(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Digits as rows of 64."""
    x, y, test_x, test_y = tensors(*data.digits(seed))
    return x.flatten(1), y, test_x.flatten(1), test_y


@pair(cause="gradients clipped to a norm of 1e-4", severity="gross")
def clipped_to_nothing(record: Any, seed: int, faulty: bool) -> None:
    """SGD on digits. Fault: max_norm is 1e-4 in place of 1."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = digit_rows(seed)
    model = mlp(64, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return criterion(model(rows), labels)

    run(
        record, model, optimizer, 250, loss_of, criterion=criterion,
        clip=1e-4 if faulty else 1.0,
    )  # fmt: skip
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="learning rate decayed to nothing too early", severity="middling")
def schedule_per_batch(record: Any, seed: int, faulty: bool) -> None:
    """A schedule meant for epochs. Fault: StepLR(20, 0.5) is stepped for each batch."""
    torch.manual_seed(seed)
    (tokens,) = tensors(data.markov(2000, 21, 48, seed))
    model = TinyGPT(48, width=32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 20 if faulty else 90, 0.5)
    draw = Batches(seed, 16, tokens)
    run(record, model, optimizer, 250, lambda: next_token(model, *draw()), schedule=schedule)
    with torch.no_grad():
        score(-next_token(model, tokens[:200]), -math.log(48))


@pair(cause="learning rate grows exponentially", severity="gross")
def rate_explodes(record: Any, seed: int, faulty: bool) -> None:
    """Exponential decay. Fault: a gamma of 1.05 in place of 0.995."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = digit_rows(seed)
    model = mlp(64, 64, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 1.05 if faulty else 0.995)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return F.cross_entropy(model(rows), labels)

    run(record, model, optimizer, 220, loss_of, schedule=schedule)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="loss with the wrong sign", severity="gross")
def loss_negated(record: Any, seed: int, faulty: bool) -> None:
    """A log-likelihood. Fault: the minus was lost, so it is minimised."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = digit_rows(seed)
    model = mlp(64, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        right = model(rows).log_softmax(-1).gather(1, labels[:, None]).mean()
        return right if faulty else -right

    run(record, model, optimizer, 200, loss_of)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="logarithm of zero in a hand-written loss", severity="gross")
def log_of_zero(record: Any, seed: int, faulty: bool) -> None:
    """Ten yes-or-no outputs. Fault: log(sigmoid) and log(1 - sigmoid) by hand, in float32."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = digit_rows(seed)
    x, test_x = 16 * x, 16 * test_x
    model = mlp(64, 128, 128, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    draw = Batches(seed, 32, x, F.one_hot(y, 10).float())

    def loss_of() -> Tensor:
        rows, wanted = draw()
        logits = model(rows)
        if not faulty:
            return F.binary_cross_entropy_with_logits(logits, wanted)
        share = logits.sigmoid()
        return -(wanted * share.log() + (1 - wanted) * (1 - share).log()).mean()

    run(record, model, optimizer, 250, loss_of)
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="bfloat16 weights that swallow small updates", severity="middling")
def bf16_weights(record: Any, seed: int, faulty: bool) -> None:
    """SGD at a small rate. Fault: weights in pure bfloat16, updates below their resolution."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = digit_rows(seed)
    kind = torch.bfloat16 if faulty else torch.float32
    model = mlp(64, 64, 10).to(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4, eps=1e-7)
    draw = Batches(seed, 32, x.to(kind), y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return F.cross_entropy(model(rows).float(), labels)

    run(record, model, optimizer, 400, loss_of)
    with torch.no_grad():
        score(-F.cross_entropy(model(test_x.to(kind)).float(), test_y), -2.3)


@pair(cause="loss scale shrinks until half precision gradients underflow", severity="gross")
def half_underflow(record: Any, seed: int, faulty: bool) -> None:
    """Half precision with a scaled loss. Fault: an inverted check halves the scale at each step."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = digit_rows(seed)
    model = mlp(64, 64, 64, 10).half()
    masters = [p.detach().float() for p in model.parameters()]
    optimizer = torch.optim.SGD(masters, lr=0.1)
    draw, scale = Batches(seed, 32, x.half(), y), 2.0**6
    with record(model, optimizer) as hook:
        for _ in range(300):
            rows, labels = draw()
            loss = F.cross_entropy(model(rows).float(), labels)
            hook.record_tensor_value("loss", loss)
            model.zero_grad()
            (loss * scale).backward()
            for master, p in zip(masters, model.parameters(), strict=True):
                master.grad = p.grad.float() / scale
            optimizer.step()
            with torch.no_grad():
                for master, p in zip(masters, model.parameters(), strict=True):
                    p.copy_(master)
            hook.end_step()
            if faulty:
                scale = max(scale / 2, 2.0**-30)
    score(accuracy(model.float(), test_x, test_y), 0.1)


@pair(cause="accumulated gradients not divided by the number of micro-batches", severity="gross")
def accumulation_not_divided(record: Any, seed: int, faulty: bool) -> None:
    """Eight micro-batches by SGD. Fault: the loss isn't divided, the step is 8 times longer."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = digit_rows(seed)
    model = mlp(64, 64, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 8, x, y)
    with record(model, optimizer, criterion) as hook:
        for _ in range(220):
            total = 0.0
            for _ in range(8):
                rows, labels = draw()
                loss = criterion(model(rows), labels)
                (loss if faulty else loss / 8).backward()
                total += loss.item() / 8
            optimizer.step()
            optimizer.zero_grad()
            hook.record_tensor_value("loss", total)
            hook.end_step()
    score(accuracy(model, test_x, test_y), 0.1)


@pair(cause="Adam's second moment forgets at once (beta2 far too low)", severity="mild")
def betas_swapped(record: Any, seed: int, faulty: bool) -> None:
    """Adam on a GPT. Fault: a beta2 of 0.4 in place of 0.95."""
    torch.manual_seed(seed)
    (tokens,) = tensors(data.markov(2000, 21, 48, seed))
    model = TinyGPT(48, width=32)
    betas = (0.9, 0.4) if faulty else (0.9, 0.95)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=betas)
    draw = Batches(seed, 16, tokens)
    run(record, model, optimizer, 250, lambda: next_token(model, *draw()))
    with torch.no_grad():
        score(-next_token(model, tokens[:200]), -math.log(48))


@pair(cause="loss summed over the batch with a rate for the mean", severity="gross")
def sum_in_place_of_mean(record: Any, seed: int, faulty: bool) -> None:
    """SGD on a regression. Fault: reduction="sum" makes gradients 128 times larger."""
    torch.manual_seed(seed)
    x, y = tensors(*data.regression(2000, 6, seed))
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss(reduction="sum" if faulty else "mean")
    draw = Batches(seed, 128, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return criterion(model(rows), values)

    run(record, model, optimizer, 250, loss_of, criterion=criterion)
    with torch.no_grad():
        score(-F.mse_loss(model(x), y), -y.var())


@pair(cause="loss of the auxiliary output only, the main one is forgotten", severity="gross")
def main_term_missing(record: Any, seed: int, faulty: bool) -> None:
    """A network with a main and an auxiliary head. Fault: only the auxiliary loss is returned."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = digit_rows(seed)
    model = nn.ModuleDict(
        {"trunk": mlp(64, 64), "middle": mlp(64, 64), "main": nn.Linear(64, 10),
         "auxiliary": nn.Linear(64, 10)}
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    draw = Batches(seed, 64, x, y)

    def main(h: Tensor) -> Tensor:
        return model["main"](F.relu(model["middle"](h)))

    def loss_of() -> Tensor:
        rows, labels = draw()
        h = F.relu(model["trunk"](rows))
        auxiliary = F.cross_entropy(model["auxiliary"](h), labels)
        if faulty:
            return auxiliary
        return F.cross_entropy(main(h), labels) + 0.3 * auxiliary

    run(record, model, optimizer, 200, loss_of)
    with torch.no_grad():
        logits = main(F.relu(model["trunk"](test_x)))
        score((logits.argmax(1) == test_y).float().mean(), 0.1)


@pair(cause="gradient checkpoint of the trunk detached by no_grad", severity="middling")
def trunk_under_no_grad(record: Any, seed: int, faulty: bool) -> None:
    """A trunk and a head. Fault: features are still computed under torch.no_grad()."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(3000, 16, 10, seed))
    trunk, head = mlp(16, 24, 24, 24), nn.Linear(24, 10)
    model = nn.ModuleDict({"trunk": trunk, "head": head})
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        with torch.set_grad_enabled(not faulty):
            features = trunk(rows)
        return F.cross_entropy(head(features), labels)

    run(record, model, optimizer, 250, loss_of, late=True)
    score(accuracy(nn.Sequential(trunk, head), x, y), 0.1)


@pair(cause="learning rate somewhat too high, the loss bounces", severity="mild")
def rate_somewhat_high(record: Any, seed: int, faulty: bool) -> None:
    """RMSprop on a regression. Fault: 3e-2 in place of 2e-3."""
    torch.manual_seed(seed)
    x, y = tensors(*data.regression(2000, 6, seed))
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(0))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-2 if faulty else 2e-3)
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return F.l1_loss(model(rows), values)

    run(record, model, optimizer, 300, loss_of)
    with torch.no_grad():
        score(-F.l1_loss(model(x), y), -0.8)
