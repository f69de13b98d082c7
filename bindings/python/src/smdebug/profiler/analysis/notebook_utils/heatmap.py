"""System metrics as a heat map."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence

from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.analysis.notebook_utils.chart import (
    Chart,
    samples_until,
    selected,
    with_total,
)
from smdebug.profiler.utils import Time

__all__ = ["Heatmap"]

# Dimensions of metrics that are not percentages: shown as percentages of their largest value.
_ABSOLUTE = ("Algorithm", "Platform", "")
_ALL_NODES = "node_total"


class Heatmap(Chart):
    """A row for each system metric, a column for each sample.

    Parameters
    ----------
    metrics_reader : LocalSystemMetricsReader or S3SystemMetricsReader
        What reads the samples.
    select_metrics : list of str
        Ignored, as in the original.
    starttime, endtime : int, optional
        Microseconds.  By default, all files.
    select_dimensions, select_events : list of str
        Regular expressions for dimensions, and for names such as "cpu0" or "total".
    plot_height : int
        In pixels.
    show_workers : bool
        Whether each node has rows of its own, next to the means of all nodes.

    Attributes
    ----------
    system_metrics : dict
        Arrays by node, dimension and name.
    width : int
        How many samples each row has.

    Raises
    ------
    SMDebugValueError
        If there are no such samples.
    """

    def __init__(
        self,
        metrics_reader: Any,
        select_metrics: Sequence[str] = (),
        starttime: Time = 0,
        endtime: Optional[Time] = None,
        select_dimensions: Sequence[str] = (".*CPU", ".*GPU"),
        select_events: Sequence[str] = (".*",),
        plot_height: int = 350,
        show_workers: bool = True,
    ) -> None:
        super().__init__()
        self.select_dimensions, self.select_events = select_dimensions, select_events
        self.show_workers = show_workers
        self.metrics_reader = metrics_reader
        self.plot_height = plot_height
        self.last_timestamp = metrics_reader.get_timestamp_of_latest_available_file()
        events, last = samples_until(metrics_reader, starttime, endtime)
        self.last_timestamp_system_metrics = last
        self.system_metrics = self.preprocess_system_metrics(events, {})
        self.create_plot()

    def preprocess_system_metrics(
        self, events: Iterable[Any], system_metrics: Dict[str, Dict[str, Dict[str, Any]]]
    ) -> Dict[str, Dict[str, Dict[str, Any]]]:
        """Returns arrays by node, dimension and name, which begin with those that are given."""
        found: Dict[str, Dict[str, Dict[str, List[float]]]] = {}
        for event in events:
            dimensions = found.setdefault(event.node_id, {})
            names = dimensions.setdefault(event.dimension, {})
            names.setdefault(event.name, []).append(event.value)
        for node, dimensions in found.items():
            known = system_metrics.setdefault(node, {})
            for dimension, names in dimensions.items():
                known[dimension] = {
                    name: self._percentages(dimension, values) for name, values in names.items()
                }
                known[dimension]["total"] = with_total(list(known[dimension].values()))
        self._add_all_nodes(system_metrics)
        self.available_dimensions = list(
            dict.fromkeys(name for node in system_metrics.values() for name in node)
        )
        self.available_events = list(
            dict.fromkeys(
                name for node in system_metrics.values() for each in node.values() for name in each
            )
        )
        self.filtered_dimensions = selected(self.select_dimensions, self.available_dimensions)
        self.filtered_events = selected(self.select_events, self.available_events)
        return system_metrics

    def _percentages(self, dimension: str, values: List[float]) -> Any:
        array = self._np.array(values, dtype=float)
        most = array.max()
        return array / most * 100 if dimension in _ABSOLUTE and most > 0 else array

    def _add_all_nodes(self, system_metrics: Dict[str, Dict[str, Dict[str, Any]]]) -> None:
        nodes = [node for name, node in system_metrics.items() if name != _ALL_NODES]
        names = dict.fromkeys(dimension for node in nodes for dimension in node)
        system_metrics[_ALL_NODES] = {
            name: {"total": with_total([node[name]["total"] for node in nodes if name in node])}
            for name in names
        }

    def create_plot(self) -> None:
        """Draws the map."""
        rows = {
            f"{dimension}_{name}_{node}": dimensions[dimension][name]
            for node, dimensions in self.system_metrics.items()
            if self.show_workers or node == _ALL_NODES
            for dimension in self.filtered_dimensions
            for name in self.filtered_events
            if name in dimensions.get(dimension, ())
        }
        if not rows:
            raise SMDebugValueError(
                f"no system metric matches dimensions {list(self.select_dimensions)} and events "
                f"{list(self.select_events)}; there are the dimensions {self.available_dimensions}"
            )
        # Not all metrics have the same number of samples.
        self.width = min(len(values) for values in rows.values())
        self.plot: Any = self._plotting.figure(
            height=self.plot_height,
            width=1000,
            x_range=(max(0, self.width - 1000), self.width),
            y_range=(0, len(rows)),
            tools="crosshair,reset,xwheel_zoom",
        )
        self.source: Any = self._source(
            image=[values[: self.width].reshape(1, -1) for values in rows.values()],
            x=[0] * len(rows),
            y=list(range(len(rows))),
            dw=[self.width] * len(rows),
            dh=[1] * len(rows),
            metric=list(rows),
        )
        mapper = self._models.LinearColorMapper(palette="Viridis256", low=0, high=100)
        self.plot.image(
            image="image", x="x", y="y", dw="dw", dh="dh", source=self.source, color_mapper=mapper
        )
        self._label(list(rows))
        self._show(self.plot)

    def _label(self, names: List[str]) -> None:
        tooltips = [("usage", "@image"), ("metric", "@metric"), ("index", "$x{10}")]
        self.plot.add_tools(self._models.HoverTool(tooltips=tooltips))
        self.plot.xaxis.axis_label = "Samples"
        self.plot.xgrid.visible = False
        self.plot.ygrid.visible = False
        places = [place + 0.5 for place in range(len(names))]
        self.plot.yaxis.ticker = self._models.FixedTicker(ticks=places)
        self.plot.yaxis.major_label_text_font_size = "7pt"
        self.plot.yaxis.major_label_overrides = dict(zip(places, names))
        self.plot.xaxis.major_label_text_font_size = "0pt"
