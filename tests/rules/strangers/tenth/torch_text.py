"""Language models and translators as the popular repositories train them."""

import math, torch, torch.nn as nn, torch.nn.functional as F
from registry import healthy, pair, score
import kit

T = 24


class Attn(nn.Module):
    def __init__(self, d, h, causal=True, drop=0.0):
        super().__init__()
        self.h, self.causal, self.drop = h, causal, drop
        self.c_attn, self.c_proj = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)

    def forward(self, x):
        B, t, C = x.shape
        q, k, v = (a.view(B, t, self.h, -1).transpose(1, 2) for a in self.c_attn(x).chunk(3, -1))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        if self.causal:
            att = att.masked_fill(torch.ones(t, t).tril() == 0, float("-inf"))
        y = F.dropout(att.softmax(-1), self.drop, self.training) @ v
        return self.c_proj(y.transpose(1, 2).reshape(B, t, C))


class Layer(nn.Module):
    def __init__(self, d, h, causal=True, drop=0.0):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = Attn(d, h, causal, drop)
        self.mlp = nn.Sequential(
            nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(drop)
        )

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    """nanoGPT: tied weights, 0.02 initialisation"""

    def __init__(
        self, v, d=48, n=2, h=4, causal=True, pos=True, tie=True, std=0.02, drop=0.0, block=T
    ):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(v, d), nn.Embedding(block, d) if pos else None
        self.h = nn.ModuleList(Layer(d, h, causal, drop) for _ in range(n))
        self.ln_f, self.lm_head = nn.LayerNorm(d), nn.Linear(d, v, bias=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(
                    p, 0, std / math.sqrt(2 * n) if name.endswith("c_proj.weight") else std
                )
        if tie:
            self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        x = self.wte(idx)
        if self.wpe is not None:
            x = x + self.wpe(torch.arange(idx.shape[1]))
        for b in self.h:
            x = b(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, (
            None
            if targets is None
            else F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
        )


def batch(data, n=24, t=T):
    ix = torch.randint(len(data) - t - 1, (n,))
    return torch.stack([data[i : i + t] for i in ix]), torch.stack(
        [data[i + 1 : i + 1 + t] for i in ix]
    )


@torch.no_grad()
def val_loss(model, data):
    model.eval()
    torch.manual_seed(5)
    return -sum(model(*batch(data))[1].item() for _ in range(8)) / 8


@healthy
def nanogpt_shakespeare(record, seed):
    kit.seed_all(seed)
    data, v = kit.chars(8000, seed)
    test, _ = kit.chars(2000, seed + 50)
    model = GPT(v, drop=0.1)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
        lr=1e-3,
        betas=(0.9, 0.99),
    )
    iters, warm, lr, low = 220, 20, 3e-3, 3e-4

    def get_lr(it):
        if it < warm:
            return lr * (it + 1) / (warm + 1)
        return low + 0.5 * (1 + math.cos(math.pi * (it - warm) / (iters - warm))) * (lr - low)

    with record(model, optimizer, None) as hook:
        for it in range(iters):
            for g in optimizer.param_groups:
                g["lr"] = get_lr(it)
            if it % 100 == 0:
                with record.evaluation(hook):
                    rng = torch.get_rng_state()
                    val_loss(model, test)
                    torch.set_rng_state(rng)
                    model.train()
            _, loss = model(*batch(data))
            hook.record_tensor_value("loss", loss)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    score(val_loss(model, test), -math.log(v))


def muon(g, steps=5):
    x = g / (g.norm() + 1e-7)
    if g.shape[0] > g.shape[1]:
        x = x.T
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.T if g.shape[0] > g.shape[1] else x) * max(1, g.shape[0] / g.shape[1]) ** 0.5


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                b = self.state[p].setdefault("m", torch.zeros_like(p))
                b.lerp_(p.grad, 1 - g["momentum"])
                p.add_(muon(p.grad.lerp(b, g["momentum"])), alpha=-g["lr"])


@healthy
def speedrun_gpt_muon(record, seed):
    kit.seed_all(seed)
    data, v = kit.chars(8000, seed)
    test, _ = kit.chars(2000, seed + 50)
    model = GPT(v, tie=False)
    mats = [p for n, p in model.named_parameters() if p.dim() == 2 and n.startswith("h.")]
    others = [p for n, p in model.named_parameters() if not (p.dim() == 2 and n.startswith("h."))]
    opts = [torch.optim.Adam(others, lr=3e-3, betas=(0.8, 0.95), eps=1e-10), Muon(mats, lr=0.02)]
    scheds = [
        torch.optim.lr_scheduler.LambdaLR(o, lambda s: min(1.0, (220 - s) / 88)) for o in opts
    ]
    with record(model, opts, None) as hook:
        for step in range(220):
            loss = model(*batch(data))[1]
            loss.backward()
            for o, s in zip(opts, scheds):
                o.step()
                s.step()
            model.zero_grad(set_to_none=True)
    score(val_loss(model, test), -math.log(v))


