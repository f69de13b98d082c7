"""Everyday trainings in plain loops: tables, images, sequences, autoencoders, fine-tuning, part 5."""

import copy
import math
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from registry import healthy, pair, score
from torch_everyday import Adder, accuracy, adding_batch, balanced, blobs, plain_cnn, r2, shapes


class SignSGD(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.add_(p.grad.sign(), alpha=-group["lr"])


@healthy
def day_sign_sgd(record, seed):
    """Updates of one size whatever the gradient."""
    torch.manual_seed(seed)
    x, y = shapes(seed + 6, 1200, noise=0.3)
    model = plain_cnn()
    opt = SignSGD(model.parameters(), 1e-3)
    with record(model, opt) as hook:
        for step in range(300):
            for group in opt.param_groups:
                group["lr"] = 1e-3 * (1 - step / 300)
            i = torch.randint(0, 1000, (48,))
            opt.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            opt.step()
            if step % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[1000:]), y[1000:]))
    score(accuracy(model(x[1000:]), y[1000:]), 0.25)


class ZeroResidual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.zeros_(self.b.weight)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        return x + self.b(F.relu(self.a(x)))


@healthy
def day_zero_init(record, seed):
    """Residual branches and the head begin at zero."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 141, 3000, 32, 10, 0.9)
    head = nn.Linear(64, 10)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    model = nn.Sequential(nn.Linear(32, 64), *[ZeroResidual(64) for _ in range(4)], head)
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for step in range(300):
            i = torch.randint(0, 2400, (96,))
            opt.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            opt.step()
            if step % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 0.1)


@healthy
def day_swa(record, seed):
    """SWA over the last half with a constant high rate."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 151, 4000, 24, 8, 1.1)
    model = nn.Sequential(nn.Linear(24, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 8))
    average = torch.optim.swa_utils.AveragedModel(model)
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    swa = torch.optim.swa_utils.SWALR(opt, swa_lr=0.2, anneal_epochs=3)
    loader = DataLoader(TensorDataset(x[:3200], y[:3200]), 80, shuffle=True)
    with record(model, opt) as hook:
        for epoch in range(10):
            for a, b in loader:
                opt.zero_grad()
                F.cross_entropy(model(a), b).backward()
                opt.step()
            if epoch >= 5:
                average.update_parameters(model)
                swa.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", F.cross_entropy(model(x[3200:]), y[3200:]))
            model.train()
    torch.optim.swa_utils.update_bn(loader, average)
    average.eval()
    score(accuracy(average(x[3200:]), y[3200:]), 1 / 8)


@healthy
def day_balanced_sampler(record, seed):
    """A weighted sampler against an imbalance of 1 to 30."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 161, 8000, 10, 3, 0.8)
    keep = torch.rand(8000) < torch.tensor([1.0, 0.2, 0.04])[y]
    x, y = x[keep], y[keep]
    cut = len(y) * 3 // 4
    weights = 1.0 / torch.bincount(y[:cut]).float()[y[:cut]]
    sampler = WeightedRandomSampler(weights, cut)
    loader = DataLoader(TensorDataset(x[:cut], y[:cut]), 50, sampler=sampler)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 3))
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for _ in range(8):
            for a, b in loader:
                opt.zero_grad()
                F.cross_entropy(model(a), b).backward()
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", F.cross_entropy(model(x[cut:]), y[cut:]))
    score(balanced(model(x[cut:]).argmax(1), y[cut:]), 1 / 3)


@healthy
def day_early_stopping(record, seed):
    """Stops when the validation loss has not improved for three checks; best state restored."""
    torch.manual_seed(seed)
    x = torch.randn(900, 20)
    y = x[:, :3].sum(1) + 0.5 * torch.randn(900)
    model = nn.Sequential(nn.Linear(20, 200), nn.ReLU(), nn.Linear(200, 1))
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    best, state, bad = math.inf, None, 0
    with record(model, opt) as hook:
        for step in range(600):
            i = torch.randint(0, 400, (50,))
            loss = F.mse_loss(model(x[i])[:, 0], y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 20 == 19:
                with record.evaluation(hook), torch.no_grad():
                    val = F.mse_loss(model(x[400:600])[:, 0], y[400:600]).item()
                hook.record_tensor_value("val_loss", val)
                bad = 0 if val < best else bad + 1
                if val < best:
                    best, state = val, copy.deepcopy(model.state_dict())
                if bad == 3:
                    break
    model.load_state_dict(state)
    score(r2(model(x[600:]), y[600:]), 0.0)


@healthy
def day_compiled(record, seed):
    """torch.compile with the eager backend."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 171, 3000, 20, 6, 0.9)
    model = nn.Sequential(nn.Linear(20, 128), nn.Mish(), nn.Linear(128, 6))
    fast = torch.compile(model, backend="eager")
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for step in range(300):
            i = torch.randint(0, 2400, (64,))
            loss = F.cross_entropy(fast(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 6)


@healthy
def day_functional(record, seed):
    """No modules for the layers: F.linear on parameters, and functional_call for a scaled copy."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 181, 3000, 14, 5, 0.8)

    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.w1 = nn.Parameter(torch.randn(90, 14) * 0.2)
            self.b1 = nn.Parameter(torch.zeros(90))
            self.w2 = nn.Parameter(torch.randn(5, 90) * 0.1)

        def forward(self, x):
            return F.linear(F.relu(F.linear(x, self.w1, self.b1)), self.w2)

    model = Bare()
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    with record(model, opt):
        for _ in range(400):
            i = torch.randint(0, 2400, (64,))
            noisy = {k: p + 0.01 * torch.randn_like(p) for k, p in model.named_parameters()}
            loss = F.cross_entropy(torch.func.functional_call(model, noisy, (x[i],)), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(accuracy(model(x[2400:]), y[2400:]), 0.2)


@healthy
def day_resumed(record, seed):
    """A training resumed from a checkpoint: loss low from the start."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 191, 3000, 20, 8, 1.0)
    make = lambda: nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 8))  # noqa: E731
    model = make()
    opt = torch.optim.Adam(model.parameters(), 2e-3)

    def update(model, opt):
        i = torch.randint(0, 2400, (64,))
        opt.zero_grad()
        F.cross_entropy(model(x[i]), y[i]).backward()
        opt.step()

    for _ in range(400):
        update(model, opt)
    saved = copy.deepcopy((model.state_dict(), opt.state_dict()))
    model = make()
    model.load_state_dict(saved[0])
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    opt.load_state_dict(saved[1])
    with record(model, opt) as hook:
        for step in range(200):
            update(model, opt)
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 8)


