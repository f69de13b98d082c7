"""Evaluates rules over many trials, on one machine or several."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ClassVar,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    Union,
)

from smdebug.core.finding import Action, Finding
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.rules.evaluate_many_engines import ENGINES
from smdebug.rules.rule_set import RuleSet
from smdebug.tables.scan import Path, Scan, scan
from smdebug.trials.utils import create_trial

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["evaluate_many"]

_ORDER = ("step", "rule", "check", "worker", "tensor", "message")


def evaluate_many(
    paths: Union[Path, Iterable[Path]],
    rule_set: Optional[RuleSet] = None,
    engine: str = "local",
    *,
    trials: Union[str, Iterable[str], None] = None,
    first: Optional[int] = None,
    end: Optional[int] = None,
    options: Optional[Mapping[str, object]] = None,
) -> pa.Table:
    """Evaluates rules over every trial at some paths.  Needs pyarrow.

    Each engine returns the same rows in the same order: by the trial's path, then by step, rule,
    check, worker and tensor.  A trial that cannot be read gives a row whose column `problem` says
    why.  An engine evaluates the trials of a worker process that died again, as often as it is
    configured to.

    Parameters
    ----------
    paths : str, path, or several
        Trials, folders or buckets that hold trials, or patterns: "runs", "s3://jobs/2026-*".
    rule_set : RuleSet, optional
        The rules.  Each trial is evaluated by a copy, so this one can be used again.  Rules that
        are functions are pickled for engines other than "local".  Defaults to all built-in rules
        whose defaults suffice.
    engine : str
        "local": this process.  "spark", "ray" or "dask": the active Spark session, Ray cluster or
        Dask client, if there is one, else a local one.
    trials : str or several, optional
        Regular expressions, of which one is found in the trial's name.
    first, end : int, optional
        Findings are reported for global steps first <= step < end.
    options : mapping, optional
        Further options of the scan, such as "s3_endpoint".

    Returns
    -------
    pyarrow.Table
        The table "findings" of `smdebug.scan`.

    Raises
    ------
    SMDebugValueError
        If there is no such engine.
    ModuleNotFoundError
        If the engine, or pyarrow, is not installed.

    Examples
    --------
    >>> found = evaluate_many("s3://jobs/*", RuleSet().add("FirstNonFinite"), engine="spark")
    """
    if rule_set is not None and not isinstance(rule_set, RuleSet):
        raise SMDebugTypeError(f"expected a RuleSet, not a {type(rule_set).__name__}")
    if engine not in ENGINES:
        known = ", ".join(repr(name) for name in ENGINES)
        raise SMDebugValueError(f"there is no engine {engine!r}; there are {known}")
    pyarrow = import_framework("pyarrow", "pyarrow", "evaluate_many()")
    given = scan(paths, "findings", trials=trials, first=first, end=end, options=options)
    evaluate: Callable[[Scan], pa.Table]
    if rule_set is None:
        evaluate = _rows_of_scan
    elif _suits_scan(rule_set):
        given = given.with_options(_options_of(rule_set))
        evaluate = _rows_of_scan
    else:
        rule_set.__reduce__()  # refuses rules of one trial
        evaluate = _RowsOfRuleSet(rule_set)
    tables = ENGINES[engine](evaluate, sorted(given.partitions(), key=_path_of))
    return pyarrow.concat_tables(tables) if tables else pyarrow.table(given)


def _path_of(part: Scan) -> str:
    return dict(part.options)["path"]


def _suits_scan(rules: RuleSet) -> bool:
    """Returns whether a scan evaluates the same rules with the same results."""
    if rules._save_config is not None or rules._profile == "llm" or not rules._added:
        return False
    return all(isinstance(each[0], str) and each[2] is Action.WARN for each in rules._added)


def _options_of(rules: RuleSet) -> List[Tuple[str, object]]:
    named = [f"{rule} {json.dumps(parameters)}" for rule, parameters, _, _ in rules._added]
    return [("profile", rules._profile), *(("rule", each) for each in named)]


def _rows_of_scan(part: Scan) -> pa.Table:
    """The findings in one trial, evaluated by the scan itself."""
    import pyarrow as pa

    try:
        return _sorted(pa.table(part))
    except Exception as error:  # the trial is gone, or its bucket: the others are evaluated
        return pa.Table.from_pylist([_problem(dict(part.options)["name"], error)], pa.schema(part))


def _problem(trial: str, error: Exception) -> Dict[str, Any]:
    return {"trial": trial, "problem": str(error) or type(error).__name__}


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in _ORDER])


@dataclass(frozen=True)
class _RowsOfRuleSet:
    """Evaluates a copy of the rule set over one trial."""

    most_threads: ClassVar[int] = 1  # functions may keep state
    rules: RuleSet

    def __call__(self, part: Scan) -> pa.Table:
        import pyarrow as pa

        options = dict(part.options)
        trial = options["name"]
        rows: List[Dict[str, Any]] = []
        try:
            for finding in self._findings(options):
                rows.append(_row(trial, finding))
        except Exception as error:  # of this trial or its rules: the other trials are evaluated
            rows.append(_problem(trial, error))
        return _sorted(pa.Table.from_pylist(rows, pa.schema(part)))

    def _findings(self, options: Dict[str, str]) -> Iterator[Finding]:
        make, arguments = self.rules.__reduce__()
        rules: RuleSet = make(*arguments)
        stores = {name: value for name, value in options.items() if name.startswith("s3_")}
        with create_trial(options["path"], options["name"], timeout=0, options=stores) as trial:
            end = options.get("end")
            first, last = int(options["first"]), int(end) if end else None
            yield from rules.evaluate(trial, first, last, wait=False)


def _row(trial: str, finding: Finding) -> Dict[str, Any]:
    return {
        "trial": trial,
        "rule": finding.rule,
        "level": finding.level.name.lower(),
        "action": finding.action.name.lower(),
        "check": finding.check or None,
        "step": finding.step,
        "mode": finding.mode.name,
        "mode_step": finding.mode_step,
        "worker": finding.worker or None,
        "tensor": finding.tensor or None,
        "value": _number(finding.value),
        "limit": _number(finding.limit),
        "message": finding.message,
    }


def _number(value: Optional[float]) -> Optional[float]:
    return None if value is None or math.isnan(value) else value
