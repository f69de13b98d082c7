"""Trainings with Lightning and with the Hugging Face Trainer: fine ones."""

from frameworks_parts import *
from registry import healthy, score
from data_parts import *


@healthy
def lightning_table(record, seed):
    L.seed_everything(seed, verbose=False)
    x, y = blobs(3000, seed, 20, 6)
    xt, yt = blobs(800, seed + 1, 20, 6)

    class M(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 6)
            )

        def training_step(self, b, i):
            loss = F.cross_entropy(self.net(b[0]), b[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, b, i):
            o = self.net(b[0])
            self.log("val_loss", F.cross_entropy(o, b[1]))
            self.log("val_acc", (o.argmax(1) == b[1]).float().mean())

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=2e-3)

    m = M()
    fit(record, m, loader(x, y), loader(xt, yt, batch=200, shuffle=False), max_epochs=7)
    with torch.no_grad():
        score(acc(m.net(xt), yt), 1 / 6)


@healthy
def lightning_autoencoder_onecycle_clip(record, seed):
    L.seed_everything(seed, verbose=False)
    base = torch.randn(6, 40, generator=torch.Generator().manual_seed(1))
    make = lambda n: torch.tanh(torch.randn(n, 6) @ base) + 0.05 * torch.randn(n, 40)
    x, xt = make(4000), make(500)

    class AE(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.e = nn.Sequential(nn.Linear(40, 64), nn.SiLU(), nn.Linear(64, 8))
            self.d = nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 40))

        def forward(self, x):
            return self.d(self.e(x))

        def training_step(self, b, i):
            loss = F.mse_loss(self(b[0]), b[0])
            self.log("loss", loss, prog_bar=True)
            return loss

        def configure_optimizers(self):
            o = torch.optim.AdamW(self.parameters(), lr=1e-3)
            s = torch.optim.lr_scheduler.OneCycleLR(
                o, 5e-3, total_steps=self.trainer.estimated_stepping_batches
            )
            return {"optimizer": o, "lr_scheduler": {"scheduler": s, "interval": "step"}}

    m = AE()
    fit(record, m, loader(x, batch=50), max_epochs=6, gradient_clip_val=1.0)
    with torch.no_grad():
        score(r2(m(xt), xt), 0.0)


