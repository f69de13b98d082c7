"""Rules over profiles: where the time of a job goes, and what to change."""

from smdebug.profiler.analysis.rules.batch_size import BatchSize
from smdebug.profiler.analysis.rules.cpu_bottleneck import CPUBottleneck
from smdebug.profiler.analysis.rules.dataloader import Dataloader
from smdebug.profiler.analysis.rules.evaluation import (
    Phase,
    ProfileEvaluation,
    evaluate_profile,
    profile_rules,
)
from smdebug.profiler.analysis.rules.gpu_memory_increase import GPUMemoryIncrease
from smdebug.profiler.analysis.rules.io_bottleneck import IOBottleneck
from smdebug.profiler.analysis.rules.load_balancing import LoadBalancing
from smdebug.profiler.analysis.rules.low_gpu_utilization import LowGPUUtilization
from smdebug.profiler.analysis.rules.max_initialization_time import MaxInitializationTime
from smdebug.profiler.analysis.rules.overall_framework_metrics import OverallFrameworkMetrics
from smdebug.profiler.analysis.rules.overall_system_usage import OverallSystemUsage
from smdebug.profiler.analysis.rules.step_outlier import StepOutlier
from smdebug.profiler.analysis.rules.profiler_report import ProfilerReport

__all__ = [
    "BatchSize",
    "CPUBottleneck",
    "Dataloader",
    "GPUMemoryIncrease",
    "IOBottleneck",
    "LoadBalancing",
    "LowGPUUtilization",
    "MaxInitializationTime",
    "OverallFrameworkMetrics",
    "OverallSystemUsage",
    "Phase",
    "ProfileEvaluation",
    "ProfilerReport",
    "StepOutlier",
    "evaluate_profile",
    "profile_rules",
]
