"""A GPT of ten million parameters, and a training of it."""

import time

import torch
from torch import nn

VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS = 4096, 64, 320, 5, 7
BATCH = 3
# Wall time, processor time of the training thread, processor time of all threads.
CLOCKS = (time.perf_counter, time.thread_time, time.process_time)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids, targets):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        logits = self.head(self.norm(self.blocks(x)))
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Training:
    """Trains on random tokens; a hook records the loss."""

    def __init__(self, is_compiled):
        torch.manual_seed(0)
        self.model = GPT()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
        self.hook = None
        self._forward = torch.compile(self.model) if is_compiled else self.model
        self._ids = torch.zeros(BATCH, LENGTH + 1, dtype=torch.long)

    def step(self):
        """Trains on one batch, and returns the seconds by each clock."""
        self._ids.random_(VOCABULARY)
        begin = [clock() for clock in CLOCKS]
        self.optimizer.zero_grad()
        loss = self._forward(self._ids[:, :-1], self._ids[:, 1:])
        loss.backward()
        if self.hook is not None:
            self.hook.record_tensor_value("loss", loss)
        self.optimizer.step()
        if self.hook is not None:
            self.hook.end_step()
        return [clock() - start for clock, start in zip(CLOCKS, begin)]

    def register(self, hook):
        self.hook = hook
        hook.register_module(self.model)
        hook.register_optimizer(self.optimizer)
