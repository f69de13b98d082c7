"""Many small trials: some run, some are torn, some cannot be read, and one is hostile."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Dict, List, Union

import numpy as np
import pyarrow as pa

import smdebug

STEPS = 6
NAN_FROM = 3


def hook_for(path: Union[Path, str], worker: str = "worker_0", **more: Any) -> smdebug.Hook:
    every_step = smdebug.SaveConfig(save_interval=1)
    return smdebug.Hook(str(path), save_all=True, save_config=every_step, worker=worker,
                        include_workers="all", **more)  # fmt: skip


def save(hook: smdebug.Hook, steps: range, bad: bool = False) -> None:
    """Saves a loss, a gradient and an output at each step; in a bad trial the last has NaN."""
    for step in steps:
        with hook.step():
            array = np.full(4, 1 / (1 + step), np.float32)
            hook.save_scalar("loss", float(array[0]))
            hook.save("gradient/a", array)
            hook.save("output/b", array * (np.nan if bad and step >= NAN_FROM else 1))
    hook.flush()


def record(path: Union[Path, str], bad: bool = False, **more: Any) -> None:
    hook = hook_for(path, **more)
    save(hook, range(STEPS), bad)
    hook.close()


def make(root: Path, trials: int) -> None:
    """Makes `trials` trials by links to the files of two."""
    models = root.parent / f"{root.name}-models"
    record(models / "good")
    record(models / "bad", bad=True)
    root.mkdir()
    for number in range(trials):
        kind = "bad" if number % 10 == 3 else "good"
        path = root / f"run-{number:04}"
        shutil.copytree(models / kind, path, copy_function=os.link)
        if number % 10 == 1:
            (path / "training_job_end.ts").unlink()  # runs, or was killed
        if number % 10 == 5:
            tear(path)
        if number % 50 == 7:
            replace(path / "collections/000000000/worker_0_collections.json", b'{"collections": [')
    make_hostile(root / "run-hostile", models / "good")
    (root / "loop").symlink_to(root)


def replace(file: Path, content: bytes) -> None:
    """Gives a link content of its own."""
    file.unlink()
    file.write_bytes(content)


def tear(path: Path) -> None:
    """Cuts the files of the last steps, as a full disk or a killed machine leaves them."""
    event = path / f"events/{STEPS - 1:012}/{STEPS - 1:012}_worker_0.tfevents"
    replace(event, event.read_bytes()[:40])
    index = path / f"index/000000000/{STEPS - 2:012}_worker_0.json"
    replace(index, index.read_bytes()[:50])


def make_hostile(path: Path, model: Path) -> None:
    """Lengths of 2^60, a name that leaves the folder, and links that lead to themselves."""
    shutil.copytree(model, path, copy_function=os.link)
    index = path / "index/000000000"
    for step, change in enumerate(
        [{"length": 2**60}, {"start_idx": 2**60}, {"event_file_name": "../../../../etc/passwd"}]
    ):
        file = index / f"{step:012}_worker_0.json"
        content = json.loads(file.read_bytes())
        for part in (content["meta"], *content["tensor_payload"]):
            part.update({key: value for key, value in change.items() if key in part})
        replace(file, json.dumps(content).encode())
    (index / "loop").symlink_to(index)
    (path / "events/loop").symlink_to(path / "events/loop")


def rows_of(table: Any) -> List[Dict[str, Any]]:
    """The rows of an Arrow table or stream, in an order of their own."""
    listed = pa.table(table).to_pylist()
    return sorted(listed, key=lambda row: [str(value) for value in row.values()])


def expected(paths: Any, table: str, **conditions: Any) -> List[Dict[str, Any]]:
    """The rows that a scan in this process returns."""
    return rows_of(smdebug.scan(paths, table, **conditions))
