"""Tables: regression, classification, counts, quantiles, survival, recommendation."""

import copy
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score


def reg_data(seed, n=1600, noise=0.2, offset=0.0, scale=1.0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.7 * x[:, 3] - 0.5 * x[:, 4].abs()
    y = (y + noise * torch.randn(n, generator=g)) * scale + offset
    return x[:1200], y[:1200], x[1200:], y[1200:]


def r2(p, y):
    return 1 - ((p - y) ** 2).mean() / ((y - y.mean()) ** 2).mean()


class Lion(torch.optim.Optimizer):
    """Sign of an interpolated momentum."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), wd=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, wd=wd))

    @torch.no_grad()
    def step(self, closure=None):
        for gr in self.param_groups:
            for p in gr["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                b1, b2 = gr["betas"]
                p.mul_(1 - gr["lr"] * gr["wd"]).add_(
                    torch.sign(b1 * m + (1 - b1) * p.grad), alpha=-gr["lr"]
                )
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


class RegNet(nn.Module):
    def __init__(self, width=64, act=nn.ReLU, out_relu=False, drop=0.0):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(12, width), act(), nn.Dropout(drop), nn.Linear(width, width), act()
        )
        self.head = nn.Linear(width, 1)
        self.out_relu = out_relu

    def forward(self, x):
        o = self.head(self.body(x))
        return F.relu(o) if self.out_relu else o


LOSSES = {
    "mse": nn.MSELoss,
    "huber": nn.SmoothL1Loss,
    "l1": nn.L1Loss,
    "sum": lambda: nn.MSELoss(reduction="sum"),
}


def optimizer_of(ps, opt, lr, wd):
    make = {
        "adam": lambda: torch.optim.Adam(ps, lr, weight_decay=wd),
        "sgd": lambda: torch.optim.SGD(ps, lr, momentum=0.9),
        "plain": lambda: torch.optim.SGD(ps, lr),
        "adamw": lambda: torch.optim.AdamW(ps, lr, weight_decay=wd),
        "rms": lambda: torch.optim.RMSprop(ps, lr),
        "adagrad": lambda: torch.optim.Adagrad(ps, lr),
        "lion": lambda: Lion(ps, lr, wd=wd),
        "nadam": lambda: torch.optim.NAdam(ps, lr),
    }
    return make[opt]()


def schedule_of(o, sched, n_steps):
    if sched == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(o, n_steps)
    if sched == "restarts":
        return torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 100)
    if sched == "exp":
        return torch.optim.lr_scheduler.ExponentialLR(o, 0.85)
    if sched == "warmup":
        return torch.optim.lr_scheduler.LambdaLR(o, lambda k: min(1.0, (k + 1) / (0.6 * n_steps)))
    return None


def note_score(model, best_state, judge):
    if best_state:
        model.load_state_dict(best_state)
    model.eval()
    with torch.no_grad():
        score(judge(), 0.0)


def regression(
    record,
    seed,
    fault=None,
    opt="adam",
    lr=3e-3,
    bs=32,
    epochs=12,
    sched=None,
    noise=0.2,
    wd=0.0,
    width=64,
    act=nn.ReLU,
    drop=0.0,
    amp=False,
    offset=0.0,
    scale=1.0,
    accum=1,
    clip=None,
    loss="mse",
    init=None,
    early=False,
    skip=0,
):
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed, noise=noise, offset=offset, scale=scale)
    standard = fault != "raw_target" and (offset or scale != 1.0)
    my, sy = (y.mean(), y.std()) if standard else (0.0, 1.0)
    ty = (y - my) / sy
    model = RegNet(width, act, out_relu=fault == "out_relu", drop=drop)
    if init is not None:
        init(model)
    ps = list(model.parameters())
    o = optimizer_of(ps, opt, lr, wd)
    if fault == "stale_params":
        model.body = RegNet(width, act).body
    s = schedule_of(o, sched, epochs * (1200 // bs))
    crit = LOSSES[loss]()
    best, best_state, k = -1e9, None, 0
    with record(model, o, crit) as hook:
        for ep in range(epochs):
            model.train()
            order = torch.randperm(len(x))
            order_y = torch.randperm(len(x)) if fault == "perm_twice" else order
            for i in range(0, len(x) - bs + 1, bs):
                xb, t = x[order[i : i + bs]], ty[order_y[i : i + bs]]
                if skip and k % skip == 1:
                    k += 1
                    continue
                if fault != "no_zero" and k % accum == 0:
                    o.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                    p = model(xb)
                    l = crit((p if fault == "broadcast" else p.squeeze(1)).float(), t) / accum
                l.backward()
                if fault == "zero_after_backward" and k % 4:
                    o.zero_grad()
                if clip:
                    nn.utils.clip_grad_norm_(ps, clip)
                if (k + 1) % accum == 0:
                    o.step()
                k += 1
                if s and (sched != "exp" or fault == "sched_batch"):
                    s.step()
            if sched == "exp" and fault != "sched_batch":
                s.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    v = crit(model(vx).squeeze(1), (vy - my) / sy)
                    val = r2(model(vx).squeeze(1) * sy + my, vy)
            if early and val > best:
                best, best_state = val, copy.deepcopy(model.state_dict())
    note_score(model, best_state, lambda: r2(model(vx).squeeze(1) * sy + my, vy))


@healthy
def tab_lion_regression(record, seed):
    """Own sign optimizer with a tiny rate."""
    regression(record, seed, opt="lion", lr=1e-3, wd=0.01)


@healthy
def tab_warm_restarts(record, seed):
    """Cosine with warm restarts: spikes that recover."""
    regression(record, seed, opt="sgd", lr=0.03, sched="restarts", epochs=14)


@healthy
def tab_batch_of_four_noisy(record, seed):
    """Tiny batches, noisy labels; loss jumps about."""
    regression(record, seed, opt="plain", lr=0.015, bs=4, epochs=2, noise=0.4)


@healthy
def tab_huge_model_early_stop(record, seed):
    """Much too wide a model that overfits, but the best epoch is kept."""
    regression(record, seed, width=512, lr=1e-3, epochs=14, noise=0.5, early=True)


@healthy
def tab_long_warmup_bf16(record, seed):
    """Warm-up for 60 % of the steps under bf16 autocast."""
    regression(record, seed, opt="adamw", lr=8e-3, sched="warmup", amp=True, epochs=14)


@healthy
def tab_sum_reduction_small_rate(record, seed):
    """Loss is a sum, with the rate small to fit."""
    regression(record, seed, opt="plain", lr=1.5e-3, loss="sum", epochs=14)


@healthy
def tab_adagrad_big_rate(record, seed):
    """Adagrad with a rate of 0.1 and dropout."""
    regression(record, seed, opt="adagrad", lr=0.08, epochs=14)


@healthy
def tab_accumulate_and_skip(record, seed):
    """Tiny batches accumulated four times; some batches are skipped."""
    regression(record, seed, opt="nadam", lr=5e-3, bs=16, accum=4, skip=9, epochs=10, clip=1.0)


@healthy
def tab_zero_head_init(record, seed):
    """The head begins at zero, so the body gets no gradient in the first step."""

    def init(m):
        nn.init.zeros_(m.head.weight)
        nn.init.zeros_(m.head.bias)

    regression(record, seed, init=init, act=nn.SiLU, lr=5e-3)


@healthy
def tab_huge_targets_standardised(record, seed):
    """House-price like targets, standardised for training; L1 loss with RMSprop."""
    regression(record, seed, opt="rms", lr=1e-3, loss="huber", offset=3e5, scale=8e4)


@pair(cause="prediction (B,1) against target (B,) broadcasts in MSE", severity="gross")
def tab_broadcast(record, seed, faulty):
    """Missing squeeze."""
    regression(record, seed, "broadcast" if faulty else None)


@pair(cause="zero_grad forgotten with SGD and momentum", severity="gross")
def tab_no_zero_grad(record, seed, faulty):
    """Gradients pile up."""
    regression(record, seed, "no_zero" if faulty else None, opt="sgd", lr=0.01, clip=5.0)


@pair(
    cause="zero_grad sits inside the accumulation loop after backward, so three of four steps use no gradient",
    severity="middling",
)
def tab_zero_after_backward(record, seed, faulty):
    """Gradients thrown away before the step."""
    regression(record, seed, "zero_after_backward" if faulty else None, opt="sgd", lr=0.005)


@pair(cause="targets of order 1e3 left unscaled with a small Adam rate", severity="gross")
def tab_raw_targets(record, seed, faulty):
    """No standardisation of the target."""
    regression(record, seed, "raw_target" if faulty else None, offset=3000.0, scale=200.0)


@pair(cause="ReLU after the last layer though targets are negative too", severity="gross")
def tab_output_relu(record, seed, faulty):
    """Clipped output."""
    regression(record, seed, "out_relu" if faulty else None)


@pair(cause="body of the model replaced after the optimizer was built", severity="middling")
def tab_stale_parameters(record, seed, faulty):
    """The optimizer holds parameters that the model no longer uses."""
    regression(record, seed, "stale_params" if faulty else None)


@pair(cause="ExponentialLR stepped per batch and not per epoch", severity="gross")
def tab_sched_every_batch(record, seed, faulty):
    """The rate dies after some tens of steps."""
    regression(record, seed, "sched_batch" if faulty else None, sched="exp", lr=4e-3)


@pair(cause="gradient norm clipped at 1e-3 with SGD", severity="gross")
def tab_clip_too_hard(record, seed, faulty):
    """Clipping leaves nearly no step."""
    regression(record, seed, opt="sgd", lr=0.01, clip=1e-3 if faulty else 5.0)


@pair(cause="dropout probability 0.9 where the keep probability was meant", severity="middling")
def tab_dropout_keep_prob(record, seed, faulty):
    """Keep probability given as drop probability."""
    regression(record, seed, drop=0.9 if faulty else 0.1)


@pair(cause="rate 15 times too large for SGD with momentum: noisy and unstable", severity="gross")
def tab_rate_too_large(record, seed, faulty):
    """High rate with clipping, so that it does not end in NaN."""
    regression(record, seed, opt="sgd", lr=0.3 if faulty else 0.02, clip=10.0)


@pair(cause="all weights start at the same constant (symmetry)", severity="middling")
def tab_constant_init(record, seed, faulty):
    """Hidden units stay equal."""

    def init(m):
        for p in m.parameters():
            nn.init.constant_(p, 0.02)

    regression(record, seed, init=init if faulty else None, act=nn.Tanh)


@pair(cause="rate 10 times too small for the number of epochs", severity="middling")
def more_rate_too_small(record, seed, faulty):
    """The training ends early in its descent."""
    regression(record, seed, lr=3e-4 if faulty else 3e-3, epochs=10)


@pair(cause="L2 of 0.1 in Adam where decoupled decay was meant", severity="mild")
def more_l2_for_decoupled(record, seed, faulty):
    """Adam(weight_decay=0.1) and AdamW(weight_decay=0.1) are not the same."""
    regression(record, seed, opt="adam" if faulty else "adamw", wd=0.1)


# imbalanced classification -------------------------------------------------------------------


def focal_loss(out, y, fault):
    p = torch.sigmoid(out)
    pt = torch.where(y > 0, p, 1 - p)
    at = torch.where(y > 0, 0.9, 0.1)
    part = pt if fault == "focal_sign" else 1 - pt
    return (at * part**2 * -torch.log(pt + 1e-7)).mean()


def imbalance(
    record,
    seed,
    fault=None,
    opt=torch.optim.Adam,
    lr=3e-3,
    focal=False,
    epochs=10,
    oversample=False,
):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(3000, 8, generator=g)
    z = x[:, 0] + x[:, 1] * x[:, 2] - 0.5 * x[:, 3]
    y = (z > 2.2).float()
    tr, va = slice(0, 2200), slice(2200, None)
    model = nn.Sequential(
        nn.Linear(8, 48),
        nn.BatchNorm1d(48),
        nn.GELU(),
        nn.Linear(48, 48),
        nn.GELU(),
        nn.Linear(48, 1),
    )
    w = (1 - y[tr]).sum() / y[tr].sum()
    if fault == "inverse_weight":
        w = 1 / w
    bce = nn.BCEWithLogitsLoss(pos_weight=None if (focal or oversample) else w)
    o = opt(model.parameters(), lr)
    with record(model, o, bce) as hook:
        for ep in range(epochs):
            model.train()
            if oversample:
                order = torch.multinomial(
                    torch.where(y[tr] > 0, w, torch.tensor(1.0)), 2200, replacement=True
                )
            else:
                order = torch.randperm(2200)
            for i in range(0, 2200, 64):
                b = order[i : i + 64]
                out = model(x[b]).squeeze(1)
                if fault == "softmax_batch":
                    out = torch.softmax(out, 0)
                elif fault == "sigmoid_twice":
                    out = torch.sigmoid(out)
                l = focal_loss(out, y[b], fault) if focal else bce(out, y[b])
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    bce(model(x[va]).squeeze(1), y[va])
    model.eval()
    with torch.no_grad():
        q = model(x[va]).squeeze(1) > 0
    t = y[va] > 0
    score(0.5 * (q[t].float().mean() + (~q[~t]).float().mean()), 0.5)


@healthy
def tab_rare_positives_weighted(record, seed):
    """Four per cent of positives with pos_weight."""
    imbalance(record, seed)


@healthy
def tab_focal_loss_tiny_values(record, seed):
    """Own focal loss: values near zero from the start."""
    imbalance(record, seed, focal=True)


@healthy
def tab_oversampled(record, seed):
    """Rare class drawn with replacement."""
    imbalance(record, seed, oversample=True, opt=torch.optim.RMSprop, lr=1e-3)


@pair(cause="pos_weight inverted", severity="gross")
def tab_inverse_pos_weight(record, seed, faulty):
    """The rare class is weighed down."""
    imbalance(record, seed, "inverse_weight" if faulty else None)


@pair(cause="softmax over the batch before BCEWithLogits", severity="middling")
def tab_softmax_over_batch(record, seed, faulty):
    """Softmax with dim 0 on a single output."""
    imbalance(record, seed, "softmax_batch" if faulty else None)


@pair(cause="focal factor pt**g in place of (1-pt)**g", severity="gross")
def tab_focal_factor_wrong(record, seed, faulty):
    """Easy samples weighed up."""
    imbalance(record, seed, "focal_sign" if faulty else None, focal=True)


# counts, quantiles, variance, survival -------------------------------------------------------


def small(seed, n=1500, d=6):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=g), g


def net(d, out, w=48):
    return nn.Sequential(nn.Linear(d, w), nn.Tanh(), nn.Linear(w, w), nn.Tanh(), nn.Linear(w, out))


def generic(record, x, y, model, loss, opt, epochs=12, bs=50, crit=None, n=1100):
    with record(model, opt, crit) as hook:
        for ep in range(epochs):
            model.train()
            order = torch.randperm(n)
            for i in range(0, n, bs):
                b = order[i : i + bs]
                l = loss(model(x[b]), y[b])
                opt.zero_grad()
                l.backward()
                opt.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    loss(model(x[n:]), y[n:])
    model.eval()
    with torch.no_grad():
        return model(x[n:])


def poisson(record, seed, fault=None):
    torch.manual_seed(seed)
    x, g = small(seed)
    lam = torch.exp(0.8 * x[:, 0] + 0.5 * torch.sin(2 * x[:, 1]) + 0.8)
    y = torch.poisson(lam, generator=g)
    model = net(6, 1)
    crit = nn.PoissonNLLLoss(log_input=True)
    o = torch.optim.AdamW(model.parameters(), 4e-3)

    def loss(p, t):
        p = p.squeeze(1)
        if fault == "exp":
            p = torch.exp(p)
        if fault == "log_target":
            t = torch.log(t + 1e-8)
        return crit(p, t)

    p = generic(record, x, y, model, loss, o, crit=crit)
    rate = p.squeeze(1).exp().clamp(max=1e6)
    score(r2(rate.log(), lam[1100:].log()), 0.0)


@healthy
def tab_poisson_negative_loss(record, seed):
    """Poisson regression: the loss is negative."""
    poisson(record, seed)


@pair(cause="exp of the output before PoissonNLL with log_input", severity="gross")
def tab_poisson_double_exp(record, seed, faulty):
    """Log rate taken for the rate."""
    poisson(record, seed, "exp" if faulty else None)


def quantile(record, seed, fault=None):
    torch.manual_seed(seed)
    x, g = small(seed)
    mu = x[:, 0] * 2 + torch.cos(2 * x[:, 1])
    y = mu + torch.exp(0.5 * x[:, 2]) * torch.randn(len(x), generator=g)
    qs = torch.tensor([0.1, 0.5, 0.9])

    def pin(p, t):
        e = t[:, None] - p
        return torch.maximum(qs * e, (qs - 1) * e).mean()

    def loss(p, t):
        if fault == "swap":
            return torch.maximum(qs * (p - t[:, None]), (qs - 1) * (p - t[:, None])).mean()
        return pin(p, t)

    model = net(6, 3)
    p = generic(record, x, y, model, loss, torch.optim.Adam(model.parameters(), 5e-3))
    vy = y[1100:]
    const = torch.quantile(y[:1100], qs)
    score(-pin(p, vy), -pin(const.expand(len(vy), 3), vy))


@healthy
def tab_quantiles(record, seed):
    """Three quantiles by the pinball loss."""
    quantile(record, seed)


@pair(cause="pinball loss with prediction and target exchanged", severity="gross")
def tab_pinball_swapped(record, seed, faulty):
    """Quantiles come out mirrored."""
    quantile(record, seed, "swap" if faulty else None)


def cox(record, seed, fault=None):
    torch.manual_seed(seed)
    x, g = small(seed)
    risk = x[:, 0] + 0.7 * x[:, 1] * x[:, 2]
    t = -torch.log(torch.rand(len(x), generator=g)) / torch.exp(risk)
    c = torch.rand(len(x), generator=g) * 2
    ev = (t < c).float()
    tm = torch.minimum(t, c)
    y = torch.stack([tm, ev], 1)

    def loss(p, yb):
        o = torch.argsort(yb[:, 0], descending=fault != "ascending")
        h, e = p.squeeze(1)[o], yb[:, 1][o]
        if fault == "events":
            e = 1 - e
        return -((h - torch.logcumsumexp(h, 0)) * e).sum() / e.sum().clamp(min=1)

    model = net(6, 1)
    p = generic(
        record, x, y, model, loss, torch.optim.Adam(model.parameters(), 3e-3), epochs=10
    ).squeeze(1)
    tv, evv = tm[1100:], ev[1100:]
    ok = (tv[:, None] < tv[None]) & (evv[:, None] > 0)
    score((p[:, None] > p[None])[ok].float().mean(), 0.5)


@healthy
def tab_cox_survival(record, seed):
    """Cox partial likelihood on batches: hardly moves, yet concordance is fine."""
    cox(record, seed)


@pair(cause="risk sets summed in the wrong order of time", severity="gross")
def tab_cox_wrong_order(record, seed, faulty):
    """Sorted ascending before the cumulative sum."""
    cox(record, seed, "ascending" if faulty else None)


@pair(cause="event indicator inverted: censored rows taken for events", severity="middling")
def tab_cox_event_inverted(record, seed, faulty):
    """1 = censored in the file, 1 = event in the loss."""
    cox(record, seed, "events" if faulty else None)
