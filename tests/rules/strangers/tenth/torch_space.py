"""Graphs, point sets, fields, differential equations, segmentation and detection."""

import math, torch, torch.nn as nn, torch.nn.functional as F
from registry import healthy, pair, score
import kit


def norm_adj(a, loops=True):
    a = a + torch.eye(len(a)) if loops else a
    d = a.sum(1).clamp(min=1) ** -0.5
    return d[:, None] * a * d[None]


class GCN(nn.Module):
    """tkipf/pygcn"""

    def __init__(self, d=16, h=16, k=4, n=2, drop=0.5):
        super().__init__()
        s = [d] + [h] * (n - 1) + [k]
        self.w, self.drop = nn.ModuleList(nn.Linear(a, b) for a, b in zip(s, s[1:])), drop

    def forward(self, x, adj):
        for i, w in enumerate(self.w):
            x = adj @ w(x)
            if i < len(self.w) - 1:
                x = F.dropout(F.relu(x), self.drop, self.training)
        return F.log_softmax(x, dim=1)


def split(seed, n=200):
    p = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return p[:60], p[60:100], p[100:]


def cora(record, model, seed, adj_fn=norm_adj, opt=None, epochs=200):
    x, a, y = kit.sbm(seed)
    tr, va, te = split(seed)
    adj = adj_fn(a)
    with record(model, opt, None) as hook:
        for epoch in range(epochs):
            model.train()
            opt.zero_grad()
            loss = F.nll_loss(model(x, adj)[tr], y[tr])
            loss.backward()
            opt.step()
            if epoch % 10 == 0:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    F.nll_loss(model(x, adj)[va], y[va])
    model.eval()
    with torch.no_grad():
        score((model(x, adj)[te].argmax(1) == y[te]).float().mean(), 0.25)


@healthy
def pygcn_cora(record, seed):
    kit.seed_all(seed)
    model = GCN()
    cora(record, model, seed, opt=torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4))


@pair("eight graph convolutions without skips smooth all nodes to the same vector", "middling")
def gcn_oversmoothing(record, seed, faulty):
    kit.seed_all(seed)
    model = GCN(n=8 if faulty else 2, drop=0.3)
    cora(
        record,
        model,
        seed,
        opt=torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4),
        epochs=160,
    )


@pair("the edge list holds each edge in one direction only", "middling")
def gcn_directed_edges(record, seed, faulty):
    kit.seed_all(seed)
    model = GCN(h=24)
    f = lambda a: (lambda b: b / b.sum(1, keepdim=True))(
        (a.triu() if faulty else a) + torch.eye(len(a))
    )
    cora(
        record,
        model,
        seed,
        f,
        torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=1e-2),
        150,
    )


class GAT(nn.Module):
    def __init__(self, d=16, h=8, heads=4, k=4):
        super().__init__()
        self.w1, self.a1, self.w2, self.a2 = (
            nn.Linear(d, h * heads, bias=False),
            nn.Parameter(torch.empty(2, heads, h)),
            nn.Linear(h * heads, k, bias=False),
            nn.Parameter(torch.empty(2, 1, k)),
        )
        for p in self.parameters():
            nn.init.xavier_uniform_(p, 1.414)

    def att(self, x, w, a, adj):
        z = w(x).view(len(x), a.shape[1], -1)
        s, t = (z * a[0]).sum(-1).T, (z * a[1]).sum(-1).T
        e = F.leaky_relu(s[:, :, None] + t[:, None], 0.2).masked_fill(adj == 0, -9e15)
        return F.dropout(e.softmax(-1), 0.4, self.training) @ z.transpose(0, 1)

    def forward(self, x, adj):
        x = F.dropout(x, 0.4, self.training)
        x = F.elu(self.att(x, self.w1, self.a1, adj)).transpose(0, 1).flatten(1)
        return F.log_softmax(self.att(x, self.w2, self.a2, adj)[0], 1)


@healthy
def pygat(record, seed):
    kit.seed_all(seed)
    model = GAT()
    cora(
        record,
        model,
        seed,
        lambda a: a + torch.eye(len(a)),
        torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4),
        250,
    )


