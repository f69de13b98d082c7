"""Charts of profiles for notebooks, drawn with Bokeh."""

from smdebug.profiler.analysis.notebook_utils.heatmap import Heatmap
from smdebug.profiler.analysis.notebook_utils.metrics_histogram import MetricsHistogram
from smdebug.profiler.analysis.notebook_utils.step_histogram import StepHistogram
from smdebug.profiler.analysis.notebook_utils.step_timeline_chart import StepTimelineChart
from smdebug.profiler.analysis.notebook_utils.timeline_charts import TimelineCharts
from smdebug.profiler.analysis.notebook_utils.training_job import TrainingJob

__all__ = [
    "Heatmap",
    "MetricsHistogram",
    "StepHistogram",
    "StepTimelineChart",
    "TimelineCharts",
    "TrainingJob",
]
