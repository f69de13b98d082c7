"""Records where the time of a job goes: a timeline of events, and samples of the machine."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Callable, Mapping, Optional, Type, TypeVar, Union

from smdebug import _raw
from smdebug._handles import ProfilerHandle, ProfilerOptions, check, out, out_text, text
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

__all__ = ["Profiler", "Span"]

_event = _raw.profiler_event
_now = _raw.profiler_now
_quote: Callable[[Any], str] = json.encoder.encode_basestring_ascii
_encode = json.JSONEncoder(allow_nan=False).encode

AnyProfiler = TypeVar("AnyProfiler", bound="Profiler")


class Profiler:
    """Records events into a profile, which the readers of this package and of the original read.

    As a context manager, it is closed after the block.

    Parameters
    ----------
    out_dir : str or path
        The folder of the profile, or s3://bucket/prefix.
    node : str, optional
        The name of this process in file names.  Default: its number and the host's name.
    system_node : str, optional
        The name of this machine in samples, "algo-" and a number.
    sample_milliseconds : int
        How often the machine is sampled: 100, 200, 500, 1000, 5000 or 60000; 0: never.
    sample_gpus : bool
        Whether GPUs are sampled too.
    rotate_seconds : float
        The time after which readers see an event at the latest.
    options : mapping of str to str, optional
        Further options of the C library by name, as {"buffer_bytes": "1048576"}.

    Raises
    ------
    SMDebugError
        If the folder cannot be written, or an option has a wrong value.

    Examples
    --------
    >>> with Profiler("profile") as profiler:
    ...     with profiler.span("load", phase="DataLoaderIter", step=0):
    ...         batch = next(batches)
    """

    def __init__(
        self,
        out_dir: Union[str, os.PathLike[str]],
        *,
        node: Optional[str] = None,
        system_node: Optional[str] = None,
        sample_milliseconds: int = 0,
        sample_gpus: bool = True,
        rotate_seconds: float = 60,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        raw_options = _options(
            {
                "out_dir": os.fspath(out_dir),
                "node": node,
                "system_node": system_node,
                "sample_milliseconds": sample_milliseconds,
                "sample_gpus": sample_gpus,
                "rotate_seconds": rotate_seconds,
                **(options or {}),
            }
        )
        self._handle = ProfilerHandle(out("profiler", _raw.smd_profiler_new, raw_options))

    @classmethod
    def from_config(
        cls: Type[AnyProfiler],
        path: Union[str, os.PathLike[str], None] = None,
        **options: object,
    ) -> AnyProfiler:
        """Opens a profiler that follows the configuration file of the training service.

        Parameters
        ----------
        path : str or path, optional
            The file.  Default: the one that SMPROFILER_CONFIG_PATH names, else
            /opt/ml/input/config/profilerconfig.json.
        **options
            What the file does not say, by the names of the parameters of `Profiler`.

        Returns
        -------
        Profiler
            One that drops all events while the file is missing, or switches it off.

        Raises
        ------
        SMDebugValueError
            If the file is not a JSON object.
        """
        profiler = cls.__new__(cls)
        file = None if path is None else text(os.fspath(path), "path")
        raw_options = _options(options)
        profiler._handle = ProfilerHandle(
            out("profiler", _raw.smd_profiler_follow, file, raw_options)
        )
        return profiler

    # ---- events -------------------------------------------------------------------

    def now(self) -> int:
        """Returns the time of events: microseconds since 1970, which never decrease."""
        return _now(self._handle)

    def event(
        self,
        name: str,
        phase: str,
        begin: int,
        duration: Optional[int] = None,
        step: Optional[int] = None,
        **args: object,
    ) -> None:
        """Records an event of this thread.

        Parameters
        ----------
        name : str
            What happened.
        phase : str
            The group of the event, such as "Forward".
        begin : int
            When it began, as `now` gives it.
        duration : int, optional
            The microseconds that it took.  Default: until now.
        step : int, optional
            The step that the event belongs to.
        **args
            What else to record, as JSON.

        Raises
        ------
        SMDebugValueError, SMDebugTypeError
            If an argument is invalid.
        SMDebugRuntimeError
            If the profiler is closed.
        """
        _event(self._handle, name, phase, begin, duration, step, _members(args) if args else None)

    def span(
        self, name: str, phase: Optional[str] = None, step: Optional[int] = None, **args: object
    ) -> Span:
        """Returns a context manager that records its block as an event.

        The parameters are those of `event`; the phase defaults to the name.
        """
        return Span(self._handle, name, phase or name, step, _members(args) if args else None)

    def instant(
        self, name: str, phase: Optional[str] = None, step: Optional[int] = None, **args: object
    ) -> None:
        """Records a moment: now."""
        check(
            _raw.smd_profiler_instant(
                self._handle,
                text(name),
                text(phase or name, "phase"),
                -1 if step is None else step,
                _members(args) if args else None,
            )
        )

    # ---- configuration --------------------------------------------------------------

    def update(self) -> bool:
        """Rereads the configuration file if it changed; call it between steps.

        Returns
        -------
        bool
            Whether events are recorded.
        """
        return bool(_raw.smd_profiler_update(self._handle))

    def is_active(self, feature: str, step: int, name: Optional[str] = None) -> bool:
        """Returns True if a feature is to be profiled at this step, now.

        Parameters
        ----------
        feature : str
            "detailed", "dataloader", "python", "smdataparallel" or "horovod".
        step : int
            The step.
        name : str, optional
            The name of an event, which "MetricsRegex" of the file selects for "dataloader".

        Raises
        ------
        SMDebugValueError
            If there is no such feature.
        """
        found: int = _raw.smd_profiler_is_active(self._handle, text(feature, "feature"), step, name)
        if found < 0:
            raise SMDebugValueError(f"a profiler has no feature {feature!r}")
        return bool(found)

    def setting(self, name: str) -> str:
        """Returns a setting in force: "config_path", "out_dir", "metrics_regex",
        "profiler_name" or "cprofile_timer"."""
        return out_text(_raw.smd_profiler_get, self._handle, text(name, "setting"))

    # ---- life -----------------------------------------------------------------------

    def count(self, name: str) -> int:
        """Returns "events_written", "events_dropped", "files_written", "bytes_written" or
        "samples"."""
        found: int = _raw.smd_profiler_count(self._handle, text(name))
        if found < 0:
            raise SMDebugValueError(f"a profiler does not count {name!r}")
        return found

    def flush(self, timeout: Optional[float] = None) -> None:
        """Ends the open files, so that readers see all events so far.

        Raises
        ------
        SMDebugTimeoutError
            If that takes more than `timeout` seconds.
        SMDebugError
            The first error of the writing threads not yet reported.
        """
        milliseconds = -1 if timeout is None else int(min(timeout, 2_000_000) * 1000)
        check(_raw.smd_profiler_flush(self._handle, milliseconds))

    def close(self) -> None:
        """Writes everything and marks the profile as finished.  A second call does nothing.

        Raises
        ------
        SMDebugError
            The first error of the writing threads not yet reported.
        """
        try:
            check(_raw.smd_profiler_close(self._handle))
        finally:
            _raw.flush_log()

    def __enter__(self: AnyProfiler) -> AnyProfiler:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class Span:
    """Records a block as an event."""

    __slots__ = ("_args", "_begin", "_handle", "_name", "_phase", "_step")

    def __init__(
        self,
        handle: ProfilerHandle,
        name: str,
        phase: str,
        step: Optional[int],
        args: Optional[str],
    ) -> None:
        self._handle = handle
        self._name = name
        self._phase = phase
        self._step = step
        self._args = args

    def __enter__(self) -> Span:
        self._begin = _now(self._handle)
        return self

    def __exit__(
        self,
        error_type: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        _event(self._handle, self._name, self._phase, self._begin, None, self._step, self._args)


def _options(settings: Mapping[str, object]) -> ProfilerOptions:
    options = ProfilerOptions()
    for name, value in settings.items():
        if value is not None:
            options.set(name, value)
    return options


def _members(args: Mapping[str, object]) -> str:
    # Most events have a few numbers and names, for which the encoder of JSON is slow.
    texts = []
    for key, value in args.items():
        kind = type(value)
        if kind is int and key.isidentifier():
            texts.append(f'"{key}": {value}')
        elif kind is str and key.isidentifier():
            texts.append(f'"{key}": {_quote(value)}')
        else:
            return _encoded(args)
    return f"{{{', '.join(texts)}}}"


def _encoded(args: Mapping[str, object]) -> str:
    try:
        return _encode(args)
    except ValueError as error:
        raise SMDebugValueError(f"the event's arguments {args!r} are no JSON: {error}") from error
    except TypeError as error:
        raise SMDebugTypeError(f"the event's arguments {args!r} are no JSON: {error}") from error
