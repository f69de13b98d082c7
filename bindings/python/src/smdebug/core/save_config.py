"""Save configs: which steps of which mode are saved."""

from __future__ import annotations

import json
import operator
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from smdebug import _raw
from smdebug._handles import Numbers, SaveConfigHandle, check, out
from smdebug.core.logger import get_logger
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

__all__ = [
    "ALLOWED_PARAMS",
    "DEFAULT_SAVE_CONFIG_END_STEP",
    "DEFAULT_SAVE_CONFIG_INTERVAL",
    "DEFAULT_SAVE_CONFIG_SAVE_STEPS",
    "DEFAULT_SAVE_CONFIG_START_STEP",
    "SaveConfig",
    "SaveConfigMode",
]

DEFAULT_SAVE_CONFIG_INTERVAL = 500
DEFAULT_SAVE_CONFIG_START_STEP = 0
DEFAULT_SAVE_CONFIG_END_STEP: Optional[int] = None
DEFAULT_SAVE_CONFIG_SAVE_STEPS: List[int] = []
_TOO_LARGE = 2**63
ALLOWED_PARAMS = ["save_interval", "save_steps", "start_step", "end_step"]

Number = Union[int, str]


class SaveConfigMode:
    """Which steps of one mode are saved.

    A step is saved if it is one of `save_steps`, or if it is a multiple of
    `save_interval` and ``start_step <= step < end_step``.

    Parameters
    ----------
    save_interval : int or str, optional
        At least 1; 500 if not given.
    start_step : int or str, optional
        0 if not given.
    end_step : int or str, optional
        The first step that is no longer saved; without end if not given.  If it is not
        after `start_step`, only `save_steps` are saved: 0 switches saving off.
    save_steps : list of int, optional
        Single steps, saved whatever the other parameters are.

    Raises
    ------
    SMDebugValueError
        If a parameter is not a number, or `save_interval` is below 1.

    Notes
    -----
    Steps begin at 0.  The original takes negative ones, so they are no error here: a
    warning names them, and they count as 0.
    """

    def __init__(
        self,
        save_interval: Optional[Number] = None,
        start_step: Optional[Number] = None,
        end_step: Optional[Number] = None,
        save_steps: Optional[Sequence[int]] = None,
    ) -> None:
        self.save_interval = _number("save_interval", save_interval, DEFAULT_SAVE_CONFIG_INTERVAL)
        self.start_step = _step("start_step", start_step, DEFAULT_SAVE_CONFIG_START_STEP)
        self.end_step = None if end_step is None else _step("end_step", end_step, 0)
        self.save_steps = _steps(save_steps)
        self._handle()
        if self.end_step is not None and self.end_step <= self.start_step:
            get_logger().info("%r saves nothing but save_steps: it ends before it starts", self)

    def should_save_step(self, step_num: int) -> bool:
        """Returns True if this step of the mode is saved."""
        handle = self._handle()
        return bool(_raw.smd_save_config_saves(handle, step_num, _raw.SMD_MODE_GLOBAL))

    def to_json_dict(self) -> Dict[str, Any]:
        """Returns the parameters by name."""
        return {
            "save_interval": self.save_interval,
            "save_steps": self.save_steps,
            "start_step": self.start_step,
            "end_step": self.end_step,
        }

    @classmethod
    def from_dict(
        cls,
        params: Optional[Mapping[str, Any]],
        default_values: Optional[Mapping[str, Any]] = None,
    ) -> Optional[SaveConfigMode]:
        """Makes settings from parameters by name; None gives None.

        Parameters that `params` does not hold come from `default_values`.
        """
        if params is None:
            return None
        defaults = {} if default_values is None else default_values
        for argument in (params, defaults):
            if not isinstance(argument, Mapping):
                raise SMDebugTypeError(f"{argument!r} is not a dict of save parameters")
        return cls(**{name: params.get(name, defaults.get(name)) for name in ALLOWED_PARAMS})

    def _handle(self) -> SaveConfigHandle:
        handle = SaveConfigHandle(out("save_config", _raw.smd_save_config_new))
        end = -1 if self.end_step is None else self.end_step
        steps = Numbers(self.save_steps)
        check(
            _raw.smd_save_config_set(
                handle,
                _raw.SMD_MODE_ANY,
                self.save_interval,
                self.start_step,
                end,
                steps,
                len(self.save_steps),
            )
        )
        return handle

    def _state(self) -> Tuple[Any, ...]:
        return self.save_interval, self.start_step, self.end_step, tuple(self.save_steps)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaveConfigMode):
            return NotImplemented
        return self._state() == other._state()

    def __repr__(self) -> str:
        return (
            f"SaveConfigMode(save_interval={self.save_interval}, start_step={self.start_step}, "
            f"end_step={self.end_step}, save_steps={self.save_steps})"
        )


