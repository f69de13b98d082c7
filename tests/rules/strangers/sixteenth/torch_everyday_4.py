"""Everyday trainings in plain loops: tables, images, sequences, autoencoders, fine-tuning, part 4."""

import copy
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score
from torch_everyday import accuracy, blobs, r2
from torch_everyday_2 import deep


def reviews(seed, rows=2500, vocab=800, length=30):
    g = torch.Generator().manual_seed(seed + 3)
    mood = torch.randn(vocab, generator=g)
    ids = torch.randint(1, vocab, (rows, length), generator=g)
    y = (mood[ids].mean(1) > 0).long()
    return ids, y


class Bag(nn.Module):
    def __init__(self, vocab, sparse):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, 24, sparse=sparse)
        self.fc = nn.Linear(24, 2)

    def forward(self, ids):
        return self.fc(self.bag(ids))


@healthy
def day_sparse_bag(record, seed):
    """SparseAdam for the embedding, Adam for the rest."""
    torch.manual_seed(seed)
    ids, y = reviews(seed)
    model = Bag(800, True)
    both = [
        torch.optim.SparseAdam(list(model.bag.parameters()), 1e-2),
        torch.optim.Adam(model.fc.parameters(), 1e-2),
    ]
    with record(model, both) as hook:
        for step in range(500):
            i = torch.randint(0, 2000, (64,))
            loss = F.cross_entropy(model(ids[i]), y[i])
            for o in both:
                o.zero_grad()
            loss.backward()
            for o in both:
                o.step()
            if step % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    val = F.cross_entropy(model(ids[2000:]), y[2000:])
                hook.record_tensor_value("val_loss", val)
    score(accuracy(model(ids[2000:]), y[2000:]), 0.5)


