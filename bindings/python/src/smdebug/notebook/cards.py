"""What a trial, a tensor, a hook, findings and rule sets are, at a glance."""

from __future__ import annotations

import math
from typing import Any, Callable, List, Sequence, Tuple

from smdebug.core.collection import CollectionKeys
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import SMDebugError
from smdebug.notebook.curves import Samples, natural_key
from smdebug.notebook.html import Html, card, facts, join, printable, table
from smdebug.notebook.sparkline import number_text, sparkline

__all__ = [
    "cause_card",
    "finding_card",
    "findings_table",
    "hook_card",
    "result_card",
    "rule_set_card",
    "tensor_card",
    "trial_card",
]

_TENSORS = 12  # A card shows at most so many tensors.
_POINTS = 60  # A sparkline has at most so many points.
_NAMES = 8  # of workers and collections
_VALUE = 40  # the longest value that is shown whole

_STATUS = {
    "PASSED": "passed",
    "HAS_FINDINGS": "found",
    "NO_TENSORS": "no tensors",
    "NOT_ENOUGH_DATA": "not enough data",
    "WORTH_A_LOOK": "worth a look",
}


def _safely(kind: str, name: str, draw: Callable[[], str]) -> str:
    """Returns a card, or one that says why it cannot be drawn: a notebook has no use for an error."""
    try:
        return draw()
    except (SMDebugError, OSError, AttributeError) as error:
        return card(name, kind, join(error))


# ---- trials and tensors -------------------------------------------------------------------------


def trial_card(trial: Any) -> str:
    """Returns a card with the state, steps, workers and first tensors of a trial."""
    return _safely(
        "trial", trial.name, lambda: card(trial.name, "trial", *trial_parts(trial, Samples()))
    )


def trial_parts(trial: Any, samples: Samples) -> List[Html]:
    """Returns the parts of a trial's card; `samples` keeps what was read for the next one."""
    steps = _steps_text(trial)
    names = trial.tensor_names()
    pairs = [
        ("path", trial.path),
        ("job", _state(trial)),
        ("steps", steps),
        ("workers", _listed(trial.workers())),
        ("tensors", f"{len(names)}, in the collections {_listed(_collections(trial))}"),
    ]
    pairs.extend(_metadata(trial))
    shown = _first_names(trial, names)
    parts = [facts(pairs)]
    if shown:
        parts.append(_tensors_table([trial.tensor(name) for name in shown], samples))
    if len(names) > len(shown):
        parts.append(join(f"{len(names) - len(shown)} more: tensor_names() lists all."))
    return parts


def _state(trial: Any) -> str:
    failure = trial.failure
    if failure is not None:
        return f"failed: {printable(failure, _VALUE)}"
    return "has ended" if trial.loaded_all_steps else "has not ended"


def _metadata(trial: Any) -> List[Tuple[str, object]]:
    """Returns the settings that the job recorded, and on what it ran."""
    run: List[str] = []
    settings: List[str] = []
    for key, value in trial.metadata().items():
        if key == "run.failure":
            continue
        name = key.removeprefix("run.")
        (settings if name == key else run).append(f"{name} {printable(value, _VALUE)}")
    return [
        (title, _listed(texts)) for title, texts in (("settings", settings), ("run", run)) if texts
    ]


def _collections(trial: Any) -> List[str]:
    return sorted(
        (name for name in trial.collections() if name != CollectionKeys.ALL), key=natural_key
    )


def _steps_text(trial: Any) -> str:
    total = len(trial.steps())
    texts = []
    for mode in trial.modes():
        steps = trial.steps(mode)
        if steps:
            texts.append(f"{len(steps)} {mode.name} ({steps[0]} to {steps[-1]})")
    incomplete = len(trial.steps(show_incomplete_steps=True)) - total
    text = f"{total}: {', '.join(texts)}" if texts else str(total)
    return f"{text}; {incomplete} incomplete" if incomplete else text


