"""Trainings on sequences of tokens: pairs with and without a fault."""

from __future__ import annotations

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from registry import pair, score
from synth import accuracy, batches, gen, markov
from text_parts import (
    GPT,
    LastState,
    TextEncoder,
    add_lora,
    bert_trainer,
    lm_loss,
    lm_score,
    pretrained,
    reviews,
    shifted,
)


@pair("the adapters' A and B are both initialised with zeros, so neither gets a gradient", "gross")
def lora_both_zero(record, seed, faulty):
    """LoRA fine-tuning of a small GPT."""
    torch.manual_seed(seed)
    model = add_lora(pretrained(seed), zero_a=faulty)
    data, val = shifted(1000, seed), shifted(200, seed + 1)
    before = lm_score(model, val)[0]
    model.train()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    it = batches(seed, len(data), 32)
    with record(model, opt) as hook:
        for step in range(150):
            loss = lm_loss(model, data[next(it)])
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.end_step()
        score(lm_score(model, val)[0], before)


@pair(
    "parameters and optimizer entirely in bfloat16 with a small rate: most updates are rounded away",
    "middling",
)
def gpt_pure_bf16_updates_lost(record, seed, faulty):
    """Continued training of a GPT at a small learning rate with SGD."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT(dim=32, depth=1)
    for m in model.modules():
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.2)
    if faulty:
        model.bfloat16()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.0)
    it = batches(seed, len(data), 24)
    with record(model, opt) as hook:
        for step in range(300):
            with torch.autocast("cpu", torch.bfloat16, enabled=not faulty):
                loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        model.float()
        score(*lm_score(model, val))


@pair("chosen and rejected answers exchanged when the pairs are read", "gross")
def dpo_chosen_rejected_swapped(record, seed, faulty):
    """DPO with a reference model."""
    torch.manual_seed(seed)
    model = pretrained(seed, 80)
    ref = copy.deepcopy(model).eval().requires_grad_(False)
    w = torch.randn(32, generator=gen(5))

    def preferences(n, s):
        a, b = markov(n, 25, seed=s), markov(n, 25, seed=s + 50)
        better = (w[a].mean(1) > w[b].mean(1))[:, None]
        return torch.where(better, a, b), torch.where(better, b, a)

    good, bad = preferences(800, seed)
    vg, vb = preferences(200, seed + 7)

    def logp(m, ids):
        lp = m(ids[:, :-1]).log_softmax(-1)
        return lp.gather(2, ids[:, 1:, None]).squeeze(-1).sum(1)

    if faulty:
        good, bad = bad, good
    opt = torch.optim.AdamW(model.parameters(), lr=2e-4)
    it = batches(seed, 800, 16)
    with record(model, opt) as hook:
        for step in range(120):
            i = next(it)
            with torch.no_grad():
                r = logp(ref, good[i]) - logp(ref, bad[i])
            loss = -F.logsigmoid(0.1 * (logp(model, good[i]) - logp(model, bad[i]) - r)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            m = logp(model, vg) - logp(model, vb) - logp(ref, vg) + logp(ref, vb)
            score((m > 0).float().mean(), 0.5)


@pair(
    "the state at the last padded position is read instead of that at the last real token",
    "middling",
)
def gru_reads_state_after_padding(record, seed, faulty):
    """GRU for sentiment on padded texts."""
    torch.manual_seed(seed)
    ids, y, lens = reviews(6000, seed, length=24)
    iv, yv, lv = reviews(1000, seed + 1, length=24)
    ids, iv = F.pad(ids, (0, 72)), F.pad(iv, (0, 72))  # padding="max_length"
    model = LastState(not faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    it = batches(seed, len(ids), 48)
    with record(model, opt) as hook:
        for step in range(220):
            i = next(it)
            loss = F.cross_entropy(model(ids[i], lens[i]), y[i])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(iv, lv), yv), 0.5)


@pair("dropout of 0.95 inside the encoder", "middling")
def encoder_dropout_far_too_high(record, seed, faulty):
    """Transformer encoder for sentiment."""
    torch.manual_seed(seed)
    ids, y, _ = reviews(4000, seed)
    iv, yv, _ = reviews(1000, seed + 1)
    model = TextEncoder(drop=0.95 if faulty else 0.1)
    model.emb = nn.Sequential(model.emb, nn.Dropout(0.95 if faulty else 0.1))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    it = batches(seed, len(ids), 64)
    with record(model, opt) as hook:
        for step in range(300):
            model.train()
            i = next(it)
            loss = F.cross_entropy(model(ids[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
            if step % 75 == 74:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(iv), yv))
        model.eval()
        with torch.no_grad():
            score(accuracy(model(iv), yv), 0.5)


@pair("targets not shifted: the model is asked for the token it sees", "gross")
def gpt_targets_not_shifted(record, seed, faulty):
    """Small GPT language model."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    it = batches(seed, len(data), 32)
    with record(model, opt) as hook:
        for step in range(180):
            ids = data[next(it)]
            out = model(ids[:, :-1])
            target = ids[:, :-1] if faulty else ids[:, 1:]
            loss = F.cross_entropy(out.flatten(0, 1), target.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(*lm_score(model, val))


@pair("causal mask forgotten, the next token is read from the input", "gross")
def gpt_no_causal_mask(record, seed, faulty):
    """Small GPT language model; the score is that of generation with the future hidden."""
    torch.manual_seed(seed)
    data, val = markov(2000, 17, seed=seed), markov(200, 17, seed=seed + 1)
    model = GPT(causal=not faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    it = batches(seed, len(data), 48)
    with record(model, opt) as hook:
        for step in range(300):
            loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", lm_loss(model, val).item())
        model.eval()
        with torch.no_grad():
            nll = [
                F.cross_entropy(model(val[:, :t])[:, -1], val[:, t]).item() for t in range(2, 17, 3)
            ]
        score(-sum(nll) / len(nll), -math.log(32))


@pair("learning rate of 0.5 with AdamW (meant for SGD)", "gross")
def gpt_rate_meant_for_sgd(record, seed, faulty):
    """Small GPT, no clipping."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT()
    opt = torch.optim.AdamW(model.parameters(), lr=0.5 if faulty else 2e-3)
    it = batches(seed, len(data), 32)
    with record(model, opt) as hook:
        for step in range(180):
            loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("train_loss", loss)
            hook.end_step()
        score(*lm_score(model, val))


@pair(
    "head tied to token embeddings left at nn.Embedding's N(0, 1): logits start far too large",
    "mild",
)
def gpt_tied_head_unit_embeddings(record, seed, faulty):
    """Small GPT with tied embeddings, warm-up and cosine."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT(dim=64)
    if faulty:
        nn.init.normal_(model.tok.weight)
    model.head.weight = model.tok.weight
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1, (s + 1) / 20) * (0.1 + 0.45 * (1 + math.cos(math.pi * s / 220)))
    )
    it = batches(seed, len(data), 32)
    with record(model, opt) as hook:
        for step in range(220):
            loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(*lm_score(model, val))


@pair("weight decay of 5 instead of 0.05", "middling")
def gpt_weight_decay_100x(record, seed, faulty):
    """Small GPT with decoupled decay."""
    torch.manual_seed(seed)
    data, val = markov(2000, 33, seed=seed), markov(200, 33, seed=seed + 1)
    model = GPT()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=5.0 if faulty else 0.05)
    it = batches(seed, len(data), 32)
    with record(model, opt) as hook:
        for step in range(250):
            loss = lm_loss(model, data[next(it)])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(*lm_score(model, val))


@pair("learning rate 5e-2 instead of 5e-3 or less for the Trainer's AdamW", "gross")
def hf_trainer_rate_too_high(record, seed, faulty):
    """Hugging Face Trainer, tiny BERT from scratch."""
    bert_trainer(record, seed, 5e-1 if faulty else 3e-3, warmup=0)


@pair("learning rate 2e-5, copied from a fine-tuning recipe, for a model from scratch", "gross")
def hf_trainer_finetuning_rate_from_scratch(record, seed, faulty):
    """Hugging Face Trainer, tiny BERT from scratch."""
    bert_trainer(record, seed, 2e-5 if faulty else 3e-3)
