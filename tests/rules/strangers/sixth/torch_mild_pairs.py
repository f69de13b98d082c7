"""Mild mistakes: slower or slightly worse."""

from frameworks_parts import *
from registry import pair, score
from data_parts import *
from seq_parts import GPT, chunk, lm_score, unigram


@pair("labels smoothed with 0.5 instead of 0.05 in a language model", "middling")
def lm_label_smoothing_half(record, seed, faulty):
    torch.manual_seed(seed)
    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = GPT(d=48, ctx=32)
    opt = torch.optim.AdamW(m.parameters(), 3e-3)
    crit = nn.CrossEntropyLoss(label_smoothing=0.5 if faulty else 0.02)
    with record(m, opt, crit) as hook:
        for s in range(300):
            x, y = chunk(tr, 16, 32)
            loss = crit(m(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(-lm_score(m, te, 32), unigram(te))


@pair("loss divided by the accumulation steps twice with SGD: eight times smaller steps", "mild")
def accumulation_divided_twice(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 32, 10, 1.1, data_seed=31)
    xt, yt = blobs(1000, seed + 1, 32, 10, 1.1, data_seed=31)
    m = nn.Sequential(
        nn.Linear(32, 100), nn.ReLU(), nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 10)
    )
    opt = torch.optim.SGD(m.parameters(), 0.05, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    with record(m, opt, ce) as hook:
        for s in range(300):
            opt.zero_grad()
            total = 0.0
            for _ in range(8):
                i = torch.randint(0, 5000, (16,))
                l = ce(m(x[i]), y[i]) / 8
                (l / 8 if faulty else l).backward()
                total += l.item()
            opt.step()
            hook.record_tensor_value("loss", total)
            hook.end_step()
        with torch.no_grad():
            score(acc(m(xt), yt), 0.1)


@pair("a pure bfloat16 model with a small rate: updates are lost in rounding", "mild")
def bf16_updates_rounded(record, seed, faulty):
    torch.manual_seed(seed)
    X, y = houses(4000, seed)
    Xt, yt = houses(1000, seed + 1)
    a, b = X.mean(0), X.std(0)
    X, Xt = (X - a) / b, (Xt - a) / b
    c, d = y.mean(), y.std()
    dt = torch.bfloat16 if faulty else torch.float32
    m = nn.Sequential(
        nn.Linear(8, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1)
    ).to(dt)
    opt = torch.optim.Adam(m.parameters(), 3e-4)
    with record(m, opt) as hook:
        for s in range(700):
            i = torch.randint(0, 4000, (64,))
            loss = F.mse_loss(m(X[i].to(dt))[:, 0].float(), (y[i] - c) / d)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("mse", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(m(Xt.to(dt))[:, 0].float() * d + c, yt), 0.0)


@pair("learning_rate five times lower than it should be in the Trainer", "mild")
def hf_rate_somewhat_low(record, seed, faulty):
    transformers.set_seed(seed)
    X, y = blobs(4000, seed, 24, 8, 1.1, data_seed=32)
    Xt, yt = blobs(800, seed + 1, 24, 8, 1.1, data_seed=32)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(24, 96), nn.GELU(), nn.Linear(96, 8))

        def forward(self, x, labels=None):
            o = self.f(x)
            return (
                {"loss": F.cross_entropy(o, labels), "logits": o}
                if labels is not None
                else {"logits": o}
            )

    m = Net()
    hf(
        record,
        m,
        rows(x=X, labels=y),
        rows(x=Xt, labels=yt),
        seed=seed,
        max_steps=400,
        per_device_train_batch_size=48,
        learning_rate=6e-4 if faulty else 3e-3,
        eval_strategy="steps",
        eval_steps=100,
    )
    with torch.no_grad():
        score(acc(m(Xt)["logits"], yt), 1 / 8)


@pair(
    "early layers left frozen (one requires_grad=False too many) in a Lightning module", "middling"
)
def lightning_first_layer_frozen(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    x, y = blobs(4000, seed, 30, 10, 1.2, data_seed=33)
    xt, yt = blobs(800, seed + 1, 30, 10, 1.2, data_seed=33)

    class M(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(30, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10)
            )
            if faulty:
                self.net[0].requires_grad_(False)

        def training_step(self, b, i):
            loss = F.cross_entropy(self.net(b[0]), b[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, b, i):
            self.log("val_loss", F.cross_entropy(self.net(b[0]), b[1]))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=2e-3)

    m = M()
    fit(record, m, loader(x, y), loader(xt, yt, batch=400, shuffle=False), max_epochs=7)
    with torch.no_grad():
        score(acc(m.net(xt), yt), 0.1)


@pair("accumulate_grad_batches=16 left from a bigger machine: few updates", "mild")
def lightning_accumulate_too_much(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    x, y = blobs(6000, seed, 24, 8, 1.1, data_seed=34)
    xt, yt = blobs(800, seed + 1, 24, 8, 1.1, data_seed=34)

    class M(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 8))

        def training_step(self, b, i):
            loss = F.cross_entropy(self.net(b[0]), b[1])
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=2e-3)

    m = M()
    fit(
        record, m, loader(x, y, batch=32), max_epochs=9, accumulate_grad_batches=16 if faulty else 1
    )
    with torch.no_grad():
        score(acc(m.net(xt), yt), 1 / 8)
