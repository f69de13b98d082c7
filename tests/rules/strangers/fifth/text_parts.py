"""Trainings on sequences of tokens: models, data and loops."""

from __future__ import annotations

import math
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

from registry import score
from synth import accuracy, batches, gen, markov


class Attention(nn.Module):
    def __init__(self, dim, heads, causal=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class GPTBlock(nn.Module):
    def __init__(self, dim, heads, causal=True, post=False, drop=0.0):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads, causal)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(drop)
        )
        self.post = post

    def forward(self, x):
        if self.post:
            x = self.n1(x + self.attn(x))
            return self.n2(x + self.mlp(x))
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(
        self, vocab=32, dim=48, depth=2, heads=4, length=64, causal=True, post=False, drop=0.0
    ):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.blocks = nn.ModuleList(GPTBlock(dim, heads, causal, post, drop) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[: ids.shape[1]]
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))


def lm_loss(model, ids):
    out = model(ids[:, :-1])
    return F.cross_entropy(out.reshape(-1, out.shape[-1]), ids[:, 1:].reshape(-1))


@torch.no_grad()
def lm_score(model, ids):
    model.eval()
    s = -lm_loss(model, ids).item()
    return s, -math.log(32)


def orthogonalise(g, steps=5):
    x = g / (g.norm() + 1e-7)
    flip = x.shape[0] > x.shape[1]
    x = x.T if flip else x
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if flip else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buf = self.state[p].setdefault("buf", torch.zeros_like(p))
                buf.lerp_(p.grad, 1 - group["momentum"])
                u = orthogonalise(p.grad.lerp(buf, group["momentum"]))
                p.add_(u, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - g["lr"] * g["weight_decay"])
                p.add_(
                    m.mul(g["betas"][0]).add(p.grad, alpha=1 - g["betas"][0]).sign_(),
                    alpha=-g["lr"],
                )
                m.lerp_(p.grad, 1 - g["betas"][1])


def induction(n, length, g, vocab=24):
    """A random half, then the same half again: the second half can be copied."""
    a = torch.randint(0, vocab, (n, length), generator=g)
    return torch.cat([a, a], 1)


class SSM(nn.Module):
    """A diagonal gated linear recurrence, mixed along time by an explicit scan."""

    def __init__(self, vocab=32, dim=48):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.gate, self.inp, self.outp = (
            nn.Linear(dim, dim),
            nn.Linear(dim, dim),
            nn.Linear(dim, dim),
        )
        self.decay = nn.Parameter(torch.linspace(-1, 3, dim))
        self.norm, self.head = nn.RMSNorm(dim), nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tok(ids)
        a = torch.sigmoid(self.decay + self.gate(x))
        u = (1 - a) * self.inp(x)
        h, out = torch.zeros_like(u[:, 0]), []
        for t in range(u.shape[1]):
            h = a[:, t] * h + u[:, t]
            out.append(h)
        y = torch.stack(out, 1)
        return self.head(self.norm(x + self.outp(F.silu(y))))


class LinearAttention(nn.Module):
    def __init__(self, vocab=32, dim=48):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))
        self.ff = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim)
        )
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tok(ids)
        q, k, v = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1, self.v(x)
        w = torch.tril(q @ k.transpose(1, 2))
        x = x + self.o(w @ v / (w.sum(-1, keepdim=True) + 1e-6))
        return self.head(x + self.ff(x))


class MoE(nn.Module):
    def __init__(self, dim, experts=4):
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
            for _ in range(experts)
        )
        self.aux = torch.zeros(())

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        p = self.router(flat).softmax(-1)
        w, k = p.topk(2, -1)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for e, f in enumerate(self.experts):
            row, slot = (k == e).nonzero(as_tuple=True)
            if len(row):
                out = out.index_add(0, row, f(flat[row]) * w[row, slot, None])
        share = F.one_hot(k, len(self.experts)).float().sum(1).mean(0) / 2
        self.aux = len(self.experts) * (share * p.mean(0)).sum()
        return out.view_as(x)


class LoRA(nn.Module):
    def __init__(self, base, r=4, alpha=8, zero_a=False):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad_(False)
        self.a = nn.Parameter(
            torch.zeros(r, base.in_features) if zero_a else torch.randn(r, base.in_features) / r
        )
        self.b = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.a.T @ self.b.T)


