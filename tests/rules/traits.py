"""What a diagnosis looks at in findings and clues; cpp_impl/diagnose/traits.cc computes the same."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Set, Tuple

__all__ = ["TRAITS", "Trait", "traits_of"]

Trait = Tuple[str, str, str]  # rule, check, trait; a trait of all findings has no rule

EARLY, LATE = 15, 30  # steps
WIDE = 4  # tensors
LASTING = 20  # findings

# In the order of the C++ enumeration.
TRAITS = (
    "found", "first", "early", "late", "single", "wide", "lasting", "in_weight", "in_gradient",
    "in_loss", "in_input", "in_output", "in_label", "alone",
)  # fmt: skip


def role_of(tensor: str) -> str:
    """Returns what a tensor is, by the names that PyTorch's and TensorFlow's hooks give."""
    lower = tensor.lower()
    if "gradient" in lower:
        return "in_gradient"
    is_input = "_input" in lower or lower.startswith("inputs") or "/inputs" in lower
    if "loss" in lower:
        if not is_input:
            return "in_loss"
        return "in_output" if lower.endswith("input_0") else "in_label"
    if is_input:
        return "in_input" if tensor[0].isupper() or lower.startswith("inputs") else "in_output"
    return "in_output" if "_output" in lower or "/outputs" in lower else "in_weight"


def _of_check(seen: Mapping[str, Any], first_step: int) -> Set[str]:
    step = seen["step"]
    traits = {"found", role_of(seen["tensor"])}
    traits |= {"first"} if step == first_step and not seen["is_clue"] else set()
    traits |= {"early"} if step <= EARLY else set()
    traits |= {"late"} if step > LATE else set()
    traits |= {"single"} if seen["tensors"] == 1 else set()
    traits |= {"wide"} if seen["tensors"] >= WIDE else set()
    traits |= {"lasting"} if seen["count"] >= LASTING else set()
    return traits


def traits_of(seen: Sequence[Mapping[str, Any]]) -> Set[Trait]:
    """Returns the traits of what seen_by_diagnosis() returns."""
    findings = [each for each in seen if not each["is_clue"]]
    if not findings:
        return set()
    first_step = min(each["step"] for each in findings)
    traits = {
        (each["rule"], each["check"], trait)
        for each in seen
        for trait in _of_check(each, first_step)
    }
    traits |= {("", "", "early")} if first_step <= EARLY else set()
    traits |= {("", "", "late")} if first_step > LATE else set()
    traits |= {("", "", "alone")} if len({each["rule"] for each in findings}) == 1 else set()
    return traits
