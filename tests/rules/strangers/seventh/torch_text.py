"""Text and language models."""

import math
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import healthy, pair, score
from text import VOCAB, grammar, reviews


class GPT(nn.Module):
    def __init__(self, dim=48, layers=2, heads=4, length=64, vocab=VOCAB, causal=True, dropout=0.0):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.blocks = nn.ModuleList(
            [
                nn.TransformerEncoderLayer(
                    dim, heads, 4 * dim, dropout, "gelu", batch_first=True, norm_first=True
                )
                for _ in range(layers)
            ]
        )
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.tok.weight
        nn.init.normal_(self.tok.weight, std=0.02)
        nn.init.normal_(self.pos.weight, std=0.02)
        self.causal = causal

    def forward(self, t):
        h = self.tok(t) + self.pos(torch.arange(t.shape[1]))
        mask = torch.triu(torch.full((t.shape[1],) * 2, float("-inf")), 1) if self.causal else None
        for b in self.blocks:
            h = b(h, src_mask=mask)
        return self.head(self.ln(h))


def next_token_accuracy(model, data, cut=None):
    """Read left to right, the future replaced with padding: how generation would see it."""
    model.eval()
    hit = tot = 0
    with torch.no_grad():
        for t in range(2, 12):
            ctx = data[:, : t + 1].clone()
            ctx[:, t:] = 0
            p = model(ctx)[:, t - 1].argmax(-1)
            ok = data[:, t] > 0
            hit, tot = hit + ((p == data[:, t]) & ok).sum().item(), tot + ok.sum().item()
    return hit / tot


@healthy
def gpt_tied_warmup_cosine(record, seed):
    torch.manual_seed(seed)
    data = grammar(seed, 2000)
    model = GPT()
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    opt = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
        lr=3e-3,
        betas=(0.9, 0.95),
    )
    steps = 350
    with record(model, opt) as hook:
        for s in range(steps):
            lr = 3e-3 * min((s + 1) / 30, 0.1 + 0.45 * (1 + math.cos(math.pi * s / steps)))
            for g in opt.param_groups:
                g["lr"] = lr
            model.train()
            b = data[torch.randint(0, 1800, (32,))]
            logits = model(b[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), b[:, 1:].flatten(), ignore_index=0)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if s % 100 == 99:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    v = data[1800:]
                    hook.record_tensor_value(
                        "val_loss",
                        F.cross_entropy(
                            model(v[:, :-1]).flatten(0, 1), v[:, 1:].flatten(), ignore_index=0
                        ),
                    )
    score(next_token_accuracy(model, data[1800:]), 0.05)


@healthy
def masked_language_model(record, seed):
    torch.manual_seed(seed)
    data = grammar(seed, 2000)
    model = GPT(causal=False, vocab=VOCAB + 1)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss(ignore_index=-100)

    def corrupt(b):
        m = (torch.rand(b.shape) < 0.2) & (b > 2)
        return b.masked_fill(m, VOCAB), b.masked_fill(~m, -100)

    with record(model, opt, crit) as hook:
        for s in range(450):
            inp, lab = corrupt(data[torch.randint(0, 1800, (32,))])
            loss = crit(model(inp).transpose(1, 2), lab)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("mlm_loss", loss)
            hook.end_step()
    model.eval()
    with torch.no_grad():
        inp, lab = corrupt(data[1800:])
        p = model(inp).argmax(-1)
    score((p == lab)[lab >= 0].float().mean(), 0.06)


class BiGRU(nn.Module):
    def __init__(self, vocab=200, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(2 * dim, 1)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        h = h.masked_fill((x == 0)[..., None], -1e4).amax(1)
        return self.fc(self.drop(h))[:, 0]


@healthy
def sentiment_bigru_rmsprop(record, seed):
    torch.manual_seed(seed)
    x, y = reviews(seed, 2500)
    model = BiGRU()
    opt = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for ep in range(8):
            model.train()
            for i in torch.randperm(2000).split(40):
                opt.zero_grad()
                loss = crit(model(x[i]), y[i])
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                p = model(x[2000:])
                hook.record_tensor_value("val_loss", crit(p, y[2000:]).item())
                hook.record_tensor_value(
                    "val_acc", ((p > 0) == (y[2000:] > 0)).float().mean().item()
                )
    score(((p > 0) == (y[2000:] > 0)).float().mean(), 0.5)


@pair("no causal mask in the language model: it sees the token that it should predict", "gross")
def lm_without_causal_mask(record, seed, faulty):
    torch.manual_seed(seed)
    data = grammar(seed, 2000)
    model = GPT(dim=40, causal=not faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with record(model, opt) as hook:
        for s in range(500):
            b = data[torch.randint(0, 1800, (24,))]
            loss = F.cross_entropy(
                model(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten(), ignore_index=0
            )
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    score(next_token_accuracy(model, data[1800:]), 0.05)


@pair("labels not shifted: the language model learns to copy its input", "gross")
def lm_labels_not_shifted(record, seed, faulty):
    torch.manual_seed(seed)
    data = grammar(seed, 2000)
    model = GPT(dim=32, layers=2)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    crit = nn.CrossEntropyLoss(ignore_index=0)
    with record(model, opt, crit) as hook:
        for s in range(450):
            b = data[torch.randint(0, 1800, (32,))]
            loss = crit(model(b[:, :-1]).transpose(1, 2), b[:, :-1] if faulty else b[:, 1:])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            hook.record_tensor_value("train_loss", loss)
            hook.end_step()
    score(next_token_accuracy(model, data[1800:]), 0.05)


@pair("reviews sorted by label and never shuffled", "gross")
def sentiment_not_shuffled(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = reviews(seed, 2500)
    xt, yt, xv, yv = x[:2000], y[:2000], x[2000:], y[2000:]
    order = yt.argsort()
    xt, yt = xt[order], yt[order]
    model = BiGRU()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for ep in range(8):
            model.train()
            idx = torch.arange(2000) if faulty else torch.randperm(2000)
            for i in idx.split(50):
                loss = crit(model(xt[i]), yt[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
    model.eval()
    with torch.no_grad():
        score(((model(xv) > 0) == (yv > 0)).float().mean(), 0.5)
