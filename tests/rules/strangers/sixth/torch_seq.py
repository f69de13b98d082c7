"""Text: classification, language models, sequence to sequence. Fine trainings."""

import math
import torch.utils.checkpoint
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from data_parts import *
from seq_parts import *


@healthy
def chargpt_adamw_warmup_cosine(record, seed):
    torch.manual_seed(seed)
    tr, te = encode(corpus(4000, seed)), encode(corpus(400, seed + 1))
    model = GPT()
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() < 2]
    opt = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
        lr=3e-3,
        betas=(0.9, 0.95),
    )
    steps, warm = 300, 40
    with record(model, opt) as hook:
        for s in range(steps):
            lr = 3e-3 * (
                (s + 1) / warm
                if s < warm
                else 0.1 + 0.45 * (1 + math.cos(math.pi * (s - warm) / (steps - warm)))
            )
            for g in opt.param_groups:
                g["lr"] = lr
            x, y = chunk(tr, 12, 64)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
            hook.record_tensor_value("train/loss", loss.item())
            hook.end_step()
            if s % 50 == 49:
                with record.evaluation(hook):
                    hook.record_tensor_value("val/loss", lm_score(model, te).item())
        score(-lm_score(model, te), unigram(te))


@healthy
def charlstm_sgd_clip_plateau(record, seed):
    """Truncated BPTT with carried state, big SGD rate and clipping, rate cut on plateau (the classic AWD style)."""
    torch.manual_seed(seed)
    tr, te = encode(corpus(2500, seed)), encode(corpus(300, seed + 1))
    B, T = 20, 30
    n = len(tr) // B
    data = tr[: n * B].view(B, n)

    class LM(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.l, self.o = (
                nn.Embedding(len(CHARS), 32),
                nn.LSTM(32, 96, batch_first=True),
                nn.Linear(96, len(CHARS)),
            )

        def forward(self, x, h=None):
            z, h = self.l(self.e(x), h)
            return self.o(z), h

    m = LM()
    opt = torch.optim.SGD(m.parameters(), lr=5.0)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=0)
    ce = nn.CrossEntropyLoss()
    with record(m, opt, ce) as hook:
        for ep in range(4):
            h = None
            for i in range(0, n - T - 1, T):
                x, y = data[:, i : i + T], data[:, i + 1 : i + T + 1]
                if h is not None:
                    h = tuple(t.detach() for t in h)
                out, h = m(x, h)
                loss = ce(out.flatten(0, 1), y.flatten())
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(m.parameters(), 0.25)
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                v = ce(m(te[None, :-1])[0][0], te[1:])
                hook.record_tensor_value("val_loss", v.item())
            sched.step(v)
        score(-v, unigram(te))