@healthy
def day_skipped_steps(record, seed):
    """A dynamic loss scale by hand: steps with infinite gradients are skipped."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 201, 3000, 20, 6, 0.9)
    model = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 6))
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    scale, good = 2.0**20, 0
    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 2400, (64,))
            opt.zero_grad()
            (F.cross_entropy(model(x[i]), y[i]) * scale).backward()
            grads = [p.grad.half() for p in model.parameters()]
            if all(g.isfinite().all() for g in grads):
                for p, g in zip(model.parameters(), grads, strict=True):
                    p.grad = g.float() / scale
                opt.step()
                good += 1
                scale = scale * 2 if good % 40 == 0 else scale
            else:
                scale /= 2
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 6)


@healthy
def day_hard_examples(record, seed):
    """Only the 16 hardest rows of 128 count: the loss stays high."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 211, 5000, 16, 5, 0.5)
    model = nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 5))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 4000, (128,))
            each = F.cross_entropy(model(x[i]), y[i], reduction="none")
            loss = each.topk(16).values.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[4000:]), y[4000:]))
    score(accuracy(model(x[4000:]), y[4000:]), 0.2)


@healthy
def day_curriculum(record, seed):
    """Sequences get longer, so the loss rises by design."""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    model = Adder("lstm", 32)
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    with record(model, opt) as hook:
        for step in range(400):
            a, b = adding_batch(g, 64, 4 + 2 * (step // 60))
            loss = F.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            if step % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.mse_loss(model(a), b))
    a, b = adding_batch(g, 500, 16)
    score(r2(model(a), b), 0.0)


@healthy
def day_tiny_rate(record, seed):
    """A rate of 1e-7 that works: the loss is a sum over huge targets."""
    torch.manual_seed(seed)
    x = torch.randn(2000, 10) * 20
    y = x @ torch.randn(10) * 5
    net = nn.Linear(10, 1)
    opt = torch.optim.SGD(net.parameters(), 1e-6)
    with record(net, opt) as hook:
        for step in range(600):
            i = torch.randint(0, 1600, (200,))
            loss = (net(x[i])[:, 0] - y[i]).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.mse_loss(net(x[1600:])[:, 0], y[1600:]))
    score(r2(net(x[1600:]), y[1600:]), 0.0)


@healthy
def day_rare_branch(record, seed):
    """An expert that only sees one batch in twenty."""
    torch.manual_seed(seed)
    x = torch.randn(4000, 10)
    shared = nn.Sequential(nn.Linear(10, 64), nn.ReLU())
    model = nn.ModuleDict({"shared": shared, "often": nn.Linear(64, 1), "rare": nn.Linear(64, 1)})
    y = torch.stack([x[:, 0].abs() + x[:, 1], x[:, 2].abs() - x[:, 3]], 1)
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    with record(model, opt) as hook:
        for step in range(600):
            name, column = ("rare", 1) if step % 20 == 7 else ("often", 0)
            i = torch.randint(0, 3200, (64,))
            loss = F.mse_loss(model[name](shared(x[i]))[:, 0], y[i, column])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    val = F.mse_loss(model["often"](shared(x[3200:]))[:, 0], y[3200:, 0])
                hook.record_tensor_value("val_loss", val)
    score(r2(model["often"](shared(x[3200:])), y[3200:, 0]), 0.0)


@healthy
def day_plateau_parity(record, seed):
    """Parity of three bits: a long plateau, then it clicks."""
    torch.manual_seed(seed)
    x = torch.randint(0, 2, (5000, 12)).float() * 2 - 1
    y = (x[:, 1] * x[:, 4] * x[:, 7] > 0).long()
    model = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 2))
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    with record(model, opt) as hook:
        for step in range(600):
            i = torch.randint(0, 4000, (64,))
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[4000:]), y[4000:]))
    score(accuracy(model(x[4000:]), y[4000:]), 0.5)
