"""Analyses of PyTorch's data loaders by their events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

from smdebug.core.utils import import_framework
from smdebug.profiler.utils import Time

if TYPE_CHECKING:
    import pandas as pd

    from smdebug.profiler.analysis.notebook_utils.timeline_charts import TimelineCharts
    from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame

__all__ = ["PT_dataloader_analysis"]

_SPAN = ["start_time", "end_time", "duration_us", "worker_id"]
_TIME = "%Y-%m-%dT%H:%M:%S:%f"
_OUTLIER = 2  # medians


class PT_dataloader_analysis:
    """Prints how long data loaders take, and returns the outliers: events that take at least twice
    the median.

    Parameters
    ----------
    pandas_frame : PandasFrame
        The profile.

    Attributes
    ----------
    dataIter_metric, initialize_metric, dataWorker_metric : pandas.DataFrame
        The events of batches, of iterators that begin, and of workers.
    """

    def __init__(self, pandas_frame: PandasFrame) -> None:
        self._pandas: Any = import_framework("pandas", "pandas", "PT_dataloader_analysis")
        self.pd_data_frame = pandas_frame
        events = pandas_frame.get_all_dataloader_metrics
        self.dataIter_metric: Any = events([".*DataLoaderIter::GetNext"])
        self.initialize_metric: Any = events(["DataLoaderIterInitialize"])
        self.dataWorker_metric: Any = events(["DataLoaderWorker"])
        self.analyze_dataIter = self.dataIter_metric.size > 0
        self.analyze_initializer = self.initialize_metric.size > 0
        self.analyze_workers = self.dataWorker_metric.size > 0

    def analyze_dataloaderIter_initialization(self) -> None:
        """Prints how iterators are configured, and how long they take to begin."""
        if not self.analyze_initializer:
            print("no events of iterators that begin (DataLoaderIterInitialize)")
            return
        for kind in ("_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"):
            self._inspect(kind)

    def _inspect(self, kind: str) -> None:
        events = self.initialize_metric
        events = events[events["framework_metric"] == f"{kind}.__init__"]
        if events.empty:
            print(f"{kind}: not used")
            return
        first = events.iloc[0]
        print(f"{kind}: pin_memory {first['pin_memory']}, num_workers {first['num_workers']}")
        durations = events["duration_us"]
        slow = int((durations >= _OUTLIER * durations.median()).sum())
        print(
            f"{kind}: began {len(events)} times; median {durations.median()} us, "
            f"maximum {durations.max()} us, {slow} outliers"
        )

    def analyze_dataloaderWorkers(self) -> Optional[pd.DataFrame]:
        """Prints how long workers live.

        Returns
        -------
        pandas.DataFrame
            The outliers, the longest first; None if there are none.
        """
        if not self.analyze_workers:
            print("no events of workers (DataLoaderWorker)")
            return None
        return self._outliers(self.dataWorker_metric, "workers")

    def analyze_dataloader_getnext(self) -> Optional[pd.DataFrame]:
        """Prints how long the training waits for batches.

        Returns
        -------
        pandas.DataFrame
            The outliers, the longest first; None if there are none.
        """
        if not self.analyze_dataIter:
            print("no events of batches (DataLoaderIter::GetNext)")
            return None
        return self._outliers(self.dataIter_metric, "batches")

    @staticmethod
    def _outliers(events: Any, name: str) -> Optional[pd.DataFrame]:
        durations = events["duration_us"]
        median = durations.median()
        print(f"{name}: {len(events)}; median {median} us, maximum {durations.max()} us")
        found = events.loc[durations >= _OUTLIER * median, _SPAN]
        found = found.sort_values(by=["duration_us"], ascending=False).reset_index(drop=True)
        print(f"{name}: {len(found)} outliers (at least {_OUTLIER} medians)")
        return None if found.empty else found

    def analyze_batchtime(self) -> Optional[pd.DataFrame]:
        """Prints the time from one batch to the next, by process.

        Adds the columns BatchTime_in_seconds and previous_batch_start to `dataIter_metric`, and
        makes its times those of pandas.

        Returns
        -------
        pandas.DataFrame
            The outliers, the longest first; None if there are none.
        """
        if not self.analyze_dataIter:
            print("no events of batches (DataLoaderIter::GetNext)")
            return None
        events = self.dataIter_metric.copy()
        for column in ("start_time", "end_time"):
            events[column] = self._pandas.to_datetime(events[column], format=_TIME)
        events = events.sort_values(by=["node_id", "pid", "end_time"])
        starts = events.groupby(["node_id", "pid"])["start_time"]
        events["BatchTime_in_seconds"] = starts.diff().dt.total_seconds()
        events["previous_batch_start"] = starts.shift()
        self.dataIter_metric = events
        median = events["BatchTime_in_seconds"].median()
        print(f"batches: median of {median} seconds from one to the next")
        found = events.loc[
            events["BatchTime_in_seconds"] >= _OUTLIER * median,
            ["previous_batch_start", "start_time", "BatchTime_in_seconds", "worker_id"],
        ].sort_values(by=["BatchTime_in_seconds"], ascending=False)
        print(f"batches: {len(found)} outliers (at least {_OUTLIER} medians)")
        return None if found.empty else found.reset_index(drop=True)

    def plot_the_window(
        self,
        start_timestamp: Time,
        end_timestamp: Time,
        select_events: Sequence[str] = (".*",),
        select_dimensions: Sequence[str] = (".*",),
    ) -> TimelineCharts:
        """Shows the system metrics between two times in microseconds; see `TimelineCharts`."""
        from smdebug.profiler.analysis.notebook_utils.timeline_charts import TimelineCharts

        frame = self.pd_data_frame
        frame.framework_metrics_reader.refresh_event_file_list()
        frame.system_metrics_reader.refresh_event_file_list()
        return TimelineCharts(
            frame.system_metrics_reader,
            frame.framework_metrics_reader,
            starttime=start_timestamp,
            endtime=end_timestamp,
            select_events=select_events,
            select_dimensions=select_dimensions,
        )
