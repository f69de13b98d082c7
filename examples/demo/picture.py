"""Draws the losses of both trainings, and the size of the gradients of each layer."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import smdebug as smd  # noqa: E402

HEALTHY_COLOUR = "#1b7f5c"
FAULTY_COLOUR = "#c0392b"
GREY = "#5f6b76"


def draw(path, healthy, faulty, threshold, caught):
    """Writes a PNG of 1200 x 800.

    Parameters
    ----------
    path : str
        The file.
    healthy, faulty : Trial
        The trials.
    threshold : float
        The rule's threshold.
    caught : int
        The TRAIN step at which the rule's condition was met in the faulty training.
    """
    style = {
        "font.family": "DejaVu Sans",
        "font.size": 11,
        "axes.edgecolor": "#c3cad1",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.titlesize": 12,
        "axes.labelcolor": GREY,
        "axes.grid": True,
        "grid.color": "#e8ecef",
        "xtick.color": GREY,
        "ytick.color": GREY,
    }
    with plt.rc_context(style):
        figure = plt.figure(figsize=(12, 8), dpi=100)
        grid = figure.add_gridspec(
            2, 2, left=0.075, right=0.975, bottom=0.075, top=0.85, hspace=0.34, wspace=0.08
        )
        _title(figure, caught)
        _losses(figure.add_subplot(grid[0, :]), healthy, faulty, caught)
        left = figure.add_subplot(grid[1, 0])
        right = figure.add_subplot(grid[1, 1], sharey=left)
        _gradients(left, healthy, "Healthy: gradients of every layer keep their size", threshold)
        _gradients(right, faulty, "Faulty: gradients vanish towards the first layer", threshold)
        left.set_ylabel("mean |gradient| of the weights")
        right.tick_params(labelleft=False)
        _mark_caught(right, caught, threshold)
        figure.savefig(path)
        plt.close(figure)


def _title(figure, caught):
    figure.text(0.075, 0.945, "Losses and gradients of two trainings on the same data",
                fontsize=17, fontweight="bold", color="#1f2a33")
    figure.text(0.075, 0.908,
                "VanishingGradient passes on the healthy training, and has a finding in the faulty "
                f"one at TRAIN step {caught}", fontsize=12.5, color=GREY)


def _losses(axes, healthy, faulty, caught):
    for trial, colour in ((faulty, FAULTY_COLOUR), (healthy, HEALTHY_COLOUR)):
        values = trial.tensor("loss").values(smd.modes.TRAIN)
        axes.plot(list(values), [value.item() for value in values.values()], color=colour,
                  linewidth=1.6, label=f"{trial.name}, training")
        axes.plot(*_evaluations(trial), "o", color=colour, markersize=5.5,
                  markeredgecolor="white", label=f"{trial.name}, evaluation")
    axes.axvline(caught, color=FAULTY_COLOUR, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.text(caught + 2, 1.62, f"finding at\nstep {caught}", color=FAULTY_COLOUR, fontsize=10)
    axes.set_title("Loss")
    axes.set_ylabel("cross-entropy")
    axes.set_xlabel("TRAIN step")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    axes.legend(ncol=2, frameon=False, loc="center right", bbox_to_anchor=(1, 0.62))


def _evaluations(trial):
    """Returns the losses of evaluations, each at the TRAIN step before it."""
    losses = trial.tensor("loss").values(smd.modes.EVAL)
    train = np.array([trial.global_step(smd.modes.TRAIN, s) for s in trial.steps(smd.modes.TRAIN)])
    places = [
        np.searchsorted(train, trial.global_step(smd.modes.EVAL, step)) - 1 for step in losses
    ]
    return places, [value.item() for value in losses.values()]


def _gradients(axes, trial, title, threshold):
    names = [
        name for name in trial.tensor_names(collection="gradients") if name.endswith("weight")
    ]
    colours = plt.get_cmap("viridis")(np.linspace(0.05, 0.9, len(names)))
    for name, colour in zip(names, colours):
        tensor = trial.tensor(name)
        steps = tensor.steps(smd.modes.TRAIN)
        means = [tensor.reduction_value(s, "mean", smd.modes.TRAIN, abs=True) for s in steps]
        axes.semilogy(steps, means, color=colour, linewidth=1.6, marker=".", markersize=4,
                      label=name.split("/")[1].split(".")[0].replace("layer", "layer "))
    axes.axhline(threshold, color=FAULTY_COLOUR, linewidth=1.4)
    axes.text(0.012, threshold * 0.8, f"threshold {threshold:g}", color=FAULTY_COLOUR, va="top",
              transform=axes.get_yaxis_transform(), fontsize=10)
    axes.set_title(title)
    axes.set_xlabel("TRAIN step")
    axes.set_ylim(3e-9, 3)
    axes.margins(x=0.02)
    axes.legend(ncol=4, frameon=False, loc="upper left", fontsize=9.5, columnspacing=1.2,
                handlelength=1.4)


def _mark_caught(axes, caught, threshold):
    axes.plot([caught], [threshold], "o", markersize=13, markerfacecolor="none",
              markeredgecolor=FAULTY_COLOUR, markeredgewidth=1.8)
    axes.annotate(f"finding at step {caught}", (caught, threshold), xytext=(14, -26),
                  textcoords="offset points", color=FAULTY_COLOUR, fontweight="bold",
                  arrowprops={"arrowstyle": "-", "color": FAULTY_COLOUR, "shrinkB": 7})