@healthy
def reviews_bag_of_embeddings(record, seed):
    torch.manual_seed(seed)
    X, L, y = reviews(4000, seed)
    Xt, Lt, yt = reviews(1000, seed + 1)

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(200, 32, padding_idx=0)
            self.c = nn.Conv1d(32, 64, 3, padding=1)
            self.f = nn.Linear(64, 2)

        def forward(self, x):
            h = F.relu(self.c(self.e(x).transpose(1, 2)))
            h = h.masked_fill((x == 0)[:, None], -1e4)
            return self.f(F.dropout(h.amax(2), 0.3, self.training))

    m = Bag()
    opt = torch.optim.RMSprop(m.parameters(), lr=1e-3, momentum=0.5)
    crit = nn.CrossEntropyLoss()
    with record(m, opt, crit) as hook:
        for ep in range(6):
            m.train()
            for b in torch.randperm(4000).split(50):
                loss = crit(m(X[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            m.eval()
            with record.evaluation(hook), torch.no_grad():
                o = m(Xt)
                hook.record_tensor_value("val_loss", crit(o, yt))
                hook.record_tensor_value("val_acc", acc(o, yt))
        score(acc(m(Xt), yt), 0.5)


@healthy
def parity_long_plateau(record, seed):
    """The answer is the parity of three of eight bits: the loss stays at ln 2 for long and then falls."""
    torch.manual_seed(seed)

    def make(n):
        b = torch.randint(0, 2, (n, 8)).float()
        return b * 2 - 1, (b[:, 0].long() ^ b[:, 4].long() ^ b[:, 6].long())

    net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.8)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(1000):
            x, y = make(64)
            loss = crit(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        x, y = make(500)
        score(acc(net(x), y), 0.5)


@healthy
def reverse_seq2seq_transformer(record, seed):
    torch.manual_seed(seed)
    V, T = 12, 7

    def make(n):
        s = torch.randint(2, V, (n, T))
        return s, torch.cat([torch.ones(n, 1, dtype=torch.long), s.flip(1)], 1)

    class S2S(nn.Module):
        def __init__(self, d=48):
            super().__init__()
            self.e, self.p = nn.Embedding(V, d), nn.Parameter(torch.randn(T + 1, d) * 0.1)
            self.t = nn.Transformer(d, 4, 1, 2, 96, dropout=0.0, batch_first=True, norm_first=True)
            self.o = nn.Linear(d, V)

        def forward(self, s, t):
            m = nn.Transformer.generate_square_subsequent_mask(t.shape[1])
            return self.o(
                self.t(
                    self.e(s) + self.p[: s.shape[1]],
                    self.e(t) + self.p[: t.shape[1]],
                    tgt_mask=m,
                    tgt_is_causal=True,
                )
            )

    net = S2S()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min((s + 1) / 60, (60 / (s + 1)) ** 0.5)
    )
    crit = nn.CrossEntropyLoss(label_smoothing=0.05)
    with record(net, opt, crit) as hook:
        for s in range(450):
            a, b = make(48)
            loss = crit(net(a, b[:, :-1]).transpose(1, 2), b[:, 1:])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            a, b = make(200)
            t = b[:, :1]
            for _ in range(T):
                t = torch.cat([t, net(a, t)[:, -1:].argmax(-1)], 1)
            score((t[:, 1:] == b[:, 1:]).float().mean(), 0.1)


@healthy
def gpt_lion_accumulate_checkpointing(record, seed):
    torch.manual_seed(seed)

    class Lion(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
            super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

        @torch.no_grad()
        def step(self, closure=None):
            for g in self.param_groups:
                b1, b2 = g["betas"]
                for p in g["params"]:
                    if p.grad is None:
                        continue
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    p.mul_(1 - g["lr"] * g["weight_decay"]).add_(
                        (m * b1 + p.grad * (1 - b1)).sign(), alpha=-g["lr"]
                    )
                    m.mul_(b2).add_(p.grad, alpha=1 - b2)

    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = GPT(d=40, tie=False, norm=nn.RMSNorm, ctx=48)
    m.checkpoint = True
    opt = Lion(m.parameters(), lr=5e-4, weight_decay=0.1)
    with record(m, opt) as hook:
        for s in range(200):
            tot = 0
            for _ in range(3):
                x, y = chunk(tr, 5, 48)
                l = F.cross_entropy(m(x).flatten(0, 1), y.flatten()) / 3
                l.backward()
                tot += l.item()
            opt.step()
            opt.zero_grad()
            hook.record_tensor_value("loss", tot)
            hook.end_step()
        score(-lm_score(m, te, 48), unigram(te))


@healthy
def gpt_finetune_already_good(record, seed):
    """Continue with a small rate a model that is as good as it gets on the same kind of text: the loss hardly falls."""
    torch.manual_seed(seed)
    tr, te = encode(corpus(4000, seed)), encode(corpus(300, seed + 1))
    m = GPT(d=48)
    o = torch.optim.AdamW(m.parameters(), lr=3e-3)
    for s in range(280):
        x, y = chunk(tr, 12, 64)
        l = F.cross_entropy(m(x).flatten(0, 1), y.flatten())
        o.zero_grad()
        l.backward()
        o.step()
    new = encode(corpus(1500, seed + 3))
    opt = torch.optim.AdamW(m.parameters(), lr=5e-5)
    with record(m, opt) as hook:
        for s in range(150):
            x, y = chunk(new, 10, 64)
            loss = F.cross_entropy(m(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(-lm_score(m, te), unigram(te))


@healthy
def masked_lm_bf16_model(record, seed):
    """BERT-like masking with everything in bfloat16."""
    torch.manual_seed(seed)
    tr, te = encode(corpus(4000, seed)), encode(corpus(300, seed + 1))

    class MLM(nn.Module):
        def __init__(self, d=64, T=24):
            super().__init__()
            self.e, self.p = nn.Embedding(len(CHARS) + 1, d), nn.Parameter(torch.randn(T, d) * 0.02)
            self.b = nn.ModuleList(
                [
                    nn.Sequential(
                        nn.LayerNorm(d), nn.Conv1d(T, 2 * T, 1), nn.GELU(), nn.Conv1d(2 * T, T, 1)
                    )
                    for _ in range(2)
                ]
            )
            self.c = nn.ModuleList(
                [
                    nn.Sequential(
                        nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)
                    )
                    for _ in range(2)
                ]
            )
            self.o = nn.Linear(d, len(CHARS))

        def forward(self, i):
            x = self.e(i) + self.p
            for a, c in zip(self.b, self.c):
                x = x + a(x)
                x = x + c(x)
            return self.o(x)

    m = MLM().to(torch.bfloat16)
    opt = torch.optim.AdamW(m.parameters(), lr=3e-3, eps=1e-6)

    def batch(d, n, g=None):
        x = d[torch.randint(0, len(d) - 24, (n, 1), generator=g) + torch.arange(24)]
        k = torch.rand(x.shape, generator=g) < 0.15
        return x.masked_fill(k, len(CHARS)), x.masked_fill(~k, -100)

    with record(m, opt) as hook:
        for s in range(400):
            x, y = batch(tr, 32)
            loss = F.cross_entropy(m(x).float().flatten(0, 1), y.flatten(), ignore_index=-100)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("mlm_loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            x, y = batch(te, 300)
            score(-F.cross_entropy(m(x).float().flatten(0, 1), y.flatten()), unigram(te))
