"""Creates trials for tests."""

import numpy as np
from smdebug import Hook, SaveConfig, create_trial, modes
from smdebug.core.access_layer import training_has_ended
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.writer import FileWriter

EVERY_STEP = SaveConfig(save_interval=1)


class Recorder:
    """Writes the files of a trial step by step; tensors are constant arrays."""

    def __init__(self, path, workers=1):
        self.path = path
        self.workers = [f"worker_{rank}" for rank in range(workers)]
        self.manager = CollectionManager()
        self.manager.add("default")
        self.manager.set_num_workers(workers)
        self.export()

    def export(self):
        for worker in self.workers:
            self.manager.export(self.path, f"{worker}_collections.json")

    def step(
        self, step, names=("foo",), workers=None, mode=modes.GLOBAL, mode_step=None, value=None
    ):
        for worker in workers or self.workers:
            with FileWriter(self.path, worker=worker, step=step) as writer:
                for name in names:
                    data = np.full((2, 3), step, np.float32) if value is None else value
                    writer.write_tensor(data, name, mode=mode, mode_step=mode_step)
        return self

    def end(self):
        training_has_ended(self.path)
        return self

    def open(self, **kwargs):
        return create_trial(self.path, **kwargs)


def record(out_dir, steps, mode=None, **settings):
    """Runs a job that saves what `steps` holds: one dict of tensors for each step."""
    settings.setdefault("save_config", EVERY_STEP)
    settings.setdefault("save_all", True)
    with Hook(out_dir, **settings) as hook:
        if mode is not None:
            hook.set_mode(mode)
        for tensors in steps:
            with hook.step():
                for name, value in tensors.items():
                    hook.save(name, value)
    return create_trial(out_dir)


def saved_and_read(out_dir, value, **settings):
    """Returns the value that is read for a tensor that was saved."""
    return record(out_dir, [{"t": value}], **settings).tensor("t").value(0)
