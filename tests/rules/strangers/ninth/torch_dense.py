"""Images to images, boxes and points."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import gratings, picks, r2, shapes, start
from registry import healthy, pair, score


class UNet(nn.Module):
    def __init__(self, out=1, inp=1, w=8, norm=True):
        super().__init__()

        def conv(a, b):
            return nn.Sequential(
                nn.Conv2d(a, b, 3, padding=1),
                nn.BatchNorm2d(b) if norm else nn.Identity(),
                nn.ReLU(),
            )

        self.d1, self.d2, self.mid = conv(inp, w), conv(w, 2 * w), conv(2 * w, 2 * w)
        self.u2, self.u1, self.out = conv(4 * w, w), conv(2 * w, w), nn.Conv2d(w, out, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        c = self.u2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        return self.out(self.u1(torch.cat([F.interpolate(c, scale_factor=2), a], 1)))


class DiceBce(nn.Module):
    def forward(self, logit, mask):
        p, m = logit.sigmoid().flatten(1), mask.flatten(1)
        dice = 1 - (2 * (p * m).sum(1) + 1) / (p.sum(1) + m.sum(1) + 1)
        return dice.mean() + F.binary_cross_entropy_with_logits(logit, mask)


@torch.no_grad()
def iou(model, x, mask):
    model.eval()
    p = model(x)[:, 0] > 0
    return ((p & mask).sum() / (p | mask).sum().clamp(min=1)).item()


def conv_net(out, w=12):
    return nn.Sequential(
        nn.Conv2d(1, w, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(w, 2 * w, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(2 * w, out, 3, padding=1),
    )


@healthy
def unet_dice_and_bce(record, seed):
    start(seed)
    x, _, mask, _, _ = shapes(600, noise=0.5)
    xt, _, mt, _, _ = shapes(200, noise=0.5)
    model, criterion = UNet(), DiceBce()
    opt = torch.optim.AdamW(model.parameters(), 4e-3)
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(len(x), 16, 300)):
            opt.zero_grad()
            criterion(model(x[i]), mask[i, None].float()).backward()
            opt.step()
            if k % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    criterion(model(xt), mt[:, None].float())
                    model.train()
    score(iou(model, xt, mt), mt.float().mean())


@healthy
def grid_detector(record, seed):
    start(seed)
    x, y, _, c, r = shapes(1500)
    xt, yt, _, ct, rt = shapes(400)
    model = conv_net(4 + 5)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    class_loss = nn.CrossEntropyLoss()

    def loss_of(out, c, r, y):
        cell = (c / 4).long().clamp(0, 3)
        n = torch.arange(len(out))
        obj = torch.zeros(len(out), 4, 4)
        obj[n, cell[:, 0], cell[:, 1]] = 1
        at = out[n, :, cell[:, 0], cell[:, 1]]
        box = F.smooth_l1_loss(at[:, 1:4], torch.cat([c / 4 - cell, r[:, None] / 4], 1))
        return (
            F.binary_cross_entropy_with_logits(out[:, 0], obj) * 4
            + 5 * box
            + class_loss(at[:, 4:], y)
        )

    with record(model, opt) as hook:
        for i in picks(len(x), 32, 450):
            opt.zero_grad()
            loss = loss_of(model(x[i]), c[i], r[i], y[i])
            hook.record_tensor_value("loss", loss)
            loss.backward()
            opt.step()
    with torch.no_grad():
        out = model.eval()(xt)
        top = out[:, 0].flatten(1).argmax(1)
        at = out[torch.arange(len(xt)), :, top // 4, top % 4]
        pos = (torch.stack([top // 4, top % 4], 1) + at[:, 1:3]) * 4
        good = ((pos - ct).norm(dim=1) < 1.5) & (at[:, 4:].argmax(1) == yt)
    score(good.float().mean(), 0.02)


@healthy
def superresolution_in_bfloat16(record, seed):
    start(seed)
    x, xt = gratings(800, noise=0.0)[0], gratings(200, noise=0.0)[0]
    low = lambda t: F.avg_pool2d(t, 2)
    model = nn.Sequential(
        nn.Conv2d(1, 24, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 24, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 4, 3, padding=1),
        nn.PixelShuffle(2),
    )
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    criterion = nn.L1Loss()
    with record(model, opt, criterion):
        for i in picks(len(x), 24, 300):
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = criterion(model(low(x[i])), x[i])
            loss.backward()
            opt.step()
    score(r2(model(low(xt)), xt), 0)


@pair("masks are not flipped together with the images", "gross")
def masks_stay_when_images_flip(record, seed, faulty):
    start(seed)
    x, _, mask, _, _ = shapes(600)
    xt, _, mt, _, _ = shapes(200)
    model, criterion = UNet(), nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    with record(model, opt, criterion):
        for i in picks(len(x), 16, 250):
            a, m = x[i], mask[i, None].float()
            if torch.rand(1) < 0.5:
                a, m = a.flip(3), m if faulty else m.flip(3)
            if torch.rand(1) < 0.5:
                a, m = a.flip(2), m if faulty else m.flip(2)
            opt.zero_grad()
            criterion(model(a), m).backward()
            opt.step()
    score(iou(model, xt, mt), mt.float().mean())


@pair("rare lesions drown in the background, no weight on them", "gross")
def rare_lesions_unweighted(record, seed, faulty):
    start(seed)

    def scans(n):
        x, m = torch.randn(n, 1, 24, 24), torch.zeros(n, 24, 24, dtype=torch.bool)
        for k in range(n):
            r, c = torch.randint(22, (2,)).tolist()
            m[k, r : r + 2, c : c + 2] = True
        return x + 1.9 * m[:, None], m

    (x, m), (xt, mt) = scans(500), scans(200)
    model = UNet(w=6)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.0 if faulty else 20.0))
    with record(model, opt, criterion):
        for i in picks(len(x), 16, 300):
            opt.zero_grad()
            criterion(model(x[i]), m[i, None].float()).backward()
            opt.step()
    score(iou(model, xt, mt), mt.float().mean())


@pair("box targets hold (x, y) where the evaluation expects (row, column)", "gross")
def boxes_with_swapped_axes(record, seed, faulty):
    start(seed)
    x, _, _, c, r = shapes(1200)
    xt, _, _, ct, rt = shapes(400)
    target = torch.cat([c.flip(1) if faulty else c, r[:, None]], 1) / 16
    truth = torch.cat([ct, rt[:, None]], 1) / 16
    model = nn.Sequential(conv_net(16), nn.ReLU(), nn.Flatten(), nn.Linear(256, 3))
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.SmoothL1Loss(beta=0.1)
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(len(x), 32, 400)):
            opt.zero_grad()
            criterion(model(x[i]), target[i]).backward()
            opt.step()
            if k % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    criterion(model(xt), truth)
    score(r2(model(xt)[:, :2], truth[:, :2]), 0)


@pair("class maps resized with bilinear interpolation, so that edges get wrong classes", "gross")
def class_maps_interpolated(record, seed, faulty):
    start(seed)

    def scenes(n):
        x, y, m, _, _ = shapes(n)
        return x, m.long() * (y + 1)[:, None, None]

    (x, y), (xt, yt) = scenes(700), scenes(200)

    def resize(a, m):
        a = F.interpolate(a, 20, mode="bilinear")
        m = m[:, None].float()
        return (
            a,
            (F.interpolate(m, 20, mode="bilinear") if faulty else F.interpolate(m, 20))[
                :, 0
            ].long(),
        )

    truth = F.interpolate(yt[:, None].float(), 20)[:, 0].long()
    model = UNet(6)
    opt = torch.optim.Adam(model.parameters(), 4e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 12, 300):
            a, m = resize(x[i], y[i])
            opt.zero_grad()
            criterion(model(a), m).backward()
            opt.step()
    with torch.no_grad():
        p = model.eval()(resize(xt, yt)[0]).argmax(1)
    score(((p == truth) & (truth > 0)).sum() / ((p > 0) | (truth > 0)).sum(), 0)


@pair("dice loss on logits without a sigmoid", "gross")
def dice_without_sigmoid(record, seed, faulty):
    start(seed)
    x, _, mask, _, _ = shapes(600, noise=0.4)
    xt, _, mt, _, _ = shapes(200, noise=0.4)
    model = UNet()
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    with record(model, opt) as hook:
        for i in picks(len(x), 16, 250):
            opt.zero_grad()
            p, m = model(x[i])[:, 0], mask[i].float()
            if not faulty:
                p = p.sigmoid()
            loss = 1 - (2 * (p * m).sum() + 1) / (p.sum() + m.sum() + 1)
            hook.record_tensor_value("loss", loss)
            loss.backward()
            opt.step()
    with torch.no_grad():
        p = model.eval()(xt)[:, 0]
        p = p > 0
    score((p & mt).sum() / (p | mt).sum(), mt.float().mean())


@pair("a ReLU on the output cuts off the negative half of standardised data", "gross")
def relu_on_the_output(record, seed, faulty):
    start(seed)
    mix = torch.randn(4, 40)
    make = lambda n: (torch.randn(n, 4) @ mix).tanh() + 0.1 * torch.randn(n, 40)
    x, xt = make(1500), make(400)
    model = nn.Sequential(
        nn.Linear(40, 64),
        nn.ReLU(),
        nn.Linear(64, 6),
        nn.Tanh(),
        nn.Linear(6, 64),
        nn.ReLU(),
        nn.Linear(64, 40),
        nn.ReLU() if faulty else nn.Identity(),
    )
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 50, 600):
            opt.zero_grad()
            criterion(model(x[i]), x[i]).backward()
            opt.step()
    score(r2(model(xt), xt), 0)


@pair("missing depths (stored as zero) count in the loss", "mild")
def depth_holes_in_the_loss(record, seed, faulty):
    start(seed)

    def rooms(n):
        x, _, m, _, r = shapes(n, noise=0.1)
        depth = 3 - m.float() * r[:, None, None] * 0.5 + torch.linspace(0, 1, 16)[:, None]
        return torch.cat([x, torch.linspace(0, 1, 16)[:, None].expand(n, 1, 16, 16)], 1), depth

    (x, d), (xt, dt) = rooms(500), rooms(200)
    d = d * (torch.rand(d.shape) > 0.07)
    model = UNet(inp=2)
    model.out.bias.data += 3
    opt = torch.optim.Adam(model.parameters(), 4e-3)
    with record(model, opt) as hook:
        for i in picks(len(x), 16, 250):
            opt.zero_grad()
            error = (model(x[i])[:, 0] - d[i]) ** 2
            loss = error.mean() if faulty else error[d[i] > 0].mean()
            hook.record_tensor_value("loss", loss)
            loss.backward()
            opt.step()
    score(r2(model.eval()(xt)[:, 0], dt), 0)
