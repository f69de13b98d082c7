"""Events of timelines as columns of frames."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from smdebug import _raw
from smdebug.profiler.algorithm_metrics_reader import (
    FILE_TYPES,
    LocalAlgorithmMetricsReader,
    S3AlgorithmMetricsReader,
    thread_of,
)
from smdebug.profiler.utils import Time
from smdebug.tables.columns import NO_INTEGER

__all__ = ["EventColumns", "human_times"]

_MOST_EXACT = 2**53


class EventColumns:
    """The events between two times, a column at a time, without an object for each.

    Parameters
    ----------
    reader : LocalAlgorithmMetricsReader or S3AlgorithmMetricsReader
        What reads the files.
    start, end : int or float
        Microseconds since 1970, both included.
    members : sequence of str
        The arguments that `member` is asked for.
    """

    def __init__(
        self,
        reader: Union[LocalAlgorithmMetricsReader, S3AlgorithmMetricsReader],
        start: Time,
        end: Time,
        members: Sequence[str],
    ) -> None:
        import numpy as np

        self._np: Any = np
        found = reader.arrays_between(start, end, ("layer_name", "name", *members))
        self._columns, self._args = found or ({}, {})
        begins = self._columns.get("start_us", np.empty(0))
        ends = begins + self._columns.get("duration", np.empty(0))
        rows = np.flatnonzero((ends >= start) & (begins <= end))
        if found is not None:
            kinds = found[0]["file_type"]
            places = np.array([FILE_TYPES.get(kind, len(FILE_TYPES)) for kind in kinds.texts])
            if len(places) > 1:
                rows = rows[np.argsort(places[kinds.codes[rows]], kind="stable")]
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def select(self, is_wanted: Callable[[str], bool]) -> None:
        """Keeps the events whose name or phase is wanted."""
        if len(self):
            columns = self._columns
            wanted = columns["name"].where(is_wanted) | columns["phase"].where(is_wanted)
            self._rows = self._rows[wanted[self._rows]]

    def distinct(self, columns: Dict[str, Any]) -> Any:
        """Returns the numbers of the events that are no copies of others in all columns.

        The first two columns are the times.
        """
        import pandas as pd

        np = self._np
        starts, ends = list(columns.values())[:2]
        order = np.lexsort((ends, starts))  # fast, as events are nearly in order
        starts, ends = starts[order], ends[order]
        is_twin = np.zeros(len(order) + 1, bool)  # of the one before
        is_twin[1:-1] = (starts[1:] == starts[:-1]) & (ends[1:] == ends[:-1])
        # Most times occur once, so few rows must be compared as a whole.
        rows = np.sort(order[is_twin[1:] | is_twin[:-1]])
        if not len(rows):
            return slice(None)
        twins = pd.DataFrame({name: pd.Series(each).iloc[rows] for name, each in columns.items()})
        is_kept = np.ones(len(self), bool)
        is_kept[rows[np.asarray(twins.astype(str).duplicated())]] = False
        return is_kept

    # ---- columns ------------------------------------------------------------------------

    def starts(self) -> Any:
        """Returns the times at which the events begin."""
        return self._whole(self._numbers("start_us"))

    def durations(self) -> Any:
        """Returns the durations."""
        return self._whole(self._numbers("duration"))

    def texts(self, name: str) -> Any:
        """Returns a column of texts."""
        import pandas as pd

        if not len(self):
            return self._objects(name)
        column = self._columns[name]
        # Pandas looks at each different text once, not at that of each row.  The last is of -1.
        return pd.Series([*column.texts, None]).array.take(column.codes[self._rows])

    def names(self) -> Any:
        """Returns what a layer or an event is called."""
        if not self._args:
            return self.texts("name")
        names = self._objects("name")
        for place, args in self._with_args():
            names[place] = args.get("layer_name", args.get("name", names[place]))
        return names

    def steps(self) -> Any:
        """Returns the numbers of the steps; -1 for none."""
        steps = self._numbers("step").copy()
        steps[steps == NO_INTEGER] = -1
        return steps

    def processes(self) -> Any:
        """Returns the processes' numbers."""
        return self._with_unusual(self._numbers("pid"), "pid")

    def threads(self) -> Any:
        """Returns the threads' numbers; of events without one, a number for the phase."""
        import pandas as pd

        threads = self._numbers("tid").copy()
        places = self._np.flatnonzero(threads == NO_INTEGER)
        if len(places):
            nodes, phases = self._columns["node"], self._columns["phase"]
            count = len(phases.texts) + 1
            rows = self._rows[places]
            pairs = nodes.codes[rows].astype("int64") * count + phases.codes[rows]
            inverse, known = pd.factorize(pairs)  # which does not sort
            numbers = [
                thread_of(nodes.texts[pair // count], phases.texts[pair % count]) for pair in known
            ]
            threads[places] = self._np.array(numbers, "int64")[inverse]
        return self._with_unusual(threads, "thread_id")

    def member(
        self, name: str, default: Any, change: Optional[Callable[[Any], Any]] = None
    ) -> Any:
        """Returns an argument of each event, or the default where it is missing."""
        if not self._args:
            return self._np.full(len(self), default)
        values: List[Any] = [default] * len(self)
        for place, args in self._with_args():
            if name in args:
                values[place] = args[name] if change is None else change(args[name])
        return values

    def _objects(self, name: str) -> Any:
        if not len(self):
            return self._np.empty(0, object)
        return self._columns[name].objects()[self._rows]

    def _numbers(self, name: str) -> Any:
        return self._columns[name][self._rows] if len(self) else self._np.empty(0, "int64")

    def _whole(self, numbers: Any) -> Any:
        # As Python's objects have it: whole numbers are int.
        is_whole = (numbers == self._np.trunc(numbers)) & (abs(numbers) < _MOST_EXACT)
        return numbers.astype("int64") if is_whole.all() else numbers

    def _with_args(self) -> Any:
        """Yields the place, and the arguments, of the events that have some that matter."""
        if not self._args:
            return
        for place, row in enumerate(self._rows.tolist()):
            args = self._args.get(row)
            if args is not None:
                yield place, args

    def _with_unusual(self, numbers: Any, name: str) -> Any:
        others = {
            place: args[name]
            for place, args in self._with_args()
            if name in args and not isinstance(args[name], int)
        }
        if not others:
            return numbers
        values = numbers.astype(object)
        for place, value in others.items():
            values[place] = value
        return values


def human_times(microseconds: Any) -> List[Optional[str]]:
    """Returns times such as "2024-01-31T23:59:46:500000"."""
    return _raw.time_texts(microseconds.astype("float64"))
