"""Healthy trainings on sequences, text and transformers, and of generative models and agents."""

import math


import torch
import torch.nn.functional as F
from torch import nn

from kit import accuracy, forecasts, loader, r2, texts, waves
from registry import healthy, score
from torch_attention import Encoder, Rows, bert, sentences, trainer

from torch_sequences import Seq2Seq, TextRNN, ctc_data, reversal


class Last(nn.Module):
    def __init__(self, cell, size, hidden, out, **more):
        super().__init__()
        self.rnn = cell(size, hidden, batch_first=True, **more)
        self.fc = nn.Linear(hidden, out)

    def forward(self, x):
        return self.fc(self.rnn(x)[0][:, -1])


@healthy
def waves_lstm(record, seed):
    torch.manual_seed(seed)
    x, y = waves(800, seed)
    xt, yt = waves(300, seed + 1)
    model = Last(nn.LSTM, 3, 24, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for a, b in loader(x, y, batch_size=32):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.33)


@healthy
def waves_conv_net_with_dropout(record, seed):
    torch.manual_seed(seed)
    x, y = waves(700, seed)
    xt, yt = waves(300, seed + 1)
    model = nn.Sequential(
        nn.Conv1d(3, 16, 5),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Conv1d(16, 24, 5, dilation=2),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(1),
        nn.Flatten(),
        nn.Linear(24, 3),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for a, b in loader(x.transpose(1, 2), y, batch_size=32):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(accuracy(model, xt.transpose(1, 2), yt), 0.33)


@healthy
def forecast_gru(record, seed):
    torch.manual_seed(seed)
    x, y = forecasts(1200, seed)
    xt, yt = forecasts(300, seed + 1)
    model = Last(nn.GRU, 1, 24, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.HuberLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(12):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
            with torch.no_grad(), record.evaluation(hook):
                criterion(model(xt), yt)
    score(r2(model, xt, yt), 0)


@healthy
def lstm_plateau_then_falls(record, seed):
    """Accuracy stays at chance for long, then rises: a key must be kept over 8 steps."""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)

    def make(n):
        ids = torch.randint(4, 20, (n, 9), generator=g)
        y = torch.randint(0, 4, (n,), generator=g)
        ids[:, 0] = y
        return ids, y

    ids, y = make(1000)
    it, yt = make(300)
    model = nn.Sequential(nn.Embedding(20, 12), Last(nn.LSTM, 12, 24, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(24):
            for a, b in loader(ids, y, batch_size=32):
                loss = criterion(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, it, yt), 0.25)


@healthy
def sentiment_packed_lstm(record, seed):
    """Many words never come up, so their vectors have no gradient."""
    torch.manual_seed(seed)
    ids, lengths, y = texts(1000, seed)
    it, lt, yt = texts(300, seed + 1)
    model = TextRNN(True)
    model.embedding = nn.Embedding(2000, 24, padding_idx=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for a, n, b in loader(ids, lengths, y):
                optimizer.zero_grad()
                criterion(model(a, n), b).backward()
                optimizer.step()
    with torch.no_grad():
        score((model(it, lt).argmax(1) == yt).float().mean(), 0.5)


@healthy
def sentiment_bag_of_words(record, seed):
    torch.manual_seed(seed)
    ids, _, y = texts(1000, seed)
    it, _, yt = texts(300, seed + 1)
    bag = lambda a: F.one_hot(a, 300).sum(1).float().clamp(max=1)[:, 1:]
    model = nn.Sequential(nn.Linear(299, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    criterion = nn.BCEWithLogitsLoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for a, b in loader(bag(ids), y.float(), batch_size=32):
                optimizer.zero_grad()
                criterion(model(a)[:, 0], b).backward()
                optimizer.step()
    model.eval()
    score(((model(bag(it))[:, 0] > 0) == (yt == 1)).float().mean(), 0.5)


@healthy
def ctc_blanks_first(record, seed):
    """At first all outputs are blank; then the symbols come."""
    torch.manual_seed(seed)
    x, t = ctc_data(500, seed)
    xt, tt = ctc_data(150, seed + 1)
    rnn, fc = nn.LSTM(10, 24, batch_first=True, bidirectional=True), nn.Linear(48, 9)
    model = nn.ModuleList([rnn, fc])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CTCLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(16):
            for a, b in loader(x, t, batch_size=25):
                logs = fc(rnn(a)[0]).log_softmax(-1).transpose(0, 1)
                loss = criterion(logs, b, torch.full((25,), 24), torch.full((25,), 4))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    with torch.no_grad():
        best = fc(rnn(xt)[0]).argmax(-1)
    score(
        sum(
            [int(v) for v in torch.unique_consecutive(r) if v] == w.tolist()
            for r, w in zip(best, tt)
        )
        / 150,
        0,
    )


@healthy
def seq2seq_with_attention(record, seed):
    torch.manual_seed(seed)
    src, trg = reversal(1000, seed, 3, 6)
    st, tt = reversal(200, seed + 1, 3, 6)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    with record(model, optimizer, criterion):
        for epoch in range(16):
            for a, b in loader(src, trg):
                optimizer.zero_grad()
                criterion(model(a, b[:, :-1]).transpose(1, 2), b[:, 1:]).backward()
                optimizer.step()
    said, want = model.generate(st, 7), tt[:, 1:]
    score((said == want)[want > 0].float().mean(), 0.12)


@healthy
def seq2seq_scheduled_sampling(record, seed):
    """The loss rises as the decoder gets its own words more and more."""
    torch.manual_seed(seed)
    src, trg = reversal(1000, seed, 4, 4)
    st, tt = reversal(200, seed + 1, 4, 4)
    src, trg, st, tt = src[:, :4], trg[:, :6], st[:, :4], tt[:, :6]
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(16):
            for a, b in loader(src, trg):
                given = b[:, :-1]
                with torch.no_grad():
                    said = torch.cat([b[:, :1], model(a, given)[:, :-1].argmax(-1)], 1)
                given = torch.where(torch.rand(given.shape) < epoch / 32, said, given)
                loss = criterion(model(a, given).transpose(1, 2), b[:, 1:])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score((model.generate(st, 5) == tt[:, 1:]).float().mean(), 0.12)


@healthy
def word2vec_negative_sampling(record, seed):
    torch.manual_seed(seed)
    topics = torch.randint(0, 5, (3000,))
    a, b = topics * 20 + torch.randint(0, 20, (3000,)), topics * 20 + torch.randint(0, 20, (3000,))
    inside, outside = nn.Embedding(100, 12), nn.Embedding(100, 12)
    nn.init.uniform_(inside.weight, -0.04, 0.04)
    nn.init.uniform_(outside.weight, -0.04, 0.04)
    model = nn.ModuleList([inside, outside])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for u, v in loader(a, b, batch_size=128):
                other = torch.randint(0, 100, (len(u), 5))
                loss = (
                    -F.logsigmoid((inside(u) * outside(v)).sum(-1)).mean()
                    - F.logsigmoid(-(inside(u)[:, None] * outside(other)).sum(-1)).mean()
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    e = F.normalize(inside.weight.detach(), dim=1)
    near = (e @ e.T - 2 * torch.eye(100)).topk(5, 1).indices
    score(((near // 20) == (torch.arange(100)[:, None] // 20)).float().mean(), 0.2)


@healthy
def lm_causal_warmup_cosine(record, seed):
    """The loss ends far above 0, as the text is partly random."""
    torch.manual_seed(seed)
    ids, test = sentences(700, seed), sentences(150, seed + 1)
    model = Encoder(causal=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1, s / 40) * 0.5 * (1 + math.cos(math.pi * min(1, s / 220)))
    )
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for (a,) in loader(ids, batch_size=32):
                loss = F.cross_entropy(model(a[:, :-1]).transpose(1, 2), a[:, 1:])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, test[:, :-1], test[:, 1:]), 1 / 30)


@healthy
def masked_language_model(record, seed):
    torch.manual_seed(seed)
    ids, test = sentences(700, seed), sentences(200, seed + 1)
    model = Encoder(vocab=31, classes=30)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)

    def mask(a):
        hide = torch.rand(a.shape) < 0.2
        return torch.where(hide, 30, a), torch.where(hide, a, -100)

    with record(model, optimizer, criterion):
        for epoch in range(14):
            for (a,) in loader(ids, batch_size=32):
                x, y = mask(a)
                optimizer.zero_grad()
                criterion(model(x).transpose(1, 2), y).backward()
                optimizer.step()
    x, y = mask(test)
    with torch.no_grad():
        score((model(x).argmax(-1) == y)[y >= 0].float().mean(), 1 / 30)


@healthy
def bert_finetuned_two_rates(record, seed):
    model = bert(seed)
    ids, _, y = texts(800, seed)
    it, _, yt = texts(300, seed + 1)
    optimizer = torch.optim.AdamW(
        [
            {"params": model.bert.parameters(), "lr": 8e-4},
            {"params": model.classifier.parameters(), "lr": 3e-3},
        ],
        weight_decay=0.01,
    )
    model.train()
    with record(model, optimizer) as hook:
        for epoch in range(7):
            for a, b in loader(ids, y, batch_size=32):
                loss = model(input_ids=a, attention_mask=(a > 0).long(), labels=b).loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=it, attention_mask=(it > 0).long()).logits.argmax(1) == yt)
            .float()
            .mean(),
            0.5,
        )


@healthy
def trainer_bert(record, seed):
    model = bert(seed)
    ids, _, y = texts(800, seed)
    it, _, yt = texts(300, seed + 1)
    trainer(
        model,
        record,
        Rows(input_ids=ids, attention_mask=(ids > 0).long(), labels=y),
        seed,
        warmup_steps=20,
        weight_decay=0.01,
    ).train()
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=it, attention_mask=(it > 0).long()).logits.argmax(1) == yt)
            .float()
            .mean(),
            0.5,
        )


