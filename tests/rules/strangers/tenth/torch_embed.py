"""Self-supervised and metric learning, distillation, transfer."""

import copy, math, torch, torch.nn as nn, torch.nn.functional as F
from registry import healthy, pair, score
import kit


def data(n, seed, **kw):
    x, y = kit.digits(n, seed, **kw)
    return x.float() / 255, y


def enc(o=32, bn=True):
    b = nn.BatchNorm2d if bn else (lambda c: nn.Identity())
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1),
        b(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        b(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(288, o),
    )


def augment(x):
    n = len(x)
    s = torch.randint(-2, 3, (2,))
    x = torch.roll(x, tuple(s.tolist()), (2, 3))
    return x * (0.7 + 0.6 * torch.rand(n, 1, 1, 1)) + 0.1 * torch.randn_like(x)


def knn(f, seed, xl=None):
    """Nearest-neighbour accuracy of features."""
    xl, yl = data(300, seed + 20)
    xt, yt = data(300, seed + 50)
    with torch.no_grad():
        a, b = F.normalize(f(xl), dim=1), F.normalize(f(xt), dim=1)
        return (yl[(b @ a.T).nan_to_num().argmax(1)] == yt).float().mean()


def siamese(record, seed, loss_of, opt_of, steps=250, dim=16, bn=True, normal=False):
    kit.seed_all(seed)
    x, y = data(800, seed)
    model = enc(dim, bn)
    f = (lambda a: F.normalize(model(a), dim=1)) if normal else model
    by = [torch.where(y == k)[0] for k in range(10)]
    opt = opt_of(model.parameters())
    with record(model, opt, None) as hook:
        for step in range(steps):
            a = torch.randint(0, 800, (32,))
            p = torch.tensor(
                [by[k][torch.randint(0, len(by[k]), (1,))].item() for k in y[a].tolist()]
            )
            n = torch.tensor(
                [by[(k + torch.randint(1, 10, (1,)).item()) % 10][0].item() for k in y[a].tolist()]
            )
            n = torch.tensor(
                [by[j][torch.randint(0, len(by[j]), (1,))].item() for j in y[n].tolist()]
            )
            loss = loss_of(f(x[a]), f(x[p]), f(x[n]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
    model.eval()
    score(knn(f, seed), 0.1)


@healthy
def triplet_margin(record, seed):
    siamese(record, seed, nn.TripletMarginLoss(1.0), lambda p: torch.optim.Adam(p, lr=1e-3), 160)


@healthy
def siamese_contrastive(record, seed):
    def loss(a, p, n):
        d, e = F.pairwise_distance(a, p), F.pairwise_distance(a, n)
        return (d**2).mean() + (F.relu(2.0 - e) ** 2).mean()

    siamese(record, seed, loss, lambda p: torch.optim.RMSprop(p, lr=5e-4), 220, bn=False)


@pair("anchor-positive and anchor-negative are exchanged in the triplet loss", "gross")
def triplet_swapped(record, seed, faulty):
    crit = nn.TripletMarginLoss(0.3)
    siamese(
        record,
        seed,
        lambda a, p, n: crit(a, n, p) if faulty else crit(a, p, n),
        lambda p: torch.optim.AdamW(p, lr=1e-3),
        220,
        normal=True,
    )


def nt_xent(z, t=0.5, own=True):
    z = F.normalize(z, dim=1)
    n = len(z) // 2
    s = z @ z.T / t
    if own:
        s = s.masked_fill(torch.eye(2 * n, dtype=torch.bool), -9e15)
    return F.cross_entropy(s, torch.arange(2 * n).roll(n))


def simclr(record, seed, t=0.2, own=True, normal=True, same=False, epochs=12):
    kit.seed_all(seed)
    x, _ = data(1000, seed)
    f, g = enc(32), nn.Sequential(nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16))
    model = nn.Sequential(f, g)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs * 15, eta_min=4e-5)
    with record(model, opt, None) as hook:
        for epoch in range(epochs):
            model.train()
            for i in torch.randperm(1000)[:960].split(64):
                v = augment(x[i])
                loss = nt_xent(model(torch.cat([v, v if same else augment(x[i])])), t, own)
                opt.zero_grad()
                loss.backward()
                opt.step()
                sched.step()
    model.eval()
    score(knn(f, seed), 0.1)


@healthy
def simclr_nt_xent(record, seed):
    simclr(record, seed)


@pair("both views are the same augmented image", "middling")
def simclr_identical_views(record, seed, faulty):
    simclr(record, seed, same=faulty, t=0.3)


def byol(record, seed, predictor=True, stop=True, steps=220):
    kit.seed_all(seed)
    x, _ = data(1000, seed)
    f = nn.Sequential(enc(64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
    t = copy.deepcopy(f)
    for p in t.parameters():
        p.requires_grad_(False)
    q = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
    opt = torch.optim.AdamW([*f.parameters(), *q.parameters()], lr=2e-3, weight_decay=1e-5)
    with record(nn.ModuleList([f, q]), opt, None) as hook:
        for step in range(steps):
            i = torch.randint(0, 1000, (64,))
            a, b = augment(x[i]), augment(x[i])
            with torch.no_grad():
                ta, tb = t(a), t(b)
            loss = (
                4
                - 2 * F.cosine_similarity(q(f(a)), tb).mean()
                - 2 * F.cosine_similarity(q(f(b)), ta).mean()
            )
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for u, v in zip(t.parameters(), f.parameters()):
                    u.lerp_(v, 0.02)
    f.eval()
    score(knn(f[0], seed), 0.1)


@healthy
def byol_online_target(record, seed):
    byol(record, seed)


class MAE(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb, self.pos, self.mask = (
            nn.Linear(9, d),
            nn.Parameter(torch.randn(1, 16, d) * 0.02),
            nn.Parameter(torch.zeros(1, 1, d)),
        )
        mk = lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(d, 4, 64, 0.0, "gelu", batch_first=True, norm_first=True),
            1,
            enable_nested_tensor=False,
        )
        self.enc, self.dec, self.dpos, self.out = (
            mk(),
            mk(),
            nn.Parameter(torch.randn(1, 16, d) * 0.02),
            nn.Linear(d, 9),
        )

    def forward(self, p, keep=8):
        n = len(p)
        order = torch.rand(n, 16).argsort(1)
        k = order[:, :keep, None]
        t = self.emb(p) + self.pos
        h = self.enc(t.gather(1, k.expand(-1, -1, t.shape[2])))
        full = self.mask.expand(n, 16, -1).scatter(1, k.expand(-1, -1, h.shape[2]), h)
        hidden = torch.ones(n, 16).scatter(1, k[..., 0], 0.0)
        return self.out(self.dec(full + self.dpos)), hidden


def mae(record, seed, visible_loss=False, steps=300):
    kit.seed_all(seed)
    patches = lambda a: F.unfold(a, 3, stride=3).transpose(1, 2)
    x, xt = (
        patches((data(n, s, noise=5, k=3)[0] - 0.3) / 0.3)
        for n, s in ((1000, seed), (300, seed + 50))
    )
    model = MAE()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.05)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min((s + 1) / 30, 0.5 + 0.5 * math.cos(math.pi * s / steps))
    )
    with record(model, opt, None) as hook:
        for step in range(steps):
            p = x[torch.randint(0, 1000, (48,))]
            o, m = model(p)
            w = 1 - m if visible_loss else m
            loss = (((o - p) ** 2).mean(-1) * w).sum() / w.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
    with torch.no_grad():
        o, m = model(xt)
        score(kit.r2(o[m > 0], xt[m > 0]), 0)


@healthy
def masked_autoencoder(record, seed):
    mae(record, seed)


@pair("the reconstruction loss is taken on the visible patches: the mask is inverted", "gross")
def mae_mask_inverted(record, seed, faulty):
    mae(record, seed, visible_loss=faulty, steps=260)


def clip(record, seed, roll=0, dim=1, temp=True, steps=250):
    kit.seed_all(seed)

    def make(n, s):
        x, y = data(n, s)
        g = torch.Generator().manual_seed(s)
        t = torch.randint(10, 30, (n, 6), generator=g)
        t[torch.arange(n), torch.randint(0, 6, (n,), generator=g)] = y
        return x, t, y

    x, t, y = make(1000, seed)
    xt, tt, yt = make(300, seed + 50)
    image, txt = enc(24), nn.Sequential(nn.Embedding(30, 32), nn.Linear(32, 24))
    model = nn.ModuleDict(
        {
            "image": image,
            "text": txt,
            "scale": nn.ParameterDict({"s": nn.Parameter(torch.tensor(math.log(1 / 0.07)))}),
        }
    )
    f = lambda a, b: (F.normalize(image(a), dim=1), F.normalize(txt(b).amax(1), dim=1))
    opt = torch.optim.AdamW(
        model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1
    )
    with record(model, opt, None) as hook:
        for step in range(steps):
            i = torch.randint(0, 1000, (32,))
            a, b = f(x[i], t[i])
            if not temp:
                a, b = image(x[i]), txt(t[i]).amax(1)
            L = a @ b.T * (model["scale"]["s"].exp().clamp(max=100) if temp else 1.0)
            k = torch.arange(32).roll(roll)
            loss = (F.cross_entropy(L, k) + F.cross_entropy(L.T, k)) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
    image.eval()
    with torch.no_grad():
        a, _ = f(xt, tt)
        c = F.normalize(
            txt(torch.cat([torch.arange(10)[:, None], tt[:10, :1] * 0 + 12], 1)).amax(1), dim=1
        )
        score(((a @ c.T).argmax(1) == yt).float().mean(), 0.1)


@healthy
def clip_contrastive(record, seed):
    clip(record, seed)


def distil(
    record, seed, T=4.0, tsq=True, teacher_eval=True, n=200, kl_order=True, logits=True, alpha=0.9
):
    kit.seed_all(seed)
    x, y = data(2000, seed, noise=60)
    xs, ys = x[:n], y[:n]
    xt, yt = data(500, seed + 50, noise=60)
    teacher = enc(10)
    o = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for epoch in range(5):
        for i in torch.randperm(2000).split(50):
            o.zero_grad()
            F.cross_entropy(teacher(x[i]), y[i]).backward()
            o.step()
    teacher.train(not teacher_eval)
    student = nn.Sequential(nn.Flatten(), nn.Linear(144, 48), nn.ReLU(), nn.Linear(48, 10))
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    with record(student, opt, None) as hook:
        for step in range(500):
            a = augment(xs[(i := torch.randint(0, n, (32,)))])
            with torch.no_grad():
                tl = teacher(a)
            s = student(a)
            p, q = F.log_softmax(s / T, 1), F.softmax(tl / T, 1)
            soft = (
                F.kl_div(p, q, reduction="batchmean")
                if kl_order
                else F.kl_div(F.softmax(s / T, 1), q.log(), reduction="batchmean")
            )
            loss = alpha * soft * T * T + (1 - alpha) * F.cross_entropy(s, ys[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        score((student(xt).argmax(1) == yt).float().mean(), 0.1)


@healthy
def knowledge_distillation(record, seed):
    distil(record, seed)


@pair(
    "kl_div gets probabilities where it wants log-probabilities and the other way about", "middling"
)
def distil_kl_arguments(record, seed, faulty):
    distil(record, seed, kl_order=not faulty, T=2.0, alpha=0.95)


def transfer(
    record,
    seed,
    freeze="then_unfreeze",
    bn_eval=True,
    lr2=3e-4,
    new_opt=True,
    head_lr=5e-3,
    forget=False,
):
    """Pretrain on one set of classes, transfer to noisy new ones."""
    kit.seed_all(seed)
    x, y = data(1500, seed)
    body = enc(32)
    head = nn.Linear(32, 10)
    o = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=2e-3)
    for epoch in range(5):
        for i in torch.randperm(1500).split(50):
            o.zero_grad()
            F.cross_entropy(head(F.relu(body(x[i]))), y[i]).backward()
            o.step()
    x, y = data(240, seed + 1)
    xt, yt = data(400, seed + 50)
    x, xt, y, yt = x.flip(3), xt.flip(3), y // 2, yt // 2
    model = nn.Sequential(body, nn.ReLU(), nn.Linear(32, 5))
    for p in body.parameters():
        p.requires_grad = False
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model[2].parameters(), lr=head_lr)

    def epochs(n):
        for epoch in range(n):
            model.train()
            for i in torch.randperm(240).split(24):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()

    with record(model, opt, crit) as hook:
        epochs(10)
        for p in body.parameters():
            p.requires_grad = True
        if not forget:
            opt.add_param_group({"params": body.parameters(), "lr": lr2})
        epochs(20)
    model.eval()
    with torch.no_grad():
        score((model(xt).argmax(1) == yt).float().mean(), 0.2)


@healthy
def transfer_then_unfreeze(record, seed):
    transfer(record, seed)


@pair("the unfrozen backbone is never added to the optimizer", "middling")
def transfer_backbone_not_in_optimizer(record, seed, faulty):
    transfer(record, seed, forget=faulty, lr2=1e-3)
