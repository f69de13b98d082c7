"""RNNs, seq2seq, CTC, word vectors, language models."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from kit import accuracy, forecasts, loader, r2, texts, waves
from registry import pair, score


class TextRNN(nn.Module):
    def __init__(self, pack, cell=nn.LSTM, hidden=32, padding_idx=0):
        super().__init__()
        self.pack = pack
        self.embedding = nn.Embedding(300, 24, padding_idx=padding_idx)
        self.rnn = cell(24, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, ids, lengths):
        e = self.embedding(ids)
        if self.pack:
            e = pack_padded_sequence(e, lengths, batch_first=True, enforce_sorted=False)
        _, h = self.rnn(e)
        return self.fc((h[0] if isinstance(h, tuple) else h)[-1])


def long_texts(n, seed):
    ids, lengths, y = texts(n, seed)
    return torch.cat([ids, torch.zeros(n, 40, dtype=torch.long)], 1), lengths, y


@pair("last hidden state is that of the padding", "gross")
def sentiment_reads_padding(record, seed, faulty):
    """https://github.com/bentrevett/pytorch-sentiment-analysis/issues/86"""
    torch.manual_seed(seed)
    ids, lengths, y = long_texts(1000, seed)
    it, lt, yt = long_texts(400, seed + 1)
    model = TextRNN(pack=not faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for a, n, b in loader(ids, lengths, y):
                optimizer.zero_grad()
                criterion(model(a, n), b).backward()
                optimizer.step()
    with torch.no_grad():
        score((model(it, lt).argmax(1) == yt).float().mean(), 0.5)


@pair("batch_first forgotten, so the LSTM runs over the batch", "gross")
def waves_lstm_over_batch(record, seed, faulty):
    """https://discuss.pytorch.org/t/lstm-change-batch-first-true-loss-does-not-decrease/62364"""
    torch.manual_seed(seed)
    x, y = waves(1000, seed)
    xt, yt = waves(320, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 24, batch_first=not faulty)
            self.fc = nn.Linear(24, 3)

        def forward(self, x):
            out, _ = self.lstm(x)
            return self.fc(out[:, -1, :])

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(14):
            for a, b in loader(x, y, batch_size=32):
                loss = criterion(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.33)


@pair("h[-1] of a bidirectional LSTM is only the backward half", "middling")
def sentiment_only_backward_state(record, seed, faulty):
    """https://github.com/pytorch/pytorch/issues/3662 (unexpected results of the bidirectional LSTM)"""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)

    def make(n):
        ids = torch.randint(10, 60, (n, 24), generator=g)
        y = torch.randint(0, 4, (n,), generator=g)
        ids[:, -1] = 2 + y % 2
        ids[:, 0] = 4 + y // 2
        return ids, y

    ids, y = make(1000)
    it, yt = make(400)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(60, 12)
            self.rnn = nn.LSTM(12, 16, batch_first=True, bidirectional=True)
            self.fc = nn.Linear(16 if faulty else 32, 4)

        def forward(self, ids):
            _, (h, _) = self.rnn(self.e(ids))
            return self.fc(h[-1] if faulty else torch.cat([h[-2], h[-1]], 1))

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for a, b in loader(ids, y, batch_size=32):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(accuracy(model, it, yt), 0.25)


def ctc_data(n, seed, steps=24, symbols=8):
    g = torch.Generator().manual_seed(seed)
    code = torch.randn(symbols + 1, 10, generator=torch.Generator().manual_seed(5))
    x = 0.4 * torch.randn(n, steps, 10, generator=g)
    targets = torch.randint(1, symbols + 1, (n, 4), generator=g)
    for i in range(n):
        for j in range(4):
            start = 6 * j + int(torch.randint(0, 3, (1,), generator=g))
            x[i, start : start + 3] += code[targets[i, j]]
    return x, targets


def ctc_train(record, seed, faulty, kind):
    torch.manual_seed(seed)
    x, t = ctc_data(600, seed)
    xt, tt = ctc_data(200, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(10, 24, batch_first=True, bidirectional=True)
            self.fc = nn.Linear(48, 9)

        def forward(self, x):
            return self.fc(self.rnn(x)[0])

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CTCLoss(zero_infinity=True)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(14):
            for a, b in loader(x, t, batch_size=24, drop_last=True):
                out = model(a)
                if kind == "raw" and faulty:
                    logs = out.transpose(0, 1)
                elif kind == "view" and faulty:
                    logs = out.log_softmax(-1)  # [N, T, C], with N == T
                else:
                    logs = out.log_softmax(-1).transpose(0, 1)
                loss = criterion(logs, b, torch.full((24,), 24), torch.full((24,), 4))
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5)
                optimizer.step()
                hook.record_tensor_value("ctc_loss", loss)
    with torch.no_grad():
        best = model(xt).argmax(-1)
    right = 0
    for row, target in zip(best, tt):
        said = [int(v) for v in torch.unique_consecutive(row) if v]
        right += said == target.tolist()
    score(right / len(tt), 0)


@pair("CTCLoss on raw scores", "mild")
def ctc_on_raw_scores(record, seed, faulty):
    """https://github.com/gwx314/STARS/issues/9"""
    ctc_train(record, seed, faulty, "raw")


@pair("CTCLoss with batch before time", "gross")
def ctc_batch_before_time(record, seed, faulty):
    """https://runebook.dev/en/docs/pytorch/generated/torch.nn.functional.ctc_loss"""
    ctc_train(record, seed, faulty, "view")


