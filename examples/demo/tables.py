"""Prints progress, and tables of the content of a trial."""

import os
import sys

import smdebug as smd
from smdebug.exceptions import TensorUnavailableForStep

STATISTICS = ("min", "max", "mean", "std", "l2")


class Progress:
    """Prints one line that is overwritten on a terminal, or a few plain lines elsewhere."""

    WIDTH = 28

    def __init__(self, name, steps, out=sys.stdout):
        self.name, self.steps, self.out = name, steps, out
        self.step = 0
        self.is_terminal = out.isatty()

    def __call__(self, loss):
        self.step += 1
        if self.is_terminal:
            if self.step % 4 == 0 or self.step == self.steps:
                self._draw(loss)
        elif self.step * 4 % self.steps < 4:
            print(f"  {self.name:8} step {self.step:3} of {self.steps}   loss {loss:6.4f}",
                  file=self.out, flush=True)

    def _draw(self, loss):
        done = self.step * self.WIDTH // self.steps
        bar = "█" * done + "░" * (self.WIDTH - done)
        text = f"{self.name:8} {bar} step {self.step:3}/{self.steps}   loss {loss:6.4f}"
        self.out.write(f"\r  {text}")
        self.out.write("\n" if self.step == self.steps else "")
        self.out.flush()


def heading(number, text):
    line = f"{number}  {text}"
    print(f"\n\033[1m{line}\033[0m\n" if sys.stdout.isatty() else f"\n{line}\n{'-' * len(line)}")


def table(header, rows, right=()):
    """Prints rows of text in columns; the columns named in `right` are aligned to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows)]

    def line(cells):
        parts = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(cells, widths, header)
        )
        return ("  " + "  ".join(parts)).rstrip()

    print(line(header))
    print("  " + "  ".join("─" * width for width in widths))
    for row in rows:
        print(line(row))


def size(count):
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024 or unit == "MiB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024


def files_of(folder):
    """Returns the number of files in a folder, and their total size in bytes."""
    sizes = [
        os.path.getsize(os.path.join(place, name))
        for place, _, names in os.walk(folder)
        for name in names
    ]
    return len(sizes), sum(sizes)


def steps_text(steps):
    return f"{len(steps)} ({steps[0]} … {steps[-1]})" if steps else "none"


def facts(columns, rows):
    """Prints a table of facts (rows) about things (columns).

    `rows` maps the name of a fact to a function that returns it for one thing.
    """
    table(
        ["", *columns],
        [[what, *(fact(thing) for thing in columns.values())] for what, fact in rows.items()],
    )


def trials_table(trials):
    """Prints modes, steps, tensors and files of trials, side by side."""
    modes = {mode for trial in trials for mode in trial.modes()} | {smd.modes.GLOBAL}
    files = {trial: files_of(trial.path) for trial in trials}
    rows = {
        "finished": lambda trial: "yes" if trial.loaded_all_steps else "no",
        "workers": lambda trial: ", ".join(trial.workers()),
    }
    for mode in sorted(modes, key=lambda mode: mode.value):
        rows[f"{mode.name} steps"] = lambda trial, mode=mode: steps_text(trial.steps(mode))
    rows["tensors"] = lambda trial: len(trial.tensor_names())
    rows["files"] = lambda trial: f"{files[trial][0]:,}, {size(files[trial][1])}"
    facts({trial.name: trial for trial in trials}, rows)


def collections_table(trial):
    """Prints the collections that hold tensors: number, save config and saved form."""
    rows = []
    for name, collection in trial.collections().items():
        tensors = trial.tensor_names(collection=name)
        if not tensors:
            continue
        counts = [
            len(trial.tensor(tensors[0]).steps(mode)) for mode in (smd.modes.TRAIN, smd.modes.EVAL)
        ]
        reductions = collection.reduction_config
        kept = reductions.to_json_dict()["reductions"].split(",") if reductions else []
        rows.append(
            [name, len(tensors), tensors[0], *counts, ", ".join(kept) if kept else "values"]
        )
    table(
        ["collection", "tensors", "the first", "TRAIN steps", "EVAL steps", "kept as"],
        rows,
        right=("tensors", "TRAIN steps", "EVAL steps"),
    )


def tensor_table(trial, name, steps, mode=smd.modes.TRAIN):
    """Prints a tensor at some steps: shape and statistics, saved or computed."""
    tensor = trial.tensor(name)
    rows = []
    for step in steps:
        figures = (tensor.reduction_value(step, each, mode).item() for each in STATISTICS)
        try:
            value = tensor.value(step, mode)
            text = f"{value.dtype} {' x '.join(map(str, value.shape))}"
        except TensorUnavailableForStep:
            text = "reductions only"
        rows.append([step, text, *(f"{figure:.4f}" for figure in figures)])
    header = [f"{mode.name} step", "value", *STATISTICS]
    table(header, rows, right=(header[0], *STATISTICS))
