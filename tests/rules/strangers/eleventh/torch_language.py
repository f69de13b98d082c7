"""Language models, sequence labelling, seq2seq, CTC."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from registry import healthy, pair, score

V = 12


def corpus(n, seed):
    """A second-order Markov text with a fixed table."""
    g = torch.Generator().manual_seed(1234)
    table = torch.softmax(3.0 * torch.randn(V, V, V, generator=g), -1)
    g = torch.Generator().manual_seed(seed)
    chains = 64
    a, b = torch.randint(0, V, (2, chains), generator=g)
    out = []
    for _ in range(n // chains):
        c = torch.multinomial(table[a, b], 1, generator=g).squeeze(1)
        out.append(c)
        a, b = b, c
    return torch.stack(out, 1)  # chains x length


class Block(nn.Module):
    def __init__(self, d, heads, causal=True, std=None):
        super().__init__()
        self.h, self.causal = heads, causal
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, mask=None):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.n2(x))


class GPT(nn.Module):
    def __init__(self, vocab=V, d=32, layers=2, ctx=24, causal=True, tie=True, pos=True, std=0.02):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.use_pos = pos
        self.blocks = nn.ModuleList(Block(d, 4, causal) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=std)
        if tie:
            self.head.weight = self.tok.weight

    def forward(self, i, mask=None):
        x = self.tok(i)
        if self.use_pos:
            x = x + self.pos(torch.arange(i.shape[1]))
        for b in self.blocks:
            x = b(x, mask)
        return self.head(self.norm(x))


def crop(c, n, t):
    r = torch.randint(0, c.shape[0], (n,))
    o = torch.randint(0, c.shape[1] - t - 1, (n,))
    return torch.stack([c[a, b : b + t + 1] for a, b in zip(r, o)])


def unigram(c):
    p = torch.bincount(c.flatten(), minlength=V) / c.numel()
    return -(p * (p + 1e-9).log()).sum().item()


def train_gpt(
    record,
    seed,
    steps=700,
    lr=6e-3,
    shift=1,
    causal=True,
    pos=True,
    clip=1.0,
    tie=True,
    std=0.02,
    warm=50,
    eval_causal=True,
    drop_wd=0.1,
    betas=(0.9, 0.95),
    opt=None,
):
    torch.manual_seed(seed)
    tr, va = corpus(64 * 1000, seed), corpus(64 * 60, seed + 77)
    model = GPT(causal=causal, pos=pos, tie=tie, std=std)
    opt = (
        torch.optim.AdamW(model.parameters(), lr, betas=betas, weight_decay=drop_wd)
        if opt is None
        else opt(model)
    )
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt,
        lambda s: min(
            (s + 1) / warm, 0.05 + 0.95 * (0.5 + 0.5 * math.cos(math.pi * min(1, s / steps)))
        ),
    )
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(steps):
            x = crop(tr, 24, 24)
            out = model(x[:, :24])
            tgt = x[:, 1:] if shift else x[:, :24]
            loss = crit(out.flatten(0, 1), tgt.flatten())
            opt.zero_grad()
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
            sched.step()
        with record.evaluation(hook), torch.no_grad():
            model.eval()
            for b in model.blocks:
                b.causal = True
            x = crop(va, 256, 24)
            q = F.cross_entropy(model(x[:, :24]).flatten(0, 1), x[:, 1:].flatten()).item()
    score(-min(q, 6.0) if math.isfinite(q) else -6.0, -unigram(va))


@healthy
def gpt_markov(record, seed):
    train_gpt(record, seed)


@pair("the targets are not shifted: the model learns to copy its input token", "gross")
def gpt_no_shift(record, seed, faulty):
    train_gpt(record, seed, shift=not faulty, steps=600)


@pair("the causal mask is missing in training, the model sees the next token", "gross")
def gpt_no_causal_mask(record, seed, faulty):
    train_gpt(record, seed, causal=not faulty, steps=600)


@pair("the learning rate of the Transformer is 100 times too small", "gross")
def gpt_lr_small(record, seed, faulty):
    train_gpt(record, seed, lr=6e-5 if faulty else 6e-3, steps=550)


@pair("weights are initialized with a standard deviation of 0.4 instead of 0.02", "mild")
def gpt_init_std_one(record, seed, faulty):
    train_gpt(record, seed, std=0.4 if faulty else 0.02, steps=550)


@pair("the position embeddings are not added", "middling")
def gpt_no_positions(record, seed, faulty):
    train_gpt(record, seed, pos=not faulty, steps=550)


@healthy
def lstm_tbptt_adagrad_text(record, seed):
    """Truncated backpropagation with a state carried over the chunks."""
    torch.manual_seed(seed)
    tr, va = corpus(64 * 1200, seed), corpus(64 * 60, seed + 77)

    class LM(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.r, self.o = (
                nn.Embedding(V, 24),
                nn.LSTM(24, 64, batch_first=True),
                nn.Linear(64, V),
            )

        def forward(self, x, h=None):
            y, h = self.r(self.e(x), h)
            return self.o(y), h

    model = LM()
    opt = torch.optim.Adagrad(model.parameters(), 0.05)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(6):
            h = None
            for k in range(0, 1180, 20):
                if h is not None:
                    h = tuple(t.detach() for t in h)
                out, h = model(tr[:, k : k + 20], h)
                loss = crit(out.flatten(0, 1), tr[:, k + 1 : k + 21].flatten())
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
        with record.evaluation(hook), torch.no_grad():
            q = crit(model(va[:, :-1])[0].flatten(0, 1), va[:, 1:].flatten()).item()
    score(-q, -unigram(va))


def train_mlm(record, seed, labels_bug=False, ratio=0.15, steps=1000):
    """Bidirectional encoder; tokens depend on both neighbours in a periodic pattern."""
    torch.manual_seed(seed)

    def data(n):
        a, s = torch.randint(0, V, (n, 1)), torch.randint(1, 5, (n, 1))
        return (a + s * torch.arange(16)) % V

    model = GPT(vocab=V + 1, ctx=16, causal=False, tie=False)
    opt = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.01)
    crit = nn.CrossEntropyLoss(ignore_index=-100)
    with record(model, opt, crit) as hook:
        for s in range(steps):
            x = data(32)
            m = torch.rand(x.shape) < ratio
            m[:, 0] |= ~m.any(1)
            inp = x.masked_fill(m, V)
            y = x.masked_fill(m, -100) if labels_bug else x.masked_fill(~m, -100)
            opt.zero_grad()
            loss = crit(model(inp).flatten(0, 1), y.flatten())
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            x = data(500)
            m = torch.rand(x.shape) < 0.15
            q = (model(x.masked_fill(m, V)).argmax(-1) == x)[m].float().mean()
    score(q, 1 / V)


@healthy
def mlm_plateau_then_learns(record, seed):
    train_mlm(record, seed)


@pair(
    "-100 marks the masked tokens rather than the visible ones, the loss counts only what the model can read",
    "gross",
)
def mlm_labels_inverted(record, seed, faulty):
    train_mlm(record, seed, labels_bug=faulty)


@pair("85 % of the tokens are masked where 15 % was meant", "gross")
def mlm_mask_too_many(record, seed, faulty):
    train_mlm(record, seed, ratio=0.85 if faulty else 0.15)


class S2S(nn.Module):
    def __init__(self, v=14, h=64):
        super().__init__()
        self.e, self.enc, self.dec, self.o = (
            nn.Embedding(v, h),
            nn.GRU(h, h, batch_first=True),
            nn.GRU(h, h, batch_first=True),
            nn.Linear(2 * h, v),
        )

    def encode(self, x):
        return self.enc(self.e(x))

    def decode(self, y, mem, h):
        z, h = self.dec(self.e(y), h)
        w = torch.softmax(z @ mem.transpose(1, 2) / 8, -1)
        return self.o(torch.cat([z, w @ mem], -1)), h


def train_s2s(record, seed, feed_bug=False, ignore_bug=False, steps=900):
    """Reverses a sequence of digits; 0 pad, 1 begin, 2 end."""
    torch.manual_seed(seed)

    def data(n):
        ln = torch.randint(3, 7, (n,))
        xs = [torch.randint(4, 14, (k,)) for k in ln]
        ys = [torch.cat([torch.tensor([1]), x.flip(0), torch.tensor([2])]) for x in xs]
        return pad_sequence(xs, True), pad_sequence(ys, True)

    model = S2S()
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.CrossEntropyLoss(ignore_index=2 if ignore_bug else 0)
    with record(model, opt, crit) as hook:
        for s in range(steps):
            x, y = data(48)
            mem, h = model.encode(x)
            out, _ = model.decode(y[:, 1:] if feed_bug else y[:, :-1], mem, h)
            loss = crit(out.flatten(0, 1), y[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            x, y = data(300)
            mem, h = model.encode(x)
            cur, toks = torch.ones(300, 1, dtype=torch.long), []
            for _ in range(y.shape[1] - 1):
                out, h = model.decode(cur, mem, h)
                cur = out.argmax(-1)
                toks.append(cur)
            p = torch.cat(toks, 1)
            m = y[:, 1:] != 0
            q = (p == y[:, 1:])[m].float().mean()
    score(q, 0.17)


@healthy
def seq2seq_reverse(record, seed):
    train_s2s(record, seed)


@pair("the decoder is fed the target token itself (not shifted) in teacher forcing", "gross")
def seq2seq_decoder_input_unshifted(record, seed, faulty):
    train_s2s(record, seed, feed_bug=faulty)


@pair("ignore_index is the id of the end token instead of that of padding", "mild")
def seq2seq_ignores_end(record, seed, faulty):
    train_s2s(record, seed, ignore_bug=faulty)


def texts(n, seed):
    """Sentiment-like: sum of the polarity of words, inverted by a preceding 'not' (word 1)."""
    g = torch.Generator().manual_seed(seed)
    xs, ys = [], []
    for _ in range(n):
        k = int(torch.randint(5, 25, (1,), generator=g))
        w = torch.randint(2, 60, (k,), generator=g)
        neg = torch.rand(k, generator=g) < 0.2
        w[neg] = 1
        pol = ((w % 3) - 1.0) * (w > 1)
        inv = torch.cat([torch.zeros(1), (w[:-1] == 1).float()])
        s = (pol * (1 - 2 * inv)).sum()
        xs.append(w)
        ys.append(int(s > 0))
    return xs, torch.tensor(ys)


class TextNet(nn.Module):
    def __init__(self, last_bug=False):
        super().__init__()
        self.e, self.r, self.o = (
            nn.Embedding(60, 24, padding_idx=0),
            nn.GRU(24, 48, batch_first=True),
            nn.Linear(48, 2),
        )
        self.last_bug = last_bug

    def forward(self, x, ln):
        if self.last_bug:
            return self.o(self.r(self.e(x))[0][-1:].mean(1).expand(len(x), -1))
        _, h = self.r(pack_padded_sequence(self.e(x), ln, batch_first=True, enforce_sorted=False))
        return self.o(h[-1])


def train_text(record, seed, last_bug=False, lr=4e-3, epochs=8, extra=None):
    torch.manual_seed(seed)
    xs, ys = texts(2000, seed)
    vx, vy = texts(500, seed + 50)
    model = TextNet(last_bug)
    opt = torch.optim.Adam(model.parameters(), lr)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(epochs):
            for i in torch.randperm(2000).split(32):
                b = [xs[j] for j in i]
                opt.zero_grad()
                crit(
                    model(pad_sequence(b, True), torch.tensor([len(t) for t in b])), ys[i]
                ).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                a = (
                    (
                        model(pad_sequence(vx, True), torch.tensor([len(t) for t in vx])).argmax(1)
                        == vy
                    )
                    .float()
                    .mean()
                )
    score(a, max(vy.float().mean().item(), 1 - vy.float().mean().item()))


@healthy
def gru_packed_sentiment(record, seed):
    train_text(record, seed)


@pair(
    "output[-1] of a batch_first GRU takes the last sample of the batch instead of the last time step",
    "gross",
)
def gru_last_sample(record, seed, faulty):
    train_text(record, seed, last_bug=faulty, epochs=7)


@healthy
def ctc_digits(record, seed):
    """CTC first predicts only blanks (a plateau), then learns."""
    torch.manual_seed(seed)
    proto = torch.randn(6, 8)

    def data(n):
        ln = torch.randint(2, 5, (n,))
        y = torch.randint(1, 7, (n, 4))
        rep = y[:, 1:] == y[:, :-1]
        y[:, 1:][rep] = y[:, 1:][rep] % 6 + 1
        x = torch.zeros(n, 16, 8)
        for k in range(4):
            m = ln > k
            d = int(torch.randint(0, 2, (1,)))
            for q in range(3):
                x[m, 4 * k + q + d * (q > 9)] = proto[y[m, k] - 1]
        return x + 0.3 * torch.randn_like(x), y, ln

    model = nn.Sequential(
        nn.Conv1d(8, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv1d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv1d(32, 7, 1),
    )
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    crit = nn.CTCLoss(blank=0, zero_infinity=True)
    with record(model, opt, crit) as hook:
        for s in range(600):
            x, y, ln = data(32)
            lp = model(x.transpose(1, 2)).permute(2, 0, 1).log_softmax(-1)
            opt.zero_grad()
            loss = crit(lp, y, torch.full((32,), 16), ln)
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            x, y, ln = data(300)
            p = model(x.transpose(1, 2)).argmax(1)
            ok = 0
            for a, b, k in zip(p, y, ln):
                c = torch.unique_consecutive(a)
                ok += c[c > 0].tolist() == b[:k].tolist()
    score(ok / 300, 0.0)


@healthy
def muon_handwritten_gpt(record, seed):
    """A handwritten Muon (Newton-Schulz) with a large learning rate for matrices, Adam-free for the rest."""

    class MyMuon(torch.optim.Optimizer):
        def __init__(self, params, lr=0.02, mom=0.95):
            super().__init__(params, {"lr": lr, "mom": mom})

        @torch.no_grad()
        def step(self, closure=None):
            for g in self.param_groups:
                for p in g["params"]:
                    if p.grad is None:
                        continue
                    st = self.state[p]
                    m = st.setdefault("m", torch.zeros_like(p))
                    m.lerp_(p.grad, 1 - g["mom"])
                    u = p.grad.lerp(m, g["mom"])
                    if p.ndim == 2 and g.get("ortho", True):
                        x = u / (u.norm() + 1e-7)
                        t = x.shape[0] > x.shape[1]
                        x = x.T if t else x
                        for _ in range(5):
                            a = x @ x.T
                            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
                        u = (x.T if t else x) * max(1, p.shape[0] / p.shape[1]) ** 0.5
                    else:
                        u = u.sign() * 0.2
                    p.add_(u, alpha=-g["lr"])

    def make(model):
        mats = [p for n, p in model.named_parameters() if p.ndim == 2 and "blocks" in n]
        rest = [p for n, p in model.named_parameters() if not (p.ndim == 2 and "blocks" in n)]
        return MyMuon([{"params": mats, "lr": 0.03}, {"params": rest, "lr": 0.02, "ortho": False}])

    train_gpt(record, seed, steps=500, opt=make)


@pair("gradient clipping at 0.01 with SGD: the model moves slowly", "gross")
def lm_clip_tiny_sgd(record, seed, faulty):
    train_gpt(
        record,
        seed,
        steps=550,
        clip=1e-2 if faulty else 1.0,
        opt=lambda m: torch.optim.SGD(m.parameters(), 0.5, momentum=0.9),
        tie=False,
        std=0.1,
    )
