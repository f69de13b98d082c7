"""Small pictures."""

import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from pics import shapes
from registry import healthy, pair, score


def tensors(n, seed, **kw):
    x, y, m = shapes(n, seed, **kw)
    x = torch.tensor(x).permute(0, 3, 1, 2).float() / 255
    return (x - 0.5) / 0.29, torch.tensor(y), torch.tensor(m)


def small_cnn(norm=True, width=24, classes=6):
    def block(i, o):
        return (
            [nn.Conv2d(i, o, 3, padding=1, bias=not norm)]
            + ([nn.BatchNorm2d(o)] if norm else [])
            + [nn.ReLU()]
        )

    return nn.Sequential(
        *block(3, width),
        nn.MaxPool2d(2),
        *block(width, width * 2),
        nn.MaxPool2d(2),
        *block(width * 2, width * 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width * 2, classes),
    )


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


@healthy
def cnn_sgd_nesterov_cosine_augmented(record, seed):
    torch.manual_seed(seed)
    x, y, _ = tensors(2500, seed)
    model = small_cnn()
    opt = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4
    )
    epochs, bs = 7, 50
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    with record(model, opt, crit) as hook:
        for ep in range(epochs):
            model.train()
            for i in torch.randperm(2000).split(bs):
                xb = x[i]
                if torch.rand(()) < 0.5:
                    xb = xb.flip(-1)
                xb = torch.roll(xb, tuple(torch.randint(-1, 2, (2,)).tolist()), (2, 3))
                loss = crit(model(xb), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            sched.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(x[2000:]), y[2000:]).item())
    score(accuracy(model, x[2000:], y[2000:]), 1 / 6)


class TinyViT(nn.Module):
    def __init__(self, dim=32, depth=2, heads=4, patch=4, size=16, classes=6):
        super().__init__()
        n = (size // patch) ** 2
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(
            dim, heads, dim * 2, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        t = self.patch(x).flatten(2).transpose(1, 2)
        t = torch.cat([self.cls.expand(len(x), -1, -1), t], 1) + self.pos
        return self.head(self.norm(self.body(t)[:, 0]))


@healthy
def vit_bf16_autocast_warmup_clip(record, seed):
    torch.manual_seed(seed)
    x, y, _ = tensors(2500, seed + 10, noise=0.1)
    model = TinyViT()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05, betas=(0.9, 0.98))
    total = 300
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min((s + 1) / 40, 0.5 * (1 + math.cos(math.pi * s / total)))
    )
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(total):
            model.train()
            i = torch.randint(0, 2000, (48,))
            with torch.autocast("cpu", torch.bfloat16):
                out = model(x[i])
                loss = crit(out, y[i])
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("grad_norm", norm)
            hook.end_step()
    score(accuracy(model, x[2000:], y[2000:]), 1 / 6)


class UNet(nn.Module):
    def __init__(self, w=16):
        super().__init__()

        def c(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())

        self.d1, self.d2, self.mid = c(3, w), c(w, 2 * w), c(2 * w, 2 * w)
        self.up = nn.ConvTranspose2d(2 * w, w, 2, 2)
        self.out = nn.Sequential(c(2 * w, w), nn.Conv2d(w, 1, 1))

    def forward(self, x):
        a = self.d1(x)
        b = self.mid(self.d2(F.max_pool2d(a, 2)))
        return self.out(torch.cat([self.up(b), a], 1))[:, 0]


def dice_score(model, x, m):
    model.eval()
    with torch.no_grad():
        p = model(x) > 0
    return (2 * (p & m).sum() / (p.sum() + m.sum()).clamp(min=1)).item()


@healthy
def unet_dice_plus_bce(record, seed):
    torch.manual_seed(seed)
    x, _, m = tensors(900, seed + 20, noise=1.2)
    model = UNet()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    with record(model, opt) as hook:
        for s in range(150):
            model.train()
            i = torch.randint(0, 700, (24,))
            z = model(x[i])
            t = m[i].float()
            p = z.sigmoid()
            dice = 1 - (2 * (p * t).sum((1, 2)) + 1) / (p.sum((1, 2)) + t.sum((1, 2)) + 1)
            bce = F.binary_cross_entropy_with_logits(z, t)
            loss = dice.mean() + bce
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.record_tensor_value("dice_loss", dice.mean())
            hook.record_tensor_value("bce", bce)
            hook.end_step()
    score(dice_score(model, x[700:], m[700:]), 0.4)


@pair("pictures turned from NHWC to NCHW with reshape instead of permute", "middling")
def nhwc_reshaped_not_permuted(record, seed, faulty):
    torch.manual_seed(seed)
    x, y, _ = shapes(2500, seed + 30)
    x = torch.tensor(x).float() / 255
    x = x.reshape(-1, 3, 16, 16) if faulty else x.permute(0, 3, 1, 2)
    x = ((x - 0.5) / 0.29).contiguous()
    y = torch.tensor(y)
    model = small_cnn(width=20)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for ep in range(8):
            model.train()
            for i in torch.randperm(2000).split(50):
                opt.zero_grad()
                loss = crit(model(x[i]), y[i])
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    score(accuracy(model, x[2000:], y[2000:]), 1 / 6)


@pair(
    "SGD with momentum and learning rate 3 on a convolutional net without normalisation: diverges",
    "gross",
)
def cnn_lr_far_too_high(record, seed, faulty):
    torch.manual_seed(seed)
    x, y, _ = tensors(2500, seed + 40)
    model = small_cnn(norm=False)
    opt = torch.optim.SGD(model.parameters(), lr=3.0 if faulty else 0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(450):
            i = torch.randint(0, 2000, (48,))
            opt.zero_grad()
            loss = crit(model(x[i]), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    score(accuracy(model, x[2000:], y[2000:]), 1 / 6)


@pair("softmax layer before CrossEntropyLoss", "middling")
def cnn_double_softmax(record, seed, faulty):
    torch.manual_seed(seed)
    x, y, _ = tensors(2500, seed + 50)
    model = small_cnn(norm=False, width=16)
    if faulty:
        model.append(nn.Softmax(dim=1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for ep in range(9):
            for i in torch.randperm(2000).split(40):
                loss = crit(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(x[2000:]), y[2000:]).item())
    score(accuracy(model, x[2000:], y[2000:]), 1 / 6)


@pair(
    "BCELoss-style double sigmoid: the net ends in a sigmoid and the loss is BCEWithLogits", "mild"
)
def unet_double_sigmoid(record, seed, faulty):
    torch.manual_seed(seed)
    x, _, m = tensors(700, seed + 60, noise=1.2)
    model = UNet(8)
    if faulty:
        model.out.append(nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for s in range(160):
            i = torch.randint(0, 500, (16,))
            loss = crit(model(x[i]), m[i].float())
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    with torch.no_grad():
        z = model(x[500:])
        p = (z if faulty else z.sigmoid()) > 0.5
    score(2 * (p & m[500:]).sum() / (p.sum() + m[500:].sum()).clamp(min=1), 0.4)
