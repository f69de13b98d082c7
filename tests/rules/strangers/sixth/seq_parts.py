"""Shared parts. Text: classification, language models, sequence to sequence."""

import math
import torch.utils.checkpoint
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from data_parts import *


class Attn(nn.Module):
    def __init__(self, d, h, causal=True):
        super().__init__()
        self.qkv, self.o, self.h, self.causal = (
            nn.Linear(d, 3 * d, bias=False),
            nn.Linear(d, d, bias=False),
            h,
            causal,
        )

    def forward(self, x, mask=None):
        B, T, D = x.shape
        q, k, v = (
            t.view(B, T, self.h, D // self.h).transpose(1, 2) for t in self.qkv(x).chunk(3, -1)
        )
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.o(a.transpose(1, 2).reshape(B, T, D))


class GPTBlock(nn.Module):
    def __init__(self, d, h, causal=True, norm=nn.LayerNorm):
        super().__init__()
        self.n1, self.n2, self.at = norm(d), norm(d), Attn(d, h, causal)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.at(self.n1(x))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(
        self,
        vocab=len(CHARS),
        d=48,
        h=4,
        layers=2,
        ctx=64,
        tie=True,
        causal=True,
        norm=nn.LayerNorm,
        std=0.02,
    ):
        super().__init__()
        self.te, self.pe = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.blocks = nn.ModuleList([GPTBlock(d, h, causal, norm) for _ in range(layers)])
        self.nf, self.head = norm(d), nn.Linear(d, vocab, bias=False)
        self.apply(
            lambda m: (
                nn.init.normal_(m.weight, std=std)
                if isinstance(m, (nn.Linear, nn.Embedding))
                else None
            )
        )
        if tie:
            self.head.weight = self.te.weight
        self.checkpoint = False

    def forward(self, i):
        x = self.te(i) + self.pe(torch.arange(i.shape[1]))
        for b in self.blocks:
            x = (
                torch.utils.checkpoint.checkpoint(b, x, use_reentrant=False)
                if self.checkpoint
                else b(x)
            )
        return self.head(self.nf(x))


def chunk(data, n, T):
    i = torch.randint(0, len(data) - T - 1, (n, 1)) + torch.arange(T + 1)
    return data[i][:, :-1], data[i][:, 1:]


@torch.no_grad()
def lm_score(model, data, T=64, n=64):
    """Minus the loss on held-out text, and that of letter frequencies."""
    g = torch.Generator().manual_seed(0)
    i = torch.randint(0, len(data) - T - 1, (n, 1), generator=g) + torch.arange(T + 1)
    z = data[i]
    training = model.training
    model.eval()
    l = F.cross_entropy(model(z[:, :-1]).flatten(0, 1), z[:, 1:].flatten())
    model.train(training)
    return l


def unigram(data):
    p = torch.bincount(data, minlength=len(CHARS)).float()
    p /= p.sum()
    return -(-(p * (p + 1e-9).log()).sum()).item()
