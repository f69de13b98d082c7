"""Loops, optimizers, schedules, accumulation, precision."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, SWALR
from registry import healthy, pair, score


def mlp(*d, act=nn.ReLU):
    layers = []
    for a, b in zip(d[:-1], d[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def clusters(n, seed, k=8, d=20, spread=0.75):
    """Classes of two clusters each, in the first dimensions; the rest is noise."""
    g = torch.Generator().manual_seed(42)
    c = torch.randn(k, 2, 6, generator=g) * 1.3
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, k, (n,), generator=g)
    m = torch.randint(0, 2, (n,), generator=g)
    x = torch.randn(n, d, generator=g)
    x[:, :6] = c[y, m] + spread * x[:, :6]
    return x, y


def loop(
    record,
    seed,
    model=None,
    opt=None,
    crit=None,
    lr=2e-3,
    epochs=12,
    bs=64,
    zero="always",
    sched=None,
    clip=None,
    accum=1,
    div=True,
    n=4000,
    before=None,
    amp=False,
    order=None,
    after_epoch=None,
    labels=None,
    on_loss=None,
    feat=None,
    vfeat=None,
    spread=0.75,
    swap_step=False,
    chance=1 / 8,
):
    torch.manual_seed(seed)
    x, y = clusters(n, seed, spread=spread)
    vx, vy = clusters(1000, seed + 999, spread=spread)
    if feat:
        x, vx = feat(x), (vfeat or feat)(vx)
    if labels:
        y = labels(y)
    model = model() if model else mlp(20, 64, 64, 8)
    opt = opt(model) if opt else torch.optim.Adam(model.parameters(), lr)
    crit = crit or nn.CrossEntropyLoss()
    nb = math.ceil(n / bs)
    sc, per_batch = sched(opt, epochs, nb) if sched else (None, False)
    k = 0
    with record(model, opt, crit) as hook:
        for e in range(epochs):
            model.train()
            for i in (order(y) if order else torch.randperm(n)).split(bs):
                if zero == "always" and k % accum == 0:
                    opt.zero_grad()
                if amp:
                    with torch.autocast("cpu", dtype=torch.bfloat16):
                        loss = crit(model(x[i]), y[i])
                else:
                    loss = crit(model(x[i]), y[i])
                if on_loss:
                    loss = on_loss(loss, model)
                if div:
                    loss = loss / accum
                if swap_step:
                    opt.step()
                loss.backward()
                k += 1
                if k % accum == 0:
                    if clip:
                        nn.utils.clip_grad_norm_(model.parameters(), clip)
                    if not swap_step:
                        opt.step()
                    if sc and per_batch:
                        sc.step()
            if sc and not per_batch:
                sc.step()
            if after_epoch:
                after_epoch(e, model, opt)
            with record.evaluation(hook), torch.no_grad():
                model.eval()
                a = (model(vx).argmax(1) == vy).float().mean().item()
    score(a, chance)


@healthy
def mlp_adamw_amsgrad(record, seed):
    loop(record, seed, opt=lambda m: torch.optim.AdamW(m.parameters(), 2e-3, amsgrad=True))


@healthy
def mlp_rprop_full_batch(record, seed):
    loop(
        record,
        seed,
        opt=lambda m: torch.optim.Rprop(m.parameters(), 1e-3),
        bs=2000,
        n=2000,
        epochs=60,
    )


@healthy
def mlp_adafactor(record, seed):
    loop(record, seed, opt=lambda m: torch.optim.Adafactor(m.parameters(), 0.02), epochs=10)


@healthy
def mlp_torch_muon(record, seed):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(20, 64, bias=False),
                nn.GELU(),
                nn.Linear(64, 64, bias=False),
                nn.GELU(),
                nn.Linear(64, 8, bias=False),
            )

        def forward(self, x):
            return self.net(x)

    loop(
        record,
        seed,
        model=Both,
        opt=lambda m: torch.optim.Muon(m.parameters(), lr=0.02, momentum=0.95, weight_decay=0.01),
    )


@healthy
def accumulation_of_eight(record, seed):
    loop(
        record,
        seed,
        bs=16,
        accum=8,
        opt=lambda m: torch.optim.SGD(m.parameters(), 0.2, momentum=0.9),
        epochs=10,
    )


@healthy
def warm_restarts_bf16(record, seed):
    """The loss jumps at each restart of the cosine: normal."""
    loop(
        record,
        seed,
        amp=True,
        epochs=12,
        opt=lambda m: torch.optim.SGD(m.parameters(), 0.2, momentum=0.9),
        sched=lambda o, e, nb: (
            torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3 * nb, 1),
            True,
        ),
    )


@healthy
def noisy_labels_30_percent(record, seed):
    """A third of the labels are wrong (weak supervision); the training loss stays high."""
    loop(
        record,
        seed,
        labels=lambda y: torch.where(torch.rand(len(y)) < 0.3, torch.randint(0, 8, y.shape), y),
        n=4000,
        epochs=6,
        crit=nn.CrossEntropyLoss(label_smoothing=0.1),
    )


@healthy
def step_decay_classic(record, seed):
    loop(
        record,
        seed,
        opt=lambda m: torch.optim.SGD(m.parameters(), 0.1, momentum=0.9, weight_decay=5e-4),
        epochs=12,
        sched=lambda o, e, nb: (torch.optim.lr_scheduler.MultiStepLR(o, [6, 9], 0.1), False),
    )


@healthy
def swa_constant_rate(record, seed):
    torch.manual_seed(seed)
    x, y = clusters(2500, seed)
    vx, vy = clusters(1000, seed + 999)
    model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 8))
    swa = AveragedModel(model)
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    sl = SWALR(opt, swa_lr=0.05, anneal_epochs=3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for e in range(12):
            model.train()
            for i in torch.randperm(2500).split(64):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
            if e >= 5:
                swa.update_parameters(model)
                sl.step()
        torch.optim.swa_utils.update_bn(torch.utils.data.DataLoader(x, 256), swa)
        with record.evaluation(hook), torch.no_grad():
            swa.eval()
            a = (swa(vx).argmax(1) == vy).float().mean()
    score(a, 1 / 8)


@healthy
def sam_two_steps(record, seed):
    """Sharpness-aware minimization: two backward passes a step, weights moved and moved back."""
    torch.manual_seed(seed)
    x, y = clusters(2500, seed)
    vx, vy = clusters(1000, seed + 999)
    model = mlp(20, 64, 64, 8)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for e in range(8):
            for i in torch.randperm(2500).split(64):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                with torch.no_grad():
                    nrm = torch.stack([p.grad.norm() for p in model.parameters()]).norm() + 1e-12
                    es = [0.05 * p.grad / nrm for p in model.parameters()]
                    for p, q in zip(model.parameters(), es):
                        p.add_(q)
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                with torch.no_grad():
                    for p, q in zip(model.parameters(), es):
                        p.sub_(q)
                opt.step()
        with record.evaluation(hook), torch.no_grad():
            a = (model(vx).argmax(1) == vy).float().mean()
    score(a, 1 / 8)


@healthy
def manual_sgd_no_optimizer(record, seed):
    """The user updates the parameters by hand."""
    torch.manual_seed(seed)
    x, y = clusters(2500, seed)
    vx, vy = clusters(1000, seed + 999)
    model = mlp(20, 64, 8, act=nn.Tanh)
    crit = nn.CrossEntropyLoss()
    with record(model, None, crit) as hook:
        for s in range(600):
            i = torch.randint(0, 2500, (64,))
            loss = crit(model(x[i]), y[i])
            gs = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for p, g in zip(model.parameters(), gs):
                    p -= 0.3 * g
        with record.evaluation(hook), torch.no_grad():
            a = (model(vx).argmax(1) == vy).float().mean()
    score(a, 1 / 8)


SGD = lambda lr, **k: (lambda m: torch.optim.SGD(m.parameters(), lr, **{"momentum": 0.9, **k}))


@pair("zero_grad is forgotten, gradients of all batches add up", "gross")
def forgotten_zero_grad(record, seed, faulty):
    loop(record, seed, opt=SGD(0.1), zero="never" if faulty else "always")


@pair("the accumulated loss is not divided by 32, with SGD the step is 32 times too large", "gross")
def accumulation_not_divided(record, seed, faulty):
    loop(record, seed, bs=8, accum=32, div=not faulty, opt=SGD(0.1), epochs=12)


@pair(
    "optimizer.step() comes before backward() and after zero_grad(), so it always steps with zeroed gradients",
    "gross",
)
def step_before_backward(record, seed, faulty):
    loop(record, seed, swap_step=faulty, opt=SGD(0.05))


@pair(
    "StepLR(step_size=1, gamma=0.94) meant per epoch is stepped per batch, the rate is gone after 100 steps",
    "gross",
)
def schedule_per_batch(record, seed, faulty):
    loop(
        record,
        seed,
        opt=SGD(0.02),
        sched=lambda o, e, nb: (torch.optim.lr_scheduler.StepLR(o, 1, 0.94), faulty),
    )


@pair(
    "OneCycleLR made for the total number of batches is stepped once per epoch, it never leaves the warm-up",
    "middling",
)
def onecycle_per_epoch(record, seed, faulty):
    loop(
        record,
        seed,
        opt=SGD(0.01),
        sched=lambda o, e, nb: (
            torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=e * nb, div_factor=300.0),
            not faulty,
        ),
        epochs=6,
    )


@pair("the gradient is clipped to a norm of 4e-3 with plain SGD", "middling")
def clip_far_too_small(record, seed, faulty):
    loop(record, seed, opt=SGD(0.1), clip=4e-3 if faulty else 1.0)


@pair("momentum 0.99 with a rate fit for 0.9: it oscillates", "gross")
def momentum_too_high(record, seed, faulty):
    loop(record, seed, opt=SGD(0.05, momentum=0.99 if faulty else 0.9), epochs=6)


@pair("Adam's eps is 0.05 instead of 1e-8", "middling")
def adam_eps_one(record, seed, faulty):
    loop(
        record,
        seed,
        opt=lambda m: torch.optim.Adam(m.parameters(), 1e-3, eps=0.05 if faulty else 1e-8),
        epochs=6,
    )


@pair("weight decay of 0.05 with SGD instead of 5e-4", "mild")
def sgd_decay_huge(record, seed, faulty):
    loop(record, seed, opt=SGD(0.05, weight_decay=0.05 if faulty else 5e-4))


@pair("60 % of the labels of three classes are off by one", "middling")
def labels_off_by_one_some(record, seed, faulty):
    loop(
        record,
        seed,
        labels=(
            (lambda y: torch.where((torch.rand(len(y)) < 0.6) & (y < 3), (y + 1) % 8, y))
            if faulty
            else None
        ),
    )


@pair(
    "the biases of the second hidden layer are initialized at -3, nearly all ReLUs are dead",
    "gross",
)
def dead_relu_bias(record, seed, faulty):
    def make():
        m = mlp(20, 64, 64, 8)
        nn.init.constant_(m[2].bias, -3.0 if faulty else 0.0)
        return m

    loop(record, seed, model=make, opt=SGD(0.05))


@pair(
    "four sigmoid layers without normalization where the good twin has ReLU with He initialization",
    "gross",
)
def sigmoid_deep(record, seed, faulty):
    def make():
        m = mlp(20, *[48] * 4, 8, act=nn.Sigmoid if faulty else nn.ReLU)
        for q in m:
            if isinstance(q, nn.Linear):
                (nn.init.xavier_uniform_ if faulty else nn.init.kaiming_uniform_)(q.weight)
                nn.init.zeros_(q.bias)
        return m

    loop(record, seed, model=make, opt=SGD(0.02))


@pair("all weights are initialized to the same constant, hidden units stay identical", "gross")
def constant_init(record, seed, faulty):
    def make():
        m = mlp(20, 64, 64, 8)
        if faulty:
            for q in m:
                if isinstance(q, nn.Linear):
                    nn.init.constant_(q.weight, 0.05)
                    nn.init.zeros_(q.bias)
        return m

    loop(record, seed, model=make, opt=SGD(0.05))


@pair("the learning rate is 80 times too small", "middling")
def sgd_lr_small(record, seed, faulty):
    loop(record, seed, opt=SGD(6e-4 if faulty else 0.05), epochs=10)


@pair(
    "the validation features are standardized with a shift of their own from another table",
    "middling",
)
def wrong_statistics(record, seed, faulty):
    m, s = torch.linspace(-3, 3, 20), torch.linspace(0.2, 5, 20)
    loop(
        record,
        seed,
        feat=lambda x: x,
        vfeat=(lambda x: x / s.flip(0).clamp(0.6, 2) + 0.12 * m) if faulty else None,
    )


@pair("weights are kept in bfloat16: updates smaller than the spacing are rounded away", "middling")
def bf16_weights_tiny_updates(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = clusters(3000, seed)
    vx, vy = clusters(1000, seed + 999)
    dt = torch.bfloat16 if faulty else torch.float32
    model = mlp(20, 64, 64, 8).to(dt)
    opt = torch.optim.SGD(model.parameters(), 0.008, momentum=0.0)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(2500):
            i = torch.randint(0, 3000, (128,))
            opt.zero_grad()
            crit(model(x[i].to(dt)).float(), y[i]).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            a = (model(vx.to(dt)).argmax(1) == vy).float().mean()
    score(a, 1 / 8)


@pair(
    "trained on 900 rows with noisy labels for 16 times too long, without early stopping",
    "middling",
)
def overfit_no_early_stopping(record, seed, faulty):
    loop(
        record,
        seed,
        n=900,
        bs=16,
        epochs=80 if faulty else 5,
        model=lambda: mlp(20, 256, 256, 8),
        labels=lambda y: torch.where(torch.rand(len(y)) < 0.5, torch.randint(0, 8, y.shape), y),
    )


def eval_loop(
    record, seed, forget_eval=False, bs=64, bn=False, p=0.4, freeze_stats=False, no_train=False
):
    torch.manual_seed(seed)
    x, y = clusters(3000, seed)
    vx, vy = clusters(1000, seed + 999)
    model = nn.Sequential(
        nn.Linear(20, 64),
        nn.BatchNorm1d(64) if bn else nn.Identity(),
        nn.ReLU(),
        nn.Dropout(p),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Dropout(p),
        nn.Linear(64, 8),
    )
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(1200):
            i = torch.randint(0, 3000, (bs,))
            opt.zero_grad()
            crit(model(x[i]), y[i]).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            if not forget_eval:
                model.eval()
            a = (model(vx).argmax(1) == vy).float().mean()
    score(a, 1 / 8)


@pair("model.eval() is forgotten at validation, dropout stays on", "mild")
def dropout_on_in_validation(record, seed, faulty):
    eval_loop(record, seed, forget_eval=faulty)


@pair("BatchNorm is trained with batches of 2", "middling")
def batchnorm_batch_of_two(record, seed, faulty):
    eval_loop(record, seed, bn=True, bs=2 if faulty else 64, p=0.0)


@pair("a slip in the slicing leaves 150 of the 4,000 training rows", "middling")
def subset_slip(record, seed, faulty):
    loop(record, seed, order=(lambda y: torch.randint(0, 150, (len(y),))) if faulty else None)


@pair("AdamW's decoupled weight decay is 8", "middling")
def adamw_decay_eight(record, seed, faulty):
    loop(
        record,
        seed,
        opt=lambda m: torch.optim.AdamW(m.parameters(), 2e-3, weight_decay=8.0 if faulty else 0.01),
    )


@pair(
    "a column that gives away the label was left in the training table, it is empty in production",
    "gross",
)
def leak_column(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = clusters(3000, seed)
    vx, vy = clusters(1000, seed + 999)
    x, vx = torch.cat([x, torch.zeros(3000, 2)], 1), torch.cat([vx, torch.zeros(1000, 2)], 1)
    if faulty:
        x[:, 20], x[:, 21] = y * 1.5, (y % 3) * 2.0
    model = mlp(22, 64, 8)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(700):
            i = torch.randint(0, 3000, (64,))
            opt.zero_grad()
            crit(model(x[i]), y[i]).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            a = (model(vx).argmax(1) == vy).float().mean()
    score(a, 1 / 8)


@pair("the learning rate is 15 times too small for the number of steps", "mild")
def adam_lr_somewhat_small(record, seed, faulty):
    loop(record, seed, lr=2e-4 if faulty else 3e-3, epochs=10)


@pair(
    "MSE of the softmax against one-hot labels with a mean over classes and a rate kept from cross-entropy",
    "mild",
)
def mse_on_probabilities(record, seed, faulty):
    class M(nn.Module):
        def forward(self, o, y):
            return (
                F.mse_loss(o.softmax(1), F.one_hot(y, 8).float())
                if faulty
                else F.cross_entropy(o, y)
            )

    loop(record, seed, crit=M(), opt=SGD(0.05))


@pair(
    "the loss is scaled down by 1e-4 (meant as loss scaling) and never scaled back, with SGD",
    "gross",
)
def loss_scaled_down(record, seed, faulty):
    loop(record, seed, opt=SGD(0.05), on_loss=(lambda l, m: l * 1e-4) if faulty else None)