def text(record, seed, fault=None):
    torch.manual_seed(seed)
    ids, y = reviews(seed + 1, 4000, 300, 24)
    emb = nn.Embedding(300, 32)
    rnn = nn.LSTM(32, 48, batch_first=True)
    fc = nn.Linear(48, 2)
    model = nn.ModuleDict({"emb": emb, "rnn": rnn, "fc": fc})
    if fault == "frozen":
        emb.weight.requires_grad_(False)
    params = fc.parameters() if fault == "head" else model.parameters()
    opt = torch.optim.Adam([p for p in params if p.requires_grad], 5e-3)

    def run(batch):
        return fc(rnn(emb(batch))[0].mean(1))

    with record(model, opt) as hook:
        for step in range(260):
            i = torch.randint(0, 3300, (64,))
            loss = F.cross_entropy(run(ids[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 65 == 64:
                with record.evaluation(hook), torch.no_grad():
                    val = F.cross_entropy(run(ids[3300:]), y[3300:])
                hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        score(accuracy(run(ids[3300:]), y[3300:]), 0.5)


@pair(cause="only the head given to the optimizer", severity="gross")
def day_text_head_only(record, seed, faulty):
    """fc.parameters() instead of all."""
    text(record, seed, "head" if faulty else None)


@pair(cause="embedding frozen by mistake though it was never trained", severity="mild")
def day_text_frozen(record, seed, faulty):
    """requires_grad_(False) on a random embedding."""
    text(record, seed, "frozen" if faulty else None)


class TinyLM(nn.Module):
    def __init__(self, vocab=40, width=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.unused = nn.Linear(width, width)
        self.out = nn.Linear(width, vocab, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


def markov(seed, rows, length, vocab=40):
    g = torch.Generator().manual_seed(seed + 8)
    table = torch.randint(0, vocab, (vocab, 2), generator=g)
    ids = torch.randint(0, vocab, (rows, 1), generator=g)
    for _ in range(length - 1):
        pick = (torch.rand(rows, generator=g) < 0.2).long()
        ids = torch.cat([ids, table[ids[:, -1], pick][:, None]], 1)
    return ids


def char_lm(record, seed, fault=None):
    torch.manual_seed(seed)
    ids = markov(seed, 1200, 25)
    model = TinyLM()
    opt = torch.optim.AdamW(model.parameters(), 5e-3)
    with record(model, opt) as hook:
        for step in range(250):
            i = torch.randint(0, 1000, (32,))
            a, b = ids[i, :-1], ids[i, 1:]
            if fault == "same":
                b = a
            loss = F.cross_entropy(model(a).flatten(0, 1), b.flatten())
            opt.zero_grad()
            if fault == "item":
                loss = loss.detach().requires_grad_()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    out = model(ids[1000:, :-1]).flatten(0, 1)
                    val = F.cross_entropy(out, ids[1000:, 1:].flatten())
                hook.record_tensor_value("val_loss", val)
    score(accuracy(model(ids[1000:, :-1]), ids[1000:, 1:]), 1 / 40)


@healthy
def day_char_lm(record, seed):
    """Tied embedding and an unused layer."""
    char_lm(record, seed)


@pair(cause="targets not shifted: the model copies its input", severity="gross")
def day_char_lm_same(record, seed, faulty):
    """Labels equal the inputs."""
    char_lm(record, seed, "same" if faulty else None)


@pair(cause="loss detached: nothing is trained", severity="gross")
def day_char_lm_detached(record, seed, faulty):
    """loss.detach().requires_grad_() to silence an error."""
    char_lm(record, seed, "item" if faulty else None)


@pair(cause="optimizer.step() outside the inner loop", severity="middling")
def day_step_indent(record, seed, faulty):
    """One update per epoch, with the gradient of the last batch."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 91, 3000, 20, 6, 0.8)
    model = nn.Sequential(nn.Linear(20, 128), nn.Tanh(), nn.Linear(128, 6))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    with record(model, opt) as hook:
        for _epoch in range(14):
            for k in range(0, 2400, 60):
                opt.zero_grad()
                loss = F.cross_entropy(model(x[k : k + 60]), y[k : k + 60])
                loss.backward()
                if not faulty:
                    opt.step()
            if faulty:
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 6)


@pair(cause="optimizer made for a copy of the model", severity="gross")
def day_copy_model(record, seed, faulty):
    """deepcopy after the optimizer was made."""
    torch.manual_seed(seed)
    x = torch.randn(3000, 12)
    y = (x[:, :2].prod(1) > 0).float() * 2 + x[:, 5]
    model = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
    model.append(nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    if faulty:
        model = copy.deepcopy(model)
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 2500, (100,))
            loss = F.l1_loss(model(x[i])[:, 0], y[i])
            model.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.l1_loss(model(x[2500:])[:, 0], y[2500:]))
    score(r2(model(x[2500:]), y[2500:]), 0.0)


@pair(cause="weights restored from a checkpoint in every epoch", severity="middling")
def day_reload(record, seed, faulty):
    """load_state_dict of the initial state inside the loop."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 101, 3000, 20, 8, 0.9)
    model = deep(nn.LeakyReLU, depth=1, width=96)
    first = copy.deepcopy(model.state_dict())
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    with record(model, opt) as hook:
        for epoch in range(40):
            if faulty or epoch == 0:
                model.load_state_dict(first)
            for chunk in torch.randperm(2400)[:600].split(60):
                opt.zero_grad()
                F.cross_entropy(model(x[chunk]), y[chunk]).backward()
                opt.step()
            if epoch % 8 == 7:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 8)


@pair(cause="learning rate 10x too low", severity="mild")
def day_small_rate(record, seed, faulty):
    """Slow, but it gets somewhere."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 111, 4000, 25, 10, 1.0)
    model = nn.Sequential(nn.Linear(25, 256), nn.ReLU(), nn.Linear(256, 10))
    opt = torch.optim.Adagrad(model.parameters(), 2e-3 if faulty else 2e-2)
    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 3200, (64,))
            loss = F.multi_margin_loss(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    val = F.multi_margin_loss(model(x[3200:]), y[3200:])
                hook.record_tensor_value("val_loss", val)
    score(accuracy(model(x[3200:]), y[3200:]), 0.1)


@pair(cause="dropout 0.8 on the inputs of a small regressor", severity="gross")
def day_dropout_regressor(record, seed, faulty):
    """Too much noise to fit."""
    torch.manual_seed(seed)
    x = torch.randn(4000, 8)
    y = (x[:, 0] * x[:, 1] + x[:, 2])[:, None]
    p = 0.8 if faulty else 0.0
    model = nn.Sequential(nn.Dropout(p), nn.Linear(8, 128), nn.ReLU(), nn.Dropout(p))
    model.extend([nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)])
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    with record(model, opt) as hook:
        for step in range(600):
            model.train()
            i = torch.randint(0, 3200, (128,))
            loss = F.mse_loss(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.mse_loss(model(x[3200:]), y[3200:]))
    model.eval()
    score(r2(model(x[3200:]), y[3200:]), 0.0)


@pair(cause="SGD diverges to NaN in a regression of large targets", severity="gross")
def day_nan_regression(record, seed, faulty):
    """Targets in thousands and not scaled."""
    torch.manual_seed(seed)
    x = torch.randn(3000, 6)
    y = 3000 + 1500 * x[:, 0] + 800 * x[:, 1] * x[:, 2]
    truth = (y - 3000) / 1700
    target = y if faulty else truth
    model = nn.Sequential(nn.Linear(6, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU())
    model.append(nn.Linear(100, 1))
    opt = torch.optim.SGD(model.parameters(), 0.05)
    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 2400, (64,))
            loss = F.mse_loss(model(x[i])[:, 0], target[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    val = F.mse_loss(model(x[2400:])[:, 0], target[2400:])
                hook.record_tensor_value("val_loss", val)
    score(r2(model(x[2400:]), target[2400:]), 0.0)


@healthy
def day_noisy_labels(record, seed):
    """40 % of the training labels are random, the test labels are clean."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 121, 6000, 20, 5, 0.7)
    noisy = torch.where(torch.rand(6000) < 0.4, torch.randint(0, 5, (6000,)), y)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
    opt = torch.optim.SGD(model.parameters(), 0.1, weight_decay=1e-3)
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 5000, (128,))
            opt.zero_grad()
            F.cross_entropy(model(x[i]), noisy[i]).backward()
            opt.step()
            if step % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    val = F.cross_entropy(model(x[5000:]), noisy[5000:])
                hook.record_tensor_value("val_loss", val)
    score(accuracy(model(x[5000:]), y[5000:]), 0.2)


@healthy
def day_batch_of_one(record, seed):
    """Online learning, one row per update."""
    torch.manual_seed(seed)
    x = torch.randn(1500, 5)
    y = x[:, 0] - 2 * x[:, 1] + x[:, 2].relu()
    net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with record(net, opt):
        for k in range(600):
            loss = (net(x[k]) - y[k]).square().sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(r2(net(x[1000:]), y[1000:]), 0.0)


@healthy
def day_full_batch_lbfgs(record, seed):
    """LBFGS on the whole data set."""
    torch.manual_seed(seed)
    x = torch.linspace(-3, 3, 400)[:, None]
    y = torch.sin(2 * x) + 0.1 * x**2
    net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 1))
    opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5, history_size=10)
    with record(net, opt) as hook:
        for _ in range(100):

            def closure():
                opt.zero_grad()
                loss = F.mse_loss(net(x), y)
                loss.backward()
                return loss

            opt.step(closure)
            hook.end_step()
    score(r2(net(x), y), 0.0)


@healthy
def day_huge_batch(record, seed):
    """4096 rows per batch, and a large rate."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 131, 6000, 16, 6, 0.8)
    model = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 6))
    opt = torch.optim.SGD(model.parameters(), lr=1.5)
    with record(model, opt) as hook:
        for step in range(150):
            i = torch.randperm(5000)[:4096]
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 30 == 29:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[5000:]), y[5000:]))
                model.train()
    model.eval()
    score(accuracy(model(x[5000:]), y[5000:]), 1 / 6)
