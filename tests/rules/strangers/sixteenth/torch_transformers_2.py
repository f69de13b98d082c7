"""Small transformers: by hand, from configs, with the Trainer, with LoRA and with accelerate, part 2."""

import math
import tempfile
import torch
import torch.nn.functional as F
import transformers
from peft import LoraConfig, get_peft_model
from torch import nn
from registry import healthy, pair, score
from torch_transformers import (
    Decoder,
    Reader,
    chain,
    hits,
    tiny_bert_config,
    tiny_gpt2,
    tiny_llama,
    topics,
)


class Rows(torch.utils.data.Dataset):
    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index):
        return {k: v[index] for k, v in self.columns.items()}


def run_trainer(record, model, train, test, seed, **options):
    settings = {
        "max_steps": 200,
        "per_device_train_batch_size": 32,
        "per_device_eval_batch_size": 100,
        "learning_rate": 1e-3,
        "eval_strategy": "steps",
        "eval_steps": 50,
        "logging_steps": 20,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        "seed": seed,
        "data_seed": seed,
    }
    settings.update(options)
    with tempfile.TemporaryDirectory() as folder:
        trainer = transformers.Trainer(
            model=model,
            args=transformers.TrainingArguments(output_dir=folder, **settings),
            train_dataset=train,
            eval_dataset=test,
            callbacks=[record.callback("transformers")],
        )
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()
    model.eval()


def bert_topics(record, seed, fault=None):
    torch.manual_seed(seed)
    ids, y = topics(seed, 2500)
    labels = y[torch.randperm(2500)] if fault == "labels" else y
    model = transformers.BertForSequenceClassification(tiny_bert_config(60, 5))
    if fault == "frozen":
        for p in model.bert.parameters():
            p.requires_grad_(False)
    rate = {"hot": 0.3, "cold": 1e-7}.get(fault, 1e-3)
    train = Rows(input_ids=ids[:2000], labels=labels[:2000])
    test = Rows(input_ids=ids[2000:], labels=labels[2000:])
    run_trainer(record, model, train, test, seed, learning_rate=rate)
    with torch.no_grad():
        score(hits(model(ids[2000:]).logits, y[2000:]), 0.2)


@healthy
def tf_trainer_bert(record, seed):
    """BERT classification by the Trainer."""
    bert_topics(record, seed)


@pair(cause="learning rate 300x too high in the Trainer", severity="gross")
def tf_trainer_hot(record, seed, faulty):
    """0.3 where 1e-3 was meant."""
    bert_topics(record, seed, "hot" if faulty else None)


@pair(cause="learning rate 10000x too low in the Trainer", severity="gross")
def tf_trainer_cold(record, seed, faulty):
    """1e-7."""
    bert_topics(record, seed, "cold" if faulty else None)


@pair(cause="encoder frozen though it was never pretrained", severity="gross")
def tf_trainer_frozen(record, seed, faulty):
    """Only the classifier is trained."""
    bert_topics(record, seed, "frozen" if faulty else None)


@pair(cause="labels permuted apart from the texts", severity="gross")
def tf_trainer_labels(record, seed, faulty):
    """Shuffled before the join."""
    bert_topics(record, seed, "labels" if faulty else None)


@healthy
def tf_trainer_gpt2_sparse_logs(record, seed):
    """GPT-2 by the Trainer, accumulation of 4, constant rate, no evaluation."""
    torch.manual_seed(seed)
    ids = chain(seed + 4, 2000, 16)
    model = tiny_gpt2()
    run_trainer(
        record,
        model,
        Rows(input_ids=ids[:1800], labels=ids[:1800]),
        None,
        seed,
        max_steps=120,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=4,
        learning_rate=4e-3,
        lr_scheduler_type="constant",
        eval_strategy="no",
    )
    with torch.no_grad():
        score(hits(model(ids[1800:, :-1]).logits, ids[1800:, 1:]), 1 / 32)


@pair(cause="warmup far longer than the training", severity="mild")
def tf_trainer_long_warmup(record, seed, faulty):
    """warmup_steps of the full pretraining, kept for 150 steps."""
    torch.manual_seed(seed)
    ids = chain(seed + 6, 1800, 16)
    model = tiny_llama()
    columns = [Rows(input_ids=part, labels=part) for part in (ids[:1500], ids[1500:])]
    warmup = 10000 if faulty else 15
    run_trainer(
        record, model, *columns, seed, max_steps=150, warmup_steps=warmup, learning_rate=5e-3
    )
    with torch.no_grad():
        score(hits(model(ids[1500:, :-1]).logits, ids[1500:, 1:]), 1 / 32)


