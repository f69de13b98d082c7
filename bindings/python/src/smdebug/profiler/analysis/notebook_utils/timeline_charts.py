"""System metrics over time, and the events of a part of it."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.analysis.notebook_utils.chart import (
    Chart,
    Series,
    samples_until,
    selected,
    series_of,
    with_total,
)
from smdebug.profiler.utils import Time, TimeUnits

__all__ = ["TimelineCharts"]

_MILLISECONDS = 1000.0
# The most events that a chart shows.
_MOST_EVENTS = 5000
_TOOLS = "crosshair,xbox_select,pan,reset,save,xwheel_zoom"
_SHOW_RANGE = """
    const indices = source.selected.indices
    if (indices.length > 0) {
        const least = indices.reduce((a, b) => Math.min(a, b))
        const most = indices.reduce((a, b) => Math.max(a, b))
        div.text = "<b>Selected index range: [" + least + "," + most + "]</b>"
    }
"""

Spans = Dict[str, List[List[int]]]


class TimelineCharts(Chart):
    """A line for each system metric over time, in seconds.

    Select a part of a chart to see the numbers of its samples.  `find_time_annotations` and
    `plot_detailed_profiler_data` then tell what the job did meanwhile.

    Parameters
    ----------
    system_metrics_reader : LocalSystemMetricsReader or S3SystemMetricsReader
        What reads the samples.
    framework_metrics_reader : LocalAlgorithmMetricsReader or S3AlgorithmMetricsReader
        What reads the events.
    starttime, endtime : int, optional
        Microseconds.  By default, all files.
    select_dimensions, select_events : list of str
        Regular expressions for dimensions such as "CPUUtilization-nodeid:algo-1", and for names
        such as "cpu0" or "total".
    x : int
        How many samples the picture shows at first: the last ones.
    show_workers : bool
        Whether each node has charts of its own.

    Attributes
    ----------
    system_metrics : dict
        Arrays of times and values by dimension and name; "total" is the mean of a dimension.
    sources : dict
        What the lines show, by dimension and name.
    figures : list
        The charts.

    Raises
    ------
    SMDebugValueError
        If no samples are selected.
    """

    def __init__(
        self,
        system_metrics_reader: Any,
        framework_metrics_reader: Any,
        starttime: Time = 0,
        endtime: Optional[Time] = None,
        select_dimensions: Sequence[str] = (".*",),
        select_events: Sequence[str] = (".*",),
        x: int = 1000,
        show_workers: bool = True,
    ) -> None:
        super().__init__()
        self.select_dimensions, self.select_events = select_dimensions, select_events
        self.show_workers = show_workers
        self.width = x
        self.start = 0
        self.sources: Dict[str, Dict[str, Any]] = {}
        self.system_metrics_reader = system_metrics_reader
        self.framework_metrics_reader = framework_metrics_reader
        events, last = samples_until(system_metrics_reader, starttime, endtime)
        self.last_timestamp_system_metrics = last
        self.system_metrics = self.preprocess_system_metrics(events, {})
        self.create_plot()

    def preprocess_system_metrics(self, events: Iterable[Any], system_metrics: Series) -> Series:
        """Adds samples to arrays by dimension and name, and returns these."""
        np = self._np
        for dimension, names in series_of(events, self.show_workers).items():
            known = system_metrics.setdefault(dimension, {})
            for name, samples in names.items():
                new = np.array(samples)
                old = [known[name]] if name in known else []
                whole = np.vstack([*old, new])
                known[name] = whole[whole[:, 0].argsort(kind="stable")]
        for known in system_metrics.values():
            known["total"] = with_total([known[name] for name in known if name != "total"])
        self.available_dimensions = list(system_metrics)
        self.available_events = list(
            dict.fromkeys(name for known in system_metrics.values() for name in known)
        )
        self.filtered_dimensions = selected(self.select_dimensions, self.available_dimensions)
        self.filtered_events = selected(self.select_events, self.available_events)
        return system_metrics

    def _selected(self) -> Iterable[Tuple[str, str, Any]]:
        for dimension in self.filtered_dimensions:
            for name in self.filtered_events:
                if name in self.system_metrics[dimension]:
                    yield dimension, name, self.system_metrics[dimension][name]

    # ---- charts -------------------------------------------------------------------------

    def create_plot(self) -> None:
        """Draws the charts."""
        self.div: Any = self._models.Div(width=250, height=100, height_policy="fixed")
        column = self._layouts.column(self.plot_system_metrics())
        self._show(self._layouts.row(column, self.div))

    def plot_system_metrics(self) -> List[Any]:
        """Returns a chart for each selected metric; all share the axis of time."""
        self.figures: List[Any] = []
        for dimension, name, values in self._selected():
            shared = {"x_range": self.figures[0].x_range} if self.figures else {}
            figure = self._plotting.figure(height=200, width=1000, tools=_TOOLS, **shared)
            figure.xgrid.visible = False
            figure.ygrid.visible = False
            if "Utilization" in dimension or "Memory" in dimension:
                figure.y_range.start, figure.y_range.end = 0, 102  # percentages
            source = self._source(x=values[:, 0] - self.start, y=values[:, 1])
            self.sources.setdefault(dimension, {})[name] = source
            figure.line(x="x", y="y", line_color="blue", source=source)
            points = figure.scatter(x="x", y="y", fill_alpha=0, line_width=0, source=source)
            tooltips = [("index", "$index"), ("(x,y)", "($x, $y)")]
            figure.add_tools(self._models.HoverTool(renderers=[points], tooltips=tooltips))
            figure.js_on_event(
                "selectiongeometry",
                self._models.CustomJS(args={"source": source, "div": self.div}, code=_SHOW_RANGE),
            )
            figure.xaxis.axis_label = "Time in seconds"
            figure.yaxis.axis_label = f"{dimension}_{name}"
            self.figures.append(figure)
        if not self.figures:
            raise SMDebugValueError(
                f"no system metric matches dimensions {list(self.select_dimensions)} and events "
                f"{list(self.select_events)}; there are the dimensions {self.available_dimensions}"
            )
        self._set_range()
        return self.figures

    def _set_range(self) -> None:
        shown = [values[-self.width :, 0] for _, _, values in self._selected()]
        self.figures[0].x_range.start = min(each[0] for each in shown) - self.start
        self.figures[0].x_range.end = max(each[-1] for each in shown) - self.start

    def update_data(self, current_timestamp: Time) -> None:
        """Adds the samples up to a time."""
        events, self.last_timestamp_system_metrics = samples_until(
            self.system_metrics_reader, self.last_timestamp_system_metrics + 1, current_timestamp
        )
        self.system_metrics = self.preprocess_system_metrics(events, self.system_metrics)
        for dimension, name, values in self._selected():
            source = self.sources.get(dimension, {}).get(name)
            if source is not None:
                source.data = {"x": values[:, 0] - self.start, "y": values[:, 1]}
        self._set_range()
        self._push()

    # ---- what the job did in a part of the time -------------------------------------------

    def find_time_annotations(self, indexes: Sequence[int]) -> None:
        """Prints how long each event took, altogether, in the time of some samples.

        `indexes` are the numbers of the samples in a chart, as their selection shows them.
        """
        times = self._times_of(indexes)
        if times is None:
            return
        totals: Dict[str, float] = {}
        for event in self._events_between(*times):
            step = (event.event_args or {}).get("step_num")
            name = event.event_name if step is None else f"{event.event_name}_{step}"
            totals[name] = totals.get(name, 0) + event.duration / _MILLISECONDS
        for name, total in totals.items():
            print(f"Spent {total} ms (cumulative time) in {name}")

    def plot_detailed_profiler_data(self, indexes: Sequence[int]) -> None:
        """Shows the events, and what loads data, in the time of some samples."""
        times = self._times_of(indexes)
        if times is None:
            return
        events = self._events_between(*times)
        loaders = self._chart_of(self.plot_dataloaders(events, *times), "Thread ID", "black")
        framework = self._chart_of(
            self.plot_framework_events(events, *times), "Framework metric", "blue"
        )
        self.detailed_figures = [loaders, framework]
        self._show(self._layouts.column(self.detailed_figures))

    def plot_framework_events(
        self, events: Iterable[Any], begin_timestamp: Time, end_timestamp: Time
    ) -> Spans:
        """Returns the begin and the end in milliseconds, and the row, of the events by phase."""
        rows: Dict[str, int] = {}
        spans: Spans = {}
        for event in events:
            args = event.event_args or {}
            if "bytes_fetched" in args or "worker_id" in args:
                continue
            row = rows.setdefault(event.event_phase, len(rows))
            spans.setdefault(event.event_phase, []).append(_span(event, row))
        return spans

    def plot_dataloaders(
        self, events: Iterable[Any], begin_timestamp: Time, end_timestamp: Time
    ) -> Spans:
        """Returns the begin and the end in milliseconds, and the row, of what loads data by name."""
        rows: Dict[Any, int] = {}
        spans: Spans = {}
        for event in events:
            args = event.event_args or {}
            if "bytes_fetched" in args or "worker_id" in args:
                row = rows.setdefault(args.get("worker_id", event.tid), len(rows))
                spans.setdefault(event.event_name, []).append(_span(event, row))
        return spans

    def _times_of(self, indexes: Sequence[int]) -> Optional[Tuple[float, float]]:
        """Returns the seconds of the first and the last of some samples."""
        if len(indexes) == 0:
            print("No selection made")
            return None
        first, last = int(min(indexes)), int(max(indexes))
        known = self.system_metrics
        # Metrics may have different numbers of samples.
        series = [known[key]["total"] for key in known if key.startswith("CPUUtilization")]
        series += [each for _, _, each in self._selected()]
        series = [each for each in series if last < len(each)]
        if not series or first < 0:
            raise SMDebugValueError(f"there are no samples {first} to {last}")
        begin, end = float(series[0][first, 0]), float(series[0][last, 0])
        print(f"Selected timerange: {begin} to {end}")
        return begin, end

    def _events_between(self, begin: float, end: float) -> List[Any]:
        events: List[Any] = self.framework_metrics_reader.get_events(
            begin * 1000, end * 1000, unit=TimeUnits.MILLISECONDS
        )
        return events

    def _chart_of(self, spans: Spans, label: str, color: str) -> Any:
        figure = self._plotting.figure(height=250, width=1000, tools=_TOOLS)
        figure.xaxis.axis_label = "Time in ms"
        figure.yaxis.axis_label = label
        bars = [(*span, name) for name, each in spans.items() for span in each]
        if len(bars) > _MOST_EVENTS:
            print(f"{len(bars)} events; only the first {_MOST_EVENTS} are shown")
        left, right, rows, names = zip(*sorted(bars)[:_MOST_EVENTS]) if bars else ((), (), (), ())
        figure.quad(
            top="top",
            bottom="bottom",
            left="left",
            right="right",
            source=self._source(
                top=list(rows),
                bottom=[row - 1 for row in rows],
                left=list(left),
                right=list(right),
                metric=list(names),
            ),
            fill_color=color,
            line_color=None,
            fill_alpha=0.2,
        )
        figure.add_tools(
            self._models.HoverTool(tooltips=[("metric", "@metric"), ("index", "$x{10}")])
        )
        return figure


def _span(event: Any, row: int) -> List[int]:
    return [int(event.start_time / _MILLISECONDS), int(event.end_time / _MILLISECONDS), row]
