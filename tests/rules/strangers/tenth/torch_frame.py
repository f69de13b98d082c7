"""Lightning, transformers' Trainer, accelerate, peft."""

import logging, math, os, tempfile, warnings, torch, torch.nn as nn, torch.nn.functional as F

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
import kit

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def mnist(seed, n=1200, bs=48):
    f = lambda a: (a[0].float() / 255 - 0.3, a[1])
    tr, va, te = (
        TensorDataset(*f(kit.digits(k, s)))
        for k, s in ((n, seed), (200, seed + 20), (400, seed + 50))
    )
    return DataLoader(tr, bs, shuffle=True), DataLoader(va, 200), te


def trainer(record, epochs, **kw):
    cb = [record.callback("lightning")] + kw.pop("callbacks", [])
    return L.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=cb,
        num_sanity_val_steps=0,
        **kw,
    )


def cnn(k=10):
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, 2, 1),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.Conv2d(12, 24, 3, 2, 1),
        nn.BatchNorm2d(24),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(216, k),
    )


class Lit(L.LightningModule):
    def __init__(
        self, net, lr=1e-3, opt=torch.optim.Adam, step=None, sched=None, loss=F.cross_entropy, **kw
    ):
        super().__init__()
        self.net, self.lr, self.opt, self.kw, self.sched, self.loss = net, lr, opt, kw, sched, loss

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, i):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self(x), y), prog_bar=True)

    def configure_optimizers(self):
        o = self.opt(self.parameters(), lr=self.lr, **self.kw)
        return o if self.sched is None else {"optimizer": o, "lr_scheduler": self.sched(o)}


@torch.no_grad()
def acc(net, te):
    net.eval()
    return (net(te.tensors[0]).argmax(1) == te.tensors[1]).float().mean()


@healthy
def lightning_mnist(record, seed):
    L.seed_everything(seed, verbose=False)
    tr, va, te = mnist(seed)
    model = Lit(cnn())
    trainer(record, 6).fit(model, tr, va)
    score(acc(model, te), 0.1)


@healthy
def lightning_onecycle_early_stopping(record, seed):
    L.seed_everything(seed, verbose=False)
    from lightning.pytorch.callbacks import EarlyStopping

    tr, va, te = mnist(seed)
    sched = lambda o: {
        "scheduler": torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=8 * len(tr)),
        "interval": "step",
    }
    model = Lit(cnn(), 0.05, torch.optim.SGD, sched=sched, momentum=0.9, weight_decay=5e-4)
    trainer(
        record, 8, callbacks=[EarlyStopping("val_loss", patience=4)], gradient_clip_val=1.0
    ).fit(model, tr, va)
    score(acc(model, te), 0.1)


class LitGAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        m = lambda i, o: nn.Sequential(
            nn.Linear(i, 48),
            nn.LeakyReLU(0.2),
            nn.Linear(48, 48),
            nn.LeakyReLU(0.2),
            nn.Linear(48, o),
        )
        self.generator, self.discriminator = m(4, 2), m(2, 1)

    def training_step(self, batch, i):
        (real,) = batch
        g, d = self.optimizers()
        one, zero = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        bce = F.binary_cross_entropy_with_logits
        self.toggle_optimizer(g)
        fake = self.generator(torch.randn(len(real), 4))
        gl = bce(self.discriminator(fake), one)
        self.manual_backward(gl)
        g.step()
        g.zero_grad()
        self.untoggle_optimizer(g)
        self.toggle_optimizer(d)
        dl = (bce(self.discriminator(real), one) + bce(self.discriminator(fake.detach()), zero)) / 2
        self.manual_backward(dl)
        d.step()
        d.zero_grad()
        self.untoggle_optimizer(d)
        self.log_dict({"g_loss": gl, "d_loss": dl})

    def configure_optimizers(self):
        return [
            torch.optim.Adam(p.parameters(), lr=2e-3, betas=(0.5, 0.999))
            for p in (self.generator, self.discriminator)
        ]


@healthy
def lightning_gan_two_optimizers(record, seed):
    L.seed_everything(seed, verbose=False)
    z = lambda n: torch.randn(n, 2) @ torch.tensor([[0.8, 0.5], [0.0, 0.4]]) + torch.tensor(
        [2.0, -1.0]
    )
    model = LitGAN()
    real = z(300)
    with torch.no_grad():
        base = -kit.mmd(model.generator(torch.randn(300, 4)), real)
    trainer(record, 12).fit(model, DataLoader(TensorDataset(z(2048)), 64, shuffle=True))
    with torch.no_grad():
        score(-kit.mmd(model.generator(torch.randn(300, 4)), real), base)