def pictures(seed, count, kinds=4):
    """Coarse stripes of four directions plus noise."""
    g = torch.Generator().manual_seed(seed + 17)
    y = torch.randint(0, kinds, (count,), generator=g)
    phase = 6.3 * torch.rand(count, 1, 1, generator=g)
    a = math.pi * y.float()[:, None, None] / kinds
    r = torch.arange(16.0)
    wave = torch.sin((r[:, None] * a.sin() + r[None] * a.cos()) * 1.2 + phase)
    return (wave + 0.7 * torch.randn(count, 16, 16, generator=g))[:, None], y


def vit_model(kinds=4):
    return transformers.ViTForImageClassification(
        transformers.ViTConfig(
            image_size=16,
            patch_size=4,
            num_channels=1,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            num_labels=kinds,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


def vit(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = pictures(seed, 2000)
    if fault == "offset":
        x = x * 50 + 1000
    model = vit_model()
    opt = torch.optim.AdamW(model.parameters(), lr=1.5e-3, weight_decay=0.05)
    total = 25 if fault == "short" else 200
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1.0, (s + 1) / 10) * max(0.0, 1 - s / total)
    )
    order = y[:1700].argsort() if fault == "sorted" else torch.arange(1700)
    with record(model, opt) as hook:
        for step in range(200):
            i = torch.randint(0, 1700, (32,))
            if fault == "sorted":
                i = order[torch.arange(step * 32, step * 32 + 32) % 1700]
            opt.zero_grad()
            loss = model(pixel_values=x[i], labels=y[i]).loss
            loss.backward()
            opt.step()
            sched.step()
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    val = model(pixel_values=x[1700:], labels=y[1700:]).loss
                hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        score(hits(model(x[1700:]).logits, y[1700:]), 0.25)


@healthy
def tf_vit(record, seed):
    """ViT from a config on small pictures, linear decay to zero."""
    vit(record, seed)


@pair(cause="schedule ends after a fraction of the training", severity="middling")
def tf_vit_short_schedule(record, seed, faulty):
    """num_training_steps of one epoch: then the rate is zero."""
    vit(record, seed, "short" if faulty else None)


@pair(cause="pictures not normalised", severity="gross")
def tf_vit_offset(record, seed, faulty):
    """Raw sensor values around 1000."""
    vit(record, seed, "offset" if faulty else None)


@pair(cause="pictures sorted by class and not shuffled", severity="gross")
def tf_vit_sorted(record, seed, faulty):
    """Thirteen batches of one class in a row."""
    vit(record, seed, "sorted" if faulty else None)


def counting(seed, rows):
    """Input: begin and stride (and noise); output: six numbers."""
    g = torch.Generator().manual_seed(seed + 18)
    begin = torch.randint(0, 12, (rows,), generator=g)
    stride = torch.randint(1, 5, (rows,), generator=g)
    noise = torch.randint(20, 30, (rows, 3), generator=g)
    source = torch.cat([(begin + 2)[:, None], (stride + 14)[:, None], noise], 1)
    target = (begin[:, None] + stride[:, None] * torch.arange(6)) % 12 + 2
    return source, target


def t5(record, seed, fault=None):
    torch.manual_seed(seed)
    source, target = counting(seed, 2000)
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=32,
            d_model=48,
            d_kv=12,
            d_ff=96,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=1,
        )
    )
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    held = slice(1800, None)
    with record(model, opt) as hook:
        for step in range(220):
            i = torch.randint(0, 1800, (32,))
            given = {"decoder_input_ids": target[i]} if fault == "leak" else {}
            words = source[i.roll(1)] if fault == "misaligned" else source[i]
            loss = model(input_ids=words, labels=target[i], **given).loss
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            if step % 55 == 54:
                with record.evaluation(hook), torch.no_grad():
                    val = model(input_ids=source[held], labels=target[held]).loss
                hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        out = model(input_ids=source[held], labels=target[held]).logits
    score(hits(out, target[held]), 1 / 12)


@healthy
def tf_t5(record, seed):
    """T5 that counts."""
    t5(record, seed)


