"""Mistakes with Lightning and with the Hugging Face Trainer."""

from frameworks_parts import *
from registry import pair, score
from data_parts import *


@pair("configure_optimizers gives the optimizer the head's parameters only", "gross")
def lightning_head_only(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    # parity-like data for which random features are of little use
    g = torch.Generator().manual_seed(seed)

    def make(n):
        x = torch.rand(n, 12, generator=g) * 2 - 1
        return x, ((x[:, 0] * x[:, 1] * 4 + 2 * x[:, 2] * x[:, 3]) > 0).long()

    x, y = make(5000)
    xt, yt = make(1000)

    class M(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Sequential(
                nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU()
            )
            self.head = nn.Linear(24, 2)

        def forward(self, x):
            return self.head(self.backbone(x))

        def training_step(self, b, i):
            loss = F.cross_entropy(self(b[0]), b[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, b, i):
            self.log("val_loss", F.cross_entropy(self(b[0]), b[1]))

        def configure_optimizers(self):
            return torch.optim.Adam((self.head if faulty else self).parameters(), lr=4e-3)

    m = M()
    fit(record, m, loader(x, y), loader(xt, yt, batch=500, shuffle=False), max_epochs=10)
    with torch.no_grad():
        score(acc(m(xt), yt), 0.5)


@pair(
    "training_step returns torch.tensor(loss.item(), requires_grad=True), cut from the graph",
    "gross",
)
def lightning_detached_loss(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    x, y = blobs(3000, seed, 20, 6, data_seed=3)
    xt, yt = blobs(600, seed + 1, 20, 6, data_seed=3)

    class M(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(20, 80), nn.Tanh(), nn.Linear(80, 6))

        def training_step(self, b, i):
            loss = F.cross_entropy(self.net(b[0]), b[1])
            if faulty:
                loss = torch.tensor(loss.item(), requires_grad=True)
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    m = M()
    fit(record, m, loader(x, y, batch=50), max_epochs=5)
    with torch.no_grad():
        score(acc(m.net(xt), yt), 1 / 6)


@pair(
    "an exponential decay of 0.9 meant per epoch is given with interval 'step': the rate is nil after fifty steps",
    "gross",
)
def lightning_scheduler_interval(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    x, y = blobs(4000, seed, 30, 12, 1.3, data_seed=9)
    xt, yt = blobs(800, seed + 1, 30, 12, 1.3, data_seed=9)

    class M(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(30, 96), nn.ReLU(), nn.Linear(96, 12))

        def training_step(self, b, i):
            loss = F.cross_entropy(self.net(b[0]), b[1])
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            o = torch.optim.SGD(self.parameters(), lr=0.1)
            s = torch.optim.lr_scheduler.ExponentialLR(o, 0.9)
            return [o], [{"scheduler": s, "interval": "step" if faulty else "epoch"}]

    m = M()
    fit(record, m, loader(x, y), max_epochs=8)
    with torch.no_grad():
        score(acc(m.net(xt), yt), 1 / 12)


@pair("gradient_clip_val=1e-4 with SGD: steps are next to nothing", "gross")
def lightning_clip_tiny(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    x, y = digits(2500, seed, noise=0.05)
    xt, yt = digits(500, seed + 1, noise=0.05)
    x, xt = x.float() / 255, xt.float() / 255

    class M(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(
                nn.Conv2d(1, 16, 5, 2, 2),
                nn.ReLU(),
                nn.Conv2d(16, 32, 3, 2, 1),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(512, 64),
                nn.ReLU(),
                nn.Linear(64, 10),
            )

        def training_step(self, b, i):
            loss = F.cross_entropy(self.f(b[0]), b[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, b, i):
            self.log("val_loss", F.cross_entropy(self.f(b[0]), b[1]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)

    m = M()
    fit(
        record,
        m,
        loader(x, y, batch=32),
        loader(xt, yt, batch=250, shuffle=False),
        max_epochs=6,
        gradient_clip_val=1e-4 if faulty else 1.0,
    )
    with torch.no_grad():
        score(acc(m.f(xt), yt), 0.1)


@pair("manual optimization without zero_grad", "gross")
def lightning_manual_no_zero_grad(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    x, y = churn(5000, seed)
    xt, yt = churn(1500, seed + 1)

    class M(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.net = nn.Sequential(
                nn.Linear(10, 80), nn.ReLU(), nn.Linear(80, 40), nn.ReLU(), nn.Linear(40, 1)
            )

        def training_step(self, b, i):
            o = self.optimizers()
            if not faulty:
                o.zero_grad()
            loss = F.binary_cross_entropy_with_logits(self.net(b[0])[:, 0], b[1])
            self.manual_backward(loss)
            o.step()
            self.log("bce", loss)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

    m = M()
    fit(record, m, loader(x, y), max_epochs=7)
    with torch.no_grad():
        score(auc(m.net(xt)[:, 0], yt), 0.5)


BERT = dict(
    vocab_size=200,
    hidden_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=96,
    max_position_embeddings=32,
    num_labels=2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)


def bert(record, seed, X, y, Xt, yt, prepare=None, **kw):
    m = transformers.BertForSequenceClassification(transformers.BertConfig(**BERT))
    if prepare:
        prepare(m)
    mk = lambda X, y: rows(input_ids=X, attention_mask=(X != 0).long(), labels=y)
    hf(
        record,
        m,
        mk(X, y),
        mk(Xt, yt),
        seed=seed,
        **{
            "max_steps": 450,
            "learning_rate": 1.5e-3,
            "warmup_steps": 30,
            "eval_strategy": "steps",
            "eval_steps": 100,
            **kw,
        },
    )
    score(acc(classify(m, Xt), yt), 0.5)


@pair("learning_rate 2e-5 (for fine-tuning) used to train from scratch", "gross")
def hf_rate_for_finetuning(record, seed, faulty):
    transformers.set_seed(seed)
    X, _, y = reviews(6000, seed)
    Xt, _, yt = reviews(500, seed + 1)
    bert(record, seed, X, y, Xt, yt, learning_rate=2e-5 if faulty else 1.5e-3)


@pair("the encoder of an untrained model is frozen, only the classifier learns", "gross")
def hf_frozen_encoder(record, seed, faulty):
    transformers.set_seed(seed)
    X, _, y = reviews(6000, seed)
    Xt, _, yt = reviews(500, seed + 1)

    def freeze(m):
        for p in m.bert.parameters():
            p.requires_grad = False

    bert(record, seed, X, y, Xt, yt, freeze if faulty else None, lr_scheduler_type="cosine")


@pair("labels sorted differently from the texts (a dataset column was shuffled by itself)", "gross")
def hf_labels_shuffled(record, seed, faulty):
    transformers.set_seed(seed)
    X, _, y = reviews(6000, seed)
    Xt, _, yt = reviews(500, seed + 1)
    bert(record, seed, X, y[torch.randperm(len(y))] if faulty else y, Xt, yt, weight_decay=0.01)


@pair("learning_rate 0.1 in AdamW of the Trainer", "gross")
def hf_rate_too_high(record, seed, faulty):
    transformers.set_seed(seed)
    X, _, y = reviews(6000, seed)
    Xt, _, yt = reviews(500, seed + 1)
    bert(
        record,
        seed,
        X,
        y,
        Xt,
        yt,
        learning_rate=0.1 if faulty else 1e-3,
        logging_steps=10,
        max_steps=400,
    )


@pair(
    "labels are shifted in the collator although the model shifts them itself: it predicts two ahead",
    "gross",
)
def hf_lm_double_shift(record, seed, faulty):
    transformers.set_seed(seed)
    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=len(CHARS),
            n_positions=48,
            n_embd=48,
            n_layer=2,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )
    B = tr[: len(tr) // 48 * 48].view(-1, 48)

    def collate(b):
        x = torch.stack([r["input_ids"] for r in b])
        y = x.clone()
        if faulty:
            y = torch.cat([y[:, 1:], torch.full((len(y), 1), -100)], 1)
        return {"input_ids": x, "labels": y}

    hf(
        record,
        m,
        rows(input_ids=B),
        collator=collate,
        seed=seed,
        max_steps=250,
        per_device_train_batch_size=10,
        learning_rate=4e-3,
        warmup_steps=20,
    )
    z = te[: len(te) // 48 * 48].view(-1, 48)
    with torch.no_grad():
        score(-m(input_ids=z, labels=z).loss, -2.84)


@pair(
    "most labels are masked with -100 by a collator that also masks the answer (only the padding end is learnt)",
    "gross",
)
def hf_collator_masks_answer(record, seed, faulty):
    transformers.set_seed(seed)

    def make(n):  # a + b = c, digits as tokens, c in two tokens, then pad 13
        a, b = torch.randint(0, 10, (2, n))
        c = a + b
        plus, equal, end = (torch.full_like(a, each) for each in (10, 11, 13))
        return torch.stack([a, plus, b, equal, c // 10, c % 10, end], 1)

    m = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=14,
            n_positions=8,
            n_embd=48,
            n_layer=2,
            n_head=4,
            bos_token_id=13,
            eos_token_id=13,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )

    def collate(b):
        x = torch.stack([r["input_ids"] for r in b])
        y = x.clone()
        y[:, : 6 if faulty else 4] = -100
        return {"input_ids": x, "labels": y}

    hf(
        record,
        m,
        rows(input_ids=make(4000)),
        collator=collate,
        seed=seed,
        max_steps=500,
        per_device_train_batch_size=32,
        learning_rate=3e-3,
    )
    z = make(300)
    with torch.no_grad():
        p = m(input_ids=z).logits[:, 3:5].argmax(-1)
        score((p == z[:, 4:6]).all(1).float().mean(), 0.05)


@pair("warmup_steps is 10000, far longer than the whole training", "gross")
def hf_warmup_too_long(record, seed, faulty):
    transformers.set_seed(seed)
    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(CHARS),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            bos_token_id=0,
            eos_token_id=0,
            pad_token_id=0,
        )
    )
    B = tr[: len(tr) // 48 * 48].view(-1, 48)
    hf(
        record,
        m,
        rows(input_ids=B, labels=B),
        seed=seed,
        max_steps=200,
        per_device_train_batch_size=10,
        learning_rate=3e-3,
        warmup_steps=10000 if faulty else 20,
    )
    z = te[: len(te) // 48 * 48].view(-1, 48)
    with torch.no_grad():
        score(-m(input_ids=z, labels=z).loss, -2.84)