@healthy
def trainer_gpt2(record, seed):
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    ids, test = sentences(700, seed), sentences(150, seed + 1)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=30,
            n_positions=16,
            n_embd=32,
            n_layer=2,
            n_head=2,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    trainer(
        model,
        record,
        Rows(input_ids=ids, labels=ids),
        seed,
        learning_rate=3e-3,
        num_train_epochs=9,
        lr_scheduler_type="cosine",
        gradient_accumulation_steps=1,
    ).train()
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=test).logits[:, :-1].argmax(-1) == test[:, 1:]).float().mean(), 1 / 30
        )


@healthy
def lora_new_head(record, seed):
    """Most weights are frozen, and the B matrices start at 0."""
    from peft import LoraConfig, get_peft_model
    from torch_attention import pretrained_bert

    base = pretrained_bert(seed)
    torch.manual_seed(seed)
    ids, _, y = texts(500, seed)
    it, _, yt = texts(300, seed + 1)
    nn.init.normal_(base.classifier.weight, std=0.02)  # a new head
    model = get_peft_model(
        base,
        LoraConfig(
            r=4, lora_alpha=16, target_modules=["query", "value"], modules_to_save=["classifier"]
        ),
    )
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=5e-3)
    model.train()
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for a, b in loader(ids, y, batch_size=32):
                loss = model(input_ids=a, attention_mask=(a > 0).long(), labels=b).loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=it, attention_mask=(it > 0).long()).logits.argmax(1) == yt)
            .float()
            .mean(),
            0.5,
        )