@pair(cause="decoder sees the tokens that it predicts", severity="gross")
def tf_t5_leak(record, seed, faulty):
    """decoder_input_ids equal the labels."""
    t5(record, seed, "leak" if faulty else None)


@pair(cause="sources rolled against targets", severity="middling")
def tf_t5_misaligned(record, seed, faulty):
    """Pairs do not belong together."""
    t5(record, seed, "misaligned" if faulty else None)


def pretrained_llama(seed, steps=120):
    torch.manual_seed(seed)
    ids = chain(seed + 20, 1500, 16)
    model = tiny_llama()
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(steps):
        batch = ids[torch.randint(0, 1500, (24,))]
        opt.zero_grad()
        model(input_ids=batch, labels=batch).loss.backward()
        opt.step()
    return model


def lora(record, seed, fault=None):
    base = pretrained_llama(seed)
    ids = chain(seed + 77, 1500, 16)
    names = ["q_proj", "v_proj", "up_proj", "down_proj", "lm_head"]
    settings = LoraConfig(r=8, lora_alpha=16, target_modules=names, lora_dropout=0.0)
    model = get_peft_model(base, settings)
    params = [p for p in model.parameters() if p.requires_grad]
    if fault == "base":
        params = [p for n, p in model.named_parameters() if "lora" not in n]
    rate = 1.0 if fault == "hot" else 8e-3
    opt = torch.optim.AdamW(params, rate)
    with record(model, opt) as hook:
        for step in range(220):
            batch = ids[torch.randint(0, 1300, (24,))]
            loss = model(input_ids=batch, labels=batch).loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 55 == 54:
                with record.evaluation(hook), torch.no_grad():
                    val = model(input_ids=ids[1300:], labels=ids[1300:]).loss
                hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        score(hits(model(input_ids=ids[1300:, :-1]).logits, ids[1300:, 1:]), 1 / 32)


@healthy
def tf_lora(record, seed):
    """LoRA on a frozen Llama; the B matrices begin at zero."""
    lora(record, seed)


@pair(cause="optimizer holds the frozen base, not the adapters", severity="gross")
def tf_lora_wrong_params(record, seed, faulty):
    """The filter is the wrong way round."""
    lora(record, seed, "base" if faulty else None)


@pair(cause="learning rate of 1.0 for LoRA", severity="gross")
def tf_lora_hot(record, seed, faulty):
    """The adapters blow up."""
    lora(record, seed, "hot" if faulty else None)


@healthy
def tf_post_norm(record, seed):
    """Post-norm encoder with label smoothing, Lion-like sign updates."""
    torch.manual_seed(seed)
    ids, y = topics(seed + 1, 2500)
    model = Reader(60, 5, depth=2, pre=False, drop=0.1)
    momentum = [torch.zeros_like(p) for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=4e-4)
    with record(model, opt) as hook:
        for step in range(300):
            i = torch.randint(0, 2000, (48,))
            opt.zero_grad()
            F.cross_entropy(model(ids[i]), y[i], label_smoothing=0.1).backward()
            with torch.no_grad():
                for p, m in zip(model.parameters(), momentum, strict=True):
                    if p.grad is not None:
                        g = p.grad.clone()
                        p.grad.copy_((0.9 * m + 0.1 * g).sign())
                        m.lerp_(g, 0.01)
            opt.step()
            if step % 60 == 59:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    val = F.cross_entropy(model(ids[2000:]), y[2000:])
                hook.record_tensor_value("val_loss", val)
                model.train()
    model.eval()
    score(hits(model(ids[2000:]), y[2000:]), 0.2)


