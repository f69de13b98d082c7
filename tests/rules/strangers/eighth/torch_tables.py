"""Tables: regressions and classifiers on rows."""

import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from registry import healthy, pair, score
from kit import teacher, batches, r2, acc, bal_acc, auc


def mlp(*sizes, act=nn.ReLU, bn=False, drop=0.0):
    m = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        m.append(nn.Linear(a, b))
        if bn:
            m.append(nn.BatchNorm1d(b))
        m.append(act())
        if drop:
            m.append(nn.Dropout(drop))
    return nn.Sequential(*m, nn.Linear(sizes[-2], sizes[-1]))


def split(x, y, n=1600):
    return x[:n], y[:n], x[n:], y[n:]


@healthy
def houses_adam(record, seed):
    torch.manual_seed(seed)
    x, z = teacher(2200, 8, 1, seed)
    xt, yt, xv, yv = split(x, z[:, 0] + 0.1 * torch.randn(2200))
    model = mlp(8, 64, 64, 1)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.MSELoss()
    dl = DataLoader(TensorDataset(xt, yt), 64, shuffle=True)
    with record(model, opt, crit) as hook:
        for epoch in range(15):
            model.train()
            for xb, yb in dl:
                opt.zero_grad()
                loss = crit(model(xb).squeeze(-1), yb)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(xv).squeeze(-1), yv))
    with torch.no_grad():
        score(r2(model(xv).squeeze(-1), yv), 0)


@healthy
def fraud_weighted_bce(record, seed):
    """Rare positives, weighted with pos_weight."""
    torch.manual_seed(seed)
    x, z = teacher(6000, 12, 1, seed)
    y = (z[:, 0] + 0.2 * torch.randn(6000) > 1.9).float()
    xt, yt, xv, yv = split(x, y, 4500)
    net = mlp(12, 48, 1, act=nn.GELU)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    crit = nn.BCEWithLogitsLoss(pos_weight=(1 - yt).sum() / yt.sum())
    with record(net, opt, crit) as hook:
        for epoch in range(6):
            for xb, yb in batches(xt, yt, bs=100):
                loss = crit(net(xb)[:, 0], yb)
                opt.zero_grad(set_to_none=True)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
    with torch.no_grad():
        score(auc(net(xv)[:, 0], yv), 0.5)


@healthy
def ridge_by_sgd(record, seed):
    """A model that is linear because the data are."""
    torch.manual_seed(seed)
    x = torch.randn(1500, 20)
    w = torch.randn(20)
    y = x @ w + 0.5 * torch.randn(1500) + 2
    m = nn.Linear(20, 1)
    opt = torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-3)
    with record(m, opt) as hook:
        for _ in range(10):
            for a, b in batches(x[:1200], y[:1200], bs=50):
                opt.zero_grad()
                loss = F.mse_loss(m(a).flatten(), b)
                loss.backward()
                opt.step()
                hook.record_tensor_value("train/mse", loss)
                hook.end_step()
    score(r2(m(x[1200:]).flatten().detach(), y[1200:]), 0)


@healthy
def lbfgs_full_batch(record, seed):
    torch.manual_seed(seed)
    x, z = teacher(900, 5, 1, seed, hidden=6)
    xt, yt, xv, yv = split(x, z, 700)
    net = mlp(5, 20, 1, act=nn.Tanh)
    opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4, history_size=20)
    crit = nn.MSELoss()
    with record(net, opt, crit) as hook:
        for it in range(160):

            def closure():
                opt.zero_grad()
                l = crit(net(xt), yt) + 1e-4 * sum((p**2).sum() for p in net.parameters())
                l.backward()
                return l

            hook.record_tensor_value("loss", opt.step(closure))
            hook.end_step()
    with torch.no_grad():
        score(r2(net(xv), yv), 0)


