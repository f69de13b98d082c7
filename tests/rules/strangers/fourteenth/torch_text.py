"""Text: classification, tagging, language models, translation."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from kit import Block, TinyGPT, batches, corpus, lm_score, seed_all, tagged, texts, windows
from registry import healthy, pair, score


class Bag(nn.Module):
    def __init__(self, vocab=60, d=24, classes=4):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, d, mode="mean", padding_idx=0)
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        return self.head(self.embed(x))


class Rnn(nn.Module):
    def __init__(self, vocab=60, d=24, h=32, classes=4, cell=nn.GRU, last_valid=True):
        super().__init__()
        self.embed = nn.Embedding(vocab, d, padding_idx=0)
        self.rnn = cell(d, h, batch_first=True)
        self.head = nn.Linear(h, classes)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(x), lengths, batch_first=True, enforce_sorted=False
        )
        _, h = self.rnn(packed)
        return self.head((h[0] if isinstance(h, tuple) else h)[-1])


@healthy
def sparse_bag_of_words(record, seed):
    """Sparse gradients with SparseAdam for the table and Adam for the head."""
    seed_all(seed)
    x, y, _ = texts(2500)
    embed = nn.EmbeddingBag(60, 24, mode="mean", padding_idx=0, sparse=True)
    head = nn.Linear(24, 4)
    model = nn.Sequential(embed, head)
    first = torch.optim.SparseAdam(embed.parameters(), lr=5e-3)
    second = torch.optim.Adam(head.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, criterion=criterion):
        for epoch in range(10):
            for i in batches(2000, 64):
                loss = criterion(model(x[i]), y[i])
                first.zero_grad()
                second.zero_grad()
                loss.backward()
                first.step()
                second.step()
    with torch.no_grad():
        score((model(x[2000:]).argmax(1) == y[2000:]).float().mean(), 0.25)


@healthy
def gru_packed(record, seed):
    seed_all(seed)
    x, y, n = texts(1200, length=14)
    model = Rnn()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(8):
            model.train()
            for i in batches(1000, 25):
                optimizer.zero_grad()
                loss = criterion(model(x[i], n[i]), y[i])
                loss.backward()
                nn.utils.clip_grad_value_(model.parameters(), 0.5)
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[1000:], n[1000:]), y[1000:])
    score((model(x[1000:], n[1000:]).argmax(1) == y[1000:]).float().mean(), 0.25)


@healthy
def gpt_tied_bf16_autocast(record, seed):
    seed_all(seed)
    text = corpus(12000)
    model = TinyGPT(tie=True)
    decay = [p for p in model.parameters() if p.dim() > 1]
    other = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}],
        lr=3e-3,
        betas=(0.9, 0.95),
    )
    steps = 120
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / 20, 0.1 + 0.45 * (1 + math.cos(math.pi * s / steps)))
    )
    with record(model, optimizer) as hook:
        for step in range(steps):
            x, y = windows(text[:10000], 32, 16)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(x)
                loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    score(lm_score(model, text[10000:]), -math.log(16))


@healthy
def gpt_checkpointed_sum_loss(record, seed):
    """Loss summed over tokens (hundreds), rate scaled to match; activations recomputed."""
    seed_all(seed)
    text = corpus(9000)
    model = TinyGPT(layers=2, d=32)

    def forward(x):
        h = model.tok(x) + model.pos(torch.arange(x.shape[1]))
        for block in model.blocks:
            h = checkpoint(block, h, use_reentrant=False)
        return model.head(model.norm(h))

    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss(reduction="sum")
    with record(model, optimizer, criterion):
        for step in range(150):
            x, y = windows(text[:8000], 32, 12)
            loss = criterion(forward(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(lm_score(model, text[8000:]), -math.log(16))


class Seq2Seq(nn.Module):
    def __init__(self, vocab=14, d=32):
        super().__init__()
        self.src, self.tgt, self.pos = (
            nn.Embedding(vocab, d),
            nn.Embedding(vocab, d),
            nn.Embedding(16, d),
        )
        self.core = nn.Transformer(d, 4, 1, 1, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(d, vocab)

    def forward(self, s, t, causal=True):
        mask = nn.Transformer.generate_square_subsequent_mask(t.shape[1]) if causal else None
        a = self.src(s) + self.pos.weight[: s.shape[1]]
        b = self.tgt(t) + self.pos.weight[: t.shape[1]]
        return self.head(self.core(a, b, tgt_mask=mask))


def reversals(n, length=6):
    """Translate: reverse and shift by three; 0 pads, 1 begins, 2 ends."""
    s = torch.randint(3, 14, (n, length))
    t = (s.flip(1) - 3 + 3) % 11 + 3
    t = torch.cat([torch.ones(n, 1, dtype=torch.long), t, torch.full((n, 1), 2)], 1)
    return s, t


@torch.no_grad()
def greedy(model, s, length):
    out = torch.ones(len(s), 1, dtype=torch.long)
    for _ in range(length):
        out = torch.cat([out, model(s, out)[:, -1].argmax(-1, keepdim=True)], 1)
    return out


@healthy
def translate_reversal(record, seed):
    seed_all(seed)
    s, t = reversals(3000)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda k: 32**-0.5 * 0.5 * min((k + 1) ** -0.5, (k + 1) * 100**-1.5)
    )
    criterion = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.05)
    with record(model, optimizer, criterion):
        for epoch in range(8):
            model.train()
            for i in batches(2800, 56):
                logits = model(s[i], t[i, :-1])
                loss = criterion(logits.flatten(0, 1), t[i, 1:].flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
    model.eval()
    out = greedy(model, s[2800:], 7)
    score((out[:, 1:] == t[2800:, 1:]).float().mean(), 0.1)


@pair("the decoder has no causal mask and sees the token it must predict", "middling")
def translate_no_mask(record, seed, faulty):
    seed_all(seed)
    s, t = reversals(3000, 5)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(7):
            for i in batches(2800, 56):
                logits = model(s[i], t[i, :-1], causal=not faulty)
                loss = criterion(logits.flatten(0, 1), t[i, 1:].flatten())
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
    model.eval()
    out = greedy(model, s[2800:], 6)
    score((out[:, 1:] == t[2800:, 1:]).float().mean(), 0.1)


@pair("targets are the inputs, not shifted by one", "gross")
def lm_unshifted(record, seed, faulty):
    seed_all(seed)
    text = corpus(9000)
    model = TinyGPT(layers=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for step in range(240):
            x, y = windows(text[:8000], 32, 12)
            loss = criterion(model(x).transpose(1, 2), x if faulty else y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 60 == 59:
                with record.evaluation(hook):
                    lm_score(model, text[8000:], rounds=2)
    score(lm_score(model, text[8000:]), -math.log(16))


@pair("the learning rate is forty times too high for a transformer without warmup", "gross")
def gpt_hot(record, seed, faulty):
    seed_all(seed)
    text = corpus(9000)
    model = TinyGPT()
    fast = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.12 if faulty else 3e-3)
    with record(model, optimizer) as hook:
        for step in range(180):
            x, y = windows(text[:8000], 32, 12)
            loss = F.cross_entropy(fast(x).flatten(0, 1), y.flatten())
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(lm_score(model, text[8000:]), -math.log(16))


@pair("pure bfloat16 weights with a small rate, whose updates round away", "mild")
def gpt_pure_bf16(record, seed, faulty):
    seed_all(seed)
    text = corpus(9000)
    model = TinyGPT(layers=1)
    if faulty:
        model = model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-4)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for step in range(400):
            x, y = windows(text[:8000], 32, 12)
            loss = criterion(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(lm_score(model, text[8000:]), -math.log(16))


@pair("the loss averages over padding, most of the batch, instead of ignoring it", "middling")
def tag_padding(record, seed, faulty):
    seed_all(seed)
    x, y = tagged(1200, length=24)
    n = torch.randint(2, 7, (1200,))
    pad = torch.arange(24)[None] >= n[:, None]
    x, y = x.masked_fill(pad, 0), y.masked_fill(pad, 0 if faulty else -100)
    model = nn.ModuleDict(
        {
            "embed": nn.Embedding(40, 16),
            "rnn": nn.GRU(16, 24, batch_first=True),
            "head": nn.Linear(24, 5),
        }
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss()
    forward = lambda x: model["head"](model["rnn"](model["embed"](x))[0])
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for i in batches(1000, 25):
                loss = criterion(forward(x[i]).transpose(1, 2), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        ok = (forward(x[1000:]).argmax(-1) == y[1000:])[~pad[1000:]]
    score(ok.float().mean(), 0.2)


@pair("the key padding mask is inverted: attention looks only at padding", "gross")
def inverted_padding_mask(record, seed, faulty):
    seed_all(seed)
    x, y, n = texts(1500, length=24)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(61, 32)
            self.attend = nn.MultiheadAttention(32, 4, batch_first=True)
            self.head = nn.Linear(32, 4)
            self.query = nn.Parameter(torch.randn(1, 1, 32) * 0.1)

        def forward(self, x):
            pad = x == 0
            mask = ~pad if faulty else pad
            mask = mask & ~mask.all(1, keepdim=True)
            h = self.embed(x)
            out, _ = self.attend(self.query.expand(len(x), -1, -1), h, h, key_padding_mask=mask)
            return self.head(out[:, 0])

    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(12):
            model.train()
            for i in batches(1200, 30):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[1200:]), y[1200:])
    with torch.no_grad():
        score((model(x[1200:]).argmax(1) == y[1200:]).float().mean(), 0.25)


@pair("dropout of 0.9 was meant as a keep probability", "middling")
def bag_keep_probability(record, seed, faulty):
    seed_all(seed)
    x, y, _ = texts(1500)
    model = nn.Sequential(
        nn.EmbeddingBag(60, 32, padding_idx=0),
        nn.Dropout(0.9 if faulty else 0.1),
        nn.Linear(32, 32),
        nn.ReLU(),
        nn.Dropout(0.9 if faulty else 0.1),
        nn.Linear(32, 4),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            model.train()
            for i in batches(1200, 40):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    model.eval()
    with torch.no_grad():
        score((model(x[1200:]).argmax(1) == y[1200:]).float().mean(), 0.25)


@pair("the recurrent state is detached at every time step, not between chunks", "middling")
def truncated_everywhere(record, seed, faulty):
    """Remember the first symbol through noise."""
    seed_all(seed)
    first = torch.randint(4, (1500,))
    x = torch.randint(4, 12, (1500, 10))
    x[:, 0] = first
    embed, cell, head = nn.Embedding(12, 16), nn.GRUCell(16, 32), nn.Linear(32, 4)
    model = nn.ModuleList([embed, cell, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def forward(x):
        h = torch.zeros(len(x), 32)
        for t in range(x.shape[1]):
            h = cell(embed(x[:, t]), h.detach() if faulty else h)
        return head(h)

    with record(model, optimizer) as hook:
        for epoch in range(10):
            for i in batches(1200, 30):
                loss = F.cross_entropy(forward(x[i]), first[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score((forward(x[1200:]).argmax(1) == first[1200:]).float().mean(), 0.25)


@pair("gradients are clipped to a norm of 1e-4 under plain SGD", "gross")
def clip_to_nothing(record, seed, faulty):
    seed_all(seed)
    x, y, n = texts(1200, length=12)
    model = Rnn(cell=nn.LSTM)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(14):
            for i in batches(1000, 25):
                optimizer.zero_grad()
                loss = criterion(model(x[i], n[i]), y[i])
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1e-4 if faulty else 1.0)
                optimizer.step()
    with torch.no_grad():
        score((model(x[1000:], n[1000:]).argmax(1) == y[1000:]).float().mean(), 0.25)


@pair("positions are added with sinusoids of amplitude 8, drowning the words", "mild")
def loud_positions(record, seed, faulty):
    seed_all(seed)
    text = corpus(9000)
    model = TinyGPT(layers=1)
    with torch.no_grad():
        t, k = torch.arange(64)[:, None], torch.arange(16)[None]
        wave = t / 10000 ** (k / 16)
        model.pos.weight.copy_(torch.cat([wave.sin(), wave.cos()], 1) * (8 if faulty else 0.1))
    model.pos.weight.requires_grad_(False)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for step in range(300):
            x, y = windows(text[:8000], 32, 12)
            loss = criterion(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(lm_score(model, text[8000:]), -math.log(16))


@pair("the schedule steps per batch although its step size counts epochs", "middling")
def schedule_per_batch(record, seed, faulty):
    seed_all(seed)
    text = corpus(9000)
    model = TinyGPT(layers=1)
    fast = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for step in range(25):
                x, y = windows(text[:8000], 32, 12)
                loss = criterion(fast(x).flatten(0, 1), y.flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if faulty:
                    schedule.step()
            if not faulty:
                schedule.step()
    score(lm_score(model, text[8000:]), -math.log(16))