@pair("configure_optimizers passes the last layer only", "middling")
def lightning_wrong_opt_parameters(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    tr, va, te = mnist(seed)

    class M(Lit):
        def configure_optimizers(self):
            return torch.optim.AdamW(
                self.net[-1].parameters() if faulty else self.parameters(), lr=2e-3
            )

    model = M(cnn())
    trainer(record, 4).fit(model, tr, va)
    score(acc(model, te), 0.1)


@pair(
    "the scheduler is meant per step, but Lightning's default interval is the epoch: warm-up never ends",
    "middling",
)
def lightning_warmup_interval(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    tr, va, te = mnist(seed)
    sched = lambda o: {
        "scheduler": torch.optim.lr_scheduler.LambdaLR(o, lambda s: min(1.0, (s + 1) / 50)),
        "interval": "epoch" if faulty else "step",
    }
    model = Lit(
        nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.GELU(), nn.Linear(64, 10)),
        2e-3,
        torch.optim.AdamW,
        sched=sched,
    )
    trainer(record, 8).fit(model, tr, va)
    score(acc(model, te), 0.1)


@pair("layers are kept in a plain list, so self.parameters() misses them", "gross")
def lightning_plain_list(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    tr, va, te = mnist(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            layers = [nn.Linear(144, 24), nn.Linear(24, 24), nn.Linear(24, 24)]
            self.hidden = layers if faulty else nn.ModuleList(layers)
            self.out = nn.Linear(24, 10)

        def forward(self, x):
            x = x.flatten(1)
            for l in self.hidden:
                x = torch.relu(l(x))
            return self.out(x)

    model = Lit(Net(), 3e-3)
    trainer(record, 10).fit(model, tr, va)
    score(acc(model, te), 0.1)


@pair("accumulate_grad_batches is raised to 24 with the number of epochs unchanged", "middling")
def lightning_accumulates_too_much(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    tr, va, te = mnist(seed)
    model = Lit(nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.ReLU(), nn.Linear(64, 10)), 2e-3)
    trainer(record, 6, accumulate_grad_batches=24 if faulty else 1).fit(model, tr, va)
    score(acc(model, te), 0.1)


def bert(v=20, k=2, d=32, cls="BertForSequenceClassification", **kw):
    import transformers as T

    c = T.BertConfig(
        vocab_size=v,
        hidden_size=d,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        num_labels=k,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **kw,
    )
    return getattr(T, cls)(c)


def reviews(n, seed):
    g = torch.Generator().manual_seed(seed + 500)
    k = torch.randint(6, 17, (n,), generator=g)
    x = torch.randint(2, 20, (n, 16), generator=g)
    m = (torch.arange(16)[None] < k[:, None]).long()
    v = ((x < 7).float() - ((x >= 7) & (x < 12)).float()) * m
    x[:, 0] = 1
    v[:, 0] = 0
    return [
        {"input_ids": a, "attention_mask": b, "labels": c}
        for a, b, c in zip(x * m, m, (v.sum(1) > 0.5).long())
    ]


def hf(record, seed, model, train, epochs=5, lr=5e-3, **kw):
    import contextlib, io, transformers
    from transformers import Trainer, TrainingArguments

    transformers.logging.set_verbosity_error()
    args = TrainingArguments(
        tempfile.mkdtemp(),
        num_train_epochs=epochs,
        per_device_train_batch_size=kw.pop("bs", 32),
        learning_rate=lr,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_steps=20,
        disable_tqdm=True,
        seed=seed,
        **kw,
    )
    t = Trainer(
        model=model, args=args, train_dataset=train, callbacks=[record.callback("transformers")]
    )
    with contextlib.redirect_stdout(io.StringIO()):
        t.train()
    model.eval()


def stack(d, *ks):
    return [torch.stack([r[k] for r in d]) for k in ks]


def classify(record, seed, model, train=None, **kw):
    tr = train or reviews(1000, seed)
    hf(record, seed, model, tr, **kw)
    i, m, y = stack(reviews(300, seed + 50), "input_ids", "attention_mask", "labels")
    with torch.no_grad():
        score(
            (model(input_ids=i, attention_mask=m).logits.argmax(1) == y).float().mean(),
            max(y.float().mean(), 1 - y.float().mean()),
        )


@healthy
def trainer_bert_classifier(record, seed):
    kit.seed_all(seed)
    classify(record, seed, bert(), lr=3e-3, weight_decay=0.01, warmup_steps=20)


@pair("the default 5e-5 of TrainingArguments is kept in a training from scratch", "gross")
def trainer_default_rate(record, seed, faulty):
    kit.seed_all(seed)
    classify(
        record, seed, bert(d=24), lr=5e-5 if faulty else 4e-3, epochs=4, lr_scheduler_type="cosine"
    )


def gpt2(v=20, d=32):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=v,
            n_positions=32,
            n_embd=d,
            n_layer=1,
            n_head=2,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


@torch.no_grad()
def next_token(model, seed):
    x = kit.markov(200, 20, seed + 50)
    return (model(input_ids=x).logits[:, 1:-1].argmax(-1) == x[:, 2:]).float().mean()


@healthy
def trainer_gpt2_causal(record, seed):
    kit.seed_all(seed)
    x = kit.markov(800, 20, seed)
    model = gpt2()
    hf(
        record,
        seed,
        model,
        [{"input_ids": a, "labels": a} for a in x],
        5,
        5e-3,
        weight_decay=0.1,
        warmup_steps=10,
        lr_scheduler_type="cosine",
    )
    score(next_token(model, seed), 0.05)


@pair("labels are shifted by hand although the model shifts them itself", "gross")
def trainer_labels_shifted_twice(record, seed, faulty):
    kit.seed_all(seed)
    x = kit.markov(700, 20, seed)
    lab = torch.cat([x[:, 1:], torch.full((700, 1), -100)], 1) if faulty else x
    model = gpt2(d=24)
    hf(record, seed, model, [{"input_ids": a, "labels": b} for a, b in zip(x, lab)], 5, 6e-3)
    score(next_token(model, seed), 0.05)


def accelerate_loop(
    record, seed, model, accum=2, lr=3e-3, inside=True, epochs=6, sched=None, steps_ok=True, bs=16
):
    from accelerate import Accelerator

    tr, va, te = mnist(seed, 1000, bs)
    acc_ = Accelerator(cpu=True, gradient_accumulation_steps=accum)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    crit = nn.CrossEntropyLoss()
    s = torch.optim.lr_scheduler.LinearLR(
        opt, 1.0, 0.05, epochs * len(tr) // accum if steps_ok else 10
    )
    model, opt, tr, s = acc_.prepare(model, opt, tr, s)
    with record(model, opt, crit) as hook:
        for epoch in range(epochs):
            model.train()
            for x, y in tr:
                with acc_.accumulate(model):
                    loss = crit(model(x), y)
                    acc_.backward(loss)
                    if acc_.sync_gradients:
                        acc_.clip_grad_norm_(model.parameters(), 1.0)
                    opt.step()
                    s.step()
                    opt.zero_grad()
    score(acc(model, te), 0.1)


@healthy
def accelerate_gradient_accumulation(record, seed):
    kit.seed_all(seed)
    accelerate_loop(record, seed, cnn())


@pair("the linear decay is planned for 10 steps instead of the whole training", "middling")
def accelerate_decay_too_short(record, seed, faulty):
    kit.seed_all(seed)
    accelerate_loop(
        record,
        seed,
        nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.ReLU(), nn.Linear(64, 10)),
        steps_ok=not faulty,
        lr=2e-3,
    )


@healthy
def lora_by_peft(record, seed):
    """Adapt a small pretrained GPT-2 to another chain"""
    from peft import LoraConfig, get_peft_model

    kit.seed_all(seed)
    base = gpt2(d=48)
    x = kit.markov(600, 20, seed)
    o = torch.optim.AdamW(base.parameters(), lr=5e-3)
    for i in range(120):
        b = x[torch.randint(0, 600, (32,))]
        o.zero_grad()
        base(input_ids=b, labels=b).loss.backward()
        o.step()
    new = lambda s: (kit.markov(400, 20, s) + 7) % 20
    z, zt = new(seed), new(seed + 50)
    model = get_peft_model(
        base,
        LoraConfig(
            r=8,
            lora_alpha=32,
            lora_dropout=0.05,
            target_modules=["c_attn", "c_proj", "c_fc"],
            fan_in_fan_out=True,
        ),
    )
    f = lambda: (model(input_ids=zt).logits[:, 1:-1].argmax(-1) == zt[:, 2:]).float().mean()
    with torch.no_grad():
        before = f()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    with record(model, opt, None) as hook:
        for step in range(150):
            b = z[torch.randint(0, 400, (24,))]
            loss = model(input_ids=b, labels=b).loss
            loss.backward()
            opt.step()
            opt.zero_grad()
    model.eval()
    with torch.no_grad():
        score(f(), before)