@healthy
def categorical_embeddings_sparse(record, seed):
    """Sparse gradients for the tables, Adam for the rest."""
    torch.manual_seed(seed)
    n = 4000
    c1, c2 = torch.randint(0, 200, (n,)), torch.randint(0, 40, (n,))
    t1, t2 = torch.randn(200), torch.randn(40)
    x = torch.randn(n, 3)
    y = ((t1[c1] + t2[c2] + x[:, 0] + 0.3 * torch.randn(n)) > 0).long()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.e1 = nn.Embedding(200, 8, sparse=True)
            self.e2 = nn.Embedding(40, 8, sparse=True)
            self.body = mlp(19, 32, 2)

        def forward(self, a, b, x):
            return self.body(torch.cat([self.e1(a), self.e2(b), x], 1))

    net = Net()
    opts = [
        torch.optim.SparseAdam([net.e1.weight, net.e2.weight], lr=1e-2),
        torch.optim.Adam(net.body.parameters(), 2e-3),
    ]
    crit = nn.CrossEntropyLoss()
    with record(net, opts, crit) as hook:
        for epoch in range(10):
            for a, b, xx, yy in batches(c1[:3200], c2[:3200], x[:3200], y[:3200], bs=100):
                for o in opts:
                    o.zero_grad()
                loss = crit(net(a, b, xx), yy)
                loss.backward()
                for o in opts:
                    o.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    with torch.no_grad():
        score(acc(net(c1[3200:], c2[3200:], x[3200:]), y[3200:]), 0.5)


@healthy
def sampler_for_rare_classes(record, seed):
    torch.manual_seed(seed)
    x, z = teacher(5000, 10, 1, seed)
    z = z[:, 0]
    y = (z > 0.9).long() + (z > 1.7).long()
    xt, yt, xv, yv = split(x, y, 4000)
    w = (1 / torch.bincount(yt).float())[yt]
    dl = DataLoader(TensorDataset(xt, yt), 80, sampler=WeightedRandomSampler(w, 4000))
    net = mlp(10, 64, 32, 3, bn=True)
    opt = torch.optim.RMSprop(net.parameters(), 1e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(6):
            net.train()
            for xb, yb in dl:
                opt.zero_grad()
                loss = crit(net(xb), yb)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(xv), yv))
    with torch.no_grad():
        score(bal_acc(net(xv).argmax(1), yv), 1 / 3)


@healthy
def gaussian_nll_heteroscedastic(record, seed):
    torch.manual_seed(seed)
    x, z = teacher(2500, 6, 2, seed)
    y = z[:, 0] + (0.3 * torch.exp(0.5 * z[:, 1])) * torch.randn(2500)
    net = mlp(6, 64, 64, 2, act=nn.SiLU)
    opt = torch.optim.NAdam(net.parameters(), 2e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 6e-3, total_steps=500)
    crit = nn.GaussianNLLLoss()
    it = 0
    with record(net, opt, crit) as hook:
        while it < 500:
            for a, b in batches(x[:2000], y[:2000], bs=50):
                o = net(a)
                loss = crit(o[:, 0], b, F.softplus(o[:, 1]) + 1e-3)
                opt.zero_grad()
                loss.backward()
                opt.step()
                sched.step()
                it += 1
                hook.record_tensor_value("nll", loss)
                hook.end_step()
                if it == 500:
                    break
    with torch.no_grad():
        score(r2(net(x[2000:])[:, 0], y[2000:]), 0)


def plain_regression(
    record,
    seed,
    faulty,
    *,
    d=8,
    n=2200,
    lr=3e-3,
    epochs=12,
    shape=None,
    squeeze=True,
    prep=None,
    make_net=None,
    make_opt=None,
    bs=64,
    target=None,
    valprep=None,
    loss_fn=None,
    scale_out=None,
):
    torch.manual_seed(seed)
    x, z = teacher(n, d, 1, seed)
    y = z[:, 0] + 0.1 * torch.randn(n)
    if target:
        y = target(x, y)
    k = n - 500
    xt, yt, xv, yv = split(x, y, k)
    if prep:
        xt, yt = prep(xt, yt)
    if valprep:
        xv = valprep(xv)
    model = make_net() if make_net else mlp(d, 64, 64, 1)
    opt = make_opt(model) if make_opt else torch.optim.Adam(model.parameters(), lr)
    crit = loss_fn or nn.MSELoss()
    with record(model, opt, crit if isinstance(crit, nn.Module) else None) as hook:
        for epoch in range(epochs):
            model.train()
            for xb, yb in batches(xt, yt, bs=bs):
                opt.zero_grad()
                out = model(xb)
                loss = crit(out.squeeze(-1) if squeeze else out, yb)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                o = model(xv)
                hook.record_tensor_value("val_loss", crit(o.squeeze(-1) if squeeze else o, yv))
    with torch.no_grad():
        score(max(-1.0, r2(model(xv).squeeze(-1), yv)), 0)


@pair("the output (N, 1) is compared with targets (N,): MSE broadcasts to (N, N)", "gross")
def table_broadcast_mse(record, seed, faulty):
    plain_regression(record, seed, faulty, squeeze=not faulty)


