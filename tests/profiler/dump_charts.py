"""Prints what the charts of a smdebug's notebook_utils show, a line of JSON each; lists are digests.

usage: dump_charts.py FOLDER...

fixtures/charts.json holds what smdebug 1.0.34 answers, with Bokeh 2.4.3.
"""

import contextlib
import hashlib
import io
import json
import sys

import bokeh.io
import bokeh.plotting

FAR = 4_000_000_000_000_000

# The original shows its charts when they are made, and needs a notebook for it.
for module in (bokeh.io, bokeh.plotting):
    module.show = lambda *unused, **named: None
    module.output_notebook = lambda **unused: None

from smdebug.profiler.algorithm_metrics_reader import LocalAlgorithmMetricsReader
from smdebug.profiler.analysis.notebook_utils.heatmap import Heatmap
from smdebug.profiler.analysis.notebook_utils.metrics_histogram import MetricsHistogram
from smdebug.profiler.analysis.notebook_utils.step_histogram import StepHistogram
from smdebug.profiler.analysis.notebook_utils.step_timeline_chart import StepTimelineChart
from smdebug.profiler.analysis.notebook_utils.timeline_charts import TimelineCharts
from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader


def rounded(values):
    return [[round(float(each), 6) for each in row] for row in values]


def digest(values):
    """Returns the number of values, and a text that other values hardly have."""
    text = json.dumps(values, sort_keys=True)
    return [len(values), hashlib.sha256(text.encode()).hexdigest()[:16]]


def histogram(system):
    chart = MetricsHistogram(system)
    chart.plot(endtime=FAR, select_events=["cpu0", "total", "gpu"])
    return {
        dimension: {name: digest(sorted(rounded([values])[0])) for name, values in names.items()}
        for dimension, names in chart.system_metrics.items()
    }, sorted((dimension, name) for dimension in chart.sources for name in chart.sources[dimension])


def timelines(system, framework):
    chart = TimelineCharts(system, framework, endtime=FAR, select_dimensions=["CPU", "Memory"])
    lines = {
        dimension: {
            name: digest(rounded(zip(source.data["x"], source.data["y"])))
            for name, source in names.items()
        }
        for dimension, names in chart.sources.items()
    }
    begin = framework.get_timestamp_of_first_available_file()
    events = framework.get_events(begin - 10**7, begin)
    loaders = chart.plot_dataloaders(events, 0, FAR)
    phases = chart.plot_framework_events(events, 0, FAR)
    return [lines, *({name: digest(each) for name, each in spans.items()} for spans in (loaders, phases))]


def heat(system):
    chart = Heatmap(system, endtime=FAR)
    return {
        node: {
            dimension: {name: digest(rounded([values])[0]) for name, values in names.items()}
            for dimension, names in dimensions.items()
        }
        for node, dimensions in chart.system_metrics.items()
    }, sorted(chart.source.data["metric"])


def answers(folder):
    system, framework = LocalSystemMetricsReader(folder), LocalAlgorithmMetricsReader(folder)
    steps = StepHistogram(framework)
    steps.plot(endtime=FAR)
    return {
        "histogram": histogram(system),
        "steps": {phase: digest(sorted(rounded([each])[0])) for phase, each in steps.step_metrics.items()},
        "timelines": timelines(system, framework),
        "durations": digest(rounded(StepTimelineChart(framework).steps_np)),
        "heat": heat(system),
    }


for folder in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()):
        found = answers(folder)
    print(json.dumps(found))