@healthy
def tf_frozen_body(record, seed):
    """A pretrained Llama, frozen; a new head on its last hidden state."""
    base = pretrained_llama(seed)
    base.requires_grad_(False).eval()
    ids = chain(seed + 20, 2000, 16)
    y = (ids[:, -1] % 4).long()
    head = nn.Linear(48, 4)
    opt = torch.optim.Adam(head.parameters(), 1e-2)
    with record([base, head], opt) as hook:
        for step in range(250):
            i = torch.randint(0, 1600, (32,))
            with torch.no_grad():
                h = base(input_ids=ids[i], output_hidden_states=True).hidden_states[-1][:, -1]
            loss = F.cross_entropy(head(h), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    h = base(input_ids=ids[1600:], output_hidden_states=True).hidden_states[-1]
                    hook.record_tensor_value("val_loss", F.cross_entropy(head(h[:, -1]), y[1600:]))
    with torch.no_grad():
        h = base(input_ids=ids[1600:], output_hidden_states=True).hidden_states[-1][:, -1]
    score(hits(head(h), y[1600:]), 0.25)


class Experts(nn.Module):
    """Top-1 mixture of experts with a balancing loss."""

    def __init__(self, width, count):
        super().__init__()
        self.router = nn.Linear(width, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
            for _ in range(count)
        )

    def forward(self, x):
        p = self.router(x).softmax(-1)
        weight, pick = p.max(-1)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            rows = pick == k
            if rows.any():
                out[rows] = expert(x[rows]) * weight[rows][:, None]
        share = F.one_hot(pick, p.shape[-1]).float().mean(0)
        return x + out, p.shape[-1] * (share * p.mean(0)).sum()


@healthy
def tf_experts(record, seed):
    """Some experts get no rows in some steps."""
    torch.manual_seed(seed)
    ids = chain(seed + 9, 2000, 12)
    emb, moe, out = nn.Embedding(32, 40), Experts(40, 6), nn.Linear(40, 32)
    model = nn.ModuleDict({"emb": emb, "moe": moe, "out": out})
    opt = torch.optim.AdamW(model.parameters(), 4e-3)
    with record(model, opt) as hook:
        for step in range(300):
            batch = ids[torch.randint(0, 1800, (16,))]
            h, balance = moe(emb(batch[:, :-1]).flatten(0, 1))
            loss = F.cross_entropy(out(h), batch[:, 1:].flatten()) + 0.02 * balance
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    h = moe(emb(ids[1800:, :-1]).flatten(0, 1))[0]
                    val = F.cross_entropy(out(h), ids[1800:, 1:].flatten())
                hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        h = moe(emb(ids[1800:, :-1]).flatten(0, 1))[0]
    score(hits(out(h), ids[1800:, 1:].flatten()), 1 / 32)


@healthy
def tf_bf16_trainer(record, seed):
    """The Trainer with bf16 and label smoothing, ViT."""
    torch.manual_seed(seed)
    x, y = pictures(seed + 3, 1800)
    model = vit_model()
    run_trainer(
        record,
        model,
        Rows(pixel_values=x[:1500], labels=y[:1500]),
        Rows(pixel_values=x[1500:], labels=y[1500:]),
        seed,
        max_steps=110,
        bf16=True,
        label_smoothing_factor=0.1,
        warmup_steps=20,
        learning_rate=2e-3,
    )
    with torch.no_grad():
        score(hits(model(x[1500:]).logits, y[1500:]), 0.25)


@pair(cause="post-norm encoder, six layers deep, without warmup at a high rate", severity="gross")
def tf_no_warmup(record, seed, faulty):
    """The healthy twin warms up over 100 steps to the same rate of 1e-2."""
    torch.manual_seed(seed)
    ids, y = topics(seed + 2, 2500)
    model = Reader(60, 5, depth=6, width=32, pre=False)
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    ramp = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: 1.0 if faulty else min(1.0, (s + 1) / 100)
    )
    with record(model, opt) as hook:
        for step in range(220):
            i = torch.randint(0, 2000, (32,))
            opt.zero_grad()
            F.cross_entropy(model(ids[i]), y[i]).backward()
            opt.step()
            ramp.step()
            if step % 55 == 54:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", F.cross_entropy(model(ids[2000:]), y[2000:]))
                model.train()
    model.eval()
    score(hits(model(ids[2000:]), y[2000:]), 0.2)


@pair(cause="SGD with the rate of Adam: 1e-3 is too low", severity="middling")
def tf_sgd_rate(record, seed, faulty):
    """SGD at 1e-3, where 0.3 works."""
    torch.manual_seed(seed)
    ids = chain(seed + 10, 2000, 16)
    model = Decoder(32, width=40, layers=1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3 if faulty else 0.3, momentum=0.9)
    with record(model, opt) as hook:
        for step in range(300):
            batch = ids[torch.randint(0, 1800, (32,))]
            loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    out = model(ids[1800:, :-1]).flatten(0, 1)
                    val = F.cross_entropy(out, ids[1800:, 1:].flatten())
                hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        score(hits(model(ids[1800:, :-1]), ids[1800:, 1:]), 1 / 32)
