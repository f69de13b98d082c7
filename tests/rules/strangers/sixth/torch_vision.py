"""Images: classification, segmentation, detection. Fine trainings."""

import copy, math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
from data_parts import *
from vision_parts import *


@healthy
def digits_cnn_adam(record, seed):
    torch.manual_seed(seed)
    x, y = digits(4000, seed)
    xt, yt = digits(800, seed + 1)
    net = small_cnn()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(norm(x), y), batch_size=64, shuffle=True, drop_last=True)
    with record(net, optimizer, criterion) as hook:
        for epoch in range(5):
            net.train()
            for img, lab in loader:
                optimizer.zero_grad()
                loss = criterion(net(img), lab)
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                out = net(norm(xt))
                hook.record_tensor_value("val_loss", criterion(out, yt).item())
                hook.record_tensor_value("val_accuracy", acc(out, yt))
        score(acc(net(norm(xt)), yt), 0.1)


@healthy
def shapes_resnet_sgd_cosine_warmup(record, seed):
    torch.manual_seed(seed)
    x, y, _, _ = shapes(2500, seed)
    xt, yt, _, _ = shapes(600, seed + 1)
    net = TinyResNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    total, warm = 300, 30
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt,
        lambda s: (
            (s + 1) / warm
            if s < warm
            else 0.5 * (1 + math.cos(math.pi * (s - warm) / (total - warm)))
        ),
    )
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    with record(net, opt, crit) as hook:
        for s in range(total):
            i = torch.randint(0, 2500, (48,))
            xb = x[i]
            if torch.rand(()) < 0.5:
                xb = xb.flip(3)
            loss = crit(net(xb - 0.35), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if s % 60 == 59:
                net.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", crit(net(xt - 0.35), yt))
                net.train()
        net.eval()
        with torch.no_grad():
            score(acc(net(xt - 0.35), yt), 1 / 6)


@healthy
def shapes_unet_dice(record, seed):
    torch.manual_seed(seed)
    x, _, m, _ = shapes(1200, seed)
    xt, _, mt, _ = shapes(300, seed + 1)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            cb = lambda a, b: nn.Sequential(
                nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.SiLU()
            )
            self.d1, self.d2, self.mid = cb(3, 12), cb(12, 24), cb(24, 24)
            self.up1, self.up2 = cb(48, 12), cb(24, 12)
            self.out = nn.Conv2d(12, 1, 1)

        def forward(self, x):
            a = self.d1(x)
            b = self.d2(F.max_pool2d(a, 2))
            c = self.mid(F.max_pool2d(b, 2))
            u = self.up1(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
            u = self.up2(torch.cat([F.interpolate(u, scale_factor=2), a], 1))
            return self.out(u)[:, 0]

    net = UNet()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)

    def dice(p, t):
        return 1 - ((2 * (p * t).sum((1, 2)) + 1) / (p.sum((1, 2)) + t.sum((1, 2)) + 1)).mean()

    with record(net, opt) as hook:
        for step in range(200):
            i = torch.randint(0, 1200, (16,))
            o = net(x[i])
            bce = F.binary_cross_entropy_with_logits(o, m[i])
            d = dice(o.sigmoid(), m[i])
            loss = bce + d
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("bce", bce.item())
            hook.record_tensor_value("dice", d.item())
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            p = net(xt) > 0
            inter = (p & (mt > 0)).sum()
            score(inter / (p | (mt > 0)).sum(), (mt > 0).float().mean())


@healthy
def shapes_box_regression(record, seed):
    """Class and box together (two heads, two losses)."""
    torch.manual_seed(seed)
    x, y, _, b = shapes(2000, seed)
    xt, yt, _, bt = shapes(500, seed + 1)

    class Det(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(3, 16, 3, 2, 1),
                nn.LeakyReLU(0.1),
                nn.Conv2d(16, 32, 3, 2, 1),
                nn.LeakyReLU(0.1),
                nn.Conv2d(32, 32, 3, padding=1),
                nn.LeakyReLU(0.1),
                nn.Flatten(),
            )
            self.cls, self.box = (
                nn.Linear(512, 6),
                nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 4), nn.Sigmoid()),
            )

        def forward(self, x):
            h = self.body(x)
            return self.cls(h), self.box(h)

    net = Det()
    opt = torch.optim.Adam(
        [
            {"params": net.body.parameters(), "lr": 1e-3},
            {"params": list(net.cls.parameters()) + list(net.box.parameters()), "lr": 2e-3},
        ]
    )
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [350, 450], 0.3)
    with record(net, opt) as hook:
        for it in range(500):
            i = torch.randint(0, 2000, (32,))
            c, bb = net(x[i])
            lc, lb = F.cross_entropy(c, y[i]), F.l1_loss(bb, b[i])
            loss = lc + 5 * lb
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            for n, v in (("cls_loss", lc), ("box_loss", lb), ("loss", loss)):
                hook.record_tensor_value(n, v)
            hook.end_step()
        with torch.no_grad():
            c, bb = net(xt)
            score(
                acc(c, yt) - 5 * (bb - bt).abs().mean(), 1 / 6 - 5 * (bt - bt.mean(0)).abs().mean()
            )


