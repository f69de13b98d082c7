"""Trainings on sequences of tokens: those that are fine."""

from __future__ import annotations

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from registry import healthy, score
from synth import accuracy, batches, gen, markov
from text_parts import (
    GPT,
    LinearAttention,
    Lion,
    MoE,
    Muon,
    SSM,
    add_lora,
    bert_trainer,
    induction,
    lm_loss,
    lm_score,
    pretrained,
    reviews,
    shifted,
)


@healthy
def gpt_muon_and_adamw(record, seed):
    """Small GPT: Muon-like for the matrices, AdamW for the rest (two optimizers)."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT()
    mats = [p for n, p in model.blocks.named_parameters() if p.ndim == 2]
    ids = {id(p) for p in mats}
    rest = [p for p in model.parameters() if id(p) not in ids]
    opts = [
        Muon(mats, lr=0.02),
        torch.optim.AdamW(rest, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.01),
    ]
    it = batches(seed, len(data), 32)
    with record(model, opts) as hook:
        for step in range(200):
            loss = lm_loss(model, data[next(it)])
            hook.record_tensor_value("loss", loss.item())
            for o in opts:
                o.zero_grad(set_to_none=True)
            loss.backward()
            for o in opts:
                o.step()
            hook.end_step()
        score(*lm_score(model, val))


@healthy
def gpt_lion_wsd(record, seed):
    """GPT with Lion at a small rate, warm-up stable decay."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT()
    opt = Lion(model.parameters(), lr=8e-4, weight_decay=0.1)
    n = 220
    wsd = lambda s: (s + 1) / 20 if s < 20 else 1.0 if s < 160 else max(0.02, (n - s) / 60)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, wsd)
    it = batches(seed, len(data), 32)
    with record(model, opt) as hook:
        for step in range(n):
            loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            hook.record_tensor_value("lm_loss", loss)
            hook.end_step()
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", lm_loss(model, val))
        score(*lm_score(model, val))


@healthy
def induction_flat_then_falls(record, seed):
    """Attention-only model on repeated sequences: flat at the unigram level, then a phase change."""
    torch.manual_seed(seed)
    g = gen(seed)
    model = GPT(vocab=24, dim=48, depth=2, heads=2, length=40)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.98), weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 0.05, 1.0, 30)
    L = 8

    def second(ids):
        out = model(ids[:, :-1])[:, L - 1 :]
        return F.cross_entropy(out.reshape(-1, 24), ids[:, L:].reshape(-1)), out

    with record(model, opt) as hook:
        for step in range(400):
            loss, _ = second(induction(64, L, g))
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            ids = induction(256, L, g)
            score(accuracy(second(ids)[1][:, 1:], ids[:, L + 1 :]), 1 / 24)


@healthy
def state_space_lm_radam(record, seed):
    """Selective state-space language model with RAdam; the loss is logged as a running mean."""
    torch.manual_seed(seed)
    data, val = markov(2000, 25, seed=seed), markov(200, 25, seed=seed + 1)
    model = SSM()
    opt = torch.optim.RAdam(model.parameters(), lr=1e-2)
    it = batches(seed, len(data), 96)
    ema = None
    with record(model, opt) as hook:
        for step in range(250):
            loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
            hook.record_tensor_value("loss_ema", ema)
            hook.end_step()
        score(*lm_score(model, val))


@healthy
def linear_attention_adafactor(record, seed):
    """Causal linear attention, Adafactor."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = LinearAttention()
    opt = torch.optim.Adafactor(model.parameters(), lr=2e-2)
    it = batches(seed, len(data), 64)
    with record(model, opt) as hook:
        for step in range(250):
            loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(*lm_score(model, val))


@healthy
def moe_transformer_balanced(record, seed):
    """Mixture of experts with a load balancing loss."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT()
    for b in model.blocks:
        b.mlp = MoE(48)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95))
    it = batches(seed, len(data), 32)
    with record(model, opt) as hook:
        for step in range(220):
            lm = lm_loss(model, data[next(it)])
            aux = sum(b.mlp.aux for b in model.blocks)
            loss = lm + 0.01 * aux
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("lm_loss", lm.detach())
            hook.record_tensor_value("aux_loss", aux.detach())
            hook.end_step()
        score(*lm_score(model, val))


