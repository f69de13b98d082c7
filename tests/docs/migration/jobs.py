"""Records a job for the snippets."""

import numpy as np
import smdebug as smd


def record_resnet(path, steps, interval=10):
    """Records training steps and an evaluation after each tenth, with some tensors of each kind."""
    settings = {
        "include_collections": ["weights", "gradients"],
        "include_regex": ["relu", "softmax"],
        "save_config": smd.SaveConfig(save_interval=interval),
    }
    with smd.Hook(out_dir=path, **settings) as hook:
        for step in range(steps):
            with hook.step(smd.modes.TRAIN):
                hook.save("conv0.weight", np.full((3, 3), step, np.float32))
                hook.save("gradient/conv0.weight", np.full((3, 3), -1e-3 * step))
                hook.save("relu0_output_0", np.full(4, step, np.float32))
                hook.save("softmax_output_0", np.full(2, 0.5))
                hook.save("CrossEntropyLoss_output_0", 1.0 / (step + 1))
            if step % interval == 0:
                with hook.step(smd.modes.EVAL):
                    hook.save("CrossEntropyLoss_output_0", 2.0 / (step + 1))
