"""Transformers by hand and of the library: masks, positions, rates, LoRA, Trainer."""

import os
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

from kit import accuracy, loader, texts
from registry import pair, score


def sentences(n, seed, length=16, vocab=30):
    """A grammar of order one with a period: each token follows from the last, with 15 % noise."""
    g = torch.Generator().manual_seed(seed)
    follow = torch.randperm(vocab, generator=torch.Generator().manual_seed(9))
    ids = torch.randint(0, vocab, (n, length), generator=g)
    for t in range(1, length):
        keep = torch.rand(n, generator=g) < 0.85
        ids[keep, t] = follow[ids[keep, t - 1]]
    return ids


class Encoder(nn.Module):
    def __init__(
        self, vocab=30, width=32, length=16, layers=2, classes=None, positions=True, causal=False
    ):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.place = nn.Parameter(torch.randn(1, length, width) * 0.5) if positions else None
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.net = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(width, classes or vocab)
        self.causal = causal

    def forward(self, ids):
        h = self.embed(ids)
        if self.place is not None:
            h = h + self.place[:, : ids.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1]) if self.causal else None
        return self.out(self.net(h, mask=mask))


@pair("language model without a causal mask sees the answer", "middling")
def lm_without_causal_mask(record, seed, faulty):
    """https://github.com/tatp22/linformer-pytorch/issues/25"""
    torch.manual_seed(seed)
    ids, test = sentences(800, seed), sentences(200, seed + 1)
    model = Encoder(causal=not faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for (a,) in loader(ids, batch_size=32):
                loss = F.cross_entropy(model(a[:, :-1]).transpose(1, 2), a[:, 1:])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():  # as in generation: only the past is there
        right = [
            (model(test[:, :t])[:, -1].argmax(-1) == test[:, t]).float().mean()
            for t in range(4, 16, 3)
        ]
    score(sum(right) / len(right), 1 / 30)


@pair("causal mask left in a model that needs both sides", "middling")
def encoder_with_causal_mask(record, seed, faulty):
    """https://openillumi.com/en/en-pytorch-transformer-non-ar-seq2seq-mask-guide"""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 10, (1000, 12), generator=g)
    xt = torch.randint(0, 10, (200, 12), generator=g)
    model = Encoder(10, 32, 12, 2, causal=faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(16):
            for (a,) in loader(x, batch_size=32):
                optimizer.zero_grad()
                criterion(model(a).transpose(1, 2), a.flip(1)).backward()
                optimizer.step()
    score(accuracy(model, xt, xt.flip(1)), 0.1)


@pair("no positional encoding", "gross")
def encoder_without_positions(record, seed, faulty):
    """https://www.889521.com/questions/20267.html (nn.Transformer has no positions of its own)"""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 10, (1200, 10), generator=g)
    xt = torch.randint(0, 10, (300, 10), generator=g)
    y, yt = x[:, 3], xt[:, 3]
    model = Encoder(10, 32, 10, 1, classes=10, positions=not faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for a, b in loader(x, y):
                loss = F.cross_entropy(model(a).mean(1), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():
        score((model(xt).mean(1).argmax(1) == yt).float().mean(), 0.1)


@pair("labels shifted by hand, and again by the model", "gross")
def gpt_labels_shifted_twice(record, seed, faulty):
    """https://github.com/huggingface/transformers/pull/44642"""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    ids, test = sentences(600, seed), sentences(150, seed + 1)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=30,
            n_positions=16,
            n_embd=32,
            n_layer=2,
            n_head=2,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for (a,) in loader(ids, batch_size=32):
                labels = a.clone()
                if faulty:
                    labels = torch.cat([a[:, 1:], torch.full((len(a), 1), -100)], 1)
                loss = model(input_ids=a, labels=labels).loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=test).logits[:, :-1].argmax(-1) == test[:, 1:]).float().mean(), 1 / 30
        )


def bert(seed, labels=2, **more):
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=300,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=80,
            num_labels=labels,
            **more,
        )
    )


@pair("learning rate of 0.05 for BERT: all outputs are the same", "gross")
def bert_rate_too_high(record, seed, faulty):
    """https://github.com/huggingface/transformers/issues/735"""
    model = bert(seed)
    ids, lengths, y = texts(800, seed)
    it, lt, yt = texts(300, seed + 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-2 if faulty else 1e-3)
    model.train()
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for a, b in loader(ids, y, batch_size=32):
                loss = model(input_ids=a, attention_mask=(a > 0).long(), labels=b).loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=it, attention_mask=(it > 0).long()).logits.argmax(1) == yt)
            .float()
            .mean(),
            0.5,
        )