def pretrained(seed, steps=120):
    data = markov(1000, 33, seed=seed)
    model = GPT()
    opt = torch.optim.AdamW(model.parameters(), 3e-3)
    it = batches(seed, len(data), 32)
    for _ in range(steps):
        loss = lm_loss(model, data[next(it)])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def add_lora(model, zero_a=False):
    for p in model.parameters():
        p.requires_grad_(False)
    for b in model.blocks:
        b.attn.qkv = LoRA(b.attn.qkv, zero_a=zero_a)
        b.mlp[0], b.mlp[2] = LoRA(b.mlp[0], zero_a=zero_a), LoRA(b.mlp[2], zero_a=zero_a)
    return model


def shifted(n, seed):
    return (markov(n, 33, seed=seed, world=3) * 5 + 3) % 32  # the same grammar, other words


def reviews(n, seed, length=30, vocab=400):
    """Bags of words with some polar words, padded with 0."""
    g = gen(seed + 17)
    polar = torch.randn(vocab, generator=gen(2)) * (torch.rand(vocab, generator=gen(3)) < 0.3)
    ids = 1 + (torch.rand(n, length, generator=g) ** 2 * (vocab - 1)).long().clamp(max=vocab - 2)
    lens = torch.randint(6, length + 1, (n,), generator=g)
    ids[torch.arange(length)[None] >= lens[:, None]] = 0
    s = (polar[ids] * (ids > 0)).sum(1)
    return ids, (s > 0).long(), lens


class TextEncoder(nn.Module):
    def __init__(self, vocab=400, dim=32, mask=True, drop=0.1, length=30):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 2, 64, drop, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)
        self.mask = mask

    def forward(self, ids):
        pad = ids == 0
        h = self.emb(ids)
        if self.mask:
            h = self.enc(h, src_key_padding_mask=pad)
            keep = (~pad)[..., None].float()
            return self.head((h * keep).sum(1) / keep.sum(1))
        return self.head(self.enc(h).mean(1))


class LastState(nn.Module):
    def __init__(self, packed):
        super().__init__()
        self.emb, self.rnn, self.head = (
            nn.Embedding(400, 32),
            nn.GRU(32, 48, batch_first=True),
            nn.Linear(48, 2),
        )
        self.packed = packed

    def forward(self, ids, lens):
        h = self.rnn(self.emb(ids))[0]
        if self.packed:
            return self.head(h[torch.arange(len(h)), lens - 1])
        return self.head(h[:, -1])


class ListData(torch.utils.data.Dataset):
    def __init__(self, ids, y):
        self.ids, self.y = ids, y

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, k):
        return {
            "input_ids": self.ids[k],
            "attention_mask": (self.ids[k] > 0).long(),
            "labels": self.y[k],
        }


def bert_trainer(record, seed, lr, warmup=10, steps=200):
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    torch.manual_seed(seed)
    ids, y, _ = reviews(4000, seed)
    iv, yv, _ = reviews(500, seed + 1)
    cfg = BertConfig(
        vocab_size=400,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        num_labels=2,
    )
    model = BertForSequenceClassification(cfg)
    with tempfile.TemporaryDirectory() as tmp:
        args = TrainingArguments(
            output_dir=tmp,
            max_steps=steps,
            per_device_train_batch_size=64,
            learning_rate=lr,
            logging_steps=10,
            warmup_steps=warmup,
            report_to=[],
            use_cpu=True,
            seed=seed,
            disable_tqdm=True,
            save_strategy="no",
            eval_strategy="steps",
            eval_steps=100,
            max_grad_norm=1.0,
            log_level="error",
        )
        trainer = Trainer(
            model=model, args=args, train_dataset=ListData(ids, y), eval_dataset=ListData(iv, yv)
        )
        from transformers.trainer_callback import PrinterCallback

        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(record.callback("transformers"))
        trainer.train()
    model.eval()
    with torch.no_grad():
        score(
            accuracy(model(input_ids=iv, attention_mask=(iv > 0).long()).logits, yv),
            max(yv.float().mean(), 1 - yv.float().mean()),
        )