@healthy
def digits_vit_bf16_autocast(record, seed):
    torch.manual_seed(seed)
    x, y = digits(5000, seed, noise=0.15)
    xt, yt = digits(800, seed + 1, noise=0.15)

    class ViT(nn.Module):
        def __init__(self, d=48):
            super().__init__()
            self.patch = nn.Conv2d(1, d, 4, 4)
            self.pos = nn.Parameter(torch.randn(1, 16, d) * 0.02)
            self.enc = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(
                    d, 4, 96, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
                ),
                2,
                enable_nested_tensor=False,
            )
            self.head = nn.Linear(d, 10)

        def forward(self, x):
            h = self.patch(x).flatten(2).transpose(1, 2) + self.pos
            return self.head(self.enc(h).mean(1))

    net = ViT()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05, betas=(0.9, 0.98))
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-3, total_steps=500, pct_start=0.15)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(500):
            i = torch.randint(0, 5000, (48,))
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = crit(net(norm(x[i])), y[i])
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        net.eval()
        with torch.no_grad():
            score(acc(net(norm(xt)), yt), 0.1)


@healthy
def shapes_mixup_ema(record, seed):
    torch.manual_seed(seed)
    x, y, _, _ = shapes(2000, seed)
    xt, yt, _, _ = shapes(500, seed + 1)
    net = TinyResNet(w=10, normal=lambda c: nn.GroupNorm(2, c))
    ema = torch.optim.swa_utils.AveragedModel(
        net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.97)
    )
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
    with record(net, opt) as hook:
        for s in range(300):
            i = torch.randint(0, 2000, (48,))
            j = i[torch.randperm(48)]
            lam = float(torch.distributions.Beta(0.3, 0.3).sample())
            out = net(lam * x[i] + (1 - lam) * x[j])
            loss = lam * F.cross_entropy(out, y[i]) + (1 - lam) * F.cross_entropy(out, y[j])
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update_parameters(net)
            hook.record_tensor_value("mixup_loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(ema(xt), yt), 1 / 6)


@healthy
def digits_unfreeze_midway(record, seed):
    """A backbone trained on digits 0-4 is fine-tuned on ten digits: first the head alone, later all at a small rate."""
    torch.manual_seed(seed)
    x, y = digits(3000, seed)
    xt, yt = digits(800, seed + 1)
    x, xt = norm(x), norm(xt)
    back = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
    )
    old = nn.Linear(64, 5)
    k = y < 5
    o = torch.optim.Adam([*back.parameters(), *old.parameters()], 1e-3)
    for _ in range(250):
        i = torch.randint(0, int(k.sum()), (64,))
        l = F.cross_entropy(old(back(x[k][i])), y[k][i])
        o.zero_grad()
        l.backward()
        o.step()
    net = nn.Sequential(back, nn.Linear(64, 10))
    back.requires_grad_(False)
    opt = torch.optim.AdamW(net[1].parameters(), lr=3e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(500):
            if s == 200:
                back.requires_grad_(True)
                opt.add_param_group({"params": back.parameters(), "lr": 1e-3})
            i = torch.randint(0, 3000, (64,))
            loss = crit(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(xt), yt), 0.1)
