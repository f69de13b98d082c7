"""Translators: sequence to sequence with attention and the annotated transformer."""

import math, torch, torch.nn as nn, torch.nn.functional as F
from registry import healthy, pair, score
import kit


class Seq2Seq(nn.Module):
    """The attention tutorial: GRU encoder, Bahdanau decoder, teacher forcing"""

    def __init__(self, v=14, h=48):
        super().__init__()
        self.emb, self.enc = nn.Embedding(v, h), nn.GRU(h, h, batch_first=True)
        self.demb, self.dec = nn.Embedding(v, h), nn.GRU(2 * h, h, batch_first=True)
        self.Wa, self.Ua, self.Va, self.out = (
            nn.Linear(h, h),
            nn.Linear(h, h),
            nn.Linear(h, 1),
            nn.Linear(h, v),
        )

    def forward(self, x, y=None, steps=6):
        keys, h = self.enc(F.dropout(self.emb(x), 0.1, self.training))
        tok, outs = torch.zeros(len(x), 1, dtype=torch.long), []
        for i in range(steps):
            q = h.transpose(0, 1)
            w = self.Va(torch.tanh(self.Wa(q) + self.Ua(keys))).transpose(1, 2).softmax(-1)
            o, h = self.dec(torch.cat([self.demb(tok), w @ keys], -1), h)
            o = self.out(o)
            outs.append(o)
            tok = y[:, i : i + 1] if y is not None else o.argmax(-1).detach()
        return torch.cat(outs, 1).log_softmax(-1)


def reverse(n, seed):
    g = torch.Generator().manual_seed(seed + 400)
    x = torch.randint(2, 14, (n, 6), generator=g)
    return x, x.flip(1)


@healthy
def seq2seq_attention(record, seed):
    kit.seed_all(seed)
    x, y = reverse(1500, seed)
    xt, yt = reverse(300, seed + 50)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    criterion = nn.NLLLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(10):
            model.train()
            for i in torch.randperm(1500).split(50):
                optimizer.zero_grad()
                out = model(x[i], y[i])
                loss = criterion(out.view(-1, 14), y[i].reshape(-1))
                loss.backward()
                optimizer.step()
    model.eval()
    score((model(xt).argmax(-1) == yt).float().mean(), 1 / 12)


@pair("teacher forcing feeds the token to be predicted instead of the previous one", "gross")
def seq2seq_teacher_leak(record, seed, faulty):
    kit.seed_all(seed)
    x, y = reverse(1000, seed)
    xt, yt = reverse(300, seed + 50)
    enc, dec = nn.GRU(32, 64, batch_first=True), nn.GRU(32, 64, batch_first=True)
    model = nn.ModuleDict(
        {"e": nn.Embedding(14, 32), "enc": enc, "dec": dec, "out": nn.Linear(64, 14)}
    )
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(15):
            for i in torch.randperm(1000).split(50):
                _, h = enc(model["e"](x[i]))
                prev = torch.cat([torch.zeros(len(i), 1, dtype=torch.long), y[i][:, :-1]], 1)
                o, _ = dec(model["e"](y[i] if faulty else prev), h)
                loss = crit(model["out"](o).transpose(1, 2), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
    with torch.no_grad():
        _, h = enc(model["e"](xt))
        tok = torch.zeros(300, 1, dtype=torch.long)
        good = 0
        for t in range(6):
            o, h = dec(model["e"](tok), h)
            tok = model["out"](o).argmax(-1)
            good += (tok[:, 0] == yt[:, t]).float().mean() / 6
    score(good, 1 / 12)


def sinus(t, d):
    p, i = torch.arange(t)[:, None], torch.arange(0, d, 2)
    a = p * torch.exp(-i * math.log(10000.0) / d)
    return torch.stack([a.sin(), a.cos()], -1).flatten(1)


class Annotated(nn.Module):
    def __init__(self, v=14, d=32, pos=True):
        super().__init__()
        self.d, self.pos = d, pos
        self.src, self.tgt = nn.Embedding(v, d), nn.Embedding(v, d)
        self.tr = nn.Transformer(d, 4, 1, 1, 64, 0.1, batch_first=True)
        self.gen = nn.Linear(d, v)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, x, y):
        a, b = (
            e(t) * math.sqrt(self.d) + (sinus(t.shape[1], self.d) if self.pos else 0)
            for e, t in ((self.src, x), (self.tgt, y))
        )
        m = nn.Transformer.generate_square_subsequent_mask(y.shape[1])
        return self.gen(self.tr(a, b, tgt_mask=m, tgt_is_causal=True)).log_softmax(-1)


