"""Fits a table of cpp_impl/diagnose/ to runs of collect_causes.py, and measures it.

A log-linear model: each cause has a weight for each trait of the findings; the sum of the
weights of a run's traits, divided by a temperature, is the logarithm of the cause's odds.
Weights are fitted to the runs of the sets "table" and "confidence".  The temperature, and the
line that makes chances confidences, are fitted to what tables of four fifths of these runs say of
the last fifth: see Table.confidence_of().  Only runs with findings take part.  "measure" is for
the figures of docs/diagnosis.md.

    python tests/rules/fit_causes.py build/causes*.jsonl --write

With --of llm, the table is that of the rule set "llm", and the runs are those of
transformers/measure.py: of the sets "tuning" and "claim" instead of "table" and "measure".

--also adds runs of other seeds to those of the table, also lines of generator.py.

Weights begin as those of the last table, to which the penalty pulls them: give only runs that it
was not fitted to, or --afresh.  With --keep the whole table stays as it is and is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

sys.path.append(str(Path(__file__).parent / "transformers"))

import torch
from causes import CAUSES, NONE
from generator import share
from planted import CAUSES as LLM_CAUSES
from torch import Tensor
from traits import TRAITS, Trait, traits_of

ROOT = Path(__file__).resolve().parents[2]

LEAST_RUNS = 3  # that have a trait, for it to be in the table
PENALTY = 0.4  # of squared changes of weights; a change needs this much evidence
FRESH_PENALTY = 0.02  # of squared weights, where they are fitted afresh
SCALE = 100  # of weights in the table, which are whole numbers
LEAST_SHOWN = 0.1  # confidence of a cause
MOST_SHOWN = 3
PARTS = 5  # of the runs, each of which is left out once
MOST_ODDS = 12.0  # logarithm
WEIGHTS = re.compile(r'^ +\{"([^"]*)", "([^"]*)", k(\w+), \{([-\d, ]+)\}\},$', re.M)
BIAS = re.compile(r"^ +\{([-\d, ]+)\},$", re.M)
LINE = re.compile(r"^ +([-\d.]+),$", re.M)

Row = Dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """What a table is about."""

    name: str
    causes: Dict[str, Tuple[str, ...]]  # and the faults that have them
    without: Tuple[str, ...] = ()  # traits

    @property
    def names(self) -> List[str]:
        return [*self.causes, NONE]

    @property
    def target(self) -> str:
        return "diagnosis-table" if self.name == "general" else f"{self.name}-diagnosis-table"

    @property
    def table(self) -> Path:
        return ROOT / f"cpp_impl/diagnose/{self.name}_table.cc"

    @property
    def examples(self) -> Path:
        return ROOT / f"tests/unit/diagnose/{self.name}_examples.h"

    def cause_of(self, kind: str) -> str:
        return next((cause for cause, kinds in self.causes.items() if kind in kinds), NONE)


# Faults of large trainings are planted at one time, and stay for a number of steps that says nothing.
SUBJECTS = {
    "general": Subject("general", CAUSES),
    "llm": Subject("llm", LLM_CAUSES, ("early", "late", "lasting")),
}


def of_transformers(row: Row) -> Row:
    """Returns a run of transformers/measure.py as one of collect_causes.py."""
    of = {"tuning": "table", "claim": "measure"}
    return {**row, "set": of[row["set"]], "severity": 1.0 if row["is_fault"] else None, "learns": True}


def read(paths: Sequence[Path], subject: Subject) -> List[Row]:
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    rows = [of_transformers(each) if "is_fault" in each else each for each in rows]
    for row in rows:
        row["findings"] = [each for each in row["seen"] if not each["is_clue"]]
    for row in rows:
        # Causes may have been divided anew since the run; healthy ways share names with faults.
        row["cause"] = NONE if row["severity"] is None else subject.cause_of(row["kind"])
        row["traits"] = {each for each in traits_of(row["seen"]) if each[2] not in subject.without}
    return rows


def is_healthy(row: Row) -> bool:
    """Returns False for a run without a fault whose loss did not fall: it is perhaps not healthy.

    It has none of the causes, so the table learns from it, and confidences count it.
    """
    return row["severity"] is None and row["learns"]


class Table:
    """Weights of traits for causes."""

    def __init__(self, subject: Subject, traits: List[Trait]) -> None:
        self.subject = subject
        self.names = subject.names
        self.traits = traits
        self.places = {trait: i for i, trait in enumerate(traits)}
        self.weights = torch.zeros(len(traits), len(self.names), dtype=torch.float64)
        self.bias = torch.zeros(len(self.names), dtype=torch.float64)
        self.temperature = 1.0
        self.slope = 1.0
        self.offset = 0.0

    def inputs(self, rows: Sequence[Row]) -> Tensor:
        x = torch.zeros(len(rows), len(self.traits), dtype=torch.float64)
        for i, row in enumerate(rows):
            for trait in row["traits"]:
                if trait in self.places:
                    x[i, self.places[trait]] = 1
        return x

    def logits(self, rows: Sequence[Row]) -> Tensor:
        return self.inputs(rows) @ self.weights + self.bias

    def chances(self, rows: Sequence[Row]) -> Tensor:
        return (self.logits(rows) / self.temperature).softmax(1)

    def confidence_of(self, chance: float) -> float:
        """Returns the share of causes said with that chance that are right."""
        return 1 / (1 + math.exp(-self.slope * odds_of(chance) - self.offset))


def odds_of(chance: float) -> float:
    """Returns the logarithm of the odds of a chance."""
    if not 0 < chance < 1:
        return MOST_ODDS if chance else -MOST_ODDS
    return max(-MOST_ODDS, min(MOST_ODDS, math.log(chance / (1 - chance))))


def truth(rows: Sequence[Row], subject: Subject) -> Tensor:
    return torch.tensor([subject.names.index(each["cause"]) for each in rows])


def minimise(loss_of: Any, parameters: List[Tensor]) -> None:
    optimizer = torch.optim.LBFGS(parameters, max_iter=300, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    optimizer.step(closure)


def penalty_of(last: Optional[Table]) -> float:
    return PENALTY if last else FRESH_PENALTY


def fit(rows: Sequence[Row], subject: Subject, penalty: float, last: Optional[Table]) -> Table:
    """Fits weights, which without evidence are those of the last table, or 0."""
    counts = Counter(trait for row in rows for trait in row["traits"])
    order = {name: i for i, name in enumerate(TRAITS)}
    kept = {trait for trait, count in counts.items() if count >= LEAST_RUNS}
    kept |= set(last.traits) if last else set()
    table = Table(subject, sorted(kept, key=lambda each: (each[0], each[1], order[each[2]])))
    if last:
        table.weights[[table.places[trait] for trait in last.traits]] = last.weights
        table.bias = last.bias.clone()
    x, y = table.inputs(rows), truth(rows, subject)
    before, bias_before = table.weights.clone(), table.bias.clone()
    weights, bias = table.weights.requires_grad_(), table.bias.requires_grad_()

    def loss() -> Tensor:
        misfit = torch.nn.functional.cross_entropy(x @ weights + bias, y, reduction="sum")
        squares = (weights - before).square().sum() + (bias - bias_before).square().sum()
        return misfit + 0.5 * penalty * len(rows) ** 0.5 * squares

    minimise(loss, [weights, bias])
    table.weights = (weights.detach() * SCALE).round() / SCALE
    table.bias = (bias.detach() * SCALE).round() / SCALE
    return table


def left_out(
    rows: Sequence[Row], subject: Subject, penalty: float, last: Optional[Table]
) -> Tensor:
    """Returns for each run the logits of a table that was fitted without its part of the runs."""
    logits = torch.zeros(len(rows), len(subject.names), dtype=torch.float64)
    for part in range(PARTS):
        inside = [row for i, row in enumerate(rows) if i % PARTS != part]
        outside = [i for i in range(len(rows)) if i % PARTS == part]
        table = fit(inside, subject, penalty, last)
        logits[outside] = table.logits([rows[i] for i in outside])
    return logits


def fit_confidence(table: Table, rows: Sequence[Row], last: Optional[Table]) -> None:
    """Fits what makes confidences of logits."""
    subject = table.subject
    logits, y = left_out(rows, subject, penalty_of(last), last), truth(rows, subject)
    size = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    minimise(lambda: torch.nn.functional.cross_entropy(logits / size.exp(), y), [size])
    table.temperature = round(max(0.5, float(size.detach().exp())), 2)
    answers = [
        (odds_of(chance), float(row["cause"] == name))
        for row, chances in zip(rows, (logits / table.temperature).softmax(1).tolist())
        for name, chance in said(chances, table.names)
    ]
    odds, right = torch.tensor(answers, dtype=torch.float64).T
    line = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    minimise(lambda: entropy(line[0] * odds + line[1], right), [line])
    # A chance that is greater must not make a confidence that is lower.
    table.slope = round(max(0.1, float(line.detach()[0])), 2)
    table.offset = round(float(line.detach()[1]), 2)


def said(chances: Sequence[float], of: Sequence[str]) -> List[Tuple[str, float]]:
    """Returns the causes that are shown, with their chance; none if nothing is likely."""
    ranked = sorted(zip(of, chances), key=lambda each: -each[1])
    shown = [each for each in ranked if each[0] != NONE and each[1] >= LEAST_SHOWN]
    return shown[:MOST_SHOWN]


# ---- figures -----------------------------------------------------------------------------


def measure(table: Table, rows: Sequence[Row]) -> None:
    answers = [
        [(name, table.confidence_of(chance)) for name, chance in said(row_chances, table.names)]
        if row["findings"]
        else []
        for row, row_chances in zip(rows, table.chances(rows).tolist())
    ]
    both = list(zip(rows, answers))
    known = [(row, names(answer)) for row, answer in both if row["cause"] != NONE]
    print("| figure | share, 95 % interval |\n|---|---|")
    for title, chosen in (
        ("faulty runs", known),
        ("faulty runs of gross severity", [e for e in known if e[0]["severity"] >= 2 / 3]),
        ("faulty runs with findings", [e for e in known if e[0]["findings"]]),
    ):
        first = [row["cause"] in answer[:1] for row, answer in chosen]
        among = [row["cause"] in answer for row, answer in chosen]
        print(f"| first cause right, of {title} | {share(first)} |")
        print(f"| among three right, of {title} | {share(among)} |")
    first = [row["cause"] in names(answer[:1]) for row, answer in both if answer]
    print(f"| first cause right, where one is named | {share(first)} |")
    healthy = [not answer for row, answer in both if is_healthy(row)]
    print(f"| healthy runs without a diagnosis | {share(healthy)} |")
    faulty = [each for each in both if each[0]["severity"] is not None]
    unknown = [not answer for row, answer in faulty if row["cause"] == NONE]
    print(f"| unknown faults without a diagnosis | {share(unknown)} |")
    print_reliability(both)
    print_causes(known, table.subject)


def names(answer: Sequence[Tuple[str, float]]) -> List[str]:
    return [name for name, _ in answer]


def print_reliability(both: Sequence[Tuple[Row, List[Tuple[str, float]]]]) -> None:
    every = [(chance, row["cause"] == name) for row, answer in both for name, chance in answer]
    print("\n| confidence | on average | right |\n|---|---|---|")
    limits = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 1.01)
    for low, high in zip(limits, limits[1:]):
        of = [each for each in every if low <= each[0] < high]
        mean = sum(chance for chance, _ in of) / max(1, len(of))
        print(f"| {low:.0%} to {min(high, 1):.0%} | {mean:.0%} | {share([r for _, r in of])} |")


def print_causes(known: Sequence[Tuple[Row, List[str]]], subject: Subject) -> None:
    print("\n| cause | runs | with findings | first | among three | instead |")
    print("|---|---|---|---|---|---|")
    for cause in subject.causes:
        of = [each for each in known if each[0]["cause"] == cause]
        found = [each for each in of if each[0]["findings"]]
        wrong = Counter(a[0] if a else "nothing" for _, a in found if a[:1] != [cause])
        first = sum(a[:1] == [cause] for _, a in found)
        among = sum(cause in a for _, a in found)
        instead = ", ".join(f"{name} {count}" for name, count in wrong.most_common(4))
        print(f"| {cause} | {len(of)} | {len(found)} | {first} | {among} | {instead} |")


def try_penalties(rows: Sequence[Row], subject: Subject, last: Optional[Table]) -> None:
    """Prints how well tables fit runs that they were not fitted to."""
    y = truth(rows, subject)
    for penalty in (0.01, 0.02, 0.05, 0.1, 0.4):
        logits = left_out(rows, subject, penalty, last)
        loss = float(torch.nn.functional.cross_entropy(logits, y))
        right = float((logits.argmax(1) == y).double().mean())
        print(f"penalty {penalty}: loss {loss:.3f}, right {right:.1%}")


# ---- C++ ---------------------------------------------------------------------------------


def quoted(text: str) -> str:
    return json.dumps(text)


def camel(name: str) -> str:
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def whole(weights: Tensor) -> str:
    return ", ".join(str(round(float(each) * SCALE)) for each in weights)


def table_of(subject: Subject) -> Table:
    """Returns the weights of the table that table_source() wrote."""
    source = subject.table.read_text()
    traits = {camel(name): name for name in TRAITS}
    found = WEIGHTS.findall(source)
    table = Table(subject, [(rule, check, traits["k" + name]) for rule, check, name, _ in found])
    numbers = [[int(each) for each in row.split(",")] for *_, row in found]
    table.weights = torch.tensor(numbers, dtype=torch.float64) / SCALE
    [bias] = BIAS.findall(source)
    table.bias = torch.tensor([int(each) for each in bias.split(",")], dtype=torch.float64) / SCALE
    table.temperature, table.slope, table.offset = map(float, LINE.findall(source))
    return table


def table_source(table: Table, rows: Sequence[Row]) -> str:
    """Returns the table in C++."""
    order = ", ".join(f"Cause::{camel(each)}" for each in table.subject.causes)
    lines = [
        f"// Written by `make {table.subject.target}` (tests/rules/fit_causes.py); do not edit.",
        "//",
        f"// Last fitted to {len(rows)} runs with findings; tests/rules/seeds.json names their seeds.",
        '#include "diagnose/table.h"', "", "namespace smdebug::diagnose {", "namespace {", "",
        "using enum Trait;", "",
        "// clang-format off",
        f"constexpr Cause kOrder[] = {{{order}}};", "",
        "// The weights are hundredths, one for each cause, then one for none of them.",
        "constexpr Row kRows[] = {",
    ]  # fmt: skip
    for (rule, check, trait), weights in zip(table.traits, table.weights):
        row = f"{quoted(rule)}, {quoted(check)}, {camel(trait)}, {{{whole(weights)}}}"
        lines.append(f"    {{{row}}},")
    lines += ["};", "", "constexpr Table kTable = {", "    kOrder,", f"    {{{whole(table.bias)}}},"]
    numbers = (table.temperature, table.slope, table.offset)
    lines += [*(f"    {each:.2f}," for each in numbers), "    kRows,", "};"]
    lines += ["// clang-format on", ""]
    function = f"const Table &{table.subject.name.title()}Table() {{ return kTable; }}"
    lines += ["}  // namespace", "", function, ""]
    return "\n".join([*lines, "}  // namespace smdebug::diagnose", ""])


def examples_source(table: Table, rows: Sequence[Row]) -> str:
    """Returns runs and what the table says about them, for a test of the C++ code."""
    kept = [each for each in rows if each["findings"] and len(each["seen"]) <= 12]
    kept = kept[:: max(1, len(kept) // 24)][:24]
    lines = [
        f"// Written by `make {table.subject.target}` (tests/rules/fit_causes.py); do not edit.",
        "// Findings of real trainings, and the chances that fit_causes.py computes for them.",
        "#pragma once", "", "// clang-format off", f"const Example k{table.subject.name.title()}Examples[] = {{",
    ]  # fmt: skip
    for row, chances in zip(kept, table.chances(kept).tolist()):
        found = ", ".join(
            f"{{{quoted(e['rule'])}, {quoted(e['check'])}, {quoted(e['tensor'])}, {e['step']}, "
            f"{e['count']}, {e['tensors']}, {str(e['is_clue']).lower()}}}"
            for e in row["seen"]
        )
        lines.append(f"    {{{{{found}}},")
        lines.append("     {" + ", ".join(f"{each:.4f}" for each in chances) + "}},")
    return "\n".join([*lines, "};", "// clang-format on", ""])


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="files of collect_causes.py")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="more for the table")
    parser.add_argument("--write", action="store_true", help="write the C++ table")
    parser.add_argument("--keep", action="store_true", help="measure the C++ table")
    parser.add_argument("--afresh", action="store_true", help="forget the weights of that table")
    parser.add_argument("--penalties", action="store_true", help="compare penalties")
    parser.add_argument("--of", choices=SUBJECTS, default="general", help="which table")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    subject = SUBJECTS[options.of]
    every = read(options.runs, subject)
    for row in read(options.also, subject):
        row["set"] = "table"
        every.append(row)
    sets = {
        name: [row for row in every if row["set"] == name]
        for name in ("table", "confidence", "measure")
    }
    fitted = [row for row in sets["table"] + sets["confidence"] if row["findings"]]
    last = None if options.afresh else table_of(subject)
    if options.penalties:
        try_penalties(fitted, subject, last)
    if options.keep:
        table = table_of(subject)
    else:
        table = fit(fitted, subject, penalty_of(last), last)
        fit_confidence(table, fitted, last)
    numbers = table.temperature, table.slope, table.offset
    print(f"{len(table.traits)} traits; temperature, slope and offset {numbers}")
    print({name: len(rows) for name, rows in sets.items()}, "runs")
    measure(table, sets["measure"])
    if options.write:
        subject.table.write_text(table_source(table, fitted))
        subject.examples.write_text(examples_source(table, sets["measure"] or fitted))
    return 0


if __name__ == "__main__":
    sys.exit(main())
