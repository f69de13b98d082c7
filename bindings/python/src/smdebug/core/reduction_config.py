"""Selects what is saved for a tensor: reductions, the tensor itself, its shape."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from smdebug import _raw
from smdebug._handles import ReductionConfigHandle, out
from smdebug.exceptions import SMDebugValueError

__all__ = ["ALLOWED_NORMS", "ALLOWED_PARAMS", "ALLOWED_REDUCTIONS", "ReductionConfig"]

ALLOWED_REDUCTIONS = ["min", "max", "median", "mean", "std", "variance", "sum", "prod"]
ALLOWED_NORMS = ["l1", "l2"]
REDUCTION_CONFIG_VERSION_NUM = "v0"
ALLOWED_PARAMS = [
    "reductions",
    "abs_reductions",
    "norms",
    "abs_norms",
    "save_raw_tensor",
    "save_shape",
]


class ReductionConfig:
    """Selects what is saved for a tensor.

    Parameters
    ----------
    reductions : list of str, optional
        Any of min, max, median, mean, std, variance, sum and prod.
    abs_reductions : list of str, optional
        The same, computed on the absolute values.
    norms : list of str, optional
        Any of l1 and l2, over all elements.
    abs_norms : list of str, optional
        The same, computed on the absolute values.
    save_raw_tensor : bool
        Whether the tensor itself is saved too.
    save_shape : bool
        Whether its shape is saved too.

    Raises
    ------
    SMDebugValueError
        If a name is not one of these, or a switch is not a bool.
    """

    def __init__(
        self,
        reductions: Optional[Sequence[str]] = None,
        abs_reductions: Optional[Sequence[str]] = None,
        norms: Optional[Sequence[str]] = None,
        abs_norms: Optional[Sequence[str]] = None,
        save_raw_tensor: bool = False,
        save_shape: bool = False,
    ) -> None:
        self.reductions = _names("reductions", reductions, ALLOWED_REDUCTIONS)
        self.abs_reductions = _names("abs_reductions", abs_reductions, ALLOWED_REDUCTIONS)
        self.norms = _names("norms", norms, ALLOWED_NORMS)
        self.abs_norms = _names("abs_norms", abs_norms, ALLOWED_NORMS)
        self.save_raw_tensor = _switch("save_raw_tensor", save_raw_tensor)
        self.save_shape = _switch("save_shape", save_shape)

    @classmethod
    def from_dict(cls, params: Optional[Mapping[str, Any]]) -> Optional[ReductionConfig]:
        """Returns a config for the keys "reductions", "save_raw_tensor" and "save_shape".

        "reductions" is a comma-separated list of names.  The prefix "abs_" selects the
        absolute values; norms may end in "_norm".  The switches may be the texts "true" and
        "false".  Returns None for None.
        """
        if params is None:
            return None
        if not isinstance(params, Mapping):
            raise SMDebugValueError(f"{params!r} is not a dict of reduction settings")
        items: List[str] = []
        # Collections files hide from the original the reductions that it does not know.
        for key in ("reductions", "extra_reductions"):
            names = params.get(key, "")
            if not isinstance(names, str):
                raise SMDebugValueError(f"{key}={names!r} is not a comma-separated list")
            items.extend(filter(None, map(str.strip, names.split(","))))
        groups: Dict[Tuple[bool, bool], List[str]] = {}
        for item in items:
            absolute = item.startswith("abs_")
            name = item[4:] if absolute else item
            bare = name[: -len("_norm")] if name.endswith("_norm") else name
            is_norm = bare in ALLOWED_NORMS or bare != name
            groups.setdefault((absolute, is_norm), []).append(bare)
        return cls(
            reductions=groups.get((False, False)),
            abs_reductions=groups.get((True, False)),
            norms=groups.get((False, True)),
            abs_norms=groups.get((True, True)),
            save_raw_tensor=_flag(params.get("save_raw_tensor", False)),
            save_shape=_flag(params.get("save_shape", False)),
        )

    @classmethod
    def from_json(cls, json_str: str) -> Optional[ReductionConfig]:
        """Returns a config for a text of `to_json`."""
        try:
            params = json.loads(json_str)
        except ValueError as error:
            raise SMDebugValueError(f"not valid JSON: {error}") from error
        return cls.from_dict(params)

    def to_json_dict(self) -> Dict[str, Any]:
        """Returns the dict that `from_dict` reads."""
        names = [
            *self.reductions,
            *(f"{name}_norm" for name in self.norms),
            *(f"abs_{name}" for name in self.abs_reductions),
            *(f"abs_{name}_norm" for name in self.abs_norms),
        ]
        return {
            "save_raw_tensor": self.save_raw_tensor,
            "reductions": ",".join(names),
            "save_shape": self.save_shape,
        }

    def to_json(self) -> str:
        """Returns `to_json_dict` as text."""
        return json.dumps(self.to_json_dict())

    def _handle(self) -> ReductionConfigHandle:
        return ReductionConfigHandle(
            out("reduction_config", _raw.smd_reduction_config_from_json, self.to_json())
        )

    def _state(self) -> Tuple[Any, ...]:
        return (
            tuple(self.reductions),
            tuple(self.abs_reductions),
            tuple(self.norms),
            tuple(self.abs_norms),
            self.save_raw_tensor,
            self.save_shape,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReductionConfig):
            return NotImplemented
        return self._state() == other._state()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in ALLOWED_PARAMS)
        return f"ReductionConfig({settings})"


def _names(parameter: str, names: Optional[Sequence[str]], allowed: List[str]) -> List[str]:
    if names is None:
        return []
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise SMDebugValueError(f"{parameter}={names!r} is not a list of names")
    for name in names:
        if name not in allowed:
            raise SMDebugValueError(f"{parameter} can hold {', '.join(allowed)}, but not {name!r}")
    return list(names)


def _switch(parameter: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise SMDebugValueError(f"{parameter}={value!r} is not a bool")
    return value


def _flag(value: Any) -> Any:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value
