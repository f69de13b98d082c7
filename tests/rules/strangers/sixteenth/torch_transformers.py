"""Small transformers: by hand, from configs, with the Trainer, with LoRA and with accelerate, part 1."""

import math
import torch
import torch.nn.functional as F
import transformers
from accelerate import Accelerator
from torch import nn
from registry import healthy, pair, score

transformers.utils.logging.set_verbosity_error()


def chain(seed, rows, length, vocab=32, slip=0.15):
    """A Markov chain with two successors per token."""
    g = torch.Generator().manual_seed(seed + 8)
    table = torch.randint(0, vocab, (vocab, 2), generator=g)
    ids = torch.randint(0, vocab, (rows, 1), generator=g)
    for _ in range(length - 1):
        pick = (torch.rand(rows, generator=g) < slip).long()
        ids = torch.cat([ids, table[ids[:, -1], pick][:, None]], 1)
    return ids


def periodic(seed, rows, period=4, times=4, vocab=16):
    """A random pattern repeated."""
    g = torch.Generator().manual_seed(seed + 12)
    return torch.randint(0, vocab, (rows, period), generator=g).repeat(1, times)


def before(seed, rows, length=14, vocab=30):
    """Does token 7 come before token 9?  Both occur once."""
    g = torch.Generator().manual_seed(seed + 15)
    ids = torch.randint(10, vocab, (rows, length), generator=g)
    spots = torch.rand(rows, length, generator=g).argsort(1)[:, :2]
    line = torch.arange(rows)
    ids[line, spots[:, 0]], ids[line, spots[:, 1]] = 7, 9
    return ids, (spots[:, 0] < spots[:, 1]).long()


def topics(seed, rows, length=16, vocab=60, kinds=5):
    """Texts whose words come mostly from the words of a topic."""
    g = torch.Generator().manual_seed(seed + 16)
    y = torch.randint(0, kinds, (rows,), generator=g)
    words = torch.randint(2, vocab, (kinds, 10), generator=g)
    own = words[y].gather(1, torch.randint(0, 10, (rows, length), generator=g))
    other = torch.randint(2, vocab, (rows, length), generator=g)
    return torch.where(torch.rand(rows, length, generator=g) < 0.35, own, other), y


def hits(logits, target):
    return (logits.argmax(-1) == target).float().mean()


class Attention(nn.Module):
    def __init__(self, width, heads, causal=True):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scale = (c // self.heads) ** -0.5
        w = q @ k.transpose(-1, -2) * scale
        if self.causal:
            w = w.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), -math.inf)
        return self.proj((w.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, causal=True, skip=True):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.att = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU())
        self.mlp.append(nn.Linear(3 * width, width))
        self.skip = skip

    def forward(self, x):
        if not self.skip:
            return self.mlp(self.n2(self.att(self.n1(x))))
        x = x + self.att(self.n1(x))
        return x + self.mlp(self.n2(x))


class Decoder(nn.Module):
    def __init__(self, vocab, width=48, layers=2, heads=4, places=True, **options):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.pos = nn.Embedding(64, width) if places else None
        self.blocks = nn.ModuleList(Block(width, heads, **options) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.tok(ids)
        if self.pos is not None:
            x = x + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))


def stepwise(model, ids, begin):
    """Accuracy of the next token when the model sees only what came before."""
    with torch.no_grad():
        ends = range(begin, ids.shape[1])
        return sum(hits(model(ids[:, :t])[:, -1], ids[:, t]) for t in ends) / len(ends)


def repeat_lm(record, seed, fault=None, layers=2):
    torch.manual_seed(seed)
    ids = periodic(seed, 3000)
    model = Decoder(16, layers=layers, places=fault != "places")
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    warm = torch.optim.lr_scheduler.LinearLR(opt, 0.05, 1.0, 40)
    with record(model, opt) as hook:
        for step in range(320):
            batch = ids[torch.randint(0, 2700, (32,))]
            logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.transpose(1, 2), batch[:, 1:])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            warm.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    out = model(ids[2700:, :-1]).transpose(1, 2)
                    hook.record_tensor_value("val_loss", F.cross_entropy(out, ids[2700:, 1:]))
    score(stepwise(model, ids[2700:], 5), 1 / 16)


