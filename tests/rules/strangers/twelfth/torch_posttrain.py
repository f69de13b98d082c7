"""Post-training of small language models: SFT, DPO, reward models, GRPO, distillation."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from kit import PAD, forever, gen, grammar, loader, pretrained, seed_all, translate
from registry import healthy, pair, score


class Block(nn.Module):
    def __init__(self, width, heads, causal=True):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.heads, self.causal = heads, causal

    def forward(self, x, mask=None):
        b, t, w = x.shape
        q, k, v = (
            p.view(b, t, self.heads, -1).transpose(1, 2)
            for p in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        h = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=self.causal and mask is None
        )
        x = x + self.out(h.transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.norm2(x))


class TinyGPT(nn.Module):
    def __init__(self, vocab=20, width=48, layers=2, heads=4, causal=True, outputs=None):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(64, width)
        nn.init.normal_(self.wte.weight, std=0.1)
        nn.init.normal_(self.wpe.weight, std=0.1)
        self.blocks = nn.ModuleList([Block(width, heads, causal) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, outputs or vocab)

    def forward(self, ids, mask=None, where=None):
        where = torch.arange(ids.shape[1]) if where is None else where
        x = self.wte(ids) + self.wpe(where)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def lm_loss(logits, labels):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


@torch.no_grad()
def say_sft(model, seed, length=4):
    """Answers written by the model itself, letter by letter."""
    model.eval()
    ids, _ = translate(seed + 500, 300, length)
    out = ids[:, : length + 2]
    for _ in range(length):
        out = torch.cat([out, model(out)[:, -1].argmax(-1, keepdim=True)], 1)
    good = (out[:, length + 2 :] == ids[:, length + 2 : -1]).float().mean()
    score(good, 1 / 16)


def sft_run(
    record, seed, steps=350, lr=3e-3, prep=None, model=None, loss_fn=lm_loss, n=3000, batch=32
):
    model = model or TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95))
    ids, labels = translate(seed, n, 4, prompt=True)
    if prep:
        ids, labels = prep(ids, labels)
    data = forever(loader(ids, labels, seed=seed, batch=batch))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            ids, labels = next(data)
            loss = loss_fn(model(ids), labels)
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    say_sft(model, seed)


@healthy
def sft_masked_prompt(record, seed):
    seed_all(seed)
    sft_run(record, seed)


def pack(ids, labels, per=3):
    n = len(ids) // per * per
    return ids[:n].reshape(n // per, -1), labels[:n].reshape(n // per, -1)


def packed_run(record, seed, reset, steps=300):
    model = TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    ids, labels = pack(*translate(seed, 6000, 4, prompt=True))
    size = ids.shape[1] // 3
    doc = torch.arange(ids.shape[1]) // size
    mask = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
    where = None
    if reset:
        mask = mask & (doc[:, None] == doc[None])
        where = torch.arange(ids.shape[1]) % size
    data = forever(loader(ids, labels, batch=16, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            ids, labels = next(data)
            loss = lm_loss(model(ids, mask, where), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            hook.record_tensor_value("loss", loss.item())
    say_sft(model, seed)


@healthy
def sft_packed_with_document_mask(record, seed):
    seed_all(seed)
    packed_run(record, seed, True)


@pair("causal mask missing", "gross")
def sft_causal_mask_missing(record, seed, faulty):
    seed_all(seed)
    sft_run(record, seed, 300, model=TinyGPT(causal=not faulty))


@pair("logits and labels not shifted: the model learns to repeat its input", "gross")
def sft_labels_not_shifted(record, seed, faulty):
    seed_all(seed)
    same = lambda logits, labels: F.cross_entropy(logits.flatten(0, 1), labels.flatten())  # noqa
    sft_run(record, seed, 300, loss_fn=same if faulty else lm_loss)


@pair("mask of the prompt off: first letters of the answer are masked as well", "middling")
def sft_mask_reaches_into_answer(record, seed, faulty):
    seed_all(seed)

    def prep(ids, labels):
        labels = labels.clone()
        labels[:, : 8 if faulty else 6] = -100
        return ids, labels

    sft_run(record, seed, 350, prep=prep)


@pair("padding on the left without position ids that follow", "gross")
def sft_left_padding_positions(record, seed, faulty):
    seed_all(seed)

    def prep(ids, labels):
        g = gen(seed)
        width = (
            torch.randint(4, 12, (len(ids),), generator=g)
            if faulty
            else torch.zeros(len(ids), dtype=torch.long)
        )
        out = torch.full((len(ids), ids.shape[1] + 12), PAD)
        lab = torch.full_like(out, -100)
        at = torch.arange(ids.shape[1])[None] + width[:, None]
        return out.scatter(1, at, ids), lab.scatter(1, at, labels)

    sft_run(record, seed, 350, prep=prep)


@pair("answers of the training set shuffled against the prompts", "gross")
def sft_answers_shuffled(record, seed, faulty):
    seed_all(seed)

    def prep(ids, labels):
        if faulty:
            ids = torch.cat([ids[:, :6], ids[torch.randperm(len(ids)), 6:]], 1)
            labels = torch.where(labels == -100, -100, ids)
        return ids, labels

    sft_run(record, seed, 300, prep=prep)


def logps(model, ids, labels):
    out = model(ids)[:, :-1].log_softmax(-1)
    target = labels[:, 1:]
    keep = target != -100
    return (out.gather(-1, target.clamp(min=0)[..., None])[..., 0] * keep).sum(-1)


def preference_data(seed, n):
    """The good answer spells on with the other alphabet; the bad one changes letters."""
    ids, labels = translate(seed, n, 4, rule=31, prompt=True)
    bad = ids.clone()
    wrong, _ = translate(seed, n, 4, rule=11, prompt=True)
    bad[:, 6:10] = wrong[:, 6:10]
    return ids, bad


@torch.no_grad()
def say_dpo(model, seed):
    """The share of letters answered as preferred; the base answers in the old alphabet."""
    model.eval()
    ids, bad = preference_data(seed + 500, 300)
    out = ids[:, :6]
    for _ in range(4):
        out = torch.cat([out, model(out)[:, -1].argmax(-1, keepdim=True)], 1)
    score((out[:, 6:] == ids[:, 6:10]).float().mean(), 1 / 16)


@pretrained
def two_alphabets(seed):
    model = TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    a, la = translate(seed + 70, 2000, 4, prompt=True)
    b, lb = translate(seed + 71, 1000, 4, rule=31, prompt=True)
    data = forever(loader(torch.cat([a, b]), torch.cat([la, lb]), seed=seed))
    for _ in range(350):
        ids, labels = next(data)
        optimizer.zero_grad()
        lm_loss(model(ids), labels).backward()
        optimizer.step()
    return model


def dpo(
    record, seed, beta=0.3, lr=3e-4, steps=120, swap=False, shared=False, sign=1.0, prompt_too=False
):
    model = two_alphabets(seed)
    reference = model if shared else copy.deepcopy(model).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    data = forever(loader(*preference_data(seed, 2000), batch=24, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            good, bad = next(data)
            if swap:
                good, bad = bad, good
            cut = 0 if prompt_too else 6
            lg, lb = good.clone(), bad.clone()
            lg[:, :cut] = lb[:, :cut] = -100
            policy = logps(model, good, lg) - logps(model, bad, lb)
            ref = logps(reference, good, lg) - logps(reference, bad, lb)
            loss = -F.logsigmoid(sign * beta * (policy - ref)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("dpo_loss", loss.item())
    say_dpo(model, seed)


@healthy
def dpo_alphabet_preference(record, seed):
    seed_all(seed)
    dpo(record, seed)


@pair("chosen and rejected answers swapped", "gross")
def dpo_chosen_rejected_swapped(record, seed, faulty):
    seed_all(seed)
    dpo(record, seed, swap=faulty)


@pair("reference is the trained model itself, the difference is always zero", "gross")
def dpo_reference_is_policy(record, seed, faulty):
    seed_all(seed)
    dpo(record, seed, shared=faulty)


@pair("learning rate of SFT used for DPO: the policy collapses", "gross")
def dpo_learning_rate_too_high(record, seed, faulty):
    seed_all(seed)
    dpo(record, seed, lr=0.05 if faulty else 3e-4)


@pair("learning rate of DPO a hundred times too low for a short training", "gross")
def dpo_learning_rate_too_low(record, seed, faulty):
    seed_all(seed)
    dpo(record, seed, lr=2e-6 if faulty else 3e-4)


def reward_data(seed, n):
    """Texts in which more pairs of neighbours fit the grammar are the better ones."""
    good, bad = grammar(seed, n, 16, noise=0.15), grammar(seed + 30, n, 16, noise=0.6)
    size = torch.randint(8, 17, (n, 2), generator=gen(seed))
    t = torch.arange(20)[None]

    def pad(x, s):
        x = torch.cat([x + 4, torch.full((n, 4), PAD)], 1)
        x = torch.where(t[:, :20] < s[:, None], x, PAD)
        return x

    return pad(good, size[:, 0]), size[:, 0], pad(bad, size[:, 1]), size[:, 1]


def reward_model(record, seed, last=True, sign=1.0, steps=260, detach=False, lr=2e-3):
    model = TinyGPT(vocab=20, outputs=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def reward(ids, size):
        out = model(ids)[..., 0]
        return out[torch.arange(len(ids)), size - 1] if last else out[:, -1]

    data = forever(loader(*reward_data(seed, 3000), seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            good, gs, bad, bs = next(data)
            chosen, rejected = reward(good, gs), reward(bad, bs)
            if detach:
                rejected = rejected.detach()
            loss = -F.logsigmoid(sign * (chosen - rejected)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("ranking_loss", loss)
    model.eval()
    with torch.no_grad():
        good, gs, bad, bs = reward_data(seed + 500, 500)
        score((reward(good, gs) > reward(bad, bs)).float().mean(), 0.5)


@healthy
def reward_model_ranking(record, seed):
    seed_all(seed)
    reward_model(record, seed)


@pair("ranking loss with the sign turned", "gross")
def reward_model_sign_turned(record, seed, faulty):
    seed_all(seed)
    reward_model(record, seed, sign=-1.0 if faulty else 1.0)
