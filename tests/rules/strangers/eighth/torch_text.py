"""Text: classifiers, taggers, language models."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import chain, batches, acc


class CausalLM(nn.Module):
    def __init__(
        self,
        vocab=12,
        d=32,
        heads=4,
        layers=2,
        length=24,
        tied=False,
        causal=True,
        pos=True,
        scale=None,
        axis=-1,
    ):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(length, d) if pos else None
        self.blocks = nn.ModuleList(
            [
                nn.ModuleDict(
                    dict(
                        n1=nn.LayerNorm(d),
                        qkv=nn.Linear(d, 3 * d),
                        o=nn.Linear(d, d),
                        n2=nn.LayerNorm(d),
                        up=nn.Linear(d, 4 * d),
                        down=nn.Linear(4 * d, d),
                    )
                )
                for _ in range(layers)
            ]
        )
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, vocab, bias=False)
        self.h, self.causal, self.axis = heads, causal, axis
        self.scale = scale or (d // heads) ** -0.5
        if tied:
            self.out.weight = self.tok.weight
            nn.init.normal_(self.tok.weight, std=0.05)

    def forward(self, x):
        B, T = x.shape
        z = self.tok(x)
        if self.pos is not None:
            z = z + self.pos(torch.arange(T))
        m = torch.ones(T, T).tril().bool()
        for b in self.blocks:
            q, k, v = (
                t.view(B, T, self.h, -1).transpose(1, 2) for t in b["qkv"](b["n1"](z)).chunk(3, -1)
            )
            s = q @ k.transpose(-1, -2) * self.scale
            if self.causal:
                s = s.masked_fill(~m, float("-inf"))
            a = s.softmax(self.axis)
            z = z + b["o"]((a @ v).transpose(1, 2).reshape(B, T, -1))
            z = z + b["down"](F.gelu(b["up"](b["n2"](z))))
        return self.out(self.norm(z))


@torch.no_grad()
def next_acc(model, s, cut=(8, 14, 20)):
    """Next token from a prefix only, relative to the greatest possible being below one."""
    return sum(acc(model(s[:, :c])[:, -1], s[:, c]) for c in cut) / len(cut)


def lm(
    record,
    seed,
    model,
    faulty=False,
    *,
    opt=None,
    steps=300,
    bs=32,
    shift=True,
    targets=None,
    sched=None,
    clip=1.0,
    inputs=None,
    vocab=12,
    sharp=3.0,
    s=None,
):
    if s is None:
        s = chain(1600, 24, seed, vocab, sharp)
    tr, va = s[:1300], s[1300:]
    opt = opt or torch.optim.AdamW(model.parameters(), 3e-3)
    i = 0
    with record(model, opt) as hook:
        while i < steps:
            model.train()
            for (b,) in batches(tr, bs=bs):
                x, y = (b[:, :-1], b[:, 1:]) if shift else (b, b)
                logits = model(inputs(x) if inputs else x)
                loss = F.cross_entropy(
                    logits.reshape(-1, logits.shape[-1]), (targets(y) if targets else y).reshape(-1)
                )
                opt.zero_grad()
                loss.backward()
                if clip:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                opt.step()
                if sched:
                    sched.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
                i += 1
                if i == steps:
                    break
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                o = model(va[:, :-1])
                hook.record_tensor_value(
                    "val_loss", F.cross_entropy(o.flatten(0, 1), va[:, 1:].flatten())
                )
    f = torch.bincount(tr.flatten()).float()
    score(next_acc(model, va), float(f.max() / f.sum()))


@healthy
def text_causal_lm_adamw(record, seed):
    torch.manual_seed(seed)
    lm(record, seed, CausalLM())


@healthy
def text_causal_lm_tied_warmup(record, seed):
    torch.manual_seed(seed)
    m = CausalLM(tied=True, layers=1, d=48)
    opt = torch.optim.Adam(m.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    noam = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: 48**-0.5 * min((s + 1) ** -0.5, (s + 1) * 80**-1.5) * 0.5
    )
    lm(record, seed, m, opt=opt, sched=noam, steps=400)


class GRULM(nn.Module):
    def __init__(self, vocab=12, d=48, kind=nn.GRU):
        super().__init__()
        self.e = nn.Embedding(vocab, 16)
        self.r = kind(16, d, batch_first=True)
        self.o = nn.Linear(d, vocab)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


def topics(seed, n=1600, length=20, vocab=120, classes=4, pad=True):
    """Bags of words with topics; token 0 is padding."""
    g = torch.Generator().manual_seed(31 + seed)
    p = torch.softmax(torch.randn(classes, vocab, generator=g) * 0.55, -1)
    y = torch.randint(0, classes, (n,), generator=g)
    s = torch.multinomial(p[y], length, replacement=True, generator=g) + 1
    if pad:
        ln = torch.randint(6, length + 1, (n,), generator=g)
        s[torch.arange(length)[None] >= ln[:, None]] = 0
    return s, y


class Bag(nn.Module):
    def __init__(self, vocab=121, d=24, k=4, masked=True):
        super().__init__()
        self.e = nn.Embedding(vocab, d, padding_idx=0 if masked else None)
        self.f = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, k))
        self.masked = masked

    def forward(self, s):
        m = (s != 0).float()[..., None] if self.masked else torch.ones(*s.shape, 1)
        return self.f((self.e(s) * m).sum(1) / m.sum(1))


def classify(
    record,
    seed,
    model,
    s,
    y,
    opt=None,
    epochs=10,
    bs=50,
    sv_edit=None,
    st_edit=None,
    crit=None,
    k=4,
):
    st, yt, sv, yv = s[:1200], y[:1200], s[1200:], y[1200:]
    if sv_edit:
        sv = sv_edit(sv)
    if st_edit:
        st, yt = st_edit(st, yt)
    opt = opt or torch.optim.Adam(model.parameters(), 5e-3)
    crit = crit or nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for ep in range(epochs):
            model.train()
            for a, b in batches(st, yt, bs=bs):
                model.zero_grad()
                loss = crit(model(a), b)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(sv), yv).item())
    with torch.no_grad():
        score(acc(model(sv), yv), 1 / k)


@healthy
def text_frozen_embeddings(record, seed):
    """Pretrained vectors stay frozen."""
    torch.manual_seed(seed)
    s, y = topics(seed)
    counts = torch.zeros(121, 121)
    for t in s[:1200]:
        w = t[t > 0]
        counts[w[:, None], w[None]] += 1
    u, sv, _ = torch.linalg.svd(
        (counts / counts.sum(1, keepdim=True).clamp(min=1)) - counts.sum(0) / counts.sum()
    )
    m = Bag()
    m.e.weight.data = u[:, :24] * 3
    m.e.weight.requires_grad_(False)
    classify(record, seed, m, s, y, opt=torch.optim.AdamW(m.f.parameters(), 5e-3), epochs=12)


@healthy
def text_tagger_ignore_index(record, seed):
    torch.manual_seed(seed)
    s = chain(900, 20, seed, 10, 2.0)
    prev = torch.cat([s.new_zeros(len(s), 1), s[:, :-1]], 1)
    g = torch.Generator().manual_seed(seed)
    tags = torch.randint(0, 5, (10, 10), generator=g)[prev, s]
    ln = torch.randint(8, 21, (900,))
    off = torch.arange(20)[None] >= ln[:, None]
    tags[off] = -100
    s = s + 1
    s[off] = 0
    e, r, o = (
        nn.Embedding(11, 16, padding_idx=0),
        nn.LSTM(16, 24, bidirectional=True, batch_first=True),
        nn.Linear(48, 5),
    )
    m = nn.ModuleList([e, r, o])
    opt = torch.optim.Adam(m.parameters(), 8e-3)
    crit = nn.CrossEntropyLoss(ignore_index=-100)
    f = lambda a: o(r(e(a))[0])
    with record(m, opt, crit) as hook:
        for ep in range(10):
            for a, b in batches(s[:700], tags[:700], bs=32):
                loss = crit(f(a).transpose(1, 2), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    with torch.no_grad():
        k = tags[700:] >= 0
        score((f(s[700:]).argmax(-1) == tags[700:])[k].float().mean(), 0.25)


@pair("no causal mask: the language model looks at the token it shall predict", "gross")
def text_lm_no_causal_mask(record, seed, faulty):
    torch.manual_seed(seed)
    lm(record, seed, CausalLM(causal=not faulty))


@pair("targets are not shifted: the model copies its input", "gross")
def text_lm_not_shifted(record, seed, faulty):
    torch.manual_seed(seed)
    lm(record, seed, CausalLM(), shift=not faulty)


@pair("attention softmax over the query axis", "gross")
def text_attention_axis(record, seed, faulty):
    torch.manual_seed(seed)
    lm(record, seed, CausalLM(axis=-2 if faulty else -1, layers=1))


@pair("no positions in a causal model whose target depends on the token two back", "middling")
def text_no_positions(record, seed, faulty):
    torch.manual_seed(seed)
    lm(record, seed, CausalLM(pos=not faulty, layers=1), steps=350)


@pair("logits (B, T, V) are viewed as (B, V, T) instead of transposed", "gross")
def text_view_not_transpose(record, seed, faulty):
    torch.manual_seed(seed)
    s = chain(1600, 24, seed, 12, 3.0)
    m = GRULM()
    opt = torch.optim.Adam(m.parameters(), 5e-3)
    crit = nn.CrossEntropyLoss()
    with record(m, opt, crit) as hook:
        for ep in range(8):
            for (b,) in batches(s[:1300], bs=32):
                o = m(b[:, :-1])
                loss = crit(
                    o.reshape(o.shape[0], o.shape[2], o.shape[1]) if faulty else o.transpose(1, 2),
                    b[:, 1:],
                )
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    score(next_acc(m, s[1300:]), 1 / 12)


@pair("recurrent net without batch_first on batch-first data: time and batch are mixed up", "gross")
def text_batch_first(record, seed, faulty):
    torch.manual_seed(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(12, 12)
            self.r = nn.GRU(12, 40, batch_first=not faulty)
            self.o = nn.Linear(40, 2)

        def forward(self, s):
            return self.o(self.r(self.e(s))[0][:, -1])

    s = torch.randint(0, 12, (1600, 8))
    y = ((s < 6).sum(1) > 4).long() ^ (s[:, -1] > 8).long()
    m = Net()
    classify(record, seed, m, s, y, k=2, epochs=14)


@pair("last state of a padded sequence is that of the padding", "gross")
def text_last_state_padding(record, seed, faulty):
    torch.manual_seed(seed)
    s = torch.randint(1, 11, (1600, 24))
    ln = torch.randint(5, 25, (1600,))
    s[torch.arange(24)[None] >= ln[:, None]] = 0
    y = (s[torch.arange(1600), ln - 1] + s[torch.arange(1600), ln - 2]) % 4

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(11, 16)
            self.r = nn.RNN(16, 48, batch_first=True)
            self.o = nn.Linear(48, 4)

        def forward(self, s):
            h = self.r(self.e(s))[0]
            if faulty:
                return self.o(h[:, -1])
            return self.o(h[torch.arange(len(s)), (s != 0).sum(1) - 1])

    m = Net()
    classify(record, seed, m, s, y, opt=torch.optim.Adam(m.parameters(), 3e-3), epochs=20)