@healthy
def lightning_cnn_accumulate_bf16(record, seed):
    L.seed_everything(seed, verbose=False)
    x, y = digits(2400, seed, noise=0.08)
    xt, yt = digits(500, seed + 1, noise=0.08)
    x, xt = x.float() / 255, xt.float() / 255

    class Lit(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(
                nn.Conv2d(1, 16, 5, 2, 2),
                nn.BatchNorm2d(16),
                nn.ReLU(),
                nn.Conv2d(16, 32, 3, 2, 1),
                nn.BatchNorm2d(32),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(512, 10),
            )

        def training_step(self, b, i):
            loss = F.cross_entropy(self.f(b[0]).float(), b[1])
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

    m = Lit()
    fit(
        record,
        m,
        loader(x, y, batch=20),
        max_epochs=6,
        precision="bf16-mixed",
        accumulate_grad_batches=2,
    )
    with torch.no_grad():
        score(acc(m.f(xt), yt), 0.1)


@healthy
def lightning_manual_gan(record, seed):
    L.seed_everything(seed, verbose=False)
    data = torch.randn(6000, 2) * torch.tensor([1.0, 0.2]) + torch.tensor([2.0, -1.0])

    class Gan(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.g = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
            self.d = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

        def training_step(self, b, i):
            og, od = self.optimizers()
            x = b[0]
            f = self.g(torch.randn(len(x), 4))
            ld = F.softplus(-self.d(x)).mean() + F.softplus(self.d(f.detach())).mean()
            od.zero_grad()
            self.manual_backward(ld)
            od.step()
            lg = F.softplus(-self.d(f)).mean()
            og.zero_grad()
            self.manual_backward(lg)
            og.step()
            self.log_dict({"d_loss": ld, "g_loss": lg})

        def configure_optimizers(self):
            return [
                torch.optim.Adam(self.g.parameters(), 1e-3, betas=(0.5, 0.9)),
                torch.optim.Adam(self.d.parameters(), 1e-3, betas=(0.5, 0.9)),
            ]

    m = Gan()
    fit(record, m, loader(data), max_epochs=5)
    with torch.no_grad():
        score(-(m.g(torch.randn(2000, 4)).mean(0) - data.mean(0)).norm(), -data.mean(0).norm())


@healthy
def hf_bert_reviews(record, seed):
    transformers.set_seed(seed)
    X, _, y = reviews(6000, seed)
    Xt, _, yt = reviews(500, seed + 1)
    cfg = transformers.BertConfig(
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
    m = transformers.BertForSequenceClassification(cfg)
    mk = lambda X, y: rows(input_ids=X, attention_mask=(X != 0).long(), labels=y)
    hf(
        record,
        m,
        mk(X, y),
        mk(Xt, yt),
        seed=seed,
        max_steps=450,
        learning_rate=1.5e-3,
        warmup_steps=30,
        eval_strategy="steps",
        eval_steps=100,
    )
    score(acc(classify(m, Xt), yt), 0.5)


@healthy
def hf_llama_lm_cosine(record, seed):
    transformers.set_seed(seed)
    tr, te = encode(corpus(3000, seed)), encode(corpus(300, seed + 1))
    m = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(CHARS),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
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
        max_steps=250,
        per_device_train_batch_size=10,
        learning_rate=4e-3,
        lr_scheduler_type="cosine",
        warmup_steps=25,
        weight_decay=0.1,
        logging_steps=1,
    )
    z = te[: len(te) // 48 * 48].view(-1, 48)
    with torch.no_grad():
        score(-m(input_ids=z, labels=z).loss, -2.84)


@healthy
def hf_gpt2_lora(record, seed):
    """LoRA on a model trained for another text: few weights learn, at a high rate."""
    from peft import LoraConfig, get_peft_model

    transformers.set_seed(seed)
    tr, te = encode(corpus(2500, seed)), encode(corpus(300, seed + 1))
    p = torch.arange(len(CHARS))
    p[2:] = p[2:].roll(7)
    base = transformers.GPT2LMHeadModel(
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
    o = torch.optim.AdamW(base.parameters(), 3e-3)
    for s in range(150):
        i = torch.randint(0, len(tr) - 33, (8, 1)) + torch.arange(32)
        b = p[tr[i]]
        l = base(input_ids=b, labels=b).loss
        o.zero_grad()
        l.backward()
        o.step()
    where = dict(target_modules=["c_attn", "c_fc", "c_proj"], modules_to_save=["lm_head"])
    m = get_peft_model(base, LoraConfig(r=8, lora_alpha=32, fan_in_fan_out=True, **where))
    B = tr[: len(tr) // 32 * 32].view(-1, 32)
    hf(
        record,
        m,
        rows(input_ids=B, labels=B),
        seed=seed,
        max_steps=200,
        per_device_train_batch_size=8,
        learning_rate=5e-3,
    )
    z = te[: len(te) // 32 * 32].view(-1, 32)
    with torch.no_grad():
        score(-m(input_ids=z, labels=z).loss, -2.84)


@healthy
def hf_custom_loss_regression(record, seed):
    transformers.set_seed(seed)
    X, y = houses(3000, seed)
    Xt, yt = houses(600, seed + 1)
    mu, sd, ym, ys = X.mean(0), X.std(0), y.mean(), y.std()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(
                nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1)
            )

        def forward(self, x, labels=None):
            p = self.f(x)[:, 0]
            return (
                {"loss": F.huber_loss(p, labels), "logits": p}
                if labels is not None
                else {"logits": p}
            )

    m = Net()
    d = rows(x=(X - mu) / sd, labels=(y - ym) / ys)
    hf(
        record,
        m,
        d,
        rows(x=(Xt - mu) / sd, labels=(yt - ym) / ys),
        seed=seed,
        max_steps=500,
        per_device_train_batch_size=48,
        learning_rate=3e-3,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=20,
        eval_strategy="steps",
        eval_steps=125,
    )
    with torch.no_grad():
        score(r2(m((Xt - mu) / sd)["logits"] * ys + ym, yt), 0.0)
