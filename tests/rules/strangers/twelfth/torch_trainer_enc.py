"""Encoders, encoder-decoders and vision with transformers.Trainer."""

from __future__ import annotations

import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    EarlyStoppingCallback,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    ViTConfig,
    ViTForImageClassification,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

from kit import PAD, Rows, gen, grammar, hf_args, hit, images, padded_count, seed_all
from registry import healthy, pair, score

SMALL = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)


def bert(cls=BertForSequenceClassification, labels=4, vocab=24, dropout=0.1, **kw):
    return cls(
        BertConfig(
            vocab_size=vocab,
            max_position_embeddings=40,
            num_labels=labels,
            pad_token_id=PAD,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
            **{**SMALL, **kw},
        )
    )


def vit(labels=8, **kw):
    return ViTForImageClassification(
        ViTConfig(image_size=16, patch_size=4, num_channels=1, num_labels=labels, **{**SMALL, **kw})
    )


def t5(vocab=24, dropout=0.0):
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=vocab,
            d_model=48,
            d_kv=12,
            d_ff=96,
            num_layers=2,
            num_heads=4,
            dropout_rate=dropout,
            pad_token_id=PAD,
            eos_token_id=2,
            decoder_start_token_id=0,
        )
    )


def fit(record, model, data, seed, steps, cls=Trainer, calls=(), extra=None, **kw):
    trainer = cls(
        model=model,
        args=hf_args(seed, steps, **kw),
        train_dataset=data,
        callbacks=[record.callback("transformers"), *calls],
        **(extra or {}),
    )
    trainer.train()
    model.eval()
    return trainer


def count_rows(seed, n=1500):
    ids, mask, y = padded_count(seed, n)
    return Rows(input_ids=ids, attention_mask=mask, labels=y)


@torch.no_grad()
def say_count(model, seed, mask_used=True):
    ids, mask, y = padded_count(seed + 500, 400)
    mask = mask if mask_used else torch.ones_like(mask)
    score(hit(model(input_ids=ids, attention_mask=mask).logits, y), 0.25)


EASY = dict(modes=1, flip=0.0)


def picture_rows(seed, n=1500):
    x, y = images(seed, n, **EASY)
    return Rows(pixel_values=x, labels=y)


@torch.no_grad()
def say_pictures(model, seed):
    x, y = images(seed + 500, 400, **EASY)
    score(hit(model(pixel_values=x).logits, y), 1 / 8)


def spell(seed, n, length=5):
    code = torch.randperm(16, generator=gen(11))
    x = torch.randint(16, (n, length), generator=gen(2500 + seed))
    return x + 4, code[x] + 4


@torch.no_grad()
def say_t5(model, seed):
    x, y = spell(seed + 500, 300)
    score(hit(model(input_ids=x, labels=y).logits, y), 1 / 16)


def tags(seed, n, length=16, vocab=24):
    ids = torch.randint(4, vocab, (n, length), generator=gen(7000 + seed))
    before = torch.cat([torch.zeros(n, 1, dtype=torch.long), ids[:, :-1]], 1)
    return ids, (ids % 3 + 2 * (before % 2)).clamp(max=4)


@healthy
def trainer_bert_classifier_with_evaluation(record, seed):
    seed_all(seed)
    model = bert()
    fit(
        record,
        model,
        count_rows(seed),
        seed,
        200,
        lr=1e-3,
        eval_strategy="steps",
        eval_steps=50,
        extra={"eval_dataset": count_rows(seed + 7, 100)},
    )
    say_count(model, seed)


@healthy
def trainer_bert_token_tagging(record, seed):
    seed_all(seed)
    model = bert(BertForTokenClassification, labels=5)
    ids, y = tags(seed, 1500)
    fit(record, model, Rows(input_ids=ids, labels=y), seed, 300, lr=3e-3, warmup_steps=20)
    ids, y = tags(seed + 1, 200)
    with torch.no_grad():
        score(hit(model(input_ids=ids).logits, y), torch.bincount(y.flatten()).max() / y.numel())


def mask_tokens(ids, seed, share=0.2):
    spot = torch.rand(ids.shape, generator=gen(seed)) < share
    masked = torch.where(spot, torch.full_like(ids, 16), ids)
    return masked, torch.where(spot, ids, -100)


@torch.no_grad()
def say_mlm(model, seed):
    x, y = mask_tokens(grammar(seed + 500, 400, 16), 3)
    logits = model(input_ids=x).logits
    score(hit(logits[y != -100], y[y != -100]), 1 / 16)