class SaveConfig:
    """Which steps are saved, mode by mode.

    Parameters
    ----------
    mode_save_configs : dict of ModeKeys to SaveConfigMode, optional
        Settings of single modes.  A mode that is missing, or None, takes the settings of
        the config that this one is merged with, or else the defaults.  If this is given,
        the other parameters are ignored.
    save_interval, start_step, end_step, save_steps
        The same settings for every mode, as `SaveConfigMode` takes them.

    Raises
    ------
    SMDebugValueError
        If a parameter is of the wrong type or out of its range.
    """

    def __init__(
        self,
        mode_save_configs: Optional[Mapping[ModeKeys, Optional[SaveConfigMode]]] = None,
        save_interval: Optional[Number] = None,
        start_step: Optional[Number] = None,
        end_step: Optional[Number] = None,
        save_steps: Optional[Sequence[int]] = None,
    ) -> None:
        self.mode_save_configs: Dict[ModeKeys, Optional[SaveConfigMode]]
        if mode_save_configs is None:
            self.mode_save_configs = {
                mode: SaveConfigMode(save_interval, start_step, end_step, save_steps)
                for mode in ModeKeys
            }
            return
        if not isinstance(mode_save_configs, Mapping):
            raise SMDebugValueError(f"mode_save_configs={mode_save_configs!r} is not a dict")
        for mode, config in mode_save_configs.items():
            if not isinstance(mode, ModeKeys) or not isinstance(
                config, (SaveConfigMode, type(None))
            ):
                raise SMDebugValueError(
                    f"mode_save_configs maps modes to SaveConfigMode objects, "
                    f"not {mode!r} to {config!r}"
                )
        self.mode_save_configs = dict(mode_save_configs)
        for mode in ModeKeys:
            self.mode_save_configs.setdefault(mode, None)

    def get_save_config(self, mode: ModeKeys) -> SaveConfigMode:
        """Returns the settings of a mode; the defaults if it has none of its own."""
        config = self.mode_save_configs[_mode(mode)]
        return SaveConfigMode() if config is None else config

    def set_save_config(self, mode: ModeKeys, save_config_mode: SaveConfigMode) -> None:
        """Sets the settings of a mode."""
        if not isinstance(save_config_mode, SaveConfigMode):
            raise SMDebugValueError(f"{save_config_mode!r} is not a SaveConfigMode")
        self.mode_save_configs[_mode(mode)] = save_config_mode

    def should_save_step(self, mode: ModeKeys, step_num: int) -> bool:
        """Returns True if this step of the mode is saved."""
        return self.get_save_config(mode).should_save_step(step_num)

    def merge_default_save_config(self, default_save_config: SaveConfig) -> None:
        """Fills in the modes without settings from `default_save_config`, or the defaults."""
        for mode in ModeKeys:
            if self.mode_save_configs[mode] is None:
                default = default_save_config.mode_save_configs[mode]
                self.mode_save_configs[mode] = SaveConfigMode() if default is None else default

    def to_json_dict(self) -> Dict[str, Any]:
        """Returns the settings by mode name; None for a mode without settings."""
        return {
            mode.name: None if config is None else config.to_json_dict()
            for mode, config in self.mode_save_configs.items()
        }

    def to_json(self) -> str:
        """Returns `to_json_dict` as text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(
        cls,
        params: Optional[Mapping[Any, Any]],
        default_values: Optional[Mapping[str, Any]] = None,
    ) -> Optional[SaveConfig]:
        """Makes a config from settings by mode; None gives None.

        A mode is a ModeKeys or its name.  Settings are SaveConfigMode objects, dicts of
        their parameters (missing ones come from `default_values`), or None.
        """
        if params is None:
            return None
        if not isinstance(params, Mapping):
            raise SMDebugTypeError(f"{params!r} is not a dict of save settings")
        configs = {}
        for key, value in params.items():
            if isinstance(value, Mapping):
                value = SaveConfigMode.from_dict(value, default_values)
            configs[_mode(key)] = value
        return cls(mode_save_configs=configs)

    @classmethod
    def from_json(cls, json_str: str) -> Optional[SaveConfig]:
        """Makes a config from the text that `to_json` returns."""
        return cls.from_dict(_loads(json_str))

    @classmethod
    def from_save_config_mode(cls, save_config_mode: SaveConfigMode) -> SaveConfig:
        """Makes a config with the same settings for every mode."""
        return cls(mode_save_configs={mode: save_config_mode for mode in ModeKeys})

    @classmethod
    def parse(cls, obj: object) -> SaveConfig:
        """Makes a config from a config, from settings, from a dict, or from None.

        Raises
        ------
        SMDebugTypeError
            If `obj` is none of these.
        """
        if obj is None:
            return cls()
        if isinstance(obj, SaveConfig):
            return obj
        if isinstance(obj, SaveConfigMode):
            return cls.from_save_config_mode(obj)
        if isinstance(obj, Mapping):
            parsed = cls.from_dict(obj)
            assert parsed is not None
            return parsed
        raise SMDebugTypeError(f"{obj!r} does not stand for a SaveConfig")

    def _handle(self) -> SaveConfigHandle:
        return SaveConfigHandle(out("save_config", _raw.smd_save_config_from_json, self.to_json()))

    def _state(self) -> Tuple[Any, ...]:
        configs = [self.mode_save_configs[mode] for mode in ModeKeys]
        return tuple(None if config is None else config._state() for config in configs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaveConfig):
            return NotImplemented
        return self._state() == other._state()

    def __repr__(self) -> str:
        return f"SaveConfig({self.mode_save_configs})"


# The types that `SaveConfig.parse` takes.
SaveSettings = Union[SaveConfig, SaveConfigMode, Mapping[Any, Any], None]


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SMDebugValueError(f"not valid JSON: {error}") from error


def _mode(key: object) -> ModeKeys:
    if isinstance(key, ModeKeys):
        return key
    if isinstance(key, str) and key in ModeKeys.__members__:
        return ModeKeys[key]
    raise SMDebugValueError(f"{key!r} is not a mode")


def _number(name: str, value: Optional[Number], default: int) -> int:
    if value is None:
        return default
    try:
        number = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError) as error:
        raise SMDebugValueError(f"{name}={value!r} is not a whole number") from error
    if not -_TOO_LARGE <= number < _TOO_LARGE:
        raise SMDebugValueError(f"{name}={value!r} does not fit into 64 bits")
    return number


def _step(name: str, value: Optional[Number], default: int) -> int:
    step = _number(name, value, default)
    if step < 0:
        get_logger().warning("%s=%s counts as 0: steps begin at 0", name, step)
    return max(step, 0)


def _steps(steps: Optional[Sequence[int]]) -> List[int]:
    if steps is None:
        return []
    if not isinstance(steps, list):
        raise SMDebugValueError(f"save_steps={steps!r} is not a list of steps")
    try:
        numbers = [operator.index(step) for step in steps]
    except TypeError as error:
        raise SMDebugValueError(f"save_steps={steps!r} holds more than whole numbers") from error
    if any(number >= _TOO_LARGE for number in numbers):
        raise SMDebugValueError(f"save_steps={steps!r} holds a step that does not fit into 64 bits")
    if any(number < 0 for number in numbers):
        get_logger().warning("save_steps=%s: steps begin at 0; negative ones are ignored", steps)
    return [number for number in numbers if number >= 0]