def noam_train(record, model, seed, iters, factor=1.0, warm=100, smooth=0.1):
    kit.seed_all(seed)
    opt = torch.optim.Adam(model.parameters(), lr=factor, betas=(0.9, 0.98), eps=1e-9)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: 32**-0.5 * min(max(s, 1) ** -0.5, max(s, 1) * warm**-1.5)
    )
    with record(model, opt, None) as hook:
        for it in range(iters):
            x = torch.randint(2, 14, (32, 7))
            y = x.flip(1)
            inp = torch.cat([torch.ones(32, 1, dtype=torch.long), y[:, :-1]], 1)
            out = model(x, inp)
            with torch.no_grad():
                td = torch.full_like(out, smooth / 13).scatter_(2, y[..., None], 1 - smooth)
            loss = F.kl_div(out, td, reduction="sum") / y.numel()
            loss.backward()
            opt.step()
            opt.zero_grad(set_to_none=True)
            sched.step()
    model.eval()
    x = torch.randint(2, 14, (200, 7))
    ys = torch.ones(200, 1, dtype=torch.long)
    with torch.no_grad():
        for _ in range(7):
            ys = torch.cat([ys, model(x, ys)[:, -1:].argmax(-1)], 1)
    score((ys[:, 1:] == x.flip(1)).float().mean(), 1 / 12)


@healthy
def annotated_transformer_noam(record, seed):
    kit.seed_all(seed)
    noam_train(record, Annotated(), seed, 400)


@pair("the positional encoding is never added", "gross")
def transformer_no_positions(record, seed, faulty):
    kit.seed_all(seed)
    noam_train(record, Annotated(pos=not faulty), seed, 350, warm=80, smooth=0.05)


class Pointer(nn.Module):
    """Padded batches with a bidirectional encoder"""

    def __init__(self, v=12, d=32):
        super().__init__()
        self.emb = nn.Embedding(v, d, padding_idx=0)
        self.gru, self.out = nn.GRU(d, d, batch_first=True, bidirectional=True), nn.Linear(2 * d, 1)
        self.mlp = nn.Sequential(nn.Linear(2 * d, 32), nn.ReLU(), nn.Linear(32, v))

    def forward(self, x, mask):
        n = mask.sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.emb(x), n, batch_first=True, enforce_sorted=False
        )
        h, _ = nn.utils.rnn.pad_packed_sequence(
            self.gru(packed)[0], batch_first=True, total_length=x.shape[1]
        )
        w = self.out(h)[..., 0].masked_fill(~mask, -1e9).softmax(1)
        return self.mlp((w[..., None] * h).sum(1))


def padded(n, seed, length=16):
    """Find the token after the marker 1; sequences padded with 0."""
    g = torch.Generator().manual_seed(seed + 600)
    k = torch.randint(4, length + 1, (n,), generator=g)
    x = torch.randint(2, 12, (n, length), generator=g)
    at = (torch.rand(n, generator=g) * (k - 1)).long()
    x.scatter_(1, at[:, None], 1)
    y = x.gather(1, at[:, None] + 1)[:, 0]
    mask = torch.arange(length)[None] < k[:, None]
    return x * mask, mask, y


@healthy
def packed_gru_attention_pool(record, seed):
    kit.seed_all(seed)
    x, m, y = padded(1500, seed)
    xt, mt, yt = padded(400, seed + 50)
    model = Pointer()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(8):
            model.train()
            for i in torch.randperm(1500).split(50):
                opt.zero_grad()
                loss = crit(model(x[i], m[i]), y[i])
                loss.backward()
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                model.eval()
                model(xt, mt)
    score((model(xt, mt).argmax(-1) == yt).float().mean(), 0.1)


