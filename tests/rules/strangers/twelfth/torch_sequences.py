"""Time series, recurrent nets, tabular transformers, graphs, several tasks at once."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from kit import (
    PAD,
    forever,
    gen,
    hit,
    loader,
    majority,
    padded_count,
    r2,
    seed_all,
    tabular,
    waves,
)
from registry import healthy, pair, score
from torch_posttrain import TinyGPT


class Tokenised(nn.Module):
    """A series cut into bins and read by a causal transformer, as Chronos does."""

    def __init__(self, bins=32):
        super().__init__()
        self.gpt = TinyGPT(vocab=bins, width=48, layers=2)

    def forward(self, ids):
        return self.gpt(ids)


def bin_series(x, bins=32, low=-2.2, high=2.2):
    return ((x - low) / (high - low) * bins).long().clamp(0, bins - 1)


def chronos(
    record, seed, steps=350, low=-2.2, high=2.2, shift=1, lr=3e-3, shuffle_time=False, standard=True
):
    model = Tokenised()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)

    def prepare(x):
        return bin_series((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True), 32, low, high)

    data = forever(loader(prepare(waves(seed, 2000)), batch=12, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            (ids,) = next(data)
            logits = model(ids)[:, : -shift or None]
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, shift:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            hook.record_tensor_value("loss", loss)
    x = waves(seed + 500, 200)
    z = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
    with torch.no_grad():
        mean = model(prepare(x))[:, 10:-1].softmax(-1)
    centre = low + (torch.arange(32) + 0.5) * (high - low) / 32
    score(r2(mean @ centre, z[:, 11:]), r2(torch.zeros_like(z[:, 11:]), z[:, 11:]))


@healthy
def tokenised_series_transformer(record, seed):
    seed_all(seed)
    chronos(record, seed, 220)


@pair("range of the bins too narrow, most values are clipped", "middling")
def tokenised_series_bins_too_narrow(record, seed, faulty):
    seed_all(seed)
    low, high = (-0.3, 0.3) if faulty else (-2.2, 2.2)
    chronos(record, seed, 200, low=low, high=high)


@pair("target is the token of now, not the next", "middling")
def tokenised_series_target_is_input(record, seed, faulty):
    seed_all(seed)
    chronos(record, seed, 200, shift=0 if faulty else 1)


class Recurrent(nn.Module):
    def __init__(self, cell="lstm", hidden=32, batch_first=True):
        super().__init__()
        kind = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell]
        self.rnn = kind(1, hidden, batch_first=batch_first)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x[..., None])
        return self.head(out[:, -1])[:, 0]


def forecast(
    record,
    seed,
    model,
    steps=350,
    lr=4e-3,
    clip=1.0,
    leak=0,
    scale=1.0,
    ahead=2,
    optimizer=None,
    target=None,
    clip_late=False,
    norm=True,
    use=None,
):
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=lr)
    x = waves(seed, 2000) * scale
    data = forever(loader(x, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            (x,) = next(data)
            past, y = x[:, leak : 30 + leak], x[:, 29 + ahead]
            pred = model(past)
            loss = target(pred, y) if target else F.smooth_l1_loss(pred, y)
            optimizer.zero_grad()
            loss.backward()
            if clip and not clip_late:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if clip and clip_late:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            hook.record_tensor_value("loss", loss.item())
    x = waves(seed + 500, 400) * scale
    with torch.no_grad():
        pred = model(x[:, :30])
        score(max(r2(pred.nan_to_num(), x[:, 29 + ahead]), -1.0), 0.0)


@healthy
def lstm_forecast_huber(record, seed):
    seed_all(seed)
    forecast(record, seed, Recurrent())


@healthy
def vanilla_rnn_orthogonal_clip(record, seed):
    seed_all(seed)
    model = Recurrent("rnn")
    nn.init.orthogonal_(model.rnn.weight_hh_l0)
    forecast(record, seed, model, 450, lr=2e-3, clip=0.5)


@pair("value to be forecast lies in the window of the training", "gross")
def forecast_target_in_window(record, seed, faulty):
    seed_all(seed)
    forecast(record, seed, Recurrent("gru"), 300, leak=5 if faulty else 0, ahead=5)


@pair("series left at a scale of thousands", "gross")
def forecast_series_not_scaled(record, seed, faulty):
    seed_all(seed)
    forecast(record, seed, Recurrent(), 300, scale=2000.0 if faulty else 1.0)


@pair("batch_first missing: the net runs over the batch", "middling")
def forecast_batch_first_missing(record, seed, faulty):
    seed_all(seed)
    forecast(record, seed, Recurrent("gru", batch_first=not faulty), 300)


@pair("recurrent weights drawn far too large", "gross")
def rnn_recurrent_weights_too_large(record, seed, faulty):
    seed_all(seed)
    model = Recurrent("rnn")
    nn.init.orthogonal_(model.rnn.weight_hh_l0, gain=6.0 if faulty else 1.0)
    forecast(record, seed, model, 400, lr=2e-3)


@pair("sum in place of mean as reduction under plain SGD", "gross")
def forecast_loss_summed(record, seed, faulty):
    seed_all(seed)
    model = Recurrent("gru")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    target = nn.MSELoss(reduction="sum" if faulty else "mean")
    forecast(record, seed, model, 450, optimizer=optimizer, target=target, clip=None)


@pair("learning rate of Adam used for SGD", "gross")
def forecast_sgd_with_rate_of_adam(record, seed, faulty):
    seed_all(seed)
    model = Recurrent("gru")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4 if faulty else 0.05, momentum=0.9)
    forecast(record, seed, model, 450, optimizer=optimizer, target=F.mse_loss)


class FTTransformer(nn.Module):
    """Each feature is a token: the tabular transformer."""

    def __init__(self, features=12, classes=4, width=32, layers=2):
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(features, width))
        self.bias = nn.Parameter(0.3 * torch.randn(features, width))
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, 0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = x[..., None] * self.weight + self.bias
        h = torch.cat([self.cls.expand(len(x), -1, -1), h], 1)
        return self.head(self.encoder(h)[:, 0])


def table(
    record,
    seed,
    model,
    steps=350,
    lr=2e-3,
    prep=None,
    test_prep=None,
    loss_fn=None,
    n=4000,
    decay=0.01,
    batch=48,
):
    x, y = tabular(seed, n)
    if prep:
        x, y = prep(x, y)
    loss_fn = loss_fn or nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=decay)
    data = forever(loader(x, y, batch=batch, seed=seed))
    with record(model, optimizer, loss_fn) as hook:
        for _ in range(steps):
            x, y = next(data)
            loss = loss_fn(model(x), y)
            hook.record_tensor_value("loss", loss)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    x, y = tabular(seed + 500, 800)
    x = test_prep(x) if test_prep else x
    model.eval()
    with torch.no_grad():
        score(hit(model(x), y), majority(y))


@healthy
def tabular_transformer(record, seed):
    seed_all(seed)
    table(record, seed, FTTransformer())


@pair("half of the labels of the table are noise of a wrong join", "middling")
def tabular_wrong_join(record, seed, faulty):
    seed_all(seed)

    def prep(x, y):
        if faulty:
            y = torch.cat([y[:1000], y[1000:].roll(1)])
        return x, y

    table(record, seed, FTTransformer(), 300, prep=prep)


@pair("columns in another order in use than in training", "gross")
def tabular_columns_in_other_order(record, seed, faulty):
    seed_all(seed)
    order = torch.randperm(12, generator=gen(1)) if faulty else torch.arange(12)
    table(record, seed, FTTransformer(), 250, test_prep=lambda x: x[:, order])


@pair("feature that knows the label in training only", "gross")
def tabular_leak_of_label(record, seed, faulty):
    seed_all(seed)

    def prep(x, y):
        x = torch.cat([x, F.one_hot(y, 4).float() * 2 if faulty else torch.zeros(len(x), 4)], 1)
        return x, y

    table(
        record,
        seed,
        FTTransformer(16),
        250,
        prep=prep,
        test_prep=lambda x: torch.cat([x, torch.zeros(len(x), 4)], 1),
    )


def in_bfloat16(record, seed, dtype, steps=700, lr=3e-4):
    model = nn.Sequential(
        nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4)
    ).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    x, y = tabular(seed, 3000)
    data = forever(loader(x.to(dtype), y, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            x, y = next(data)
            loss = F.cross_entropy(model(x).float(), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss)
    x, y = tabular(seed + 500, 800)
    with torch.no_grad():
        score(hit(model(x.to(dtype)).float(), y), majority(y))


@healthy
def table_wholly_in_bfloat16(record, seed):
    seed_all(seed)
    in_bfloat16(record, seed, torch.bfloat16, 400, 0.1)


@pair("whole model in bfloat16 with a small learning rate: updates are rounded away", "mild")
def table_bfloat16_updates_lost(record, seed, faulty):
    seed_all(seed)
    in_bfloat16(record, seed, torch.bfloat16 if faulty else torch.float32, 800, 0.006)


def community_graph(seed, nodes=200, classes=4):
    """Communities that are linked within, with features too noisy to tell them alone."""
    g = gen(seed + 900)
    y = torch.randint(classes, (nodes,), generator=g)
    chance = torch.where(y[:, None] == y[None], 0.08, 0.012)
    links = torch.rand(nodes, nodes, generator=g) < chance
    links = (links | links.T).fill_diagonal_(True)
    centre = torch.randn(classes, 16, generator=gen(17))
    x = centre[y] + 2.5 * torch.randn(nodes, 16, generator=g)
    return x, links, y


class GraphAttention(nn.Module):
    def __init__(self, width=32, dim=-1, masked=True):
        super().__init__()
        self.one, self.two = nn.Linear(16, width), nn.Linear(width, width)
        self.query, self.key = nn.Linear(width, 8), nn.Linear(width, 8)
        self.out = nn.Linear(width, 4)
        self.dim, self.masked = dim, masked

    def forward(self, x, links):
        h = self.one(x).relu()
        for layer in (self.two, self.out):
            s = self.query(h) @ self.key(h).T / 8**0.5
            if self.masked:
                s = s.masked_fill(~links, -1e9)
            h = layer(s.softmax(self.dim) @ h)
            h = h.relu() if layer is self.two else h
        return h


def graph(record, seed, model, steps=200, wrong=False):
    x, links, y = community_graph(seed)
    train = torch.arange(len(y)) < 120
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=5e-3)
    with record(model, optimizer) as hook:
        for step in range(steps):
            model.train()
            out = model(x, links)
            loss = F.cross_entropy(out[train], (y.roll(1) if wrong else y)[train])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss.item())
            if step % 50 == 0:
                model.eval()
                with torch.no_grad(), record.evaluation(hook):
                    model(x, links)
    model.eval()
    with torch.no_grad():
        score(hit(model(x, links)[~train], y[~train]), majority(y[~train]))


@healthy
def graph_attention_communities(record, seed):
    seed_all(seed)
    graph(record, seed, GraphAttention())


@pair("mask of the links missing: each node attends to all", "gross")
def graph_links_not_masked(record, seed, faulty):
    seed_all(seed)
    graph(record, seed, GraphAttention(masked=not faulty))


@pair("labels of the nodes off by one", "gross")
def graph_labels_off_by_one(record, seed, faulty):
    seed_all(seed)
    graph(record, seed, GraphAttention(), wrong=faulty)
