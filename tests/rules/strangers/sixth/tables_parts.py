"""Shared parts. Tables: classification and regression."""

import copy, math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
from data_parts import *


def standardise(tr, te):
    m, s = tr.mean(0), tr.std(0)
    return (tr - m) / s, (te - m) / s


class Churner(nn.Module):
    def __init__(self, drop=0.1):
        super().__init__()
        self.ea, self.eb = nn.Embedding(12, 6), nn.Embedding(30, 8)
        self.bn = nn.BatchNorm1d(10)
        self.net = nn.Sequential(
            nn.Linear(24, 96),
            nn.BatchNorm1d(96),
            nn.ReLU(),
            nn.Dropout(drop),
            nn.Linear(96, 48),
            nn.ReLU(),
            nn.Linear(48, 1),
        )

    def forward(self, x, c):
        return self.net(torch.cat([self.bn(x), self.ea(c[:, 0]), self.eb(c[:, 1])], 1)).squeeze(1)
