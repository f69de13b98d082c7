"""Times how long a training waits for the data of PyTorch's DataLoader, and how long its workers
take for it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from multiprocessing import util
from typing import Any, Callable, List, Optional, Protocol

from smdebug import _raw
from smdebug.core.utils import import_framework
from smdebug.profiler.recording import Profiler

__all__ = ["watch_loaders"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


class _Profile(Protocol):
    """The part of the profile that this module uses."""

    profiler: Profiler
    out_dir: str
    is_on: bool
    has_sizes: bool

    def now(self) -> int: ...

    def record(self, name: str, phase: str, begin: int, args: Optional[str] = None) -> None: ...


class _Watch:
    """Replaces methods of PyTorch's classes while there are profiles."""

    def __init__(self) -> None:
        self.profiles: List[_Profile] = []
        self._originals: List[Any] = []
        self._knows_forks = False
        self._is_inherited = False  # the profiles are those of the process that forked this one

    def add(self, profile: _Profile) -> None:
        if self._is_inherited:
            self.profiles.clear()
            self._is_inherited = False
        self.profiles.append(profile)
        if not self._knows_forks and hasattr(os, "register_at_fork"):
            self._knows_forks = True
            os.register_at_fork(after_in_child=self._was_forked)
        if not self._originals:
            data = torch.utils.data
            self._replace(data.dataloader._BaseDataLoaderIter, "__next__", _timed_next)
            self._replace(data.DataLoader, "__iter__", _timed_iter)
            for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
                self._replace(getattr(data._utils.fetch, name), "fetch", _timed_fetch)

    def remove(self, profile: _Profile) -> None:
        if profile in self.profiles:
            self.profiles.remove(profile)
        if not self.profiles:
            while self._originals:
                owner, name, original, ours = self._originals.pop()
                if owner.__dict__.get(name) is ours:
                    setattr(owner, name, original)

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = owner.__dict__.get(name)
        if original is None:
            return
        ours = functools.wraps(original)(make(original))
        self._originals.append((owner, name, original, ours))
        setattr(owner, name, ours)

    def _was_forked(self) -> None:
        self._is_inherited = True

    def active(self) -> Optional[_Profile]:
        """Returns the profile to record into; None in a worker, and if all are off."""
        if not self._is_inherited:
            for each in self.profiles:
                if each.is_on:
                    return each
        return None


_watch = _Watch()


def watch_loaders(profile: _Profile) -> Callable[[], None]:
    """Records the waits for data into the profile, until the returned function is called."""
    _watch.add(profile)
    return lambda: _watch.remove(profile)


# ---- in the training -----------------------------------------------------------------


def _timed_next(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def timed(iterator: Any) -> Any:
        profile = _watch.active()
        if profile is None:
            return original(iterator)
        worker = _next_worker(iterator) if getattr(iterator, "_num_workers", 1) else None
        begin = profile.now()
        batch = original(iterator)
        args = None
        if worker is not None or profile.has_sizes:
            args = _describe(profile, batch, worker)
        profile.record(f"{type(iterator).__name__}::GetNext", "DataLoaderIter", begin, args)
        return batch

    return timed


def _timed_iter(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def timed(loader: Any) -> Any:
        profile = _watch.active()
        if profile is None:
            return original(loader)
        begin = profile.profiler.now()
        iterator = original(loader)
        args = json.dumps(
            {"num_workers": loader.num_workers, "pin_memory": bool(loader.pin_memory)}
        )
        name = f"{type(iterator).__name__}.__init__"
        profile.record(name, "DataLoaderIterInitialize", begin, args)
        return iterator

    return timed


def _describe(profile: _Profile, batch: Any, worker: Optional[int]) -> str:
    if not profile.has_sizes:
        return f'{{"worker_id": {worker}}}'
    args = {} if worker is None else {"worker_id": worker}
    return json.dumps({**args, "bytes": _size_of(batch)})


def _next_worker(iterator: Any) -> Optional[int]:
    """Returns the number of the worker that makes the next batch, where PyTorch tells."""
    tasks = getattr(iterator, "_task_info", None)
    task = tasks.get(getattr(iterator, "_rcvd_idx", None)) if isinstance(tasks, dict) else None
    worker = task[0] if isinstance(task, tuple) and task else None
    return worker if isinstance(worker, int) else None


def _size_of(batch: Any) -> int:
    """Returns the bytes of the tensors in a batch."""
    if isinstance(batch, torch.Tensor):
        return int(batch.numel() * batch.element_size())
    if type(batch) is dict:
        return sum(_size_of(each) for each in batch.values())
    if isinstance(batch, (list, tuple)):
        return sum(_size_of(each) for each in batch)
    return 0


# ---- in the workers ---------------------------------------------------------------------


class _Worker:
    """Records what a worker process fetches: it inherits the methods, but not the profiler."""

    def __init__(self) -> None:
        self.process = 0
        self.profiler: Optional[Profiler] = None

    def active(self) -> Optional[Profiler]:
        """Returns the profiler of this worker, if the training was profiled when it began."""
        if self.process != os.getpid():
            self.process = os.getpid()
            self.profiler = None
            profile = next((each for each in _watch.profiles if each.is_on), None)
            if profile is None:
                return None
            try:
                self.profiler = Profiler(profile.out_dir)
                # Written when the worker ends; only the training marks the profile as finished.
                util.Finalize(self, self._end, exitpriority=10)
            except Exception:
                return None
        return self.profiler

    def _end(self) -> None:
        self.profiler = None


_worker = _Worker()


def _timed_fetch(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def timed(fetcher: Any, index: Any) -> Any:
        info = torch.utils.data.get_worker_info()
        profiler = None if info is None else _worker.active()
        if profiler is None:
            return original(fetcher, index)
        begin = profiler.now()
        batch = original(fetcher, index)
        args = json.dumps({"worker_id": info.id})
        name = f"{type(fetcher).__name__}::fetch"
        with contextlib.suppress(Exception):  # the data must arrive
            _raw.profiler_event(
                profiler._handle, name, "DataLoaderWorker", begin, None, None, args
            )
        return batch

    return timed
