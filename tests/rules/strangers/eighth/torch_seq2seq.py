"""Translation, masked language models, sequence encoders."""

import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import chain, batches, acc

PAD, BOS, EOS = 0, 1, 2


def translation(n, seed, vocab=14, lo=4, hi=8):
    """Source words 3.. ; target: every word substituted and the order reversed."""
    g = torch.Generator().manual_seed(60 + seed)
    sub = torch.randperm(vocab - 3, generator=g) + 3
    src = torch.zeros(n, hi, dtype=torch.long)
    tgt = torch.zeros(n, hi + 2, dtype=torch.long)
    for i in range(n):
        k = int(torch.randint(lo, hi + 1, (1,), generator=g))
        w = torch.randint(3, vocab, (k,), generator=g)
        src[i, :k] = w
        tgt[i, 0] = BOS
        tgt[i, 1 : k + 1] = sub[w.flip(0) - 3]
        tgt[i, k + 1] = EOS
    return src, tgt


class S2S(nn.Module):
    def __init__(self, vocab=14, d=48, attend=True, mask_src=True):
        super().__init__()
        self.es, self.et = nn.Embedding(vocab, 24), nn.Embedding(vocab, 24)
        self.enc = nn.GRU(24, d, batch_first=True, bidirectional=True)
        self.dec = nn.GRU(24, 2 * d, batch_first=True)
        self.out = nn.Linear(4 * d, vocab)
        self.mask_src = mask_src

    def forward(self, src, tin):
        m, h = self.enc(self.es(src))
        h = torch.cat([h[0], h[1]], -1)[None]
        o, _ = self.dec(self.et(tin), h)
        s = o @ m.transpose(1, 2) / m.shape[-1] ** 0.5
        if self.mask_src:
            s = s.masked_fill((src == PAD)[:, None], -1e9)
        return self.out(torch.cat([o, s.softmax(-1) @ m], -1))


@torch.no_grad()
def greedy_acc(model, src, tgt):
    y = torch.full((len(src), 1), BOS)
    for _ in range(tgt.shape[1] - 1):
        y = torch.cat([y, model(src, y)[:, -1:].argmax(-1)], 1)
    k = tgt[:, 1:] != PAD
    return float((y[:, 1:] == tgt[:, 1:])[k].float().mean())


def s2s(
    record,
    seed,
    model=None,
    ignore=True,
    shift=True,
    sampling=None,
    steps=350,
    opt=None,
    shuffle_src=False,
    clip=1.0,
):
    src, tgt = translation(1800, seed)
    model = model or S2S()
    opt = opt or torch.optim.Adam(model.parameters(), 4e-3)
    crit = nn.CrossEntropyLoss(ignore_index=PAD if ignore else -100)
    i = 0
    with record(model, opt, crit) as hook:
        while i < steps:
            for a, b in batches(src[:1500], tgt[:1500], bs=40):
                tin, y = (b[:, :-1], b[:, 1:]) if shift else (b, b)
                if sampling:
                    tin = sampling(tin)
                loss = crit(model(a, tin).flatten(0, 1), y.flatten())
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), clip)
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
                i += 1
                if i == steps:
                    break
    score(greedy_acc(model, src[1500:], tgt[1500:]), 0.1)


@healthy
def seq2seq_gru_attention(record, seed):
    torch.manual_seed(seed)
    s2s(record, seed)


@pair("padding counts in the loss of short sequences padded to forty", "middling")
def seq2seq_padding_in_loss(record, seed, faulty):
    torch.manual_seed(seed)
    src, tgt = translation(1800, seed)
    tgt = F.pad(tgt, (0, 30))
    model = S2S()
    opt = torch.optim.Adam(model.parameters(), 4e-3)
    crit = nn.CrossEntropyLoss(ignore_index=-100 if faulty else PAD)
    with record(model, opt, crit) as hook:
        for ep in range(4):
            for a, b in batches(src[:1500], tgt[:1500], bs=40):
                loss = crit(model(a, b[:, :-1]).transpose(1, 2), b[:, 1:])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    score(greedy_acc(model, src[1500:], tgt[1500:, :10]), 0.1)


class MLM(nn.Module):
    def __init__(self, vocab=13, d=32, length=20, layers=1, drop=0.0):
        super().__init__()
        self.e, self.p = nn.Embedding(vocab, d), nn.Parameter(torch.randn(length, d) * 0.1)
        layer = nn.TransformerEncoderLayer(
            d, 4, 2 * d, drop, "gelu", batch_first=True, norm_first=True
        )
        self.enc = nn.TransformerEncoder(layer, layers, nn.LayerNorm(d), enable_nested_tensor=False)
        self.conv = nn.Conv1d(d, d, 3, padding=1)
        self.o = nn.Linear(d, vocab)

    def forward(self, s):
        z = self.e(s) + self.p[: s.shape[1]]
        z = z + F.gelu(self.conv(z.transpose(1, 2))).transpose(1, 2)
        return self.o(self.enc(z))


