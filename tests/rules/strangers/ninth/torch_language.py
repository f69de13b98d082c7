"""Token sequences: language models, taggers, translators, classifiers."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import Block, Decoder, accuracy, chains, picks, start
from registry import healthy, pair, score


class Reader(nn.Module):
    """A transformer encoder with a pooled head."""

    def __init__(self, vocab, classes, d=32, length=24, layers=1, pad_ok=True):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d, padding_idx=0), nn.Embedding(length, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(layers))
        self.head, self.invert = nn.Linear(d, classes), not pad_ok

    def forward(self, t):
        x = self.tok(t) + self.pos(torch.arange(t.shape[1]))
        pad = t == 0
        hide = ~pad if self.invert else pad
        hide = hide & ~hide.all(1, keepdim=True)
        for b in self.blocks:
            x = b(x, pad=hide)
        keep = (~hide).float()[..., None]
        return self.head((x * keep).sum(1) / keep.sum(1))


def opinions(n, length=20, vocab=60, strong=20, late=False):
    """Padded sentences; the class is whether good (2..11) or bad (12..21) words prevail."""
    t = torch.randint(22, vocab, (n, length))
    size = torch.randint(length // 2, length + 1, (n,))
    y = torch.randint(2, (n,))
    for k in range(n):
        at = torch.randperm(size[k] - 1)[:4]
        if late:
            at = size[k] - 1 - torch.arange(4)
        t[k, at[:3]] = 2 + 10 * y[k] + torch.randint(10, (3,))
        t[k, at[3]] = 2 + 10 * (1 - y[k]) + torch.randint(10, (1,))
        t[k, size[k] :] = 0
    return t, y, size


@healthy
def small_decoder_language_model(record, seed):
    start(seed)
    x, xt = chains(1500, 20), chains(200, 20)
    model = Decoder(9)
    opt = torch.optim.AdamW(model.parameters(), 3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 4e-3, total_steps=280)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 16, 280):
            opt.zero_grad()
            criterion(model(x[i, :-1]).flatten(0, 1), x[i, 1:].flatten()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
    with torch.no_grad():
        score((model(xt[:, :-1]).argmax(-1) == xt[:, 1:])[:, 2:].float().mean(), 1 / 9)


@healthy
def masked_words(record, seed):
    start(seed)

    def make(n):
        a = torch.randint(8, (n, 1))
        s = torch.randint(1, 4, (n, 1))
        return (a + s * torch.arange(14)) % 8

    x, xt = make(1500), make(200)

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.pos = nn.Embedding(9, 40), nn.Embedding(14, 40)
            self.layer = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(40, 4, 96, 0.0, batch_first=True, norm_first=True),
                2,
                enable_nested_tensor=False,
            )
            self.out = nn.Linear(40, 9)

        def forward(self, t):
            return self.out(self.layer(self.tok(t) + self.pos.weight))

    model = Bert()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)

    def mask(t):
        hit = torch.rand(t.shape) < 0.2
        return t.masked_fill(hit, 8), t.masked_fill(~hit, -100)

    with record(model, opt, criterion):
        for i in picks(len(x), 24, 450):
            a, b = mask(x[i])
            opt.zero_grad()
            criterion(model(a).flatten(0, 1), b.flatten()).backward()
            opt.step()
    a, b = mask(xt)
    with torch.no_grad():
        score((model.eval()(a).argmax(-1) == b)[b >= 0].float().mean(), 1 / 8)


@healthy
def reversing_gru_with_attention(record, seed):
    start(seed)
    make = lambda n: torch.randint(1, 9, (n, 6))
    x, xt = make(3000), make(300)

    class Translator(nn.Module):
        def __init__(self, d=48):
            super().__init__()
            self.emb, self.pos = nn.Embedding(10, d), nn.Embedding(6, d)
            self.enc = nn.GRU(d, d // 2, batch_first=True, bidirectional=True)
            self.dec, self.out = nn.GRU(d, d, batch_first=True), nn.Linear(2 * d, 10)

        def forward(self, src, into):
            m, _ = self.enc(self.emb(src) + self.pos.weight)
            h, _ = self.dec(self.emb(into) + self.pos.weight)
            w = (h @ m.transpose(1, 2) / h.shape[-1] ** 0.5).softmax(-1)
            return self.out(torch.cat([h, w @ m], -1))

    model = Translator()
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    criterion = nn.CrossEntropyLoss()
    go = lambda y: F.pad(y[:, :-1], (1, 0))
    with record(model, opt, criterion):
        for i in picks(len(x), 50, 450):
            y = x[i].flip(1)
            opt.zero_grad()
            criterion(model(x[i], go(y)).flatten(0, 1), y.flatten()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    y = torch.zeros(300, 7, dtype=torch.long)
    with torch.no_grad():
        for k in range(6):
            y[:, k + 1] = model(xt, y[:, :6])[:, k].argmax(-1)
    score((y[:, 1:] == xt.flip(1)).float().mean(), 1 / 8)


@healthy
def tagger_on_packed_sequences(record, seed):
    start(seed)

    def make(n):
        t, size = torch.randint(1, 20, (n, 16)), torch.randint(6, 17, (n,))
        tag = (t % 3 + torch.roll(t, -1, 1) % 2).masked_fill(
            torch.arange(16) >= size[:, None] - 1, -100
        )
        return t.masked_fill(torch.arange(16) >= size[:, None], 0), tag, size

    (x, y, n), (xt, yt, nt) = make(1500), make(300)

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(20, 16, padding_idx=0)
            self.rnn, self.out = nn.LSTM(16, 24, batch_first=True, bidirectional=True), nn.Linear(
                48, 4
            )

        def forward(self, t, size):
            p = nn.utils.rnn.pack_padded_sequence(
                self.emb(t), size, batch_first=True, enforce_sorted=False
            )
            return self.out(
                nn.utils.rnn.pad_packed_sequence(self.rnn(p)[0], batch_first=True, total_length=16)[
                    0
                ]
            )

    model = Tagger()
    opt = torch.optim.RMSprop(model.parameters(), 4e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 250):
            opt.zero_grad()
            criterion(model(x[i], n[i]).transpose(1, 2), y[i]).backward()
            opt.step()
    with torch.no_grad():
        score((model(xt, nt).argmax(-1) == yt)[yt >= 0].float().mean(), 0.34)


@healthy
def word_bags_with_sparse_gradients(record, seed):
    start(seed)
    (x, y, _), (xt, yt, _) = opinions(3000, vocab=900), opinions(500, vocab=900)
    model = nn.Sequential(
        nn.EmbeddingBag(900, 16, mode="mean", sparse=True, padding_idx=0), nn.Linear(16, 2)
    )
    sparse = torch.optim.SparseAdam(model[0].parameters(), 5e-3)
    dense = torch.optim.Adam(model[1].parameters(), 5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, sparse, criterion):
        for i in picks(len(x), 30, 500):
            sparse.zero_grad()
            dense.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            sparse.step()
            dense.step()
    score(accuracy(model, xt, yt), 0.5)


@pair("the decoder sees the future: no causal mask", "gross")
def decoder_without_causal_mask(record, seed, faulty):
    start(seed)
    x, xt = chains(1500, 16, 8, 0.0), chains(200, 16, 8, 0.0)
    model = Decoder(8, d=40, masked=not faulty)
    opt = torch.optim.AdamW(model.parameters(), 3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 16, 300):
            opt.zero_grad()
            criterion(model(x[i, :-1]).flatten(0, 1), x[i, 1:].flatten()).backward()
            opt.step()
    s = xt[:, :4]
    with torch.no_grad():
        for _ in range(8):
            s = torch.cat([s, model(s)[:, -1:].argmax(-1)], 1)
    score((s[:, 4:] == xt[:, 4:12]).float().mean(), 1 / 8)


@pair("the targets are not shifted: the model learns to repeat its input", "gross")
def targets_not_shifted(record, seed, faulty):
    start(seed)
    x, xt = chains(1000, 24, 12, 0.05, 3), chains(200, 24, 12, 0.05, 3)

    class Lm(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.rnn, self.out = (
                nn.Embedding(12, 32),
                nn.GRU(32, 64, batch_first=True),
                nn.Linear(64, 12),
            )

        def forward(self, t):
            return self.out(self.rnn(self.emb(t))[0])

    model = Lm()
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 20, 250):
            target = x[i, :-1] if faulty else x[i, 1:]
            opt.zero_grad()
            criterion(model(x[i, :-1]).flatten(0, 1), target.flatten()).backward()
            opt.step()
    with torch.no_grad():
        score((model(xt[:, :-1]).argmax(-1) == xt[:, 1:]).float().mean(), 1 / 12)


@pair("attention mask of the padding is inverted", "gross")
def padding_mask_inverted(record, seed, faulty):
    start(seed)
    (x, y, _), (xt, yt, _) = opinions(1500), opinions(400)
    model = Reader(60, 2, pad_ok=not faulty)
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(len(x), 32, 300)):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
            if k % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    criterion(model(xt), yt)
                    model.train()
    score(accuracy(model, xt, yt), 0.5)


@pair("batch_first forgotten: attention runs across the batch", "gross")
def attention_across_the_batch(record, seed, faulty):
    start(seed)

    def make(n):
        t = torch.randint(2, 10, (n, 8))
        return t, (t[:, :1] < t[:, 1:2]).long()[:, 0]

    (x, y), (xt, yt) = make(2000), make(400)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.pos, self.out = (
                nn.Embedding(10, 32),
                nn.Embedding(8, 32),
                nn.Linear(32, 2),
            )
            layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=not faulty)
            self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

        def forward(self, t):
            return self.out(self.enc(self.emb(t) + self.pos.weight)[:, 0])

    model = Net()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 400):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 0.5)


@pair("the last state of the LSTM is read behind the padding", "gross")
def state_read_behind_padding(record, seed, faulty):
    start(seed)

    def make(n):
        t, size, y = (
            torch.randint(8, 30, (n, 16)),
            torch.randint(5, 12, (n,)),
            torch.randint(6, (n,)),
        )
        t[torch.arange(n), torch.randint(0, 4, (n,))] = 2 + y
        return t.masked_fill(torch.arange(16) >= size[:, None], 0), y, size

    (x, y, n), (xt, yt, nt) = make(1500), make(400)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.rnn, self.out = (
                nn.Embedding(30, 16, padding_idx=0),
                nn.LSTM(16, 32, batch_first=True),
                nn.Linear(32, 6),
            )

        def forward(self, t, size):
            h = self.rnn(self.emb(t))[0]
            return self.out(h[:, -1] if faulty else h[torch.arange(len(t)), size - 1])

    model = Net()
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 250):
            opt.zero_grad()
            criterion(model(x[i], n[i]), y[i]).backward()
            opt.step()
    with torch.no_grad():
        score((model(xt, nt).argmax(1) == yt).float().mean(), 1 / 6)


@pair("padding counts as a target of the language model", "middling")
def padding_counts_as_target(record, seed, faulty):
    start(seed)

    def make(n):
        s = chains(n, 30, 10, 0.0, 5) + 1
        return s.masked_fill(torch.arange(30) >= torch.randint(4, 9, (n, 1)), 0)

    x, xt = make(1200), make(300)
    model = Decoder(11, d=32, layers=1)
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss() if faulty else nn.CrossEntropyLoss(ignore_index=0)
    with record(model, opt, criterion):
        for i in picks(len(x), 16, 300):
            opt.zero_grad()
            criterion(model(x[i, :-1]).flatten(0, 1), x[i, 1:].flatten()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    with torch.no_grad():
        real = xt[:, 1:] > 0
        real[:, 0] = False
        p = model(xt[:, :-1])
        score((p.argmax(-1) == xt[:, 1:])[real].float().mean(), 0.1)


@pair("sentences are truncated before the words that matter", "gross")
def truncated_too_early(record, seed, faulty):
    start(seed)
    (x, y, _), (xt, yt, _) = opinions(1500, late=True), opinions(400, late=True)
    if faulty:
        x, xt = x[:, :10], xt[:, :10]
    model = Reader(60, 2)
    opt = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.1)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 300):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 0.5)


@pair("hidden state kept from one shuffled batch to the next", "gross")
def stale_hidden_state(record, seed, faulty):
    start(seed)

    def make(n):
        t = torch.randint(12, (n, 5))
        return t, (t[:, 0] + t[:, 1]) % 4

    (x, y), (xt, yt) = make(2000), make(320)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.rnn, self.out = (
                nn.Embedding(12, 24),
                nn.GRU(24, 48, batch_first=True),
                nn.Linear(48, 4),
            )

        def forward(self, t, h=None):
            a, h = self.rnn(self.emb(t), h)
            return self.out(a[:, -1]), h

    model = Net()
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    criterion = nn.CrossEntropyLoss()
    h = None
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 400):
            opt.zero_grad()
            out, new = model(x[i], h)
            h = new.detach() if faulty else None
            criterion(out, y[i]).backward()
            opt.step()
    with torch.no_grad():
        right = 0
        for k in range(0, 320, 32):
            out, new = model(xt[k : k + 32], h)
            h = new if faulty else None
            right += (out.argmax(1) == yt[k : k + 32]).sum().item()
    score(right / 320, 0.25)
