"""Histograms of the durations of steps and their phases."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence

from smdebug.profiler.analysis.notebook_utils.chart import Chart, bars_of, events_until, selected
from smdebug.profiler.utils import Time

__all__ = ["StepHistogram"]

_MICROSECONDS = 1000000.0
_STEPS = ("Step:ModeKeys", "Forward-node", r"Backward\(post-forward\)-node")


class StepHistogram(Chart):
    """A histogram of durations, in seconds, for each phase.

    Parameters
    ----------
    metrics_reader : LocalAlgorithmMetricsReader or S3AlgorithmMetricsReader
        What reads the events.
    width : int
        Ignored, as in the original.

    Attributes
    ----------
    step_metrics : dict
        The durations by phase, such as "Forward-nodeid:algo-1-314".
    sources : dict
        What the histograms show, by phase.
    """

    def __init__(self, metrics_reader: Any, width: int = 500) -> None:
        super().__init__()
        self.metrics_reader = metrics_reader
        self.last_timestamp = metrics_reader.get_timestamp_of_latest_available_file()
        self.width = width
        self.select_metrics: Sequence[str] = _STEPS
        self.show_workers = True
        self.clear()

    def clear(self) -> None:
        """Forgets what was read."""
        self.step_metrics: Dict[str, List[float]] = {}
        self.sources: Dict[str, Any] = {}

    def plot(
        self,
        starttime: Time = 0,
        endtime: Optional[Time] = None,
        select_metrics: Sequence[str] = _STEPS,
        show_workers: bool = True,
    ) -> None:
        """Shows the events between two times in microseconds.

        Parameters
        ----------
        starttime, endtime : int, optional
            The times.  By default, all files.
        select_metrics : list of str
            Regular expressions for phases such as "Forward-nodeid:algo-1-314".
        show_workers : bool
            Whether each process has histograms of its own.
        """
        self.select_metrics, self.show_workers = select_metrics, show_workers
        events, self.last_timestamp = events_until(self.metrics_reader, starttime, endtime)
        self.step_metrics = self._durations(events, {})
        self.create_plot(self.step_metrics)

    def create_plot(self, step_metrics: Dict[str, List[float]]) -> None:
        """Draws a histogram for each phase."""
        figures = []
        self.sources = {}
        for phase, durations in step_metrics.items():
            source = self.sources[phase] = self._source(**self._bars(durations))
            figures.append(self._histogram(source, f"{phase} seconds", 350, 450))
        self._show(self._layouts.gridplot(figures, ncols=4))

    def update_data(self, current_timestamp: Time) -> None:
        """Adds the events up to a time."""
        events = self.metrics_reader.get_events(self.last_timestamp + 1, current_timestamp)
        self.step_metrics = self._durations(
            [event for event in events if event.start_time > self.last_timestamp],
            self.step_metrics,
        )
        self.last_timestamp = current_timestamp
        for phase, source in self.sources.items():
            source.data = self._bars(self.step_metrics[phase])
        self._push()

    def _durations(
        self, events: Iterable[Any], known: Dict[str, List[float]]
    ) -> Dict[str, List[float]]:
        for event in events:
            worker = f"-nodeid:{event.node_id}" if self.show_workers else ""
            key = f"{event.event_phase}{worker}"
            known.setdefault(key, []).append(event.duration / _MICROSECONDS)
        return {phase: known[phase] for phase in selected(self.select_metrics, known)}

    def _bars(self, durations: List[float]) -> Dict[str, Any]:
        np = self._np
        least = min(durations)
        # A few steps that take much longer would squeeze the others together.
        most = float(np.median(durations) + 2 * np.std(durations))
        bins = np.linspace(least, max(most, least + 1 / _MICROSECONDS), 51)
        heights, left, right = bars_of(np, durations, bins)
        return {"top": heights, "left": left, "right": right}
