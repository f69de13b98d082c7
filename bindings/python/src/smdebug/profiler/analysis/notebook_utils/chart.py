"""What the charts share."""

from __future__ import annotations

import functools
import re
import sys
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.utils import Time

__all__ = [
    "Chart",
    "Series",
    "bars_of",
    "events_until",
    "samples_until",
    "selected",
    "series_of",
    "with_total",
]

_MINUTE = 60000000
_EXTRA = "'libsmdebug[profiler]'"

Series = Dict[str, Dict[str, Any]]


class Chart:
    """A chart of Bokeh.

    Attributes
    ----------
    layout : bokeh.models.LayoutDOM
        The chart.  Outside of a notebook, `bokeh.io.save` writes it.
    target : bokeh.io.notebook.CommsHandle or None
        The picture in the notebook; None outside of one.

    Raises
    ------
    ModuleNotFoundError
        If Bokeh is missing; the message says what to install.
    """

    def __init__(self) -> None:
        name = type(self).__name__
        self._np: Any = import_framework("numpy", _EXTRA, name)
        import_framework("bokeh", _EXTRA, name)
        self._io: Any = import_framework("bokeh.io", _EXTRA, name)
        self._models: Any = import_framework("bokeh.models", _EXTRA, name)
        self._plotting: Any = import_framework("bokeh.plotting", _EXTRA, name)
        self._layouts: Any = import_framework("bokeh.layouts", _EXTRA, name)
        self.layout: Any = None
        self.target: Any = None

    def _show(self, layout: Any) -> None:
        self.layout = layout
        if _is_notebook():
            _load_into_notebook()
            self.target = self._io.show(layout, notebook_handle=True)

    def _push(self) -> None:
        """Shows what has changed."""
        if self.target is not None:
            self._io.push_notebook(handle=self.target)

    def _source(self, **columns: Any) -> Any:
        return self._models.ColumnDataSource(data=columns)

    def _histogram(self, source: Any, label: str, height: int, width: int) -> Any:
        figure = self._plotting.figure(height=height, width=width)
        figure.quad(
            top="top",
            bottom=0,
            left="left",
            right="right",
            source=source,
            fill_color="navy",
            line_color="white",
            fill_alpha=0.5,
        )
        figure.y_range.start = 0
        figure.xaxis.axis_label = label
        figure.yaxis.axis_label = "Occurrences"
        figure.grid.grid_line_color = "white"
        return figure


@functools.lru_cache(maxsize=None)
def _load_into_notebook() -> None:
    """Puts Bokeh's script into the notebook, so that charts need no network."""
    io = import_framework("bokeh.io", _EXTRA, "Chart")
    resources = import_framework("bokeh.resources", _EXTRA, "Chart")
    io.output_notebook(resources.INLINE, hide_banner=True)


def _is_notebook() -> bool:
    # A notebook has imported it.
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def selected(patterns: Iterable[str], names: Iterable[str]) -> List[str]:
    """Returns the names in which one of some regular expressions is found, each once."""
    try:
        searches = [re.compile(pattern).search for pattern in patterns]
    except re.error as error:
        raise SMDebugValueError(
            f"{error.pattern!r} is not a regular expression: {error}"
        ) from None
    return [name for name in dict.fromkeys(names) if any(search(name) for search in searches)]


def series_of(events: Iterable[Any], shows_workers: bool) -> Dict[str, Dict[str, List[Any]]]:
    """Groups samples: a list of (time in seconds, value) for each name of each dimension."""
    found: Dict[str, Dict[str, List[Any]]] = {}
    for event in events:
        key = f"{event.dimension}-nodeid:{event.node_id}" if shows_workers else event.dimension
        found.setdefault(key, {}).setdefault(event.name, []).append((event.timestamp, event.value))
    return found


def with_total(series: Sequence[Any]) -> Any:
    """Returns the mean of some arrays, as far as the shortest one reaches."""
    shortest = min(len(each) for each in series)
    return sum(each[:shortest] for each in series) / len(series)


def bars_of(np: Any, values: Any, bins: Any) -> Tuple[Any, Any, Any]:
    """Returns the heights, the left and the right edges of a histogram."""
    heights, edges = np.histogram(values, bins=bins)
    return heights, edges[:-1], edges[1:]


def samples_until(reader: Any, start: Time, end: Optional[Time]) -> Tuple[List[Any], Time]:
    """Returns the samples from a time on, to another or to the last one, and the last one's time."""
    if end is None:
        # A file holds the samples of the minute that begins with its time.
        end = reader.get_timestamp_of_latest_available_file() + _MINUTE
    events: List[Any] = reader.get_events(start, end)
    return events, max((int(event.timestamp * 1e6) for event in events), default=end)


def events_until(reader: Any, start: Time, end: Optional[Time]) -> Tuple[List[Any], Time]:
    """Returns the events from a time on, to another or to the end of the last file."""
    end = reader.get_timestamp_of_latest_available_file() if end is None else end
    return reader.get_events(start, end), end