@healthy
def tf_repeat(record, seed):
    """A decoder by hand; a quarter of the tokens is pure noise, so the loss keeps a floor."""
    repeat_lm(record, seed)


@pair(cause="position embeddings forgotten", severity="middling")
def tf_repeat_no_positions(record, seed, faulty):
    """Order is only seen through the mask."""
    repeat_lm(record, seed, "places" if faulty else None)


def chain_decoder(record, seed, layers, width, **options):
    torch.manual_seed(seed)
    ids = chain(seed + 30, 1500, 14)
    model = Decoder(32, width=width, layers=layers, **options)
    opt = torch.optim.RMSprop(model.parameters(), 1e-3)
    with record(model, opt) as hook:
        for step in range(200):
            batch = ids[torch.randint(0, 1300, (32,))]
            loss = F.cross_entropy(model(batch[:, :-1]).transpose(1, 2), batch[:, 1:])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 40 == 39:
                with record.evaluation(hook), torch.no_grad():
                    out = model(ids[1300:, :-1]).transpose(1, 2)
                    hook.record_tensor_value("val_loss", F.cross_entropy(out, ids[1300:, 1:]))
    score(stepwise(model, ids[1300:], 5), 1 / 32)


@pair(cause="causal mask forgotten", severity="middling")
def tf_chain_no_mask(record, seed, faulty):
    """The loss gets perfect, the generation is useless."""
    chain_decoder(record, seed, 2, 40, causal=not faulty)


@pair(cause="residual connections left out", severity="middling")
def tf_chain_no_residual(record, seed, faulty):
    """Six blocks without skips."""
    chain_decoder(record, seed, 6, 32, skip=not faulty)


class Reader(nn.Module):
    def __init__(
        self, vocab, kinds, depth=2, width=32, first=True, places=True, pre=True, drop=0.0, cls=0
    ):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.pos = nn.Parameter(0.3 * torch.randn(64, width), requires_grad=places)
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=drop, batch_first=first, norm_first=pre
        )
        self.enc = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, kinds)
        self.places, self.cls = places, cls

    def forward(self, ids):
        x = self.emb(ids)
        if self.places:
            x = x + self.pos[: ids.shape[1]]
        x = self.enc(x)
        return self.head(x[:, 0] if self.cls else x.mean(1))


