"""Text: classification, language models, sequence to sequence. Pairs."""

import math
import torch.utils.checkpoint
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from data_parts import *
from seq_parts import *


@pair("labels are the inputs themselves (shift by one forgotten): it learns to copy", "gross")
def lm_targets_not_shifted(record, seed, faulty):
    torch.manual_seed(seed)
    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = GPT(d=40, tie=False)
    opt = torch.optim.AdamW(m.parameters(), lr=2e-3)
    with record(m, opt) as hook:
        for s in range(250):
            x, y = chunk(tr, 12, 64)
            if faulty:
                y = x
            loss = F.cross_entropy(m(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(-lm_score(m, te), unigram(te))


@pair("no causal mask in the decoder: it sees the token it has to predict", "gross")
def lm_no_causal_mask(record, seed, faulty):
    torch.manual_seed(seed)
    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = GPT(d=48, h=6, ctx=32, causal=not faulty)
    opt = torch.optim.Adam(m.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 350, 3e-4)
    with record(m, opt) as hook:
        for s in range(350):
            x, y = chunk(tr, 16, 32)
            loss = F.cross_entropy(m(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if s % 70 == 69:
                with record.evaluation(hook):
                    hook.record_tensor_value("val_loss", lm_score(m, te, 32).item())
        # use as a generator: the next letter after a prefix, as it would be used
        with torch.no_grad():
            x, y = chunk(te, 150, 31)
            ls = [F.cross_entropy(m(x[:, :k])[:, -1], y[:, k - 1]) for k in range(4, 31, 4)]
        score(-sum(ls) / len(ls), unigram(te))


@pair(
    "rate 0.05 without warm-up or clipping in a transformer: collapses to letter frequencies",
    "gross",
)
def lm_lr_too_high(record, seed, faulty):
    torch.manual_seed(seed)
    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = GPT(d=48, layers=3, ctx=48)
    opt = torch.optim.AdamW(m.parameters(), lr=0.05 if faulty else 2e-3, weight_decay=0.01)
    with record(m, opt) as hook:
        for s in range(250):
            x, y = chunk(tr, 10, 48)
            loss = F.cross_entropy(m(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(-lm_score(m, te, 48), unigram(te))


@pair(
    "(B,T,C) logits reshaped through view(C,-1).T style mix-up: batch and class axes are confused",
    "gross",
)
def tagger_wrong_view(record, seed, faulty):
    torch.manual_seed(seed)

    def make(n):
        x = torch.randint(0, 30, (n, 15))
        prev = F.pad(x, (1, 0))[:, :-1]
        return x, (x + 2 * prev) % 5

    class Tag(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.g, self.o = (
                nn.Embedding(30, 32),
                nn.GRU(32, 64, batch_first=True, bidirectional=True),
                nn.Linear(128, 5),
            )

        def forward(self, x):
            return self.o(self.g(self.e(x))[0])

    m = Tag()
    opt = torch.optim.Adam(m.parameters(), lr=5e-3)
    crit = nn.CrossEntropyLoss()
    with record(m, opt, crit) as hook:
        for s in range(400):
            x, y = make(40)
            o = m(x)
            loss = crit(o.reshape(40, 5, 15) if faulty else o.transpose(1, 2), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            x, y = make(400)
            score(acc(m(x), y), 0.2)


@pair("padding (most positions) is counted in the loss of the tagger: no ignore_index", "middling")
def tagger_padding_in_loss(record, seed, faulty):
    torch.manual_seed(seed)

    def make(n):
        x = torch.randint(1, 30, (n, 60))
        L = torch.randint(4, 12, (n, 1))
        pad = torch.arange(60) >= L
        y = (x + 3 * F.pad(x, (2, 0))[:, :-2]) % 6 + 1
        return x.masked_fill(pad, 0), y.masked_fill(pad, 0)

    class Tag(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.g, self.o = (
                nn.Embedding(30, 24),
                nn.LSTM(24, 64, batch_first=True),
                nn.Linear(64, 7),
            )

        def forward(self, x):
            return self.o(self.g(self.e(x))[0])

    m = Tag()
    opt = torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9)
    crit = nn.CrossEntropyLoss() if faulty else nn.CrossEntropyLoss(ignore_index=0)
    with record(m, opt, crit) as hook:
        for s in range(500):
            x, y = make(24)
            loss = crit(m(x).transpose(1, 2), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            x, y = make(400)
            k = y > 0
            score((m(x).argmax(-1) == y)[k].float().mean(), 1 / 6)


@pair(
    "the last LSTM output is taken at the padded end, after many pad steps, instead of at the true length",
    "gross",
)
def reviews_lstm_last_pad(record, seed, faulty):
    torch.manual_seed(seed)
    X, L, y = reviews(4000, seed)
    Xt, Lt, yt = reviews(1000, seed + 1)
    X, Xt = F.pad(X, (0, 40)), F.pad(Xt, (0, 40))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.l, self.o = (
                nn.Embedding(200, 32),
                nn.LSTM(32, 48, batch_first=True),
                nn.Linear(48, 1),
            )

        def forward(self, x, n):
            h = self.l(self.e(x))[0]
            h = h[:, -1] if faulty else h[torch.arange(len(x)), n - 1]
            return self.o(h)[:, 0]

    m = Net()
    opt = torch.optim.Adam(m.parameters(), lr=3e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(m, opt, crit) as hook:
        for s in range(350):
            i = torch.randint(0, 4000, (40,))
            loss = crit(m(X[i], L[i]), y[i].float())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(((m(Xt, Lt) > 0).long() == yt).float().mean(), 0.5)


@pair(
    "the vocabulary is rebuilt on the test set, so token ids differ between training and test",
    "gross",
)
def reviews_vocab_mismatch(record, seed, faulty):
    torch.manual_seed(seed)
    X, L, y = reviews(4000, seed)
    Xt, Lt, yt = reviews(1000, seed + 1)
    if faulty:
        p = torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(199)])
        Xt = p[Xt]
    m = nn.Sequential(
        nn.EmbeddingBag(200, 32, mode="sum", padding_idx=0),
        nn.ReLU(),
        nn.Linear(32, 32),
        nn.ReLU(),
        nn.Linear(32, 2),
    )
    opt = torch.optim.Adam(m.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    with record(m, opt, crit) as hook:
        for ep in range(4):
            for b in torch.randperm(4000).split(40):
                loss = crit(m(X[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(m(Xt), yt).item())
        with torch.no_grad():
            score(acc(m(Xt), yt), 0.5)


@pair(
    "seq2seq is fed the target unshifted (teacher forcing leak): fine loss, useless when it decodes",
    "gross",
)
def seq2seq_target_leak(record, seed, faulty):
    torch.manual_seed(seed)
    V, T = 14, 6

    def make(n):
        s = torch.randint(2, V, (n, T))
        return s, s.sort(1).values

    class S(nn.Module):
        def __init__(self, d=64):
            super().__init__()
            self.e = nn.Embedding(V, d)
            self.enc = nn.GRU(d, d, batch_first=True, bidirectional=False)
            self.dec = nn.GRU(d, d, batch_first=True)
            self.o = nn.Linear(d, V)

        def forward(self, s, t):
            _, h = self.enc(self.e(s))
            return self.o(self.dec(self.e(t), h)[0])

    m = S()
    opt = torch.optim.Adam(m.parameters(), lr=4e-3)
    crit = nn.CrossEntropyLoss()
    with record(m, opt, crit) as hook:
        for s in range(600):
            a, b = make(64)
            inp = b if faulty else torch.cat([torch.ones(64, 1, dtype=torch.long), b[:, :-1]], 1)
            loss = crit(m(a, inp).transpose(1, 2), b)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            a, b = make(300)
            t = torch.ones(300, 1, dtype=torch.long)
            for _ in range(T):
                t = torch.cat([t, m(a, t)[:, -1:].argmax(-1)], 1)
            score((t[:, 1:] == b).float().mean(), 0.1)


@pair(
    "no gradient clipping in an RNN with an identity recurrent matrix (ReLU): gradients explode",
    "gross",
)
def rnn_no_clip(record, seed, faulty):
    torch.manual_seed(seed)
    tr, te = encode(corpus(2500, seed)), encode(corpus(300, seed + 1))

    class R(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(len(CHARS), 24)
            self.r = nn.RNN(24, 96, batch_first=True, nonlinearity="relu")
            self.o = nn.Linear(96, len(CHARS))
            nn.init.eye_(self.r.weight_hh_l0)

        def forward(self, x):
            return self.o(self.r(self.e(x))[0])

    m = R()
    opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    with record(m, opt) as hook:
        for s in range(400):
            x, y = chunk(tr, 20, 48)
            loss = F.cross_entropy(m(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            if not faulty:
                nn.utils.clip_grad_norm_(m.parameters(), 0.5)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(torch.nan_to_num(-lm_score(m, te, 48), nan=-99.0).clamp(min=-99), unigram(te))


@pair(
    "embedding initialised with unit variance and tied to the output head: huge logits at the start",
    "middling",
)
def lm_tied_init_too_large(record, seed, faulty):
    torch.manual_seed(seed)
    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = GPT(d=64, layers=2, ctx=48)
    if faulty:
        nn.init.normal_(m.te.weight)
    opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
    with record(m, opt) as hook:
        for s in range(250):
            x, y = chunk(tr, 10, 48)
            loss = F.cross_entropy(m(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(-lm_score(m, te, 48), unigram(te))
