"""Causal language models with transformers.Trainer."""

from __future__ import annotations

import torch
from torch import nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Trainer,
)

from kit import PAD, Rows, grammar, hf_args, majority, next_token_accuracy, seed_all, translate
from registry import healthy, pair, score


def gpt2(vocab=16, dropout=0.0, **kw):
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab,
            n_positions=40,
            n_embd=48,
            n_layer=2,
            n_head=4,
            resid_pdrop=dropout,
            embd_pdrop=dropout,
            attn_pdrop=dropout,
            bos_token_id=0,
            eos_token_id=2,
            **kw,
        )
    )


def llama_config(cls=LlamaConfig, vocab=16, **kw):
    return cls(
        vocab_size=vocab,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=3,
        **kw,
    )


def rows(ids, labels=None, **more):
    return Rows(input_ids=ids, labels=ids if labels is None else labels, **more)


def fit(record, model, data, seed, steps, cls=Trainer, extra=None, **kw):
    trainer = cls(
        model=model,
        args=hf_args(seed, steps, **kw),
        train_dataset=data,
        callbacks=[record.callback("transformers")],
        **(extra or {}),
    )
    trainer.train()
    return trainer


def say(model, seed, **kw):
    test = grammar(seed + 500, 256, 20)
    score(next_token_accuracy(model, test, **kw), majority(test))


@healthy
def trainer_gpt2_grammar(record, seed):
    seed_all(seed)
    model = gpt2(dropout=0.05)
    fit(record, model, rows(grammar(seed, 2000, 20)), seed, 300)
    say(model, seed)


@healthy
def trainer_llama_cosine_warmup(record, seed):
    seed_all(seed)
    model = LlamaForCausalLM(llama_config())
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        280,
        warmup_steps=30,
        lr_scheduler_type="cosine",
        weight_decay=0.1,
        adam_beta2=0.95,
    )
    say(model, seed)


@healthy
def trainer_mixtral_moe_aux_loss(record, seed):
    seed_all(seed)
    model = MixtralForCausalLM(
        llama_config(
            MixtralConfig,
            num_local_experts=4,
            num_experts_per_tok=2,
            output_router_logits=True,
            router_aux_loss_coef=0.01,
        )
    )
    fit(record, model, rows(grammar(seed, 2000, 20)), seed, 220)
    say(model, seed, output_router_logits=False)


@healthy
def trainer_qwen2_translate_masked_prompt(record, seed):
    seed_all(seed)
    model = Qwen2ForCausalLM(llama_config(Qwen2Config, vocab=20, tie_word_embeddings=True))
    ids, labels = translate(seed, 3000, prompt=True)
    fit(record, model, rows(ids, labels), seed, 400, warmup_steps=20)
    test, answer = translate(seed + 1, 256, prompt=True)
    score(next_token_accuracy(model, test, answer), 1 / 6 + 1 / 16)


@healthy
def trainer_mistral_sliding_window_accumulation(record, seed):
    seed_all(seed)
    model = MistralForCausalLM(llama_config(MistralConfig, sliding_window=8))
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        200,
        batch=16,
        gradient_accumulation_steps=2,
    )
    say(model, seed)


@healthy
def trainer_neox_bf16_autocast(record, seed):
    seed_all(seed)
    model = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=16,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=32,
            bos_token_id=0,
            eos_token_id=2,
        )
    )
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        150,
        bf16=True,
        batch=12,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=20,
    )
    say(model, seed)


@healthy
def trainer_gpt2_eval_and_checkpointing(record, seed):
    seed_all(seed)
    model = gpt2()
    model.config.use_cache = False
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        200,
        gradient_checkpointing=True,
        eval_strategy="steps",
        eval_steps=50,
        per_device_eval_batch_size=64,
        extra={"eval_dataset": rows(grammar(seed + 9, 128, 20))},
    )
    say(model, seed)


@healthy
def trainer_llama_own_optimizer_groups(record, seed):
    seed_all(seed)
    model = LlamaForCausalLM(llama_config())
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
        lr=3e-3,
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=250)
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        250,
        extra={"optimizers": (optimizer, schedule)},
    )
    say(model, seed)


@healthy
def trainer_gpt2_adafactor_neftune(record, seed):
    seed_all(seed)
    model = gpt2()
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        300,
        optim="adafactor",
        lr=1e-2,
        neftune_noise_alpha=1.0,
        label_smoothing_factor=0.05,
    )
    say(model, seed)


@pair("labels shifted by hand though the model shifts them itself", "gross")
def trainer_llama_labels_shifted_twice(record, seed, faulty):
    seed_all(seed)
    model = LlamaForCausalLM(llama_config())
    ids = grammar(seed, 2000, 21)
    data = rows(ids[:, :20], ids[:, 1:] if faulty else ids[:, :20])
    fit(record, model, data, seed, 250)
    say(model, seed)


@pair("default learning rate for fine-tuning used from scratch", "middling")
def trainer_gpt2_default_learning_rate(record, seed, faulty):
    seed_all(seed)
    model = gpt2()
    fit(record, model, rows(grammar(seed, 2000, 20)), seed, 250, lr=5e-5 if faulty else 3e-3)
    say(model, seed)


@pair("learning rate a hundred times too high", "middling")
def trainer_llama_learning_rate_too_high(record, seed, faulty):
    seed_all(seed)
    model = LlamaForCausalLM(llama_config())
    fit(record, model, rows(grammar(seed, 2000, 20)), seed, 250, lr=0.3 if faulty else 3e-3)
    say(model, seed)