@healthy
def mingpt_sort(record, seed):
    """minGPT's sort demo: the loss only on the output half"""
    kit.seed_all(seed)
    model = GPT(3, d=48, n=2, h=3, block=11, tie=False, drop=0.0)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.95), weight_decay=0.1)

    def make(n):
        x = torch.randint(0, 3, (n, 6))
        s = x.sort(1)[0]
        c = torch.cat([x, s], 1)
        y = c[:, 1:].clone()
        y[:, :5] = -100
        return c[:, :-1], y

    with record(model, opt, None) as hook:
        for it in range(350):
            x, y = make(48)
            logits, _ = model(x)
            loss = F.cross_entropy(logits.view(-1, 3), y.reshape(-1), ignore_index=-100)
            model.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    model.eval()
    x, y = make(500)
    score(((model(x)[0].argmax(-1) == y) | (y < 0)).all(1).float().mean(), 0.02)


@pair("the causal mask is left out, so every position sees its target", "gross")
def gpt_no_causal_mask(record, seed, faulty):
    kit.seed_all(seed)
    data, v = kit.chars(8000, seed)
    test, _ = kit.chars(2000, seed + 50)
    model = GPT(v, causal=not faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
    with record(model, opt, None) as hook:
        for it in range(250):
            xb, yb = batch(data)
            logits, loss = model(xb, yb)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            if it % 50 == 0:
                hook.record_tensor_value("loss", loss)
    model.eval()
    for b in model.h:
        b.attn.causal = True
    score(val_loss(model, test), -math.log(v))


@pair("inputs and targets are the same tokens, not shifted by one", "gross")
def gpt_targets_not_shifted(record, seed, faulty):
    kit.seed_all(seed)
    x = kit.markov(400, T + 1, seed)
    xt = kit.markov(200, T + 1, seed + 50)
    model = GPT(20, d=32, n=1, tie=False)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    with record(model, opt, None) as hook:
        for epoch in range(20):
            for i in torch.randperm(400).split(40):
                inp, tgt = (x[i, :-1], x[i, :-1]) if faulty else (x[i, :-1], x[i, 1:])
                loss = model(inp, tgt)[1]
                opt.zero_grad()
                loss.backward()
                opt.step()
    with torch.no_grad():
        score((model(xt[:, :-1])[0].argmax(-1) == xt[:, 1:]).float().mean(), 0.05)


@pair(
    "the tied embedding and head keep nn.Embedding's N(0, 1) initialisation, so the first logits are huge",
    "middling",
)
def gpt_tied_default_init(record, seed, faulty):
    kit.seed_all(seed)
    data, v = kit.chars(8000, seed)
    test, _ = kit.chars(2000, seed + 50)
    model = GPT(v)
    if faulty:
        nn.init.normal_(model.wte.weight, 0, 1.0)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    with record(model, opt, None) as hook:
        for it in range(200):
            loss = model(*batch(data))[1]
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    score(val_loss(model, test), -math.log(v))


class CharRNN(nn.Module):
    def __init__(self, v, h=64, kind=nn.LSTM):
        super().__init__()
        self.encoder, self.rnn, self.decoder = (
            nn.Embedding(v, h),
            kind(h, h, batch_first=True),
            nn.Linear(h, v),
        )

    def forward(self, x, hidden=None):
        out, hidden = self.rnn(self.encoder(x), hidden)
        return self.decoder(out), hidden


def rnn_val(model, test):
    model.eval()
    with torch.no_grad():
        return -F.cross_entropy(model(test[None, :-1])[0][0], test[1:]).item()


@healthy
def char_rnn_stateful(record, seed):
    kit.seed_all(seed)
    data, v = kit.chars(8016, seed)
    test, _ = kit.chars(1500, seed + 50)
    model = CharRNN(v)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    criterion = nn.CrossEntropyLoss()
    rows = data[:8000].view(16, 500)
    nexts = data[1:8001].view(16, 500)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(8):
            hidden = None
            for i in range(0, 500, 20):
                if hidden is not None:
                    hidden = tuple(h.detach() for h in hidden)
                optimizer.zero_grad()
                out, hidden = model(rows[:, i : i + 20], hidden)
                loss = criterion(out.reshape(-1, v), nexts[:, i : i + 20].reshape(-1))
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5)
                optimizer.step()
    score(rnn_val(model, test), -math.log(v))


@pair(
    "logits of shape (batch, time, classes) are viewed as (batch, classes, time) for the loss instead of being transposed",
    "gross",
)
def gru_view_instead_of_permute(record, seed, faulty):
    kit.seed_all(seed)
    data, v = kit.chars(6000, seed)
    test, _ = kit.chars(1500, seed + 50)
    model = CharRNN(v, 48, nn.GRU)
    opt = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for it in range(250):
            x, y = batch(data, 16)
            out, _ = model(x)
            out = out.view(16, v, T) if faulty else out.transpose(1, 2)
            loss = crit(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(rnn_val(model, test), -math.log(v))
