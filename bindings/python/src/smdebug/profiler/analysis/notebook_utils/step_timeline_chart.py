"""The durations of steps over time."""

from __future__ import annotations

from typing import Any, Iterable, List

from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.analysis.notebook_utils.chart import Chart
from smdebug.profiler.utils import Time

__all__ = ["StepTimelineChart"]

_MICROSECONDS = 1000000.0


class StepTimelineChart(Chart):
    """A line of the durations of steps over time, both in seconds.

    Parameters
    ----------
    metrics_reader : LocalAlgorithmMetricsReader or S3AlgorithmMetricsReader
        What reads the events.
    width : int
        How many steps the picture shows at first: the last ones.

    Attributes
    ----------
    steps_np : numpy.ndarray
        When each step began, its duration, and its number.
    source : bokeh.models.ColumnDataSource
        What the line shows: x, y, step and metric.

    Raises
    ------
    SMDebugValueError
        If there are no events of steps.
    """

    def __init__(self, metrics_reader: Any, width: int = 1000) -> None:
        super().__init__()
        self.metrics_reader = metrics_reader
        self.last_timestamp = metrics_reader.get_timestamp_of_latest_available_file()
        self.width = width
        self.steps: List[Any] = []
        self._add(metrics_reader.get_events(0, self.last_timestamp))
        if not self.steps:
            raise SMDebugValueError(
                f"{metrics_reader._root} has no events of steps (Step:ModeKeys.TRAIN)"
            )
        self.start = self.steps[0][0]
        self._arrange()
        self.create_plot()

    def create_plot(self) -> None:
        """Draws the line."""
        self.plot: Any = self._plotting.figure(
            height=250, width=1000, tools="crosshair,pan,reset,save,wheel_zoom"
        )
        self.source: Any = self._source(**self._columns())
        self.plot.line(x="x", y="y", line_color="blue", source=self.source)
        self.plot.add_tools(
            self._models.HoverTool(
                tooltips=[
                    ("index", "$index"),
                    ("step", "@step"),
                    ("metric", "@metric"),
                    ("(x,y)", "($x, $y)"),
                ]
            )
        )
        self.plot.xaxis.axis_label = "Time in seconds"
        self.plot.yaxis.axis_label = "Step duration in seconds"
        self.plot.xgrid.visible = False
        self.plot.ygrid.visible = False
        self._set_range()
        self._show(self.plot)

    def update_data(self, current_timestamp: Time) -> None:
        """Adds the steps up to a time."""
        events = self.metrics_reader.get_events(self.last_timestamp + 1, current_timestamp)
        self._add(event for event in events if event.start_time > self.last_timestamp)
        self.last_timestamp = current_timestamp
        self._arrange()
        self.source.data = self._columns()
        self._set_range()
        self._push()

    def _add(self, events: Iterable[Any]) -> None:
        for event in events:
            if event.event_name.startswith("Step"):
                step = (event.event_args or {}).get("step_num", -1)
                begin = event.start_time / _MICROSECONDS
                self.steps.append(
                    [begin, event.duration / _MICROSECONDS, int(step), event.event_name]
                )

    def _arrange(self) -> None:
        self.steps.sort(key=lambda step: step[0])
        self.start = self.steps[0][0]
        self.steps_np: Any = self._np.array([step[:3] for step in self.steps])
        self.metric_names = [step[3] for step in self.steps]

    def _columns(self) -> Any:
        return {
            "x": self.steps_np[:, 0] - self.start,
            "y": self.steps_np[:, 1],
            "step": self.steps_np[:, 2],
            "metric": self.metric_names,
        }

    def _set_range(self) -> None:
        shown = self.steps_np[-self.width :]
        self.plot.x_range.start = shown[0, 0] - self.start
        self.plot.x_range.end = shown[-1, 0] - self.start
        self.plot.y_range.start = 0
        self.plot.y_range.end = self._np.max(shown[:, 1])
