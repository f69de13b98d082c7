"""Records where the time of a job goes, and reads it."""

from smdebug.profiler.algorithm_metrics_reader import (
    LocalAlgorithmMetricsReader,
    S3AlgorithmMetricsReader,
)
from smdebug.profiler.metrics_reader_base import MetricsReaderBase
from smdebug.profiler.recording import Profiler
from smdebug.profiler.system_metrics_reader import (
    LocalSystemMetricsReader,
    S3NumpySystemMetricsReader,
    S3SystemMetricsReader,
)
from smdebug.profiler.system_profiler_file_parser import ProfilerSystemEvent
from smdebug.profiler.trace_event_file_parser import TraceEvent
from smdebug.profiler.traces import import_chrome_trace
from smdebug.profiler.utils import TimeUnits

__all__ = [
    "LocalAlgorithmMetricsReader",
    "LocalSystemMetricsReader",
    "MetricsReaderBase",
    "Profiler",
    "ProfilerSystemEvent",
    "S3AlgorithmMetricsReader",
    "S3NumpySystemMetricsReader",
    "S3SystemMetricsReader",
    "TimeUnits",
    "TraceEvent",
    "import_chrome_trace",
]