@pair("warm-up longer than the whole training", "middling")
def trainer_gpt2_warmup_never_ends(record, seed, faulty):
    seed_all(seed)
    model = gpt2()
    fit(
        record, model, rows(grammar(seed, 2000, 20)), seed, 250, warmup_steps=5000 if faulty else 25
    )
    say(model, seed)


@pair("scheduler of the optimizer made for fewer steps than are trained", "middling")
def trainer_gpt2_schedule_too_short(record, seed, faulty):
    from transformers import get_linear_schedule_with_warmup

    seed_all(seed)
    model = gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    steps = 250 // 8 if faulty else 250
    schedule = get_linear_schedule_with_warmup(optimizer, 5, steps)
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        250,
        extra={"optimizers": (optimizer, schedule)},
    )
    say(model, seed)


@pair("prompt is learnt and answer is masked", "gross")
def trainer_qwen2_answer_masked(record, seed, faulty):
    seed_all(seed)
    model = Qwen2ForCausalLM(llama_config(Qwen2Config, vocab=20))
    ids, labels = translate(seed, 3000, prompt=True)
    if faulty:
        labels = torch.where(labels == -100, ids, -100)
    fit(record, model, rows(ids, labels), seed, 350, warmup_steps=20)
    test, answer = translate(seed + 1, 256, prompt=True)
    score(next_token_accuracy(model, test, answer), 1 / 6 + 1 / 16)


@pair("optimizer holds the parameters of another copy of the model", "gross")
def trainer_gpt2_optimizer_of_old_model(record, seed, faulty):
    seed_all(seed)
    model = gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    if faulty:
        model = gpt2()
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        200,
        extra={"optimizers": (optimizer, schedule)},
    )
    say(model, seed)


@pair("padding token is the end token and is masked, so the end is never learnt", "middling")
def trainer_gpt2_end_token_masked(record, seed, faulty):
    seed_all(seed)
    model = gpt2(vocab=20)
    ids, labels = translate(seed, 3000, length=4, prompt=True)
    labels = ids.clone()
    if faulty:
        labels[ids == 2] = -100
    fit(record, model, rows(ids, labels), seed, 350)
    test, answer = translate(seed + 1, 256, length=4, prompt=True)
    score(next_token_accuracy(model, test, answer), 1 / 5 + 1 / 16)


@pair("padding counted in the loss", "mild")
def trainer_gpt2_padding_counted(record, seed, faulty):
    seed_all(seed)
    model = gpt2(vocab=20)
    ids, labels = translate(seed, 3000, prompt=True)
    pad = torch.full((len(ids), 16), PAD)
    mask = torch.cat([torch.ones_like(ids), torch.zeros_like(pad)], 1)
    labels = torch.cat([labels, pad if faulty else torch.full_like(pad, -100)], 1)
    data = rows(torch.cat([ids, pad], 1), labels, attention_mask=mask)
    fit(record, model, data, seed, 230)
    test, answer = translate(seed + 1, 256, prompt=True)
    score(next_token_accuracy(model, test, answer), 1 / 6 + 1 / 16)


@pair("position ids are all zero", "gross")
def trainer_gpt2_position_ids_zero(record, seed, faulty):
    seed_all(seed)
    model = gpt2(vocab=20)
    ids, labels = translate(seed, 3000, prompt=True)
    where = torch.arange(ids.shape[1])[None].expand_as(ids)
    where = where * 0 if faulty else where
    fit(record, model, rows(ids, labels, position_ids=where), seed, 350)
    test, answer = translate(seed + 1, 256, prompt=True)
    score(next_token_accuracy(model, test, answer, position_ids=where[:256]), 1 / 6 + 1 / 16)


@pair("weight of the router's balance loss far too large", "mild")
def trainer_mixtral_router_loss_dominates(record, seed, faulty):
    seed_all(seed)
    model = MixtralForCausalLM(
        llama_config(
            MixtralConfig,
            num_local_experts=4,
            num_experts_per_tok=2,
            output_router_logits=True,
            router_aux_loss_coef=100.0 if faulty else 0.01,
        )
    )
    fit(record, model, rows(grammar(seed, 2000, 20)), seed, 200)
    say(model, seed, output_router_logits=False)


@pair("weight decay far too strong", "middling")
def trainer_neox_weight_decay(record, seed, faulty):
    seed_all(seed)
    model = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=16,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=32,
            bos_token_id=0,
            eos_token_id=2,
        )
    )
    fit(
        record,
        model,
        rows(grammar(seed, 2000, 20)),
        seed,
        250,
        weight_decay=100.0 if faulty else 0.01,
    )
    say(model, seed)


@pair("dropout of 0.8 left over from a config", "middling")
def trainer_gpt2_dropout_too_strong(record, seed, faulty):
    seed_all(seed)
    model = gpt2(dropout=0.8 if faulty else 0.05)
    fit(record, model, rows(grammar(seed, 2000, 20)), seed, 250)
    say(model, seed)


@pair("body of the model left frozen", "middling")
def trainer_gpt2_body_left_frozen(record, seed, faulty):
    seed_all(seed)
    model = gpt2(tie_word_embeddings=False)
    for block in model.transformer.h:
        block.requires_grad_(not faulty)
    fit(record, model, rows(grammar(seed, 2000, 20)), seed, 250)
    say(model, seed)


@pair("tokens of the training coded with another vocabulary than those of the use", "gross")
def trainer_gpt2_vocabulary_out_of_step(record, seed, faulty):
    seed_all(seed)
    model = gpt2()
    ids = grammar(seed, 2000, 20)
    if faulty:
        ids = (ids + 1) % 16
    fit(record, model, rows(ids), seed, 220)
    say(model, seed)
