"""The tensors of devices that a hook records: what is wanted of them arrives later.

Nothing here waits for a device, unless results are more than four steps behind, or it is asked to.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from smdebug import _raw
from smdebug.core.error_policy import is_switched_on
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugRuntimeError
from smdebug.pytorch.device_batch import DeviceBatch
from smdebug.pytorch.device_statistics import means_of
from smdebug.pytorch.host_copies import (
    device_guard,
    is_capturing,
    join_streams,
    memory_of,
)
from smdebug.pytorch.late_entry import (
    Entry,
    Guard,
    Kind,
    Watched,
    is_metric,
    row_of,
    send_raw,
    version_of,
)
from smdebug.pytorch.wrapped import outside_transforms, unwrapped

__all__ = ["LateTensors"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# How much memory that the training may have given back is held before it is reduced: so many
# bytes, or a share of the device's.
_MOST_HELD = 64 << 20
_SHARE_HELD = 256
# Larger tensors that something may change are not copied, but reduced at once.
_MOST_COPIED = 16 << 20
# Of how many calls of a model one asks again what the training keeps.
_ASKING = 8
_MOST_STEPS_BEHIND = 4


class _Launched(NamedTuple):
    """Tensors of a step whose results are under way."""

    step: int
    entries: List[Entry]
    batch: DeviceBatch


class LateTensors:
    """Reduces tensors of devices in batches, and sends the results to the hook when they are there.

    Failures are noted in the hook; the tensors are missing then.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._takes_all = is_switched_on("SMDEBUG_TEST_DEVICE_PATH")
        # Of the open step: tensors that are not reduced yet, and the last one of each name.
        self._waiting: List[Entry] = []
        self._known: Dict[str, Entry] = {}
        self._held = 0  # bytes that only the hook keeps
        self._has_held = False  # tensors that are not copied
        self._is_batching = False
        self._kinds: Dict[str, Kind] = {}
        self._runs_after_backward = False
        self._guard: Optional[Guard] = None
        self._launched: Deque[_Launched] = deque()
        # Whether nothing changes the outputs of a name before the model returns.
        self._is_steady: Dict[str, bool] = {}
        # Names of those whose memory the training keeps until the model returns.
        self._kept: Set[str] = set()
        self._watched: List[Watched] = []
        self._returns = 0  # of models

    def takes(self, tensor: Any) -> bool:
        """Returns True if a tensor is recorded here: it is on a device."""
        return self._takes_all or tensor.device.type not in ("cpu", "meta")

    @property
    def takes_all(self) -> bool:
        """Whether those of the CPU are recorded here too, for a test."""
        return self._takes_all

    # ---- tensors of the open step ----------------------------------------------------------

    def add_each(
        self, named: List[Tuple[str, Any]], are_made: bool = False
    ) -> List[Tuple[str, Exception]]:
        """Records tensors of the open step, if somebody wants them.

        Parameters
        ----------
        named : list of (str, torch.Tensor)
            Their names, and the tensors that the training has.
        are_made : bool
            Whether the hook made the tensors, which live as long as they are held here.

        Returns
        -------
        list of (str, Exception)
            What failed, and why.
        """
        failures: List[Tuple[str, Exception]] = []
        if self._is_elsewhere():
            return failures
        with self._lock:
            for name, tensor in named:
                try:
                    self._add(name, tensor, are_made)
                except Exception as error:
                    failures.append((name, error))
        return failures

    def _add(self, name: str, tensor: Any, is_made: bool) -> None:
        entry = self._expected(name, tensor)
        if entry is None:
            return
        if not self._is_batching:
            self._add_output(entry, tensor.requires_grad and torch.is_grad_enabled())
        elif is_made:
            self._held += entry.kind.size
        self._launch_if_many(entry)

    def _launch_if_many(self, last: Entry) -> None:
        if self._held > _MOST_HELD and self._held > memory_of(last.kind.device) // _SHARE_HELD:
            self.launch()

    def _add_output(self, entry: Entry, has_graph: bool) -> None:
        """Adds what a module has computed, which the training may change before the model returns."""
        name, version = entry.name, version_of(entry.tensor)
        if entry.kind.is_small:
            self._copy(entry)  # cheaper than to find out whether something changes it
        elif version is not None and self._is_steady.get(name):
            if self._returns % _ASKING == 0:
                self._watched.append(Watched(entry))
            self._hold(entry, has_graph and name in self._kept)
        else:
            if version is not None and name not in self._is_steady:
                self._watched.append(Watched(entry, version))
            if entry.kind.size > _MOST_COPIED or is_capturing(entry.kind.device):
                self.launch()
            else:
                self._copy(entry)
                self._held += entry.kind.size

    def _copy(self, entry: Entry) -> None:
        entry.tensor = unwrapped(entry.tensor.clone())
        entry.note_stream()

    def add_gradient(self, name: str, gradient: Any) -> None:
        """Records a gradient in a backward pass, at whose end it is reduced."""
        if self._is_elsewhere():
            return
        with self._lock:
            entry = self._expected(name, gradient)
            if entry is None:
                return
            self._hold(entry)
            self._launch_if_many(entry)
            if self._waiting and not self._runs_after_backward:
                self._runs_after_backward = self._run_after_backward()

    def _run_after_backward(self) -> bool:
        try:
            torch.autograd.Variable._execution_engine.queue_callback(self.launch)
        except RuntimeError:  # A script has called the gradient's callback itself.
            self.launch()
            return False
        return True

    def _hold(self, entry: Entry, is_kept: bool = False) -> None:
        """Keeps a tensor until it is reduced.  `is_kept` tells that the training does so too."""
        entry.version = version_of(entry.tensor)
        entry.note_stream()
        self._has_held = True
        self._held += 0 if is_kept else entry.kind.size

    def _expected(self, name: str, tensor: Any) -> Optional[Entry]:
        before = self._known.get(name)
        hook = self._hook
        parts = _raw.expect(hook._handle, name) if before is None else before.parts
        if not parts:
            return None
        try:
            kind = self._kinds.get(name)
            if kind is None or not kind.fits(tensor):
                tensor = hook._plain(tensor)
                kind = self._kinds[name] = Kind(tensor)
            elif not self._is_batching:
                # A tensor that waits must not keep its graph.
                tensor = unwrapped(tensor.detach())
            entry = Entry(name, tensor, parts, kind, self._guard)
            if hook._metrics is not None:
                entry.metric = (hook.mode, hook.mode_steps[hook.mode])
        except Exception:
            if before is None:
                hook.forgo(name, int(hook.step))
            raise
        if before is not None:
            before.is_void = True
        self._known[name] = entry
        self._waiting.append(entry)
        return entry

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Reduces together what is added in the block, before the training goes on."""
        self._is_batching = True
        try:
            yield
        finally:
            self._is_batching = False
            self.launch()

    def begin_guard(self, number: Any, tell: Callable[[], None]) -> None:
        """Makes what is added until `end_guard` void if a number is not zero, and calls `tell`."""
        if self._is_elsewhere():
            return
        self._guard = Guard(number, tell)
        self._waiting.append(self._guard)

    def end_guard(self) -> None:
        self._guard = None

    def on_return(self) -> None:
        """Reduces what a model has computed, since the training may change it now."""
        if not self.expects:
            return
        with self._lock:
            watched, self._watched = self._watched, []
            self._returns += 1
            for each in watched:
                if each.is_new:
                    before = self._is_steady.get(each.name, True)
                    self._is_steady[each.name] = before and not each.has_changed()
            if self._has_held or self._held > 0:
                self.launch()
            for each in watched:
                (self._kept.add if each.is_kept() else self._kept.discard)(each.name)

    # ---- reducing --------------------------------------------------------------------------

    def launch(self) -> None:
        """Begins to reduce what waits."""
        if not (self._waiting or self._held or self._has_held or self._runs_after_backward):
            return
        if self._is_elsewhere():
            return
        with self._lock:
            entries = [entry for entry in self._waiting if not entry.is_void]
            self._waiting = []
            self._held = 0
            self._has_held = False
            self._runs_after_backward = False
            devices: Dict[Any, List[Entry]] = {}
            for entry in entries:
                devices.setdefault(entry.kind.device, []).append(entry)
            for device, some in devices.items():
                try:
                    self._launch_on(device, some)
                except Exception as error:
                    self._lose(int(self._hook.step), some, error)

    def _launch_on(self, device: Any, entries: List[Entry]) -> None:
        if is_capturing(device):
            raise SMDebugRuntimeError(
                "tensors cannot be recorded while a CUDA graph is captured; capture it before the "
                "hook's first step, or at a step that saves nothing"
            )
        with device_guard(device), outside_transforms():
            streams = [(each.tensor, each.stream) for each in entries if each.stream is not None]
            join_streams(device, streams)
            unchanged = [entry for entry in entries if not entry.has_changed()]
            if len(unchanged) < len(entries):
                self._lose_changed([entry for entry in entries if entry.has_changed()])
            if not unchanged:
                return
            batch = DeviceBatch(unchanged, device)
        for entry in unchanged:
            entry.tensor = None
        self._launched.append(_Launched(int(self._hook.step), unchanged, batch))

    def _lose_changed(self, entries: List[Entry]) -> None:
        for entry in entries:
            self._is_steady[entry.name] = False
        error = SMDebugRuntimeError(
            "it was changed in place before it was reduced; from now on it is copied before that"
        )
        self._lose(int(self._hook.step), entries, error)

    # ---- results ---------------------------------------------------------------------------

    @property
    def expects(self) -> bool:
        """Whether results will come."""
        return bool(self._launched or self._waiting or self._runs_after_backward)

    def collect(self) -> None:
        """Sends results of ended steps that are there."""
        self._collect(self._last_ended())

    def end_step(self, waits: bool, takes: bool = True) -> None:
        """Reduces what is left of the open step, and sends results that are there, or all.

        Without `takes`, `collect` sends them.
        """
        if self.expects:
            self.launch()
            if takes:
                self._collect(int(self._hook.step), waits)
        self._forget_step()

    def wait(self) -> None:
        """Waits for the results of ended steps."""
        self._collect(self._last_ended(), waits=True)

    def _last_ended(self) -> int:
        return int(self._hook.step) - bool(self._hook._step_is_open)

    def discard(self) -> None:
        """Forgets the open step, which the hook has discarded."""
        with self._lock:
            step = int(self._hook.step)
            self._waiting = []
            self._held = 0
            self._has_held = False
            kept = [each for each in self._launched if each.step != step]
            self._launched = deque(kept)
            self._forget_step()

    def _forget_step(self) -> None:
        self._known.clear()
        self._watched.clear()
        self._guard = None

    def _collect(self, last: int, waits: bool = False) -> None:
        if not self._launched or self._is_elsewhere():
            return
        with self._lock:
            while self._launched and self._launched[0].step <= last:
                oldest = self._launched[0]
                if not waits and not self._is_far_behind() and not self._is_done(oldest):
                    return
                self._launched.popleft()
                self._send(oldest)

    def _is_far_behind(self) -> bool:
        return len({each.step for each in self._launched}) > _MOST_STEPS_BEHIND

    def _is_done(self, launched: _Launched) -> bool:
        try:
            if is_capturing(launched.entries[0].kind.device):
                return False  # Asking would end the capture.
            return launched.batch.is_done(launched.step < int(self._hook.step))
        except RuntimeError:
            return True  # The device has failed: taking the results tells how.

    def _send(self, launched: _Launched) -> None:
        try:
            with outside_transforms():
                launched.batch.wait()
        except Exception as error:
            self._lose(launched.step, launched.entries, error)
            return
        # First the guards, which are raw: they tell whether the others count.
        for number, entry in enumerate(launched.entries):
            if not entry.is_raw or entry.is_void:
                continue
            try:
                if isinstance(entry, Guard):
                    entry.settle(launched.batch.elements(number))
                elif self._lets_pass(launched.step, entry):
                    send_raw(self._hook, launched.step, entry, launched.batch, number)
            except Exception as error:
                self._lose(launched.step, [entry], error)
        for members, table in launched.batch.tables():
            self._send_table(launched, members, table)

    def _send_table(
        self, launched: _Launched, members: List[int], table: "memoryview[float]"
    ) -> None:
        hook, batch, step = self._hook, launched.batch, launched.step
        entries = [launched.entries[number] for number in members]
        try:
            rows = tuple(
                row_of(entry, batch.elements(number))
                if not entry.is_void and self._lets_pass(step, entry)
                else None
                for number, entry in zip(members, entries)
            )
            failed = _raw.save_late_rows(hook._handle, step, table, rows)
        except Exception as error:
            self._lose(step, entries, error)
            return
        for number, reason in failed:
            self._lose(step, [entries[number]], reason)
        if hook._metrics is not None:
            for entry, mean in zip(entries, means_of(table, len(entries))):
                if not entry.is_void and is_metric(hook, entry):
                    hook._metrics.log(entry.name, mean, *entry.metric)

    def _lets_pass(self, step: int, entry: Entry) -> bool:
        """Returns True if the step of the optimizer was not skipped; else gives the tensor up."""
        if entry.guard is None or entry.guard.lets_pass:
            return True
        entry.is_void = True
        self._hook.forgo(entry.name, step)
        return False

    def _lose(self, step: int, entries: List[Entry], error: Exception) -> None:
        """Notes that tensors are not recorded.  Their step is complete without them."""
        lost = [entry for entry in entries if not entry.is_void and not isinstance(entry, Guard)]
        for entry in lost:
            entry.is_void = True
            entry.tensor = None
            if self._known.get(entry.name) is entry:
                del self._known[entry.name]
            with contextlib.suppress(Exception):
                self._hook.forgo(entry.name, step)
        names = [entry.name for entry in lost]
        for name in names[:1]:
            others = f" and {len(names) - 1} others" if len(names) > 1 else ""
            self._hook._note_failure(f"recording {name}{others}", error)

    def _is_elsewhere(self) -> bool:
        """Returns True in a forked process, which must not use the devices of its parent."""
        return os.getpid() != self._process