@healthy
def trainer_bert_masked_lm(record, seed):
    seed_all(seed)
    model = bert(BertForMaskedLM, vocab=20, dropout=0.0)
    x, y = mask_tokens(grammar(seed, 4000, 16), seed)
    fit(record, model, Rows(input_ids=x, labels=y), seed, 450, lr=3e-3, warmup_steps=30)
    say_mlm(model, seed)


@healthy
def trainer_t5_spelling(record, seed):
    seed_all(seed)
    model = t5(dropout=0.02)
    x, y = spell(seed, 3000)
    fit(record, model, Rows(input_ids=x, labels=y), seed, 240, lr=5e-3, batch=24)
    say_t5(model, seed)


@healthy
def trainer_vit_pictures(record, seed):
    seed_all(seed)
    model = vit()
    fit(
        record,
        model,
        picture_rows(seed),
        seed,
        220,
        lr=1e-3,
        warmup_steps=20,
        lr_scheduler_type="cosine",
    )
    say_pictures(model, seed)


@healthy
def trainer_distilbert_early_stopping(record, seed):
    seed_all(seed)
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=24,
            dim=48,
            n_layers=2,
            n_heads=4,
            hidden_dim=96,
            pad_token_id=PAD,
            max_position_embeddings=32,
            num_labels=4,
        )
    )
    fit(
        record,
        model,
        count_rows(seed),
        seed,
        240,
        lr=1e-3,
        eval_strategy="steps",
        eval_steps=40,
        metric_for_best_model="eval_loss",
        calls=[EarlyStoppingCallback(4)],
        extra={"eval_dataset": count_rows(seed + 7, 150)},
    )
    say_count(model, seed)


def speech(seed, n, length=4, vocab=8):
    book = torch.randn(vocab, 8, 4, generator=gen(21))
    y = torch.randint(vocab, (n, length), generator=gen(8000 + seed))
    sound = torch.cat([book[y[:, i]] for i in range(length)], -1)
    return sound + 0.2 * torch.randn(sound.shape, generator=gen(8001 + seed)), y + 4


@healthy
def trainer_whisper_speech(record, seed):
    seed_all(seed)
    model = WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=12,
            num_mel_bins=8,
            d_model=48,
            encoder_layers=1,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=96,
            decoder_ffn_dim=96,
            max_source_positions=8,
            max_target_positions=8,
            pad_token_id=3,
            bos_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=0,
            suppress_tokens=None,
            begin_suppress_tokens=None,
        )
    )
    nn.init.normal_(model.model.decoder.embed_positions.weight, std=0.3)
    x, y = speech(seed, 2500)
    fit(record, model, Rows(input_features=x, labels=y), seed, 230, lr=3e-3, warmup_steps=20)
    x, y = speech(seed + 1, 300)
    with torch.no_grad():
        score(hit(model(input_features=x, labels=y).logits, y), 1 / 8)


class SmoothTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = nn.functional.cross_entropy(out.logits, labels, label_smoothing=0.1)
        return (loss, out) if return_outputs else loss


@healthy
def trainer_vit_own_loss_subclass(record, seed):
    seed_all(seed)
    model = vit(hidden_dropout_prob=0.1)
    fit(record, model, picture_rows(seed), seed, 250, cls=SmoothTrainer, lr=1e-3, batch=24)
    say_pictures(model, seed)


@pair("labels out of step with the texts after a filter", "gross")
def trainer_bert_labels_out_of_step(record, seed, faulty):
    seed_all(seed)
    model = bert()
    data = count_rows(seed)
    if faulty:
        data.columns["labels"] = data.columns["labels"].roll(1)
    fit(record, model, data, seed, 200, lr=1e-3)
    say_count(model, seed)


@pair("encoder frozen and untrained, only the head learns", "middling")
def trainer_bert_encoder_frozen(record, seed, faulty):
    seed_all(seed)
    model = bert()
    if faulty:
        model.bert.requires_grad_(False)
    fit(record, model, count_rows(seed), seed, 200, lr=1e-3)
    say_count(model, seed)


@pair("attention mask forgotten, padding is attended to", "mild")
def trainer_bert_attention_mask_forgotten(record, seed, faulty):
    seed_all(seed)
    model = bert(dropout=0.0)
    data = count_rows(seed, 800)
    if faulty:
        data.columns["attention_mask"] = torch.ones_like(data.columns["attention_mask"])
    fit(record, model, data, seed, 130, lr=5e-4)
    say_count(model, seed, mask_used=not faulty)