class PointNet(nn.Module):
    def __init__(self, k=4, pool="max"):
        super().__init__()
        self.c1, self.c2, self.c3 = nn.Conv1d(3, 32, 1), nn.Conv1d(32, 64, 1), nn.Conv1d(64, 64, 1)
        self.b1, self.b2, self.b3 = nn.BatchNorm1d(32), nn.BatchNorm1d(64), nn.BatchNorm1d(64)
        self.fc1, self.drop, self.fc2 = nn.Linear(64, 32), nn.Dropout(0.3), nn.Linear(32, k)
        self.pool = pool

    def forward(self, x):
        x = x.transpose(1, 2)
        x = F.relu(self.b1(self.c1(x)))
        x = F.relu(self.b2(self.c2(x)))
        x = self.b3(self.c3(x)).amax(2)
        return self.fc2(self.drop(F.relu(self.fc1(x))))


def rotate(x, full=True):
    t = 6.28 * torch.rand(len(x), 1, 1)
    c, s = t.cos()[..., 0], t.sin()[..., 0]
    a, b, z = x.unbind(2)
    return torch.stack([a * c - b * s, a * s + b * c, z], 2)


@healthy
def pointnet_shapes(record, seed):
    kit.seed_all(seed)
    x, y = kit.clouds(500, seed)
    xt, yt = kit.clouds(300, seed + 50)
    model = PointNet()
    opt = torch.optim.Adam(model.parameters(), lr=0.001, betas=(0.9, 0.999), weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.StepLR(opt, 8, 0.7)
    with record(model, opt, None) as hook:
        for epoch in range(12):
            model.train()
            for i in torch.randperm(500).split(24):
                p = rotate(x[i]) + 0.02 * torch.randn_like(x[i]).clamp(-2, 2)
                opt.zero_grad()
                loss = F.cross_entropy(model(p), y[i])
                loss.backward()
                opt.step()
            sched.step()
    model.eval()
    with torch.no_grad():
        score((model(xt).argmax(1) == yt).float().mean(), 0.25)


@pair("clouds are centred and scaled to the unit ball in training but not at test", "middling")
def pointnet_unit_ball_train_only(record, seed, faulty):
    kit.seed_all(seed)

    def unit(p):
        p = p - p.mean(1, keepdim=True)
        return p / p.norm(dim=2).amax(1)[:, None, None]

    x, y = kit.clouds(500, seed)
    xt, yt = kit.clouds(300, seed + 50)
    x, xt = unit(x), xt if faulty else unit(xt)
    model = PointNet()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(10):
            model.train()
            for i in torch.randperm(500).split(25):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
    model.eval()
    with torch.no_grad():
        score((model(xt).argmax(1) == yt).float().mean(), 0.25)


def picture(n=48):
    a = torch.linspace(-1, 1, n)
    u, v = torch.meshgrid(a, a, indexing="ij")
    im = torch.sin(9 * u + 4 * v) * torch.cos(7 * v - 3 * u * v) + 0.5 * torch.sign(
        torch.sin(5 * (u**2 + v**2) * 2)
    )
    xy = torch.stack([u, v], -1).view(-1, 2)
    m = torch.arange(n * n) % 5 == 2
    return xy[~m], im.view(-1, 1)[~m], xy[m], im.view(-1, 1)[m]


class Sine(nn.Module):
    def __init__(self, i, o, w0=30.0, first=False, plain=False):
        super().__init__()
        self.l, self.w0 = nn.Linear(i, o), w0
        b = 1 / i if first else math.sqrt(6 / i) / w0
        if not plain:
            nn.init.uniform_(self.l.weight, -b, b)

    def forward(self, x):
        return torch.sin(self.w0 * self.l(x))


def field(record, seed, model, opt, steps=220, bs=None):
    x, y, xt, yt = picture()
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for step in range(steps):
            i = torch.randint(0, len(x), (512,))
            loss = crit(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        score(kit.r2(model(xt), yt), 0)


@healthy
def siren_image(record, seed):
    kit.seed_all(seed)
    model = nn.Sequential(Sine(2, 64, 10, first=True), Sine(64, 64, 10), nn.Linear(64, 1))
    field(record, seed, model, torch.optim.Adam(model.parameters(), lr=2e-3), 400)


@pair("a SIREN keeps PyTorch's default initialisation of its sine layers", "mild")
def siren_default_init(record, seed, faulty):
    kit.seed_all(seed)
    model = nn.Sequential(
        Sine(2, 48, 12, first=True, plain=faulty), Sine(48, 48, 12, plain=faulty), nn.Linear(48, 1)
    )
    field(record, seed, model, torch.optim.Adam(model.parameters(), lr=1e-3), 450)


@pair("coordinates enter the NeRF-like network without positional encoding", "middling")
def nerf_no_encoding(record, seed, faulty):
    kit.seed_all(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            d = 2 if faulty else 2 + 2 * 2 * 4
            self.net = nn.Sequential(
                nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
            )

        def forward(self, x):
            f = [x] + (
                []
                if faulty
                else [g(2**k * math.pi * x / 2) for k in range(4) for g in (torch.sin, torch.cos)]
            )
            return self.net(torch.cat(f, 1))

    model = Net()
    field(record, seed, model, torch.optim.Adam(model.parameters(), lr=5e-3), 350)


def pinn(record, seed, bc=1.0, sign=1, steps=500):
    """u'' + 4 u = 0, u(0) = 1, u'(0) = 0 on [0, 2]"""
    kit.seed_all(seed)
    model = nn.Sequential(
        nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    d = lambda u, t: torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    with record(model, opt, None) as hook:
        for step in range(steps):
            t = (2 * torch.rand(48, 1)).requires_grad_(True)
            z = torch.zeros(1, 1, requires_grad=True)
            u = model(t)
            ut = d(u, t)
            res = d(ut, t) + sign * 4 * u
            u0 = model(z)
            v0 = d(u0, z)
            loss = (res**2).mean() + bc * (10 * (u0 - 1) ** 2 + 10 * v0**2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss)
    t = torch.linspace(0, 2, 50)[:, None]
    with torch.no_grad():
        score(max(kit.r2(model(t), torch.cos(2 * t)), -5), 0)


@healthy
def pinn_oscillator(record, seed):
    pinn(record, seed, steps=700)


@pair(
    "the initial conditions are missing from the loss of the PINN, so zero is a solution", "gross"
)
def pinn_no_initial_condition(record, seed, faulty):
    pinn(record, seed, bc=0.0 if faulty else 1.0)


@healthy
def neural_ode_spiral(record, seed):
    """torchdiffeq's demo with a hand-written Runge-Kutta"""
    kit.seed_all(seed)
    A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    func = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    for m in func:
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, 0, 0.1)
            nn.init.zeros_(m.bias)

    def odeint(f, y, n, h=0.1):
        out = []
        for _ in range(n):
            k1 = f(y)
            k2 = f(y + h / 2 * k1)
            k3 = f(y + h / 2 * k2)
            k4 = f(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            out.append(y)
        return torch.stack(out)

    true = lambda y: y**3 @ A.T
    opt = torch.optim.RMSprop(func.parameters(), lr=3e-3)
    net = lambda y: func(y**3)
    with record(func, opt, None) as hook:
        for it in range(250):
            y0 = torch.rand(32, 2) * 3 - 1.5
            with torch.no_grad():
                y = odeint(true, y0, 5, 0.05)
            opt.zero_grad()
            loss = (odeint(net, y0, 5, 0.05) - y).abs().mean()
            loss.backward()
            opt.step()
    with torch.no_grad():
        y0 = torch.rand(100, 2) * 3 - 1.5
        a, b = odeint(net, y0, 10, 0.05), odeint(true, y0, 10, 0.05)
        score(kit.r2(a, b), kit.r2(y0.expand_as(b), b))


class UNet(nn.Module):
    def __init__(self, c=8, last=None, skip=True):
        super().__init__()
        dbl = lambda i, o: nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(True),
            nn.Conv2d(o, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(True),
        )
        self.inc, self.down, self.up, self.conv, self.outc = (
            dbl(1, c),
            dbl(c, 2 * c),
            nn.ConvTranspose2d(2 * c, c, 2, 2),
            dbl(2 * c if skip else c, c),
            nn.Conv2d(c, 1, 1),
        )
        self.skip = skip

    def forward(self, x):
        a = self.inc(x)
        b = self.up(self.down(F.max_pool2d(a, 2)))
        return self.outc(self.conv(torch.cat([a, b], 1) if self.skip else b))


def dice(p, m):
    return float((2 * (p * m).sum() + 1) / (p.sum() + m.sum() + 1))


def carvana(record, seed, loss_of, epochs=6, model=None, lr=3e-3, mask=None, name="RMSprop"):
    x, m = kit.blobs(400, seed)
    xt, mt = kit.blobs(100, seed + 50)
    m = mask(m) if mask else m
    opt = (
        torch.optim.RMSprop(model.parameters(), lr=lr, weight_decay=1e-8, momentum=0.9)
        if name == "RMSprop"
        else torch.optim.Adam(model.parameters(), lr=lr)
    )
    with record(model, opt, None) as hook:
        for epoch in range(epochs):
            model.train()
            for i in torch.randperm(400).split(16):
                loss = loss_of(model(x[i]), m[i])
                opt.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
    model.eval()
    with torch.no_grad():
        score(dice((model(xt) > 0).float(), mt), dice(torch.ones_like(mt), mt))


def bce_dice(o, m):
    p = o.sigmoid()
    return (
        F.binary_cross_entropy_with_logits(o, m)
        + 1
        - (2 * (p * m).sum() + 1) / (p.sum() + m.sum() + 1)
    )


@healthy
def unet_carvana(record, seed):
    kit.seed_all(seed)
    carvana(record, seed, bce_dice, model=UNet(), lr=1e-3)


@pair("the dice score itself is minimised, 1 - is forgotten", "gross")
def dice_not_subtracted(record, seed, faulty):
    kit.seed_all(seed)

    def loss(o, m):
        p = o.sigmoid()
        d = (2 * (p * m).sum() + 1) / (p.sum() + m.sum() + 1)
        return d if faulty else 1 - d

    carvana(record, seed, loss, model=UNet(6), name="Adam", epochs=5)


@pair("masks are augmented with another random flip than their images", "mild")
def masks_flipped_otherwise(record, seed, faulty):
    kit.seed_all(seed)

    def loss(o, m):
        k = torch.rand(len(m), 1, 1, 1) < 0.35
        return F.binary_cross_entropy_with_logits(o, torch.where(k, m.flip(3), m) if faulty else m)

    carvana(record, seed, loss, model=UNet(6), name="Adam", epochs=5)


@healthy
def centernet_heatmap(record, seed):
    """One object an image: a heatmap with focal loss"""
    kit.seed_all(seed)

    def make(n, s):
        g = torch.Generator().manual_seed(s + 13000)
        c = torch.randint(2, 14, (n, 2), generator=g)
        a = torch.arange(16)
        dy, dx = a[None, :, None] - c[:, 0, None, None], a[None, None] - c[:, 1, None, None]
        r = (dy**2 + dx**2).float()
        cross = ((dy == 0) & (dx.abs() < 3)) | ((dx == 0) & (dy.abs() < 3))
        return (
            (cross.float() + 0.4 * torch.randn(n, 16, 16, generator=g))[:, None],
            torch.exp(-r / 2)[:, None],
            c,
        )

    x, h, c = make(400, seed)
    xt, _, ct = make(200, seed + 50)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(12, 12, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(12, 1, 1),
    )
    nn.init.constant_(model[-1].bias, -2.19)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    with record(model, opt, None) as hook:
        for epoch in range(10):
            for i in torch.randperm(400).split(20):
                p = model(x[i]).sigmoid().clamp(1e-4, 1 - 1e-4)
                pos = (h[i] == 1).float()
                loss = (
                    -(
                        pos * (1 - p) ** 2 * p.log()
                        + (1 - pos) * (1 - h[i]) ** 4 * p**2 * (1 - p).log()
                    ).sum()
                    / pos.sum()
                )
                opt.zero_grad()
                loss.backward()
                opt.step()
    with torch.no_grad():
        k = model(xt).flatten(1).argmax(1)
        score(
            (((k // 16 - ct[:, 0]).abs() <= 1) & ((k % 16 - ct[:, 1]).abs() <= 1)).float().mean(),
            9 / 144,
        )