@pair("learning rate 1000 times too low", "gross")
def table_lr_tiny(record, seed, faulty):
    plain_regression(record, seed, faulty, lr=3e-6 if faulty else 3e-3)


@pair("rows and targets misaligned after the table was shuffled without its labels", "gross")
def table_shuffled_labels(record, seed, faulty):
    plain_regression(
        record, seed, faulty, prep=lambda x, y: (x[torch.randperm(len(x))], y) if faulty else (x, y)
    )


@pair("ReLU on the output of a regression whose targets are half negative", "gross")
def table_relu_output(record, seed, faulty):
    plain_regression(
        record,
        seed,
        faulty,
        make_net=lambda: (
            nn.Sequential(mlp(8, 64, 64, 1), nn.ReLU()) if faulty else mlp(8, 64, 64, 1)
        ),
    )


@pair("no activation functions: the network is linear though the target is not", "gross")
def table_no_activations(record, seed, faulty):
    plain_regression(
        record,
        seed,
        faulty,
        make_net=lambda: mlp(8, 64, 64, 1, act=nn.Identity if faulty else nn.ReLU),
        target=lambda x, y: (x[:, 0] * x[:, 1] + x[:, 2].abs() + 0.2 * y),
    )


@pair("targets in dollars (mean 2e5) not standardised with the usual learning rate", "gross")
def table_raw_targets(record, seed, faulty):
    def prep(x, y):
        return x, y

    plain_regression(
        record, seed, faulty, target=lambda x, y: 2e5 + 8e4 * y if faulty else y, lr=1e-3, epochs=15
    )


@pair("one raw column of scale 1e4 is not standardised", "gross")
def table_raw_column(record, seed, faulty):
    def tgt(x, y):
        if faulty:
            x[:, 0] = x[:, 0] * 1e4 + 3e4
        return y

    plain_regression(record, seed, faulty, target=tgt, lr=1e-3, epochs=15)


@pair("the validation rows are scaled by the statistics of their own first dozen", "middling")
def table_val_rescaled(record, seed, faulty):
    plain_regression(
        record,
        seed,
        faulty,
        valprep=lambda v: (v - v[:12].mean(0)) / v[:12].std(0) if faulty else v,
    )


@pair("dropout rate given as keep probability: 0.9 dropped", "middling")
def table_dropout_keep(record, seed, faulty):
    plain_regression(
        record,
        seed,
        faulty,
        make_net=lambda: mlp(8, 64, 64, 1, drop=0.9 if faulty else 0.1),
        epochs=16,
    )


@pair("weights and biases of all layers initialised with zeros", "gross")
def table_constant_init(record, seed, faulty):
    def net():
        m = mlp(8, 64, 64, 1)
        if faulty:
            for p in m.parameters():
                nn.init.zeros_(p)
        return m

    plain_regression(record, seed, faulty, make_net=net)


@pair("summed loss with a learning rate tuned for the mean", "gross")
def table_sum_loss_sgd(record, seed, faulty):
    plain_regression(
        record,
        seed,
        faulty,
        loss_fn=nn.MSELoss(reduction="sum" if faulty else "mean"),
        make_opt=lambda m: torch.optim.SGD(m.parameters(), 0.05, momentum=0.9),
    )


@pair("weight decay 10 instead of 0.01 in AdamW", "mild")
def table_weight_decay_huge(record, seed, faulty):
    plain_regression(
        record,
        seed,
        faulty,
        make_opt=lambda m: torch.optim.AdamW(
            m.parameters(), 3e-3, weight_decay=10.0 if faulty else 0.01
        ),
    )


@pair("hidden blocks kept in a Python list: the optimizer does not see them", "gross")
def table_python_list(record, seed, faulty):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            ls = [nn.Linear(8, 32), nn.Linear(32, 32), nn.Linear(32, 32)]
            self.hidden = ls if faulty else nn.ModuleList(ls)
            self.out = nn.Linear(32, 1)

        def forward(self, x):
            for l in self.hidden:
                x = torch.relu(l(x))
            return self.out(x)

    plain_regression(record, seed, faulty, make_net=Net)


@pair(
    "a future column (the target itself) is among the training features and empty at validation",
    "gross",
)
def table_target_leak(record, seed, faulty):
    def prep(x, y):
        if faulty:
            x = x.clone()
            x[:, -1] = y + 0.05 * torch.randn(len(y))
        return x, y

    def val(x):
        x = x.clone()
        if faulty:
            x[:, -1] = 0
        return x

    plain_regression(record, seed, faulty, prep=prep, valprep=val)