def order_task(record, seed, fault=None):
    torch.manual_seed(seed)
    ids, y = before(seed, 3000)
    ids = torch.cat([torch.zeros(3000, 1, dtype=torch.long), ids], 1)
    model = Reader(30, 2, first=fault != "first", places=fault != "places", cls=1)
    rate = {"hot": 0.3, "cold": 2e-6}.get(fault, 2e-3)
    opt = torch.optim.Adam(model.parameters(), lr=rate)
    loss_fn = nn.CrossEntropyLoss()
    with record(model, opt, loss_fn) as hook:
        for step in range(400):
            i = torch.randint(0, 2500, (48,))
            loss = loss_fn(model(ids[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 80 == 79:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", loss_fn(model(ids[2500:]), y[2500:]))
                model.train()
    model.eval()
    with torch.no_grad():
        score(hits(model(ids[2500:]), y[2500:]), 0.5)


@healthy
def tf_order(record, seed):
    """An encoder that must use positions: a plateau at first."""
    order_task(record, seed)


@pair(cause="batch_first forgotten: attention across the batch", severity="gross")
def tf_order_batch_first(record, seed, faulty):
    """(batch, time, width) read as (time, batch, width)."""
    order_task(record, seed, "first" if faulty else None)


@pair(cause="no position information in an encoder", severity="gross")
def tf_order_no_positions(record, seed, faulty):
    """A bag of words."""
    order_task(record, seed, "places" if faulty else None)


@pair(cause="learning rate 150x too high", severity="gross")
def tf_order_hot(record, seed, faulty):
    """Adam at 0.3 on an encoder."""
    order_task(record, seed, "hot" if faulty else None)


@pair(cause="learning rate 1000x too low", severity="gross")
def tf_order_cold(record, seed, faulty):
    """Adam at 2e-6."""
    order_task(record, seed, "cold" if faulty else None)


def tiny_gpt2(vocab=32, width=48, layers=2, drop=0.0):
    config = transformers.GPT2Config(
        vocab_size=vocab,
        n_positions=32,
        n_embd=width,
        n_layer=layers,
        n_head=4,
        resid_pdrop=drop,
        embd_pdrop=drop,
        attn_pdrop=drop,
        bos_token_id=0,
        eos_token_id=0,
    )
    return transformers.GPT2LMHeadModel(config)


def gpt2(record, seed, fault=None):
    torch.manual_seed(seed)
    ids = chain(seed, 1500, 20)
    model = tiny_gpt2(drop=0.75 if fault == "drop" else 0.0)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sched = transformers.get_cosine_schedule_with_warmup(opt, 20, 200)
    model.train()
    with record(model, opt) as hook:
        for step in range(200):
            batch = ids[torch.randint(0, 1300, (24,))]
            if fault == "double":
                loss = model(input_ids=batch[:, :-1], labels=batch[:, 1:]).loss
            else:
                loss = model(input_ids=batch, labels=batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if fault != "rare" or step % 10 == 9:
                opt.step()
            sched.step()
            opt.zero_grad()
            if step % 50 == 49:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    val = model(input_ids=ids[1300:], labels=ids[1300:]).loss
                hook.record_tensor_value("val_loss", val)
                model.train()
    model.eval()
    with torch.no_grad():
        score(hits(model(ids[1300:, :-1]).logits, ids[1300:, 1:]), 1 / 32)


@healthy
def tf_gpt2(record, seed):
    """GPT-2 from a config, tied head, cosine."""
    gpt2(record, seed)


@pair(cause="labels shifted by hand though the model shifts them", severity="gross")
def tf_gpt2_double_shift(record, seed, faulty):
    """It learns to predict the token after the next."""
    gpt2(record, seed, "double" if faulty else None)


@pair(cause="dropout of 0.75 everywhere", severity="middling")
def tf_gpt2_dropout(record, seed, faulty):
    """0.75 where no dropout was needed."""
    gpt2(record, seed, "drop" if faulty else None)


@pair(cause="step only every tenth batch, zero_grad at every one", severity="mild")
def tf_gpt2_rare_step(record, seed, faulty):
    """Accumulation that throws the gradients away."""
    gpt2(record, seed, "rare" if faulty else None)


def padded(record, seed, fault=None):
    torch.manual_seed(seed)
    ids = chain(seed + 5, 1500, 24, vocab=40).clamp(min=1)
    sizes = torch.randint(4, 9, (1500,))
    real = torch.arange(24) < sizes[:, None]
    ids = torch.where(real, ids, 0)
    labels = torch.where(real, ids, 0 if fault == "pads" else -100)
    model = tiny_gpt2(40, 32, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.25, momentum=0.9)
    with record(model, opt) as hook:
        for step in range(200):
            i = torch.randint(0, 1300, (24,))
            out = model(input_ids=ids[i], attention_mask=real[i].long(), labels=labels[i])
            opt.zero_grad()
            out.loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            if step % 40 == 39:
                with record.evaluation(hook), torch.no_grad():
                    val = model(input_ids=ids[1300:], labels=labels[1300:]).loss
                hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        out = model(ids[1300:, :-1]).logits
    keep = real[1300:, 1:]
    score(hits(out[keep], ids[1300:, 1:][keep]), 1 / 40)


@healthy
def tf_padded(record, seed):
    """Three quarters of the positions are ignored."""
    padded(record, seed)


@pair(cause="padding not masked in the labels", severity="mild")
def tf_padded_labels(record, seed, faulty):
    """The loss is mostly about predicting padding."""
    padded(record, seed, "pads" if faulty else None)


def tiny_llama(vocab=32, width=48, layers=2):
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=vocab,
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            bos_token_id=0,
            eos_token_id=0,
            pad_token_id=None,
        )
    )


def llama(record, seed, fault=None):
    torch.manual_seed(seed)
    ids = chain(seed + 2, 1400, 18)
    data = torch.utils.data.TensorDataset(ids[:1200])
    loader = torch.utils.data.DataLoader(data, 8, shuffle=fault != "stuck")
    model = tiny_llama()
    if fault == "init":
        for p in model.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=1.5)
    accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    clip = 1e-10 if fault == "clip" else 1.0
    with record(model, opt) as hook:
        for _ in range(2):
            for number, (batch,) in enumerate(loader):
                if fault == "stuck":
                    batch = ids[:8]
                with accelerator.accumulate(model):
                    loss = model(input_ids=batch, labels=batch).loss
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), clip)
                    opt.step()
                    opt.zero_grad()
                if number % 60 == 59:
                    with record.evaluation(hook), torch.no_grad():
                        val = model(input_ids=ids[1200:], labels=ids[1200:]).loss
                    hook.record_tensor_value("val_loss", val)
    with torch.no_grad():
        score(hits(model(ids[1200:, :-1]).logits, ids[1200:, 1:]), 1 / 32)