class TextCNN(nn.Module):
    def __init__(self, v=20, d=32, k=2):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.convs = nn.ModuleList(nn.Conv1d(d, 24, s) for s in (2, 3, 4))
        self.fc = nn.Linear(72, k)

    def forward(self, x):
        e = self.emb(x).transpose(1, 2)
        return self.fc(
            F.dropout(torch.cat([F.relu(c(e)).amax(2) for c in self.convs], 1), 0.5, self.training)
        )


def sentiment(n, seed):
    """Tokens 2..11 carry sentiment; 1 negates the next one."""
    g = torch.Generator().manual_seed(seed + 700)
    x = torch.randint(1, 20, (n, 14), generator=g)
    v = torch.where(x < 7, 1.0, torch.where(x < 12, -1.0, 0.0)) * (x > 1)
    v[:, 1:] *= torch.where(x[:, :-1] == 1, -1.0, 1.0)
    return x, (v.sum(1) + 0.01 > 0).long()


@pair("the test words are numbered by their own vocabulary, not that of training", "gross")
def textcnn_own_test_vocabulary(record, seed, faulty):
    kit.seed_all(seed)
    x, y = sentiment(1500, seed)
    xt, yt = sentiment(400, seed + 50)
    perm = torch.randperm(20, generator=torch.Generator().manual_seed(1))
    model = TextCNN()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    v = slice(300, 400)
    with record(model, opt, crit) as hook:
        for epoch in range(10):
            model.train()
            for i in torch.randperm(1500).split(50):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                model.eval()
                crit(model(perm[xt[v]] if faulty else xt[v]), yt[v])
    with torch.no_grad():
        score((model(perm[xt] if faulty else xt).argmax(1) == yt).float().mean(), 0.5)


class Bag(nn.Module):
    """torchtext's AG_NEWS example"""

    def __init__(self, v=20, d=32, k=2):
        super().__init__()
        self.embedding, self.fc = nn.EmbeddingBag(v, d, mode="mean"), nn.Linear(d, k)
        self.embedding.weight.data.uniform_(-0.5, 0.5)
        self.fc.weight.data.uniform_(-0.5, 0.5)
        self.fc.bias.data.zero_()

    def forward(self, x, off):
        return self.fc(self.embedding(x, off))


@healthy
def agnews_embedding_bag(record, seed):
    kit.seed_all(seed)
    x, y = sentiment(1500, seed)
    xt, yt = sentiment(400, seed + 50)
    model = Bag()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4, gamma=0.1)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(10):
            model.train()
            for i in torch.randperm(1500).split(16):
                optimizer.zero_grad()
                loss = criterion(model(x[i].flatten(), torch.arange(0, len(i) * 14, 14)), y[i])
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
            scheduler.step()
    with torch.no_grad():
        score((model(xt.flatten(), torch.arange(0, 5600, 14)).argmax(1) == yt).float().mean(), 0.5)


@pair("padding is not masked in the mean over the tokens", "mild")
def mean_pool_over_padding(record, seed, faulty):
    kit.seed_all(seed)

    def make(n, s):
        g = torch.Generator().manual_seed(s + 800)
        x, m, _ = padded(n, s, 24)
        good = ((x >= 2) & (x < 5)).float().sum(1) / m.sum(1)
        return x, m, (good > 0.28).long()

    x, m, y = make(2000, seed)
    xt, mt, yt = make(500, seed + 50)
    emb, head = nn.Embedding(12, 16), nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
    model = nn.ModuleList([emb, head])
    fwd = lambda a, k: (
        head((emb(a) * k[..., None]).sum(1) / k.sum(1, keepdim=True))
        if not faulty
        else head(emb(a).mean(1))
    )
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(12):
            for i in torch.randperm(2000).split(50):
                opt.zero_grad()
                crit(fwd(x[i], m[i]), y[i]).backward()
                opt.step()
    with torch.no_grad():
        score(
            (fwd(xt, mt).argmax(1) == yt).float().mean(),
            max(yt.float().mean(), 1 - yt.float().mean()),
        )
