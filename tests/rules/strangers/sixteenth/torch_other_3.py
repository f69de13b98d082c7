"""Whatever else is trained: GANs, contrastive, reinforcement, graphs, densities, physics, part 3."""

import math
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score
from torch_other import close, groups, hits, mlp, r2, ring


def physics(record, seed, fault=None):
    torch.manual_seed(seed)
    model = mlp(1, 48, 48, 1, act=nn.ReLU if fault == "relu" else nn.Tanh)
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    grid = torch.linspace(0, math.pi, 200)[:, None]
    zero = torch.zeros(1, 1)
    with record(model, opt) as hook:
        for step in range(600):
            t = (torch.rand(64, 1) * math.pi).requires_grad_()
            u = model(t)
            (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
            second = 0 * u
            if fault != "relu":
                (second,) = torch.autograd.grad(du.sum(), t, create_graph=True)
            loss = (second + u).pow(2).mean()
            if fault != "edge":
                begin = zero.clone().requires_grad_()
                (slope,) = torch.autograd.grad(model(begin), begin, create_graph=True)
                loss = loss + 5 * (model(zero).pow(2) + (slope - 1).pow(2)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("error", F.mse_loss(model(grid), grid.sin()))
    score(r2(model(grid), grid.sin()), 0.0)


@healthy
def oth_physics(record, seed):
    """u'' + u = 0, solved by a network."""
    physics(record, seed)


@pair(cause="boundary terms left out: the zero solution", severity="gross")
def oth_physics_edge(record, seed, faulty):
    """The equation alone has many solutions."""
    physics(record, seed, "edge" if faulty else None)


@pair(cause="ReLU in a network whose second derivative is needed", severity="gross")
def oth_physics_relu(record, seed, faulty):
    """The second derivative is zero."""
    physics(record, seed, "relu" if faulty else None)


def ratings(seed, count=12000, users=150, items=100):
    g = torch.Generator().manual_seed(seed + 504)
    u, v = torch.randn(users, 4, generator=g), torch.randn(items, 4, generator=g)
    i = torch.randint(0, users, (count,), generator=g)
    j = torch.randint(0, items, (count,), generator=g)
    return i, j, (u[i] * v[j]).sum(1) / 2 + 0.1 * torch.randn(count, generator=g)


class Factors(nn.Module):
    def __init__(self, std, sparse=False):
        super().__init__()
        self.user = nn.Embedding(150, 8, sparse=sparse)
        self.item = nn.Embedding(100, 8, sparse=sparse)
        nn.init.normal_(self.user.weight, std=std)
        nn.init.normal_(self.item.weight, std=std)

    def forward(self, i, j):
        return (self.user(i) * self.item(j)).sum(1)


def factorise(record, seed, fault=None, sparse=False):
    torch.manual_seed(seed)
    i, j, y = ratings(seed)
    model = Factors(0.0 if fault == "zeros" else 0.3, sparse)
    decay = 0.1 if fault == "decay" else 0.0
    if sparse:
        opt = torch.optim.SparseAdam(model.parameters(), 2e-2)
    else:
        opt = torch.optim.Adam(model.parameters(), 2e-2, weight_decay=decay)
    with record(model, opt) as hook:
        for step in range(500):
            k = torch.randint(0, 10000, (256,))
            loss = F.mse_loss(model(i[k], j[k]), y[k])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    val = F.mse_loss(model(i[10000:], j[10000:]), y[10000:])
                hook.record_tensor_value("val_loss", val)
    score(r2(model(i[10000:], j[10000:]), y[10000:]), 0.0)


@healthy
def oth_factors_sparse(record, seed):
    """Matrix factorisation with sparse gradients."""
    factorise(record, seed, sparse=True)


@pair(cause="both factors initialised with zeros", severity="gross")
def oth_factors_zero(record, seed, faulty):
    """The gradient of each is the other: zero."""
    factorise(record, seed, "zeros" if faulty else None)


@pair(cause="weight decay of 0.1 on embeddings", severity="gross")
def oth_factors_decay(record, seed, faulty):
    """Rare rows shrink to nothing."""
    factorise(record, seed, "decay" if faulty else None)


def diffusion(record, seed, fault=None):
    torch.manual_seed(seed)
    real = ring(seed + 1, 4000) / 1.5
    beta = torch.linspace(1e-3, 0.25, 40)
    keep = (1 - beta).cumprod(0)
    model = mlp(2 + 8, 128, 128, 2, act=nn.SiLU)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    places = torch.randn(40, 8)

    def guess(x, t):
        return model(torch.cat([x, places[t]], 1))

    with record(model, opt):
        for _ in range(600):
            x = real[torch.randint(0, 4000, (256,))]
            t = torch.randint(0, 40, (256,))
            noise = torch.randn_like(x)
            seen = keep[t].sqrt()[:, None] * x + (1 - keep[t]).sqrt()[:, None] * noise
            target = x if fault == "target" else noise
            loss = F.mse_loss(guess(seen, t), target)
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        x = torch.randn(1000, 2)
        for k in reversed(range(40)):
            e = guess(x, torch.full((1000,), k))
            x = (x - beta[k] / (1 - keep[k]).sqrt() * e) / (1 - beta[k]).sqrt()
            x = x + (beta[k].sqrt() * torch.randn(1000, 2) if k else 0)
    score(close(x, real[:1000]), 0.4)


@healthy
def oth_diffusion(record, seed):
    """The loss is flat after the first steps, the samples get better."""
    diffusion(record, seed)


@pair(cause="trained for the clean sample, sampled as if for the noise", severity="gross")
def oth_diffusion_target(record, seed, faulty):
    """Two parametrisations mixed up."""
    diffusion(record, seed, "target" if faulty else None)


def episodes(record, seed, fault=None):
    torch.manual_seed(seed)
    centres = torch.randn(60, 10)
    mix = torch.randn(20, 30)
    model = mlp(30, 96, 24)
    opt = torch.optim.Adam(model.parameters(), 1e-3)

    def episode(low, high, g):
        kinds = low + torch.randperm(high - low, generator=g)[:5]
        signal = centres[kinds][:, None] + 0.5 * torch.randn(5, 15, 10, generator=g)
        other = 2 * torch.randn(5, 15, 10, generator=g)
        return torch.cat([signal, other], 2) @ mix / 4

    def logits(x, wrong=None):
        z = model(x)
        proto, query = z[:, :5].mean(1), z[:, 5:].reshape(50, -1)
        d = torch.cdist(query, proto).pow(2)
        return d if wrong == "sign" else -d

    y = torch.arange(5).repeat_interleave(10)
    g, fixed = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(5)
    tests = [episode(40, 60, fixed) for _ in range(40)]
    with record(model, opt) as hook:
        for step in range(500):
            loss = F.cross_entropy(logits(episode(0, 40, g), fault), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    val = sum(F.cross_entropy(logits(t), y) for t in tests) / 40
                hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        score(sum(hits(logits(t), y) for t in tests) / 40, 0.2)


@healthy
def oth_episodes(record, seed):
    """Prototypes in few-shot episodes: a noisy loss."""
    episodes(record, seed)


@pair(cause="distances used as logits without the minus", severity="gross")
def oth_episodes_sign(record, seed, faulty):
    """Far means alike."""
    episodes(record, seed, "sign" if faulty else None)


@healthy
def oth_adversarial(record, seed):
    """Trained on FGSM examples: a high training loss."""
    torch.manual_seed(seed)
    x, y = groups(seed + 6, 3000, 24, 6, 0.7)
    model = mlp(24, 128, 6)
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 2400, (96,))
            seen = x[i].clone().requires_grad_()
            (slope,) = torch.autograd.grad(F.cross_entropy(model(seen), y[i]), seen)
            loss = F.cross_entropy(model(x[i] + 0.6 * slope.sign()), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(hits(model(x[2400:]), y[2400:]), 1 / 6)


@healthy
def oth_continual(record, seed):
    """Three tasks one after the other with replay: the loss jumps at each new task."""
    torch.manual_seed(seed)
    x, y = groups(seed + 7, 6000, 20, 9, 0.8)
    model = mlp(20, 128, 9)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for step in range(450):
            task = step // 150
            new = torch.where(y[:5000] // 3 == task)[0]
            old = torch.where(y[:5000] // 3 <= task)[0][:600]
            rows = torch.cat(
                [new[torch.randint(0, len(new), (64,))], old[torch.randint(0, len(old), (64,))]]
            )
            loss = F.cross_entropy(model(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_acc", hits(model(x[5000:]), y[5000:]))
    score(hits(model(x[5000:]), y[5000:]), 1 / 9)


@healthy
def oth_evolution(record, seed):
    """Gradients by evolution strategies, put into .grad by hand."""
    torch.manual_seed(seed)
    x = torch.randn(800, 6)
    y = x @ torch.randn(6) + 0.5
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.5)
    flat = nn.utils.parameters_to_vector
    with record(model, opt) as hook:
        for _ in range(300):
            with torch.no_grad():
                now, total = flat(model.parameters()), 0.0
                i = torch.randint(0, 600, (64,))
                for _ in range(6):
                    e = torch.randn_like(now)
                    costs = []
                    for sign in (0.05, -0.05):
                        nn.utils.vector_to_parameters(now + sign * e, model.parameters())
                        costs.append(F.mse_loss(model(x[i])[:, 0], y[i]))
                    total = total + (costs[0] - costs[1]) / 0.1 * e / 6
                nn.utils.vector_to_parameters(now, model.parameters())
                for p, k in zip(model.parameters(), total.split([6, 1]), strict=True):
                    p.grad = k.view_as(p).clone()
            opt.step()
            hook.end_step()
    score(r2(model(x[600:])[:, 0], y[600:]), 0.0)


@healthy
def oth_ranking(record, seed):
    """Pairwise ranking; the loss of a pair has no scale."""
    torch.manual_seed(seed)
    x = torch.randn(3000, 12)
    worth = torch.sin(x[:, 0]) + x[:, 1] * (x[:, 2] > 0)
    model = mlp(12, 96, 96, 1)
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for step in range(400):
            i, j = torch.randint(0, 2400, (2, 128))
            gap = (model(x[i]) - model(x[j]))[:, 0]
            loss = F.softplus(-gap * (worth[i] - worth[j]).sign()).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    out = model(x[2400:])[:, 0]
                    good = ((out[:300] > out[300:]) == (worth[2400:2700] > worth[2700:])).float()
                hook.record_tensor_value("val_acc", good.mean())
    out = model(x[2400:])[:, 0]
    score(((out[:300] > out[300:]) == (worth[2400:2700] > worth[2700:])).float().mean(), 0.5)


@pair(cause="pinball loss with its sides swapped", severity="gross")
def oth_quantile(record, seed, faulty):
    """The 10 % quantile is learned where 90 % was asked for."""
    torch.manual_seed(seed)
    x = torch.rand(4000, 3) * 2 - 1
    y = torch.sin(3 * x[:, 0]) + (0.2 + 0.5 * (x[:, 1] > 0)) * torch.randn(4000)
    model = mlp(3, 64, 64, 1)
    opt = torch.optim.Adam(model.parameters(), 3e-3)

    def pinball(out, y, wrong=False):
        gap = out - y if wrong else y - out
        return torch.maximum(0.9 * gap, -0.1 * gap).mean()

    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 3200, (128,))
            loss = pinball(model(x[i])[:, 0], y[i], faulty)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    val = pinball(model(x[3200:])[:, 0], y[3200:], faulty)
                hook.record_tensor_value("val_loss", val)
    base = pinball(y[:3200].quantile(0.9).expand(800), y[3200:])
    score(1 - pinball(model(x[3200:])[:, 0], y[3200:]).item() / base.item(), 0.0)


@pair(cause="squared loss on targets with wild outliers", severity="gross")
def oth_outliers(record, seed, faulty):
    """Huber in the healthy twin."""
    torch.manual_seed(seed)
    x = torch.randn(4000, 8)
    clean = torch.sin(x[:, 0]) * 2 + x[:, 1]
    y = clean + 0.1 * torch.randn(4000)
    y = torch.where(torch.rand(4000) < 0.05, 150 * torch.randn(4000), y)
    model = mlp(8, 96, 1)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    loss_fn = nn.MSELoss() if faulty else nn.HuberLoss(delta=0.5)
    with record(model, opt, loss_fn) as hook:
        for step in range(500):
            i = torch.randint(0, 3200, (128,))
            loss = loss_fn(model(x[i])[:, 0], y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", loss_fn(model(x[3200:])[:, 0], y[3200:]))
    score(r2(model(x[3200:])[:, 0], clean[3200:]), 0.0)


@pair(cause="multi-label targets trained with softmax cross entropy", severity="middling")
def oth_multilabel(record, seed, faulty):
    """Tags are independent; binary cross entropy in the healthy twin."""
    torch.manual_seed(seed)
    x = torch.randn(3000, 16)
    y = (x @ torch.randn(16, 8) > 0.5).float()
    model = mlp(16, 96, 8)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    loss_fn = F.cross_entropy if faulty else F.binary_cross_entropy_with_logits
    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 2400, (96,))
            loss = loss_fn(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", loss_fn(model(x[2400:]), y[2400:]))
    score(((model(x[2400:]) > 0) == y[2400:].bool()).float().mean(), 0.6)
