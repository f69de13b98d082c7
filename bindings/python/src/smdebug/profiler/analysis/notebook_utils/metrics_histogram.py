"""Histograms of system metrics."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence

from smdebug.profiler.analysis.notebook_utils.chart import (
    Chart,
    Series,
    bars_of,
    samples_until,
    selected,
    series_of,
    with_total,
)
from smdebug.profiler.utils import Time

__all__ = ["MetricsHistogram"]


class MetricsHistogram(Chart):
    """A histogram for each system metric.

    Parameters
    ----------
    metrics_reader : LocalSystemMetricsReader or S3SystemMetricsReader
        What reads the samples.

    Attributes
    ----------
    system_metrics : dict
        Arrays of values by dimension and name; "total" is the mean of a dimension.
    sources : dict
        What the histograms show, by dimension and name.
    """

    def __init__(self, metrics_reader: Any) -> None:
        super().__init__()
        self.metrics_reader = metrics_reader
        self.select_dimensions: Sequence[str] = []
        self.select_events: Sequence[str] = []
        self.available_dimensions: List[str] = []
        self.available_events: List[str] = []
        self.filtered_dimensions: List[str] = []
        self.filtered_events: List[str] = []
        self.show_workers = True
        self.last_timestamp: Time = 0
        self.clear()

    def clear(self) -> None:
        """Forgets what was read."""
        self.system_metrics: Series = {}
        self.sources: Dict[str, Dict[str, Any]] = {}

    def plot(
        self,
        starttime: Time = 0,
        endtime: Optional[Time] = None,
        select_dimensions: Sequence[str] = (".*",),
        select_events: Sequence[str] = (".*",),
        show_workers: bool = True,
    ) -> None:
        """Shows the samples between two times in microseconds.

        Parameters
        ----------
        starttime, endtime : int, optional
            The times.  By default, all files.
        select_dimensions, select_events : list of str
            Regular expressions for dimensions such as "CPUUtilization-nodeid:algo-1", and for
            names such as "cpu0" or "total".
        show_workers : bool
            Whether each node has histograms of its own.
        """
        self.select_dimensions, self.select_events = select_dimensions, select_events
        self.show_workers = show_workers
        events, self.last_timestamp = samples_until(self.metrics_reader, starttime, endtime)
        self.system_metrics = self.preprocess_system_metrics(events, {})
        self.create_plot()

    def preprocess_system_metrics(self, all_events: Iterable[Any], system_metrics: Series) -> Series:
        """Adds samples to arrays by dimension and name, and returns these."""
        np = self._np
        for dimension, names in series_of(all_events, self.show_workers).items():
            known = system_metrics.setdefault(dimension, {})
            for name, samples in names.items():
                values = np.array([value for _, value in samples])
                known[name] = np.append(known[name], values) if name in known else values
        for known in system_metrics.values():
            known["total"] = with_total([known[name] for name in known if name != "total"])
        self.available_dimensions = list(system_metrics)
        self.available_events = list(
            dict.fromkeys(name for known in system_metrics.values() for name in known)
        )
        self.filtered_dimensions = selected(self.select_dimensions, self.available_dimensions)
        self.filtered_events = selected(self.select_events, self.available_events)
        return system_metrics

    def create_plot(self) -> None:
        """Draws the histograms."""
        figures = []
        self.sources = {}
        for dimension, name, values in self._selected():
            source = self._source(**self._bars(values))
            self.sources.setdefault(dimension, {})[name] = source
            figures.append(self._histogram(source, f"{dimension}_{name}", 250, 250))
        self._show(self._layouts.gridplot(figures, ncols=4))

    def update_data(self, current_timestamp: Time) -> None:
        """Adds the samples up to a time."""
        events, self.last_timestamp = samples_until(
            self.metrics_reader, self.last_timestamp + 1, current_timestamp
        )
        self.system_metrics = self.preprocess_system_metrics(events, self.system_metrics)
        for dimension, name, values in self._selected():
            source = self.sources.get(dimension, {}).get(name)
            if source is not None:
                source.data = self._bars(values)
        self._push()

    def _selected(self) -> Iterable[Any]:
        for dimension in self.filtered_dimensions:
            for name in self.filtered_events:
                if name in self.system_metrics[dimension]:
                    yield dimension, name, self.system_metrics[dimension][name]

    def _bars(self, values: Any) -> Dict[str, Any]:
        # Most metrics are percentages; others have a scale of their own.
        most = max(100.0, float(self._np.max(values)))
        heights, left, right = bars_of(self._np, values, self._np.linspace(0, most, 51))
        return {"top": heights, "left": left, "right": right}