@pair("learning rate far too high for fine-tuning", "gross")
def trainer_bert_learning_rate_too_high(record, seed, faulty):
    seed_all(seed)
    model = bert()
    fit(record, model, count_rows(seed), seed, 200, lr=0.1 if faulty else 1e-3)
    say_count(model, seed)


@pair("masked language model trained on inputs that are not masked", "gross")
def trainer_bert_mlm_inputs_not_masked(record, seed, faulty):
    seed_all(seed)
    model = bert(BertForMaskedLM, vocab=20, dropout=0.0)
    ids = grammar(seed, 4000, 16)
    x, y = mask_tokens(ids, seed)
    fit(
        record,
        model,
        Rows(input_ids=ids if faulty else x, labels=y),
        seed,
        400,
        lr=3e-3,
        warmup_steps=30,
    )
    say_mlm(model, seed)


@pair("tags shifted by one against the tokens (special token not counted)", "gross")
def trainer_bert_tags_shifted(record, seed, faulty):
    seed_all(seed)
    model = bert(BertForTokenClassification, labels=5)
    ids, y = tags(seed, 1500)
    if faulty:
        y = torch.cat([torch.full((len(y), 1), -100), y[:, :-1]], 1)
    fit(record, model, Rows(input_ids=ids, labels=y), seed, 300, lr=3e-3, warmup_steps=20)
    ids, y = tags(seed + 1, 200)
    with torch.no_grad():
        score(hit(model(input_ids=ids).logits, y), torch.bincount(y.flatten()).max() / y.numel())


@pair("decoder inputs are the labels themselves, not shifted", "gross")
def trainer_t5_decoder_sees_answer(record, seed, faulty):
    seed_all(seed)
    model = t5()
    x, y = spell(seed, 3000)
    data = Rows(input_ids=x, labels=y)
    if faulty:
        data.columns["decoder_input_ids"] = y
    fit(record, model, data, seed, 220, lr=5e-3, batch=24)
    say_t5(model, seed)


@pair("learning rate of 5e-5 for T5 with a short training", "gross")
def trainer_t5_learning_rate_too_low(record, seed, faulty):
    seed_all(seed)
    model = t5()
    x, y = spell(seed, 3000)
    fit(
        record, model, Rows(input_ids=x, labels=y), seed, 220, batch=24, lr=5e-5 if faulty else 5e-3
    )
    say_t5(model, seed)


class SoftTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = nn.functional.cross_entropy(out.logits.softmax(-1), labels)
        return (loss, out) if return_outputs else loss


class HardTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = nn.functional.cross_entropy(out.logits, labels)
        return (loss, out) if return_outputs else loss


@pair("softmax before cross-entropy", "mild")
def trainer_vit_softmax_twice(record, seed, faulty):
    seed_all(seed)
    model = vit()
    fit(
        record,
        model,
        picture_rows(seed, 1000),
        seed,
        150,
        lr=4e-4,
        cls=SoftTrainer if faulty else HardTrainer,
    )
    say_pictures(model, seed)


@pair("pixels trained at 0..255 but scaled in use", "gross")
def trainer_vit_pixels_not_scaled(record, seed, faulty):
    seed_all(seed)
    model = vit()
    data = picture_rows(seed)
    if faulty:
        data.columns["pixel_values"] = (data.columns["pixel_values"] * 64 + 128).clamp(0, 255)
    fit(record, model, data, seed, 220, lr=1e-3)
    say_pictures(model, seed)


@pair("far too few pictures: learnt by heart", "middling")
def trainer_vit_overfits_few_pictures(record, seed, faulty):
    seed_all(seed)
    model = vit()
    fit(record, model, picture_rows(seed, 40 if faulty else 1500), seed, 220, lr=1e-3)
    say_pictures(model, seed)


@pair("initialisation with a standard deviation of 1 in place of 0.02", "gross")
def trainer_vit_initializer_range(record, seed, faulty):
    seed_all(seed)
    model = vit()
    if faulty:
        for p in model.parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=1.0)
    fit(record, model, picture_rows(seed), seed, 220, lr=1e-3)
    say_pictures(model, seed)


@pair("one class in most labels through a wrong default", "gross")
def trainer_bert_labels_defaulted(record, seed, faulty):
    seed_all(seed)
    model = bert()
    data = count_rows(seed)
    if faulty:
        lost = torch.rand(1500, generator=gen(seed)) < 0.55
        data.columns["labels"] = torch.where(lost, 0, data.columns["labels"])
    fit(record, model, data, seed, 220, lr=1e-3)
    say_count(model, seed)