def mlm(
    record,
    seed,
    *,
    rate=0.15,
    apply_mask=True,
    only_masked=True,
    steps=350,
    model=None,
    fixed=None,
    lr=4e-3,
):
    g = torch.Generator().manual_seed(seed)
    p = torch.softmax(torch.randn(12, 12, generator=g) * 2.5, -1)
    s = torch.randint(0, 12, (1700, 20), generator=g)
    for t in range(1, 20):
        s[:, t] = torch.multinomial(p[s[:, t - 1]], 1, generator=g)[:, 0]
    model = model or MLM()
    opt = torch.optim.AdamW(model.parameters(), lr)
    sch = torch.optim.lr_scheduler.OneCycleLR(opt, lr, total_steps=steps, pct_start=0.1)
    i = 0

    def hide(b, r):
        m = torch.rand(b.shape) < r
        if fixed is not None:
            m = fixed.expand_as(b)
        return torch.where(m, torch.full_like(b, 12), b), m

    with record(model, opt) as hook:
        while i < steps:
            for (b,) in batches(s[:1400], bs=40):
                x, m = hide(b, rate)
                o = model(x if apply_mask else b)
                loss = (
                    F.cross_entropy(o[m], b[m])
                    if only_masked
                    else F.cross_entropy(o.flatten(0, 1), b.flatten())
                )
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sch.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
                i += 1
                if i == steps:
                    break
    v = s[1400:]
    with torch.no_grad():
        a = []
        for j in range(3, 18, 3):
            x = v.clone()
            x[:, j] = 12
            a.append(acc(model(x)[:, j], v[:, j]))
    f = torch.bincount(s.flatten()).float()
    score(sum(a) / len(a), float(f.max() / f.sum()))


@healthy
def masked_lm_transformer(record, seed):
    torch.manual_seed(seed)
    mlm(record, seed, rate=0.2)


@pair("the masked-language model is given the unmasked input", "gross")
def mlm_mask_not_applied(record, seed, faulty):
    torch.manual_seed(seed)
    mlm(record, seed, apply_mask=not faulty)


class Encoder(nn.Module):
    def __init__(self, d=32, mask=True, mean=True, invert=False):
        super().__init__()
        self.e = nn.Embedding(21, d)
        layer = nn.TransformerEncoderLayer(d, 2, 64, 0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.o = nn.Linear(d, 3)
        self.mask, self.invert = mask, invert

    def forward(self, s):
        pad = s == 0
        if self.invert:
            pad = ~pad
            pad[:, -1] = False
        z = self.enc(self.e(s), src_key_padding_mask=pad if self.mask else None)
        if not self.mask:
            return self.o(z.mean(1))
        k = (~pad).float()[..., None]
        return self.o((z * k).sum(1) / k.sum(1))


def counted(seed, n=1700, length=40):
    """Which of three groups of words has the largest share."""
    s = torch.randint(1, 21, (n, length))
    bias = torch.randint(0, 3, (n, 1))
    s = torch.where(
        torch.rand(n, length) < 0.25, bias * 7 + 1 + torch.randint(0, 6, (n, length)), s
    )
    ln = torch.randint(5, 16, (n, 1)).expand(n, length).clone()
    ln[: n // 3] = torch.randint(25, 40, (n // 3, 1))
    s[torch.arange(length)[None] >= ln] = 0
    grp = ((s - 1) // 7).clamp(0, 2)
    c = torch.stack([((grp == g) & (s > 0)).sum(1) for g in range(3)], 1)
    p = torch.randperm(n)
    return s[p], c.argmax(1)[p]


def encode(record, seed, model, opt=None, epochs=7, longer=0):
    s, y = counted(seed)
    opt = opt or torch.optim.Adam(model.parameters(), 2e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for ep in range(epochs):
            model.train()
            for a, b in batches(s[:1300], y[:1300], bs=32):
                opt.zero_grad()
                loss = crit(model(a), b)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value(
                    "val_loss", crit(model(F.pad(s[1300:], (0, longer))), y[1300:])
                )
    with torch.no_grad():
        score(acc(model(F.pad(s[1300:], (0, longer))), y[1300:]), 1 / 3)


@healthy
def encoder_padded_mean(record, seed):
    torch.manual_seed(seed)
    encode(record, seed, Encoder())


@pair("the padding mask is inverted: only padding is attended to", "gross")
def encoder_mask_inverted(record, seed, faulty):
    torch.manual_seed(seed)
    encode(record, seed, Encoder(invert=faulty))


@pair(
    "padding is neither masked nor left out of the mean, and served batches are padded longer",
    "mild",
)
def encoder_padding_unmasked(record, seed, faulty):
    torch.manual_seed(seed)
    encode(record, seed, Encoder(mask=not faulty), epochs=5, longer=60)
