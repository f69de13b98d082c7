"""Records trials for reports."""

import numpy as np

import smdebug as smd

EVERY_STEP = smd.SaveConfig(save_interval=1)
REDUCTIONS = smd.ReductionConfig(
    reductions=["min", "max", "mean", "std"], abs_reductions=["mean"], norms=["l2"]
)
HOSTILE = "</script><script>window.harmed = 1</script>"
HOSTILE_NAMES = [HOSTILE, "\"'><img src=x onerror='window.harmed = 2'>", "{{data}} & <b>bold</b>", "new\nline \u202e\u2028\u0007"]


def record_training(path, steps=60, nan_from=50):
    """Records a training whose first layer has vanishing gradients, and whose last values are NaN."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((8, 8)).astype("float32") for _ in range(12)]
    with smd.Hook(path, save_config=EVERY_STEP, include_collections=["weights", "gradients", "losses"]) as hook:
        for step in range(steps):
            is_eval = step % 10 == 9
            factor = np.float32(np.nan if step >= nan_from else 1)
            with hook.step(smd.modes.EVAL if is_eval else smd.modes.TRAIN):
                hook.save("loss", np.float32(2 / (1 + step / 20)) * factor)
                hook.save_scalar("accuracy", step / steps)
                for layer, weight in enumerate(weights, 1):
                    if is_eval:
                        continue
                    gradient = weight * np.float32(0.5**step if layer == 1 else 0.01)
                    hook.save(f"layer{layer}.weight", weight * factor * np.float32(1 + step / 1000))
                    hook.save(f"gradient/layer{layer}.weight", gradient * factor)


def record_reductions(path, steps, tensors):
    """Records only reductions of gradients and weights."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(64).astype("float32") for _ in range(tensors // 2)]
    with smd.Hook(
        path, save_config=EVERY_STEP, include_collections=["weights", "gradients", "losses"],
        reduction_config=REDUCTIONS,
    ) as hook:  # fmt: skip
        for step in range(steps):
            with hook.step(smd.modes.TRAIN):
                hook.save("loss", np.float32(2 * 0.999**step))
                for layer, value in enumerate(values):
                    hook.save(f"layer{layer}.weight", value)
                    hook.save(f"gradient/layer{layer}.weight", value / 100)


def record_hostile(path):
    """Records names that are dangerous in HTML."""
    with smd.Hook(path, save_all=True, save_config=EVERY_STEP) as hook:
        for name in HOSTILE_NAMES[:3]:
            hook.get_collection(name).include("^w ")
        for step in range(4):
            with hook.step(smd.modes.TRAIN):
                for name in HOSTILE_NAMES:
                    hook.save("w " + name, np.full((2, 3), np.nan if step == 3 else step, "float32"))
                    hook.save_scalar(name, float(step))


def record_booster(path, labels, predictions):
    """Records the tensors of an XGBoost hook at rounds 0 and 5."""
    names = ["metrics", "losses", "feature_importance", "predictions", "labels", "trees", "hyperparameters"]
    with smd.Hook(path, save_config=EVERY_STEP, include_collections=names) as hook:
        hook.get_collection("feature_importance").include("^feature_importance/")
        hook.get_collection("hyperparameters").include("^hyperparameters/")
        hook.get_collection("predictions").include("^predictions$")
        hook.get_collection("labels").include("^labels$")
        hook.get_collection("trees").include("^trees/")
        hook.get_collection("metrics").include("^(train|test)-")
        for step in range(6):
            with hook.step(smd.modes.TRAIN):
                hook.save("train-error", np.float64(1 / (1 + step)))
                hook.save("test-error", np.float64(2 / (1 + step)))
                if step == 0:
                    hook.save("hyperparameters/max_depth", np.array([3]))
                if step % 5:
                    continue
                for feature, gain in (("age", 0.25), ("<i>tax</i>", 0.75)):
                    hook.save(f"feature_importance/gain/{feature}", np.float64(gain))
                hook.save("labels", np.asarray(labels))
                hook.save("predictions", np.asarray(predictions))
                hook.save("trees/Node", np.arange(7))


def record_uneven(path):
    """Records steps that are not equally far apart, losses of training and validation, and a metric once."""
    save_config = smd.SaveConfig({
        smd.modes.TRAIN: smd.SaveConfigMode(save_interval=100, save_steps=[401, 402, 403]),
        smd.modes.EVAL: smd.SaveConfigMode(save_interval=1),
    })  # fmt: skip
    with smd.Hook(path, save_config=save_config, include_collections=["weights", "gradients", "losses"]) as hook:
        hook.set_metadata(learning_rate=0.1, data="<i>digits</i>")
        for step in range(1000):
            with hook.step(smd.modes.TRAIN):
                hook.save("train_loss", np.float32(2 / (1 + step / 50)))
                hook.save("epoch_loss/train", np.float32(1 / (1 + step / 50)))
                for layer in range(3):
                    hook.save(f"layer{layer}.weight", np.full(8, 0.1 + step / 1000, "float32"))
                    hook.save(f"gradient/layer{layer}.weight", np.arange(8, dtype="float32") - layer)
        with hook.step(smd.modes.EVAL):
            hook.save("val_loss", np.float32(0.5))
            hook.save("epoch_loss/val", np.float32(0.3))
            hook.save_scalar("once", 3.0)