@healthy
def tf_llama(record, seed):
    """Llama, accelerate, accumulation over two batches."""
    llama(record, seed)


@pair(cause="the same batch over and over", severity="middling")
def tf_llama_stuck(record, seed, faulty):
    """A cached batch is used for every step."""
    llama(record, seed, "stuck" if faulty else None)


@pair(cause="clip_grad_norm_ at 1e-10", severity="gross")
def tf_llama_clip(record, seed, faulty):
    """The epsilon of Adam is larger than the gradient."""
    llama(record, seed, "clip" if faulty else None)


@pair(cause="weights initialised with a standard deviation of 1.5", severity="mild")
def tf_llama_init(record, seed, faulty):
    """Saturated attention, huge logits."""
    llama(record, seed, "init" if faulty else None)


def tiny_bert_config(vocab, kinds=2, width=48, drop=0.0):
    return transformers.BertConfig(
        vocab_size=vocab,
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * width,
        max_position_embeddings=40,
        hidden_dropout_prob=drop,
        attention_probs_dropout_prob=drop,
        num_labels=kinds,
        initializer_range=0.1,
    )


def mask_words(ids, share, g, mask_id):
    chosen = torch.rand(ids.shape, generator=g) < share
    chosen[:, 0] |= ~chosen.any(1)
    return torch.where(chosen, mask_id, ids), chosen


def bert_mlm(record, seed, fault=None):
    torch.manual_seed(seed)
    ids = periodic(seed + 1, 2500, 3, 5, 8)
    model = transformers.BertForMaskedLM(tiny_bert_config(9))
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, 30)
    g = torch.Generator().manual_seed(seed)
    test, hidden = mask_words(ids[2200:], 0.2, torch.Generator().manual_seed(1), 8)
    with record(model, opt) as hook:
        for step in range(300):
            batch = ids[torch.randint(0, 2200, (32,))]
            seen, chosen = mask_words(batch, 0.2, g, 8)
            if fault == "unmasked":
                seen = batch
            labels = torch.where(chosen, batch, -100)
            loss = model(input_ids=seen, labels=labels).loss
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            if step % 75 == 74:
                with record.evaluation(hook), torch.no_grad():
                    out = model(test).logits[hidden]
                hook.record_tensor_value("val_loss", F.cross_entropy(out, ids[2200:][hidden]))
    with torch.no_grad():
        score(hits(model(test).logits[hidden], ids[2200:][hidden]), 1 / 8)


@healthy
def tf_bert_mlm(record, seed):
    """Masked words: four fifths of the positions are ignored."""
    bert_mlm(record, seed)


@pair(cause="words to predict not masked in the input", severity="gross")
def tf_bert_unmasked(record, seed, faulty):
    """The model copies."""
    bert_mlm(record, seed, "unmasked" if faulty else None)
