"""A seeded training with Gluon, recorded by the package that is called smdebug.

Runs with the original and with this one.  usage: python train.py FOLDER CASE...
"""

import sys

import mxnet as mx
import numpy as np
import smdebug.mxnet as smd
from mxnet import autograd, gluon, nd

REDUCTIONS = {
    "reductions": ["min", "max", "mean", "sum"],
    "abs_reductions": ["mean", "max"],
    "norms": ["l1", "l2"],
}
CASES = {
    "defaults": {"save_config": None},
    "parameters": {"include_collections": ["weights", "biases", "gradients"]},
    "everything": {"save_all": True},
    "hybrid": {"save_all": True},
    "one_block": {"include_collections": ["of_relu"]},
    "regex": {"include_regex": "dense0_(in|out)put"},
    "reductions": {"save_all": True, "reduction_config": smd.ReductionConfig(**REDUCTIONS)},
}
STEPS, BATCH = 5, 8


def model(hybrid=False):
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            gluon.nn.Conv2D(4, 3, activation="relu"),
            gluon.nn.Flatten(),
            gluon.nn.Dense(16, activation="relu"),
            gluon.nn.Dense(3),
        )
    net.initialize(mx.init.Xavier(), force_reinit=True)
    if hybrid:
        net.hybridize()
    return net


def run(out_dir, case):
    mx.random.seed(1)
    random = np.random.RandomState(1)
    x = random.randn(STEPS, BATCH, 1, 8, 8).astype(np.float32)
    y = random.randint(0, 3, (STEPS, BATCH))
    net = model(hybrid=case == "hybrid")
    loss = gluon.loss.SoftmaxCrossEntropyLoss(prefix="softmaxcrossentropyloss0_")
    settings = {"save_config": smd.SaveConfig(save_interval=2), **CASES[case]}
    hook = smd.Hook(out_dir=out_dir, **settings)
    if case == "one_block":
        hook.get_collection("of_relu").add_block_tensors(net[2].act, inputs=True, outputs=True)
    hook.register_hook(net)
    hook.register_block(loss)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(2):
        hook.set_mode(smd.modes.TRAIN)
        for step in range(STEPS - 1):
            with autograd.record():
                losses = loss(net(nd.array(x[step])), nd.array(y[step]))
            losses.backward()
            trainer.step(BATCH)
        hook.set_mode(smd.modes.EVAL)
        # The original loses parameters of a saved step if the mode changes after it.
        for _ in range(2):
            loss(net(nd.array(x[-1])), nd.array(y[-1])).wait_to_read()
        hook.save_scalar("evaluations", 1.0)
    hook.close()


if __name__ == "__main__":
    for name in sys.argv[2:]:
        run(f"{sys.argv[1]}/{name}", name)
