"""Trainings on images: models, data and loops."""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from synth import gen


class Block(nn.Module):
    def __init__(self, c_in, c_out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.short = nn.Sequential()
        if stride != 1 or c_in != c_out:
            self.short = nn.Sequential(
                nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.short(x))


def resnet(width=8, classes=10):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, 1, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        Block(width, width),
        Block(width, 2 * width, 2),
        Block(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, classes),
    )


def small_cnn(classes=10, c=16):
    return nn.Sequential(
        nn.Conv2d(1, c, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(c, 2 * c, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * c * 16, 64),
        nn.ReLU(),
        nn.Linear(64, classes),
    )


class ViT(nn.Module):
    def __init__(self, dim=48, depth=3, heads=4, classes=10, patch=4, size=16):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, dim))
        layer = nn.TransformerEncoderLayer(
            dim, heads, 2 * dim, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.enc = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.enc(x))[:, 0])


def shapes(n, seed, size=24):
    g = gen(seed + 5)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = 5 + (size - 10) * torch.rand(n, 2, 1, 1, generator=g)
    r = 2.5 + 3 * torch.rand(n, 1, 1, generator=g)
    mask = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2 < r**2).float()
    img = mask * (0.8 + 0.6 * torch.rand(n, 1, 1, generator=g)) + 0.5 * torch.randn(
        n, size, size, generator=g
    )
    box = (
        torch.cat(
            [c[:, :, 0, 0], r[:, 0].repeat(1, 2) if r.dim() == 2 else r[:, 0, :].repeat(1, 2)], 1
        )
        / size
    )
    return img[:, None], mask[:, None], box


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        conv = lambda a, b: nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.SiLU()
        )
        self.d1, self.d2, self.mid = conv(1, c), conv(c, 2 * c), conv(2 * c, 2 * c)
        self.u1, self.out = conv(3 * c, c), nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.mid(self.d2(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2, mode="bilinear")
        return self.out(self.u1(torch.cat([a, b], 1)))


def dice(prob, mask):
    inter = (prob * mask).sum((1, 2, 3))
    return ((2 * inter + 1) / (prob.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean()


class Detector(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, c, 3, 1, 1),
            nn.BatchNorm2d(c),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(c, c, 3, 1, 1),
            nn.BatchNorm2d(c),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(c, 2 * c, 3, 1, 1),
            nn.BatchNorm2d(2 * c),
            nn.ReLU(),
        )
        self.cls = nn.Conv2d(2 * c, 1, 1)
        self.reg = nn.Conv2d(2 * c, 3, 1)
        nn.init.constant_(self.cls.bias, -math.log(99))

    def forward(self, x):
        f = self.body(x)
        return self.cls(f), self.reg(f)