@pair("attention mask not given: the padding is read", "middling")
def bert_without_attention_mask(record, seed, faulty):
    """https://github.com/MaximumEntropy/Seq2Seq-PyTorch/issues/6"""
    model = bert(seed)
    ids, lengths, y = texts(700, seed)
    it, lt, yt = texts(400, seed + 1)
    more = lambda n: torch.zeros(n, 40, dtype=torch.long)
    ids, it = torch.cat([ids, more(700)], 1), torch.cat([it, more(400)], 1)
    mask = (lambda a: torch.ones_like(a)) if faulty else (lambda a: (a > 0).long())
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    with record(model, optimizer) as hook:
        model.train()
        for epoch in range(8):
            for a, b in loader(ids, y, batch_size=32):
                loss = model(input_ids=a, attention_mask=mask(a), labels=b).loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=it, attention_mask=mask(it)).logits.argmax(1) == yt).float().mean(),
            0.5,
        )


class Rows(torch.utils.data.Dataset):
    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(self.columns["labels"])

    def __getitem__(self, i):
        return {k: v[i] for k, v in self.columns.items()}


def trainer(model, record, data, seed, **more):
    from transformers import Trainer, TrainingArguments

    arguments = dict(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=32,
        num_train_epochs=8,
        learning_rate=1e-3,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=20,
        seed=seed,
        use_cpu=True,
        dataloader_num_workers=0,
    )
    arguments.update(more)
    return Trainer(
        model=model,
        args=TrainingArguments(**arguments),
        train_dataset=data,
        callbacks=[record.callback("transformers")],
    )


@pair("Trainer: warm-up longer than the whole training", "gross")
def trainer_warmup_too_long(record, seed, faulty):
    """https://github.com/huggingface/diffusers/issues/4387"""
    model = bert(seed)
    ids, lengths, y = texts(800, seed)
    it, lt, yt = texts(300, seed + 1)
    data = Rows(input_ids=ids, attention_mask=(ids > 0).long(), labels=y)
    trainer(
        model, record, data, seed, learning_rate=2e-4 * 3, warmup_steps=4000 if faulty else 20
    ).train()
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=it, attention_mask=(it > 0).long()).logits.argmax(1) == yt)
            .float()
            .mean(),
            0.5,
        )


@pair("Trainer: rate of fine-tuning, 2e-5, for a model from scratch", "gross")
def trainer_rate_of_finetuning(record, seed, faulty):
    """https://github.com/google-research/bert/issues/855 (accuracy the same in all epochs)"""
    model = bert(seed)
    ids, lengths, y = texts(800, seed)
    it, lt, yt = texts(300, seed + 1)
    data = Rows(input_ids=ids, attention_mask=(ids > 0).long(), labels=y)
    trainer(model, record, data, seed, learning_rate=2e-5 if faulty else 1e-3).train()
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=it, attention_mask=(it > 0).long()).logits.argmax(1) == yt)
            .float()
            .mean(),
            0.5,
        )


@pair("all labels are masked with -100, so the loss is nan or 0", "gross")
def trainer_labels_all_masked(record, seed, faulty):
    """https://github.com/huggingface/transformers/issues/26207"""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    ids, test = sentences(700, seed), sentences(150, seed + 1)
    prompt = 16 if faulty else 4  # the length of the prompt, taken after padding
    labels = ids.clone()
    labels[:, :prompt] = -100
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=30,
            n_positions=16,
            n_embd=32,
            n_layer=2,
            n_head=2,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    trainer(
        model,
        record,
        Rows(input_ids=ids, labels=labels),
        seed,
        learning_rate=3e-3,
        num_train_epochs=10,
    ).train()
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=test).logits[:, 4:-1].argmax(-1) == test[:, 5:]).float().mean(), 1 / 30
        )


def pretrained_bert(seed):
    model = bert(seed)
    ids, lengths, y = texts(700, seed + 7)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(8):
        for a, b in loader(ids, y, batch_size=32):
            optimizer.zero_grad()
            model(input_ids=a, attention_mask=(a > 0).long(), labels=b).loss.backward()
            optimizer.step()
    return model
