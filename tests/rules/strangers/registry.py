"""Names of the trainings: those that are fine, and pairs that differ by one fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["gross", "middling", "mild"]
Healthy = Callable[[Any, int], None]
Faulty = Callable[[Any, int, bool], None]


@dataclass(frozen=True)
class Pair:
    """A training with a switch for its fault."""

    run: Faulty
    cause: str
    severity: Severity


HEALTHY: dict[str, Healthy] = {}
PAIRS: dict[str, Pair] = {}
SCORES: list[tuple[float, float | None]] = []


def healthy(run: Healthy) -> Healthy:
    """Register a training that is fine."""
    assert run.__name__ not in HEALTHY, run.__name__
    HEALTHY[run.__name__] = run
    return run


def pair(cause: str, severity: Severity) -> Callable[[Faulty], Faulty]:
    """Register a training that has a faulty twin."""

    def register(run: Faulty) -> Faulty:
        assert run.__name__ not in PAIRS, run.__name__
        PAIRS[run.__name__] = Pair(run, cause, severity)
        return run

    return register


def score(value: Any, chance: Any = None) -> None:
    """Note a final metric (higher is better) and that of an untrained or trivial model."""
    SCORES.append((float(value), None if chance is None else float(chance)))