@healthy
def lora_adapt_new_domain(record, seed):
    """LoRA adapters on a frozen pretrained GPT, adapted to another dialect."""
    torch.manual_seed(seed)
    model = add_lora(pretrained(seed))
    data, val = shifted(1000, seed), shifted(200, seed + 1)
    before = lm_score(model, val)[0]
    model.train()
    opt = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0
    )
    it = batches(seed, len(data), 32)
    with record(model, opt) as hook:
        for step in range(200):
            loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(lm_score(model, val)[0], max(before, -math.log(32)))


@healthy
def bf16_params_fp32_master(record, seed):
    """Model in bfloat16 with an fp32 master copy held by the optimizer loop."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT(dim=32)
    master = [p.detach().clone().requires_grad_() for p in model.parameters()]
    model.bfloat16()
    opt = torch.optim.AdamW(master, lr=3e-3)
    it = batches(seed, len(data), 24)
    with record(model, opt) as hook:
        for step in range(180):
            model.zero_grad()
            out = model(data[i := next(it)][:, :-1]).float()
            loss = F.cross_entropy(out.flatten(0, 1), data[i][:, 1:].flatten())
            loss.backward()
            for m, p in zip(master, model.parameters()):
                m.grad = p.grad.float()
            opt.step()
            with torch.no_grad():
                for m, p in zip(master, model.parameters()):
                    p.copy_(m)
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        model.float()
        score(*lm_score(model, val))


@healthy
def dpo_preferences(record, seed):
    """DPO of a pretrained GPT against its frozen copy; loss starts at log 2, margins are logged."""
    torch.manual_seed(seed)
    model = pretrained(seed, 80)
    ref = copy.deepcopy(model).eval().requires_grad_(False)
    w = torch.randn(32, generator=gen(5))  # the annotators' hidden taste

    def preferences(n, s):
        a, b = markov(n, 25, seed=s), markov(n, 25, seed=s + 50)
        better = (w[a].mean(1) > w[b].mean(1))[:, None]
        return torch.where(better, a, b), torch.where(better, b, a)

    good, bad = preferences(800, seed)
    vg, vb = preferences(200, seed + 7)

    def logp(m, ids):
        lp = m(ids[:, :-1]).log_softmax(-1)
        return lp.gather(2, ids[:, 1:, None]).squeeze(-1).sum(1)

    def margin(g, b):
        with torch.no_grad():
            rg, rb = logp(ref, g), logp(ref, b)
        return (logp(model, g) - rg) - (logp(model, b) - rb)

    opt = torch.optim.AdamW(model.parameters(), lr=2e-4)
    it = batches(seed, 800, 16)
    with record(model, opt) as hook:
        for step in range(120):
            i = next(it)
            m = margin(good[i], bad[i])
            loss = -F.logsigmoid(0.1 * m).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("rewards_margin", m.mean().item())
            hook.end_step()
        with torch.no_grad():
            score((margin(vg, vb) > 0).float().mean(), 0.5)


@healthy
def embedding_bag_sparse_adam(record, seed):
    """Sentiment with sparse embedding gradients: SparseAdam and Adam."""
    torch.manual_seed(seed)
    ids, y, _ = reviews(4000, seed)
    iv, yv, _ = reviews(1000, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.EmbeddingBag(400, 32, mode="sum", sparse=True, padding_idx=0)
            self.out = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

        def forward(self, ids):
            return self.out(self.emb(ids))

    model = Net()
    opts = [
        torch.optim.SparseAdam(list(model.emb.parameters()), lr=1e-2),
        torch.optim.Adam(model.out.parameters(), lr=2e-3),
    ]
    crit = nn.CrossEntropyLoss()
    it = batches(seed, len(ids), 1024)
    with record(model, opts, crit) as hook:
        for step in range(400):
            i = next(it)
            loss = crit(model(ids[i]), y[i])
            for o in opts:
                o.zero_grad()
            loss.backward()
            for o in opts:
                o.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(iv), yv), 0.5)


@healthy
def hf_trainer_bert_classifier(record, seed):
    """Hugging Face Trainer, tiny BERT from scratch."""
    bert_trainer(record, seed, 3e-3)
