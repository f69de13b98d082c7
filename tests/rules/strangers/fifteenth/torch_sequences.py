"""Characters, sequences to sequences, tagging, forecasting, waves, CTC."""

import math
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score

WORDS = "the cat sat on a mat and saw two red birds near old stone walls while rain fell over green hills".split()


def text(seed, n=9000):
    g = torch.Generator().manual_seed(seed)
    s, k = [], 0
    while len(s) < n:
        k = (k * 3 + int(torch.randint(3, (1,), generator=g))) % len(WORDS)
        s += list(WORDS[k] + " ")
    chars = sorted(set(s))
    return torch.tensor([chars.index(c) for c in s[:n]]), len(chars)


class Attention(nn.Module):
    def __init__(self, d, h, fault=None, causal=True):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.o = nn.Linear(d, d)
        self.h, self.fault, self.causal = h, fault, causal

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        if self.fault == "head_view":
            q, k, v = (a.reshape(B, self.h, T, d // self.h) for a in (q, k, v))
        else:
            q, k, v = (a.view(B, T, self.h, d // self.h).transpose(1, 2) for a in (q, k, v))
        s = q @ k.transpose(-1, -2)
        s = s * math.sqrt(d) if self.fault == "scale" else s / math.sqrt(d // self.h)
        if self.causal and self.fault != "no_mask":
            m = torch.ones(T, T, dtype=torch.bool).triu(1)
            s = s.masked_fill(m, -1e9) if self.fault != "zero_mask" else s.masked_fill(m, 0.0)
        a = s.softmax(-2 if self.fault == "dim" else -1)
        y = a @ v
        y = y.reshape(B, T, d) if self.fault == "merge" else y.transpose(1, 2).reshape(B, T, d)
        return self.o(y)


class Block(nn.Module):
    def __init__(self, d, h, fault=None):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.a = Attention(d, h, fault)
        self.f = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.a(self.n1(x))
        return x + self.f(self.n2(x))


class GPT(nn.Module):
    def __init__(self, V, d=32, h=4, layers=2, T=32, fault=None, tie=False):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.p = nn.Parameter(0.02 * torch.randn(T, d))
        self.b = nn.ModuleList(Block(d, h, fault) for _ in range(layers))
        self.n = nn.LayerNorm(d)
        self.out = nn.Linear(d, V, bias=False)
        nn.init.normal_(self.e.weight, std=0.1)
        if tie:
            self.out.weight = self.e.weight

    def forward(self, i):
        x = self.e(i) + self.p[: i.shape[1]]
        for b in self.b:
            x = b(x)
        return self.out(self.n(x))


def char_lm(
    record,
    seed,
    fault=None,
    steps=180,
    tie=False,
    lr=5e-3,
    opt="adamw",
    drop_batches=False,
    warm=20,
):
    torch.manual_seed(seed)
    s, V = text(seed)
    tr, va = s[:7500], s[7500:]
    T = 32
    model = GPT(V, fault=fault, tie=tie)
    o = (
        torch.optim.AdamW(model.parameters(), lr, betas=(0.9, 0.98))
        if opt == "adamw"
        else torch.optim.SGD(model.parameters(), lr, momentum=0.95)
    )
    sch = torch.optim.lr_scheduler.LambdaLR(
        o, lambda k: min(1, (k + 1) / warm) * (0.5 + 0.5 * math.cos(math.pi * k / steps))
    )
    crit = nn.CrossEntropyLoss()
    vi = torch.arange(0, 1400, 29)
    vx = torch.stack([va[i : i + T] for i in vi])
    vy = torch.stack([va[i + 1 : i + T + 1] for i in vi])
    off = {"same": 0, "two": 2}.get(fault, 1)
    with record(model, o, crit) as hook:
        for k in range(steps):
            model.train()
            i0 = torch.randint(len(tr) - T - 2, (24,))
            x = torch.stack([tr[i : i + T] for i in i0])
            y = torch.stack([tr[i + off : i + off + T] for i in i0])
            if drop_batches and k % 5 == 0:
                continue
            out = model(x)
            if fault == "view":
                l = crit(out.transpose(1, 2).reshape(-1, V), y.reshape(-1))
            else:
                l = crit(out.reshape(-1, V), y.reshape(-1))
            o.zero_grad()
            l.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            o.step()
            sch.step()
            if k % 45 == 44:
                with record.evaluation(hook):
                    model.eval()
                    with torch.no_grad():
                        crit(model(vx).reshape(-1, V), vy.reshape(-1))
    model.eval()
    with torch.no_grad():  # the last position only: as in generation
        nll = -F.cross_entropy(model(vx)[:, -1], vy[:, -1])
    f = torch.bincount(tr, minlength=V).float()
    f = f / f.sum()
    score(nll, f[vy[:, -1]].log().mean())


@healthy
def seq_char_gpt_tied(record, seed):
    """Small transformer with tied embeddings."""
    char_lm(record, seed, tie=True)


@healthy
def seq_char_gpt_long_warmup(record, seed):
    """Warm-up over half the run, some batches skipped."""
    char_lm(record, seed, warm=100, drop_batches=True, steps=220)


@pair(cause="no causal mask: the model sees the next character", severity="middling")
def seq_future_leak(record, seed, faulty):
    """Leaking future; worthless for generation."""
    char_lm(record, seed, "no_mask" if faulty else None)


@pair(cause="causal mask fills scores with 0 and not with -inf", severity="middling")
def seq_mask_with_zero(record, seed, faulty):
    """Future leaks in part."""
    char_lm(record, seed, "zero_mask" if faulty else None)


@pair(cause="targets not shifted: the model copies its input", severity="gross")
def seq_targets_not_shifted(record, seed, faulty):
    """Predicts the present character."""
    char_lm(record, seed, "same" if faulty else None)


@pair(cause="attention softmax over queries and not over keys", severity="mild")
def seq_attention_softmax_dim(record, seed, faulty):
    """Wrong dim in the own attention (leaks the future as well)."""
    char_lm(record, seed, "dim" if faulty else None)


@pair(cause="logits (B,V,T) reshaped to (-1,V): classes and positions are mixed", severity="gross")
def seq_logits_layout(record, seed, faulty):
    """transpose then view."""
    char_lm(record, seed, "view" if faulty else None)


@pair(
    cause="heads split by reshape(B,h,T,d) without transpose: positions mix past the mask",
    severity="middling",
)
def seq_head_split_reshape(record, seed, faulty):
    """Mixed up heads and time."""
    char_lm(record, seed, "head_view" if faulty else None)


@pair(cause="attention scores multiplied by sqrt(d) in place of divided", severity="mild")
def seq_attention_scale(record, seed, faulty):
    """Saturated softmax."""
    char_lm(record, seed, "scale" if faulty else None)


@pair(cause="heads merged by reshape without the transpose back", severity="middling")
def seq_heads_merged_wrong(record, seed, faulty):
    """Heads and positions are mixed on the way out."""
    char_lm(record, seed, "merge" if faulty else None)


# GRU language model and hidden states --------------------------------------------------------


class RNNLM(nn.Module):
    def __init__(self, V, d=48, kind=nn.GRU, batch_first=True):
        super().__init__()
        self.e = nn.Embedding(V, 16)
        self.r = kind(16, d, batch_first=batch_first)
        self.o = nn.Linear(d, V)

    def forward(self, x, h=None):
        y, h = self.r(self.e(x), h)
        return self.o(y), h


def gru_lm(record, seed, fault=None, kind=nn.GRU, epochs=3):
    torch.manual_seed(seed)
    s, V = text(seed, 10000)
    B, T = 16, 16
    tr = s[: 8192 + 0].view(B, -1)
    va = s[8192:9792].view(8, -1)
    model = RNNLM(V, kind=kind, batch_first=fault != "batch_first")
    o = torch.optim.RMSprop(model.parameters(), 4e-3)
    crit = nn.CrossEntropyLoss()
    ref = RNNLM(V, kind=kind)
    with record(model, o, crit) as hook:
        for ep in range(epochs):
            h = None
            for t in range(0, tr.shape[1] - T - 1, T):
                if fault == "batch_first":
                    h = None
                out, h = model(tr[:, t : t + T], h)
                h = h.detach() if torch.is_tensor(h) else tuple(a.detach() for a in h)
                if fault == "carry_wrong":
                    h = h.roll(1, 1)
                l = crit(out.flatten(0, 1), tr[:, t + 1 : t + T + 1].flatten())
                if fault == "double":
                    l = crit(out.softmax(-1).flatten(0, 1), tr[:, t + 1 : t + T + 1].flatten())
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                out, _ = model(va[:, :-1])
                crit(out.flatten(0, 1), va[:, 1:].flatten())
    with torch.no_grad():
        out, _ = model(va[:, :-1])
        v = crit(out.flatten(0, 1), va[:, 1:].flatten())
    f = torch.bincount(s[:8192], minlength=V).float()
    f = f / f.sum()
    score(-v, f[va[:, 1:]].log().mean())


@healthy
def seq_stateful_lstm(record, seed):
    """Stateful LSTM over consecutive chunks without shuffling, with the state detached."""
    gru_lm(record, seed, kind=nn.LSTM, epochs=4)


@pair(cause="batch_first left out: the GRU runs over the batch axis", severity="middling")
def seq_batch_first_forgotten(record, seed, faulty):
    """Recurrence across samples."""
    gru_lm(record, seed, "batch_first" if faulty else None)


@pair(cause="softmax inside the model before cross entropy", severity="gross")
def seq_softmax_in_lm(record, seed, faulty):
    """Double softmax over characters."""
    gru_lm(record, seed, "double" if faulty else None)


# padded classification -----------------------------------------------------------------------


def padded(record, seed, fault=None, kind="gru"):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n, L = 1400, 20
    ln = torch.randint(4, 13, (n,), generator=g)
    x = torch.randint(1, 12, (n, L), generator=g)
    mask = torch.arange(L)[None] < ln[:, None]
    x = x * mask
    if kind == "gru":
        y = (x.gather(1, ln[:, None] - 1)[:, 0] > 6) ^ (x[:, 0] > 6)  # first against last token
    else:
        y = ((x > 8) & mask).sum(1).float() / ln > ((x < 4) & mask).sum(1).float() / ln
    y = y.long()
    if fault == "left_pad_eval":
        pass

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(12, 16, padding_idx=0)
            self.r = nn.GRU(16, 32, batch_first=True)
            self.c = nn.Linear(32, 2)
            self.q = nn.Linear(32, 1)

        def forward(self, x, ln, m):
            z, _ = self.r(self.e(x))
            if kind == "gru":
                if fault == "last":
                    h = z[:, -1]
                elif fault == "len_off":
                    h = z[torch.arange(len(z)), (ln - 2)]
                else:
                    h = z[torch.arange(len(z)), ln - 1]
            else:
                s = self.q(z)[..., 0]
                s = s.masked_fill(m if fault == "mask_inverted" else ~m, -1e9)
                h = (s.softmax(1)[..., None] * z).sum(1)
            return self.c(h)

    model = Net()
    o = torch.optim.Adam(model.parameters(), 6e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, o, crit) as hook:
        for ep in range(14):
            order = torch.randperm(1100)
            for i in range(0, 1100, 50):
                b = order[i : i + 50]
                lb = ln[b]
                if fault == "sorted_len":  # rows sorted by length, labels not
                    srt = torch.argsort(lb, descending=True)
                    out = model(x[b][srt], lb[srt], mask[b][srt])
                else:
                    out = model(x[b], lb, mask[b])
                l = crit(out, y[b])
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                crit(model(x[1100:], ln[1100:], mask[1100:]), y[1100:])
    with torch.no_grad():
        p = model(x[1100:], ln[1100:], mask[1100:]).argmax(1)
    score((p == y[1100:]).float().mean(), torch.bincount(y[1100:]).max() / 300)


@healthy
def seq_xor_first_last_plateau(record, seed):
    """XOR of first and last token: a plateau, then it falls."""
    padded(record, seed)


@pair(cause="rows sorted by length for packing but labels left in the old order", severity="gross")
def seq_sorted_by_length(record, seed, faulty):
    """Labels not sorted along."""
    padded(record, seed, "sorted_len" if faulty else None)


# seq2seq -------------------------------------------------------------------------------------


def seq2seq(record, seed, fault=None, steps=240):
    torch.manual_seed(seed)
    V, T = 10, 7

    class S2S(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(V + 1, 32)
            self.p = nn.Parameter(0.3 * torch.randn(T, 32))
            self.pd = nn.Parameter(0.3 * torch.randn(T, 32))
            self.t = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True, norm_first=True)
            self.o = nn.Linear(32, V)

        def forward(self, s, t):
            ps, pt = (0, 0) if fault == "no_pos" else (self.p, self.pd)
            if fault == "pos_one":
                ps, pt = self.p[:1], self.pd[:1]
            m = (
                None
                if fault == "no_tgt_mask"
                else nn.Transformer.generate_square_subsequent_mask(T)
            )
            return self.o(self.t(self.e(s) + ps, self.e(t) + pt, tgt_mask=m))

    model = S2S()
    o = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.CrossEntropyLoss()

    def batch(n, g=None):
        s = torch.randint(V, (n, T), generator=g)
        return s, s.flip(1)

    vs, vt = batch(200, torch.Generator().manual_seed(seed + 1))

    def shift(t):
        return torch.cat([torch.full((len(t), 1), V), t[:, :-1]], 1)

    with record(model, o, crit) as hook:
        for k in range(steps):
            s, t = batch(48)
            di = t if fault == "no_shift" else shift(t)
            out = model(s, di)
            l = crit(out.flatten(0, 1), t.flatten())
            o.zero_grad()
            l.backward()
            o.step()
            if k % 60 == 59:
                with record.evaluation(hook):
                    model.eval()
                    with torch.no_grad():
                        crit(model(vs, shift(vt)).flatten(0, 1), vt.flatten())
                model.train()
    model.eval()
    d = torch.full((200, T), V)
    with torch.no_grad():
        for j in range(T):
            nx = model(vs, d)[:, j].argmax(1)
            if j + 1 < T:
                d[:, j + 1] = nx
            else:
                last = nx
    pred = torch.cat([d[:, 1:], last[:, None]], 1)
    score((pred == vt).float().mean(), 1 / V)


@healthy
def seq_reverse_transformer(record, seed):
    """Reversal of digits with an encoder and decoder: plateau, then a fall."""
    seq2seq(record, seed, steps=300)


@pair(cause="decoder input not shifted under teacher forcing: it sees the answer", severity="gross")
def seq_teacher_not_shifted(record, seed, faulty):
    """Loss falls to zero, free running is chance."""
    seq2seq(record, seed, "no_shift" if faulty else None)


@pair(cause="position encoding is the same for all positions (indexing slip)", severity="gross")
def seq_positions_constant(record, seed, faulty):
    """p[:1] for p[:T]."""
    seq2seq(record, seed, "pos_one" if faulty else None)


def tagging(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n, L, C = 900, 14, 5
    ln = torch.randint(4, L + 1, (n,), generator=g)
    m = torch.arange(L)[None] < ln[:, None]
    x = torch.randint(1, 20, (n, L), generator=g) * m
    prev = torch.cat([torch.zeros(n, 1, dtype=torch.long), x[:, :-1]], 1)
    y = (x + 2 * prev) % C
    y = torch.where(m, y, torch.tensor(-100))
    yt = y.clone()
    if fault == "pad_class":
        yt[~m] = 0
    if fault == "subword":
        yt = torch.where(m, y.roll(1, 1).clamp(min=0), torch.tensor(-100))
    emb = nn.Embedding(20, 24)
    rnn = nn.LSTM(24, 32, batch_first=True, bidirectional=True)
    out = nn.Linear(64, C)
    model = nn.ModuleList([emb, rnn, out])
    f = lambda a: out(rnn(emb(a))[0])
    o = torch.optim.AdamW(model.parameters(), 1e-2)
    crit = nn.CrossEntropyLoss(ignore_index=-100)
    with record(model, o, crit) as hook:
        for ep in range(12):
            for b in torch.randperm(700).split(35):
                z = f(x[b])
                z = z.view(len(b), C, L) if fault == "view" else z.transpose(1, 2)
                l = crit(z, yt[b])
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                crit(f(x[700:]).transpose(1, 2), y[700:])
    with torch.no_grad():
        score((f(x[700:]).argmax(2) == y[700:])[m[700:]].float().mean(), 1 / C)


@healthy
def seq_tagger_ignore_index(record, seed):
    """Tagging with half the positions ignored."""
    tagging(record, seed)


@pair(cause="logits (B,T,C) viewed as (B,C,T)", severity="gross")
def seq_tagger_view(record, seed, faulty):
    """view for transpose before CrossEntropyLoss."""
    tagging(record, seed, "view" if faulty else None)


@pair(cause="labels aligned one token late after tokenisation", severity="gross")
def seq_tagger_labels_late(record, seed, faulty):
    """Special token shifts the labels (a bidirectional net can still fit them)."""
    tagging(record, seed, "subword" if faulty else None)
