"""Adapters with peft on a small base that was trained a little first."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from peft import (
    IA3Config,
    LoraConfig,
    PrefixTuningConfig,
    PromptTuningConfig,
    TaskType,
    get_peft_model,
)
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
)

from kit import (
    PAD,
    Rows,
    forever,
    gen,
    grammar,
    hf_args,
    hit,
    loader,
    majority,
    next_token_accuracy,
    padded_count,
    pretrained,
    seed_all,
)
from registry import healthy, pair, score


@pretrained
def base_lm(seed):
    """A GPT-2 that knows one grammar; the adapters learn one like it, with other rules."""
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=16,
            n_positions=40,
            n_embd=48,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=2,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    data = forever(loader(grammar(seed, 2000, 16), seed=seed))
    for _ in range(150):
        (ids,) = next(data)
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    return model


def new_text(seed, n=2000):
    return grammar(seed, n, 16, rule=70)


def say(model, seed):
    test = new_text(seed + 500, 256)
    score(next_token_accuracy(model, test), majority(test))


def tune(record, model, optimizer, seed, steps, schedule=None, clip=1.0, batch=32, log=True):
    model.train()
    data = forever(loader(new_text(seed), batch=batch, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            (ids,) = next(data)
            out = model(input_ids=ids, labels=ids)
            if log:
                hook.record_tensor_value("loss", out.loss)
            out.loss.backward()
            if clip:
                nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], clip)
            optimizer.step()
            if schedule:
                schedule.step()
            optimizer.zero_grad()


def lora(model, **kw):
    kw = {
        "r": 8,
        "lora_alpha": 16,
        "target_modules": ["c_attn", "c_proj", "c_fc"],
        "lora_dropout": 0.0,
        "fan_in_fan_out": True,
        **kw,
    }
    return get_peft_model(model, LoraConfig(task_type=TaskType.CAUSAL_LM, **kw))


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


@healthy
def peft_lora_gpt2_loop(record, seed):
    seed_all(seed)
    model = lora(base_lm(seed))
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
    tune(record, model, optimizer, seed, 200, schedule)
    say(model, seed)


@healthy
def peft_lora_with_transformers_trainer(record, seed):
    seed_all(seed)
    model = lora(base_lm(seed), r=16, lora_dropout=0.05)
    ids = new_text(seed)
    Trainer(
        model=model,
        args=hf_args(seed, 180, lr=1e-2, warmup_steps=10),
        train_dataset=Rows(input_ids=ids, labels=ids),
        callbacks=[record.callback("transformers")],
    ).train()
    say(model, seed)


@healthy
def peft_rslora_dora(record, seed):
    seed_all(seed)
    model = lora(base_lm(seed), use_rslora=True, use_dora=True, r=4)
    optimizer = torch.optim.Adam(trainable(model), lr=8e-3)
    tune(record, model, optimizer, seed, 200, log=False)
    say(model, seed)


@healthy
def peft_ia3_gpt2(record, seed):
    seed_all(seed)
    model = get_peft_model(
        base_lm(seed),
        IA3Config(
            task_type=TaskType.CAUSAL_LM,
            target_modules=["c_attn", "mlp.c_proj"],
            feedforward_modules=["mlp.c_proj"],
            fan_in_fan_out=True,
            modules_to_save=["lm_head"],
        ),
    )
    optimizer = torch.optim.AdamW(trainable(model), lr=2e-2)
    tune(record, model, optimizer, seed, 220)
    say(model, seed)


@pretrained
def base_keyed(seed):
    """A base that has seen several shifts, each after a token that says which."""
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=24,
            n_positions=40,
            n_embd=48,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=2,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    ids = grammar(seed, 2000, 10, noise=0.05, classes=1)
    data = forever(loader(ids, seed=seed))
    for _ in range(220):
        (x,) = next(data)
        key = torch.randint(4, (len(x), 1))
        x = torch.cat([16 + key, (x + 4 * key) % 16], 1)
        optimizer.zero_grad()
        model(input_ids=x, labels=x).loss.backward()
        optimizer.step()
    return model


def prompt_data(seed, n=1500):
    return (grammar(seed, n, 10, noise=0.05, classes=1) + 4) % 16


def prompt_run(record, seed, lr, config=None, steps=250, loaded=True):
    model = base_keyed(seed)
    if not loaded:
        model = GPT2LMHeadModel(model.config)
    model = get_peft_model(
        model, config or PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4)
    )
    optimizer = torch.optim.AdamW(trainable(model), lr=lr)
    data = forever(loader(prompt_data(seed), seed=seed))
    model.train()
    with record(model, optimizer) as hook:
        for _ in range(steps):
            (ids,) = next(data)
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            hook.record_tensor_value("loss", loss.item())
    test = prompt_data(seed + 500, 256)
    model.eval()
    with torch.no_grad():
        logits = model(input_ids=test).logits[:, -test.shape[1] :]
        score(hit(logits[:, :-1], test[:, 1:]), majority(test))


@healthy
def peft_prompt_tuning(record, seed):
    seed_all(seed)
    prompt_run(record, seed, 0.1)


@healthy
def peft_prefix_tuning(record, seed):
    seed_all(seed)
    prompt_run(
        record, seed, 0.05, PrefixTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4)
    )


@pretrained
def base_bert(seed):
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=24,
            max_position_embeddings=40,
            num_labels=4,
            pad_token_id=PAD,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids, mask, y = padded_count(seed + 40, 1500)
    data = forever(loader(ids, mask, y % 2, seed=seed))
    for _ in range(100):
        ids, mask, y = next(data)
        optimizer.zero_grad()
        model(input_ids=ids, attention_mask=mask, labels=y).loss.backward()
        optimizer.step()
    model.classifier = nn.Linear(48, 4)
    return model


def bert_lora(model, save=("classifier",), targets=("query", "value", "dense")):
    return get_peft_model(
        model,
        LoraConfig(
            task_type=None,
            r=8,
            lora_alpha=16,
            target_modules=list(targets),
            modules_to_save=list(save) or None,
        ),
    )


def bert_run(record, seed, model, optimizer, steps=200):
    ids, mask, y = padded_count(seed, 1500)
    data = forever(loader(ids, mask, y, seed=seed))
    model.train()
    with record(model, optimizer) as hook:
        for _ in range(steps):
            ids, mask, y = next(data)
            logits = model(input_ids=ids, attention_mask=mask).logits
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss.item())
    ids, mask, y = padded_count(seed + 500, 400)
    model.eval()
    with torch.no_grad():
        score(hit(model(input_ids=ids, attention_mask=mask).logits, y), 0.25)


@healthy
def peft_lora_bert_new_head(record, seed):
    seed_all(seed)
    model = bert_lora(base_bert(seed))
    bert_run(record, seed, model, torch.optim.AdamW(trainable(model), lr=3e-3))


@pair("optimizer built before get_peft_model: the adapter is not in it", "gross")
def peft_optimizer_before_lora(record, seed, faulty):
    seed_all(seed)
    base = base_lm(seed)
    if faulty:
        optimizer = torch.optim.AdamW(base.parameters(), lr=1e-2)
        model = lora(base)
    else:
        model = lora(base)
        optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    tune(record, model, optimizer, seed, 180)
    say(model, seed)


@pair("learning rate of full fine-tuning used for LoRA", "gross")
def peft_lora_learning_rate_too_low(record, seed, faulty):
    seed_all(seed)
    model = lora(base_lm(seed))
    optimizer = torch.optim.AdamW(trainable(model), lr=2e-5 if faulty else 1e-2)
    tune(record, model, optimizer, seed, 180)
    say(model, seed)


@pair("LoRA learning rate too high", "gross")
def peft_lora_learning_rate_too_high(record, seed, faulty):
    seed_all(seed)
    model = lora(base_lm(seed))
    optimizer = torch.optim.AdamW(trainable(model), lr=1.0 if faulty else 1e-2)
    tune(record, model, optimizer, seed, 180)
    say(model, seed)


@pair("lora_A and lora_B both zero: the adapter cannot move", "gross")
def peft_lora_both_matrices_zero(record, seed, faulty):
    seed_all(seed)
    model = lora(base_lm(seed))
    if faulty:
        for name, p in model.named_parameters():
            if "lora_A" in name:
                nn.init.zeros_(p)
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    tune(record, model, optimizer, seed, 180)
    say(model, seed)


@pair("weights of the base never loaded: the prompt sits before a random model", "gross")
def peft_base_not_loaded(record, seed, faulty):
    seed_all(seed)
    prompt_run(record, seed, 0.1, steps=200, loaded=not faulty)


@pair("only one projection of one layer is adapted", "mild")
def peft_lora_too_few_targets(record, seed, faulty):
    seed_all(seed)
    model = lora(
        base_lm(seed),
        **({"target_modules": ["attn.c_attn"], "layers_to_transform": [0]} if faulty else {}),
    )
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    tune(record, model, optimizer, seed, 180)
    say(model, seed)


@pair("lora_alpha far too small for the rank", "middling")
def peft_lora_alpha_tiny(record, seed, faulty):
    seed_all(seed)
    model = lora(base_lm(seed), lora_alpha=0.05 if faulty else 16)
    optimizer = torch.optim.AdamW(trainable(model), lr=3e-3)
    tune(record, model, optimizer, seed, 180)
    say(model, seed)


@pair("prompt tuning with the learning rate of weights", "gross")
def peft_prompt_learning_rate_too_low(record, seed, faulty):
    seed_all(seed)
    prompt_run(record, seed, 1e-4 if faulty else 0.1, steps=200)


@pair("adapter left in inference mode, its weights are frozen", "gross")
def peft_adapter_in_inference_mode(record, seed, faulty):
    seed_all(seed)
    model = lora(base_lm(seed), inference_mode=faulty)
    if faulty:
        model.enable_input_require_grads()
        model.base_model.model.transformer.ln_f.requires_grad_(True)
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    tune(record, model, optimizer, seed, 180)
    say(model, seed)