def _first_names(trial: Any, names: List[str]) -> List[str]:
    """Returns the names to show: losses, metrics, those in no collection (scalars), the others."""
    held = {name: trial.tensor_names(collection=name) for name in _collections(trial)}
    in_one = set().union(*held.values())
    groups = [held.get(name, []) for name in (CollectionKeys.LOSSES, CollectionKeys.METRICS)]
    groups.extend([[name for name in names if name not in in_one], names])
    ordered = [name for group in groups for name in sorted(group, key=natural_key)]
    return list(dict.fromkeys(ordered))[:_TENSORS]


def _tensors_table(tensors: Sequence[Any], samples: Samples) -> Html:
    rows = []
    for tensor in tensors:
        curve = samples.curve(tensor, _POINTS)
        picture, last, what = Html(""), "", ""
        if curve is not None and curve.steps:
            picture = sparkline(curve.steps, curve.numbers)
            last, what = number_text(curve.numbers[-1]), curve.reduction or "value"
        count = len(tensor.steps(show_incomplete_steps=True))
        rows.append((tensor.name, count, picture, last, what))
    return table(("tensor…", "steps", "over the steps", "last", ""), rows)


def tensor_card(tensor: Any) -> str:
    """Returns a card with the steps, type, workers and numbers of a tensor."""
    return _safely("tensor", tensor.name, lambda: _tensor_card(tensor))


def _tensor_card(tensor: Any) -> str:
    steps = tensor.steps(show_incomplete_steps=True)
    modes = [mode for mode in ModeKeys if mode is not ModeKeys.GLOBAL and tensor.steps(mode, True)]
    pairs: List[Tuple[str, object]] = [
        ("trial", tensor.trial.name),
        ("steps", f"{len(steps)}, from {steps[0]} to {steps[-1]}" if steps else "none"),
        ("modes", ", ".join(mode.name for mode in modes)),
    ]
    if steps:
        pairs.extend(_last_step(tensor, steps[-1]))
    curve = Samples().curve(tensor, _POINTS)
    if curve is not None and curve.steps:
        range_text = join(
            " ", curve.reduction or "value", ", last ", number_text(curve.numbers[-1])
        )
        pairs.append(("numbers", join(sparkline(curve.steps, curve.numbers), range_text)))
        odd = sum(not math.isfinite(number) for number in curve.numbers)
        if odd:
            pairs.append(("not finite", f"at {odd} of {len(curve.numbers)} steps"))
    return card(tensor.name, "tensor", facts(pairs))


def _last_step(tensor: Any, step: int) -> List[Tuple[str, object]]:
    pairs: List[Tuple[str, object]] = []
    try:
        shape = tensor.shape(step)
        text = " × ".join(map(str, shape))
        pairs.append(("shape", "one number" if math.prod(shape) == 1 else text))
    except (SMDebugError, OSError):
        pass
    try:
        saved = tensor.reduction_values(step)
        if saved:
            names = [f"abs_{name}" if is_absolute else name for name, is_absolute in saved]
            pairs.append(("reductions", ", ".join(names)))
    except (SMDebugError, OSError):
        pass
    pairs.append(("workers", _listed(tensor.workers(step))))
    return pairs


def _listed(names: Sequence[str]) -> str:
    shown = sorted(names, key=natural_key)
    if len(shown) <= _NAMES:
        return ", ".join(shown) or "none"
    return f"{', '.join(shown[: _NAMES - 1])} and {len(shown) - _NAMES + 1} more"


# ---- hooks --------------------------------------------------------------------------------------


def hook_card(hook: Any) -> str:
    """Returns a card with what a hook records, where, and how much it has written."""
    return _safely(type(hook).__name__, "a hook that records nothing", lambda: _hook_card(hook))


def _hook_card(hook: Any) -> str:
    state = "records" if hook.is_recording else "does not record in this process"
    if hook.dry_run:
        state = "a copy, which records nothing" if hook._is_copy else "dry run"
    steps = [
        f"{mode.name} {step}"
        for mode, step in hook.mode_steps.items()
        if mode is not ModeKeys.GLOBAL
    ]
    last = f"{int(hook.step)} ({', '.join(steps)})" if steps else int(hook.step)
    saved = "all tensors" if hook.save_all else _listed(hook.include_collections) or "losses"
    counts = {name: hook.count(f"steps_{name}") for name in ("written", "dropped", "failed")}
    written = ", ".join(
        f"{count} {name}" for name, count in counts.items() if count or name == "written"
    )
    pairs: List[Tuple[str, object]] = [
        ("path", hook.out_dir),
        ("state", state),
        ("worker", f"{hook.worker}, one of {hook.num_workers}"),
        ("last step", "none" if int(hook.step) < 0 else last),
        ("steps", written),
        ("tensors", f"{hook.count('tensors_written')}, {_bytes_text(hook.count('bytes_written'))}"),
        ("collections", saved),
    ]
    if hook._has_rules:
        pairs.append(("rules", f"recommend to {hook.action.name.lower()}"))
    return card(type(hook).__name__, "hook", facts(pairs))


