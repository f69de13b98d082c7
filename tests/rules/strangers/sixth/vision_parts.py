"""Shared parts. Images: classification, segmentation, detection."""

import copy, math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
from data_parts import *


def small_cnn(c_in=1, classes=10, w=16, bn=True):
    def block(a, b):
        return (
            [nn.Conv2d(a, b, 3, padding=1, bias=not bn)]
            + ([nn.BatchNorm2d(b)] if bn else [])
            + [nn.ReLU(), nn.MaxPool2d(2)]
        )

    return nn.Sequential(
        *block(c_in, w),
        *block(w, 2 * w),
        nn.Flatten(),
        nn.Linear(2 * w * 16, 64),
        nn.ReLU(),
        nn.Linear(64, classes),
    )


def norm(x):
    return (x.float() / 255 - 0.26) / 0.33


class ResBlock(nn.Module):
    def __init__(self, i, o, stride=1, normal=nn.BatchNorm2d):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), normal(o)
        self.c2, self.n2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), normal(o)
        self.skip = (
            nn.Identity() if stride == 1 and i == o else nn.Conv2d(i, o, 1, stride, bias=False)
        )

    def forward(self, x):
        return F.relu(self.n2(self.c2(F.relu(self.n1(self.c1(x))))) + self.skip(x))


class TinyResNet(nn.Module):
    def __init__(self, classes=6, w=12, normal=nn.BatchNorm2d):
        super().__init__()
        self.stem = nn.Conv2d(3, w, 3, padding=1)
        self.layers = nn.Sequential(
            ResBlock(w, w, 1, normal),
            ResBlock(w, 2 * w, 2, normal),
            ResBlock(2 * w, 4 * w, 2, normal),
        )
        self.fc = nn.Linear(4 * w, classes)

    def forward(self, x):
        return self.fc(self.layers(self.stem(x)).mean((2, 3)))