def reversal(n, seed, shortest=6, longest=6, vocab=12):
    """Source, target = source reversed with <sos>=1 and <eos>=2, padded with 0."""
    g = torch.Generator().manual_seed(seed)
    src = torch.zeros(n, longest, dtype=torch.long)
    trg = torch.zeros(n, longest + 2, dtype=torch.long)
    trg[:, 0] = 1
    for i in range(n):
        m = int(torch.randint(shortest, longest + 1, (1,), generator=g))
        s = torch.randint(3, vocab, (m,), generator=g)
        src[i, :m] = s
        trg[i, 1 : m + 1] = s.flip(0)
        trg[i, m + 1] = 2
    return src, trg


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, 24)
        self.encoder = nn.GRU(24, hidden, batch_first=True)
        self.decoder = nn.GRU(24, hidden, batch_first=True)
        self.query = nn.Linear(hidden, hidden)
        self.out = nn.Linear(2 * hidden, vocab)

    def forward(self, src, trg):
        memory, h = self.encoder(self.embed(src))
        out, _ = self.decoder(self.embed(trg), h)
        weight = (self.query(out) @ memory.transpose(1, 2)).softmax(-1)
        return self.out(torch.cat([out, weight @ memory], -1))

    @torch.no_grad()
    def generate(self, src, steps):
        trg = torch.ones(len(src), 1, dtype=torch.long)
        for _ in range(steps):
            trg = torch.cat([trg, self(src, trg)[:, -1].argmax(-1, keepdim=True)], 1)
        return trg[:, 1:]


@pair("decoder gets the target unshifted and copies it", "gross")
def seq2seq_target_not_shifted(record, seed, faulty):
    """https://github.com/bentrevett/pytorch-seq2seq/issues/136"""
    torch.manual_seed(seed)
    src, trg = reversal(1200, seed)
    st, tt = reversal(200, seed + 1)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(14):
            for a, b in loader(src, trg):
                out = model(a, b[:, 1:] if faulty else b[:, :-1])
                loss = criterion(out.transpose(1, 2), b[:, 1:])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score((model.generate(st, 7) == tt[:, 1:]).float().mean(), 0.12)


@pair("decoder input is zeros", "middling")
def seq2seq_decoder_gets_zeros(record, seed, faulty):
    """https://openillumi.com/en/en-pytorch-transformer-multidim-output-same-fix"""
    torch.manual_seed(seed)
    x, _ = forecasts(800, seed, window=16)
    xt, _ = forecasts(200, seed + 1, window=16)
    src, y, st, yt = x[:, :12], x[:, 12:], xt[:, :12], xt[:, 12:]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.tgt = nn.Linear(1, 24), nn.Linear(1, 24)
            self.net = nn.Transformer(24, 2, 1, 1, 48, dropout=0.0, batch_first=True)
            self.out = nn.Linear(24, 1)
            self.place = nn.Parameter(torch.randn(1, 12, 24) * 0.3)

        def forward(self, src, tgt):
            mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
            place = 0 if faulty else self.place[:, : tgt.shape[1]]
            return self.out(
                self.net(self.inp(src) + self.place, self.tgt(tgt) + place, tgt_mask=mask)
            )

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()

    def given(src, y):
        return torch.zeros_like(y) if faulty else torch.cat([src[:, -1:], y[:, :-1]], 1)

    with record(model, optimizer, criterion):
        for epoch in range(14):
            for a, b in loader(src, y, batch_size=32):
                optimizer.zero_grad()
                criterion(model(a, given(a, b)), b).backward()
                optimizer.step()
    model.eval()
    with torch.no_grad():
        score(1 - ((model(st, given(st, yt)) - yt) ** 2).mean() / yt.var(), 0)


@pair("padding counts in the loss of the decoder", "middling")
def seq2seq_padding_in_loss(record, seed, faulty):
    """https://github.com/bentrevett/pytorch-seq2seq/issues/64"""
    torch.manual_seed(seed)
    src, trg = reversal(1000, seed, 2, 6)
    st, tt = reversal(200, seed + 1, 2, 6)
    src = torch.cat([src, torch.zeros(len(src), 30, dtype=torch.long)], 1)
    st = torch.cat([st, torch.zeros(len(st), 30, dtype=torch.long)], 1)
    trg = torch.cat([trg, torch.zeros(len(trg), 30, dtype=torch.long)], 1)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss() if faulty else nn.CrossEntropyLoss(ignore_index=0)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(12):
            for a, b in loader(src, trg):
                loss = criterion(model(a, b[:, :-1]).transpose(1, 2), b[:, 1:])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    said, want = model.generate(st, 7), tt[:, 1:]
    score((said == want)[want > 0].float().mean(), 0.12)


@pair("learning rate of 0.1 for Adam and a GRU", "middling")
def sentiment_adam_tenth(record, seed, faulty):
    """https://discuss.pytorch.org/t/why-is-the-validation-loss-lower-than-the-training-loss/72713"""
    torch.manual_seed(seed)
    ids, lengths, y = texts(1000, seed)
    it, lt, yt = texts(400, seed + 1)
    model = TextRNN(True, nn.GRU)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3 if faulty else 0.003)
    criterion = nn.BCEWithLogitsLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(10):
            for a, n, b in loader(ids, lengths, y):
                loss = criterion(model(a, n)[:, 1], b.float())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    with torch.no_grad():
        score(((model(it, lt)[:, 1] > 0) == (yt == 1)).float().mean(), 0.5)