def _bytes_text(count: int) -> str:
    number = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


# ---- rules --------------------------------------------------------------------------------------


def finding_card(finding: Any) -> str:
    """Returns a card of one finding."""
    look = "worth a look" if finding.level.name == "WORTH_A_LOOK" else "finding"
    pairs: List[Tuple[str, object]] = [("message", finding.message), ("step", _step_text(finding))]
    for name in ("check", "tensor", "worker"):
        if getattr(finding, name):
            pairs.append((name, getattr(finding, name)))
    if finding.value is not None:
        limit = "" if finding.limit is None else f", the limit is {number_text(finding.limit)}"
        pairs.append(("value", number_text(finding.value) + limit))
    pairs.append(("action", finding.action.name.lower()))
    return card(finding.rule, look, facts(pairs))


def _step_text(finding: Any) -> str:
    if finding.mode is ModeKeys.GLOBAL or finding.mode_step < 0:
        return str(finding.step)
    return f"{finding.step} ({finding.mode.name} {finding.mode_step})"


def findings_table(findings: Sequence[Any], most: int) -> Html:
    """Returns a table of the last findings."""
    rows = [
        (
            _mark(each.level.name == "FINDING", each.rule),
            _step_text(each),
            each.tensor,
            each.message,
        )
        for each in findings[-most:]
    ]
    return table(("rule", "step", "tensor…", "finding…"), rows)


def result_card(result: Any) -> str:
    """Returns a card of a rule's result."""
    pairs: List[Tuple[str, object]] = [("message", result.message)]
    pairs.append(("findings", result.finding_count))
    if result.look_count:
        pairs.append(("worth a look", result.look_count))
    return card(result.rule, _STATUS[result.status.name], facts(pairs))


def cause_card(cause: Any) -> str:
    """Returns a card of a likely cause."""
    evidence = "; ".join(str(each.first) for each in cause.evidence)
    pairs = [
        ("confidence", f"{cause.confidence:.0%}"),
        ("advice", cause.advice),
        ("evidence", evidence),
    ]
    return card(cause.title, "likely cause", facts(pairs))


def rule_set_card(rules: Any) -> str:
    """Returns a card with the results of the rules and the likely causes."""

    def draw() -> str:
        return card("RuleSet", f"profile {rules._profile}", *rule_set_parts(rules))

    return _safely("rule set", "RuleSet", draw)


def rule_set_parts(rules: Any) -> List[Html]:
    """Returns the results of rules, those with findings first, and the likely causes."""
    results = rules.results()
    if not results:
        return [join("no rules; add(rule) adds one")]
    order = {"HAS_FINDINGS": 0, "WORTH_A_LOOK": 1}
    results.sort(key=lambda result: order.get(result.status.name, 2))
    rows = [
        (
            _mark(each.status.name == "HAS_FINDINGS", each.rule),
            _STATUS[each.status.name],
            each.finding_count + each.look_count or "",
            each.message,
        )
        for each in results
    ]
    return [table(("rule", "result", "findings", "first…"), rows), *cause_parts(rules)]


def cause_parts(rules: Any) -> List[Html]:
    """Returns a table of the likely causes of what rules have found, if there are any."""
    rows = [(each.title, f"{each.confidence:.0%}", each.advice) for each in rules.diagnose()]
    return [table(("likely cause", "confidence", "what to do…"), rows)] if rows else []


def _mark(is_bad: bool, name: str) -> Html:
    if not is_bad:
        return join(name)
    return join(Html('<span style="color:#d33;font-weight:bold">'), name, Html("</span>"))
