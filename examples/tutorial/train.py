"""Trains a small network on two spirals: train.py [OUT_DIR [EPSILON]]"""

import sys

import numpy as np
import smdebug as smd

out_dir = sys.argv[1] if len(sys.argv) > 1 else "run"
epsilon = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
np.seterr(all="ignore")  # like a framework: no warnings
random = np.random.default_rng(0)

# The data: 400 points on two spirals.
label = np.arange(400) % 2
radius = np.sqrt(random.random(400))
angle = 6 * radius + np.pi * label
points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)

# The network: a hidden layer of 24 rectified units, normalised over the batch, and an output for each spiral.
w1, b1 = random.normal(0, 0.6, (2, 24)), np.zeros(24)
w2, b2 = random.normal(0, 0.2, (24, 2)), np.zeros(2)

hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
for step in range(100):
    with hook.step(smd.modes.TRAIN):
        chosen = random.choice(400, 32, replace=False)
        x, y = points[chosen], label[chosen]

        # Forward.
        z = x @ w1 + b1
        hidden = np.maximum(z, 0)
        hook.save("hidden_relu_output", hidden)
        deviation = np.sqrt(hidden.var(axis=0) + epsilon)
        normal = (hidden - hidden.mean(axis=0)) / deviation
        hook.save("normalised_output", normal)
        logits = normal @ w2 + b2
        hook.save("logits_output", logits)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        p = odds / odds.sum(axis=1, keepdims=True)
        loss = -np.log(p[np.arange(32), y]).mean()
        hook.save("loss", loss)

        # Backward.
        p[np.arange(32), y] -= 1
        p /= 32
        d_normal = p @ w2.T
        d_hidden = d_normal - d_normal.mean(axis=0) - normal * (d_normal * normal).mean(axis=0)
        d_z = d_hidden / deviation * (z > 0)
        gradients = {"w1.weight": x.T @ d_z, "b1.bias": d_z.sum(axis=0)}
        gradients |= {"w2.weight": normal.T @ p, "b2.bias": p.sum(axis=0)}

        # Update.
        for name, parameter in {"w1.weight": w1, "b1.bias": b1, "w2.weight": w2, "b2.bias": b2}.items():
            hook.save(name, parameter)
            hook.save(f"gradient/{name}", gradients[name])
            parameter -= 0.05 * gradients[name]
    if step % 10 == 0:
        print(f"step {step:2}  loss {loss:.3f}")
hook.close()
