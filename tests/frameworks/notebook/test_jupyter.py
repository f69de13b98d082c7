"""A real Jupyter kernel runs notebooks, and a real browser shows them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter
from snippets import ROOT

# A folder for a picture of the notebook, to look at.  Read here: each test begins without it.
PICTURES = os.environ.get("SMDEBUG_PICTURES")
TRAINING = Path(__file__).parent / "training.py"


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Runs cells in a kernel, in a folder of its own, and returns the notebook."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("MPLBACKEND")  # the kernel has its own

    def run(*cells, during=None):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        client = NotebookClient(
            book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
        )
        if during is None:
            client.execute()
        else:
            during(client)
        return book

    return run


def html_of(cell):
    return [output["data"]["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]


def stream_of(cell):
    return "".join(output["text"] for output in cell.outputs if output["output_type"] == "stream")


def test_a_notebook_shows_everything(run, execute, browser, tmp_path):
    book = execute(
        f"import smdebug as smd\nfrom smdebug.rules import RuleSet\ntrial = smd.create_trial({str(run)!r})\ntrial",
        "trial.tensor('fc1.weight')",
        "trial.tensor('fc3.weight').plot();",
        "trial.plot('loss|accuracy');",
        "rules = RuleSet().add('ExplodingTensor').add('VanishingGradient')\nfindings = list(rules.evaluate(trial))\nrules",
        "findings[0]",
        "trial.report()",
    )
    assert [len(html_of(cell)) for cell in book.cells] == [1, 1, 0, 0, 1, 1, 1]
    assert all("image/png" in cell.outputs[-1]["data"] for cell in book.cells[2:4])
    page, _ = HTMLExporter(template_name="classic", exclude_input_prompt=True).from_notebook_node(book)
    path = tmp_path / "notebook.html"
    path.write_text(page, encoding="utf-8")
    browser.open(path, width=1100, height=3000)
    assert browser.run("return document.querySelectorAll('.smdebug').length") == 4
    assert browser.run("return document.querySelectorAll('.smdebug svg polyline').length") > 10
    frame = browser.find("iframe")
    browser.driver.switch_to.frame(frame)
    assert "run" in browser.run("return document.body.innerText")
    assert browser.run("return document.documentElement.scrollHeight") > 500
    browser.driver.switch_to.default_content()
    assert not [line for line in browser.complaints() if "srcdoc" in line], "the page fails in its sandbox"
    if PICTURES:
        height = browser.run("return document.documentElement.scrollHeight")
        (Path(PICTURES) / "notebook.png").write_bytes(browser.screenshot(height))


def test_charts_of_a_profile_are_drawn(execute, browser, tmp_path):
    book = execute(
        "import time\n"
        "from smdebug.profiler import LocalAlgorithmMetricsReader, LocalSystemMetricsReader, Profiler\n"
        "with Profiler('profile', sample_milliseconds=100) as profiler:\n"
        "    for step in range(30):\n"
        "        with profiler.span('Step:ModeKeys.TRAIN', step=step):\n"
        "            time.sleep(0.05)\n"
        "system, framework = LocalSystemMetricsReader('profile'), LocalAlgorithmMetricsReader('profile')\n"
        "from smdebug.profiler.analysis.notebook_utils import *",
        "charts = TimelineCharts(system, framework, select_dimensions=['CPU'], select_events=['total'])",
        "steps = StepTimelineChart(framework)",
        "bars = MetricsHistogram(system)\nbars.plot(select_dimensions=['CPU'], select_events=['total'])",
        "heat = Heatmap(system)",
        "charts.update_data(4_000_000_000_000_000)\nprint(charts.target is not None)",
        "charts.find_time_annotations([0, 5])",
    )
    assert stream_of(book.cells[5]) == "True\n"
    assert "ms (cumulative time) in Step:ModeKeys.TRAIN_" in stream_of(book.cells[6])
    page, _ = HTMLExporter(template_name="lab").from_notebook_node(book)
    path = tmp_path / "notebook.html"
    path.write_text(page, encoding="utf-8")
    browser.open(path, width=1200, height=3000)
    count = "return window.Bokeh ? window.Bokeh.documents.length : 0"
    end = time.monotonic() + 30
    while browser.run(count) < 4 and time.monotonic() < end:
        time.sleep(0.1)
    assert browser.run(count) == 4


def start_training(path, steps):
    return subprocess.Popen([sys.executable, TRAINING, path, str(steps)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip


def test_watching_follows_a_job_to_its_end(execute, tmp_path):
    job = start_training(tmp_path / "live", 15)
    book = execute(
        "import smdebug, threading, ipywidgets\n"
        "seen = []\n"
        "plain = ipywidgets.HTML.__setattr__\n"
        "def note(self, name, value):\n"
        "    if name == 'value': seen.append(value)\n"
        "    plain(self, name, value)\n"
        "ipywidgets.HTML.__setattr__ = note\n"
        "before = threading.active_count()\n"
        "smdebug.watch('live', every=0.3)",
        "print(len(seen) > 3, len(set(seen)) > 3, threading.active_count() - before)",
    )
    assert job.wait(30) == 0
    [last] = html_of(book.cells[0])[-1:]
    assert "the job has ended" in last and "has ended" in last and "15: 14 TRAIN" in last
    assert "NaN" in last or "nan" in last, "the findings"
    assert stream_of(book.cells[1]) == "True True 0\n"


def test_interrupting_the_cell_ends_watching(execute, tmp_path):
    job = start_training(tmp_path / "live", 1000)
    result = []

    def during(client):
        with client.setup_kernel():
            client.execute_cell(client.nb.cells[0], 0)
            timer = threading.Timer(4, lambda: os.kill(client.nb.metadata["pid"], 2))
            client.nb.metadata["pid"] = int(stream_of(client.nb.cells[0]))
            timer.start()
            begin = time.monotonic()
            client.execute_cell(client.nb.cells[1], 1)
            result.append(time.monotonic() - begin)
            client.execute_cell(client.nb.cells[2], 2)
            timer.join()

    book = execute(
        "import os; print(os.getpid())",
        "import smdebug, threading\nbefore = threading.active_count()\nsmdebug.watch('live', every=0.3)",
        "print('goes on', threading.active_count() - before)",
        during=during,
    )
    job.terminate()
    job.wait(30)
    assert "interrupted" in html_of(book.cells[1])[-1]
    assert "error" not in [output["output_type"] for output in book.cells[1].outputs]
    assert stream_of(book.cells[2]) == "goes on 0\n"
    assert 2 < result[0] < 20


def test_mistakes_are_raised(execute):
    for call in ("smdebug.watch('none', every=0)", "smdebug.watch('none', rules='x')"):
        with pytest.raises(CellExecutionError, match="every=0|expected a RuleSet"):
            execute(f"import smdebug\n{call}")


def test_the_page_of_the_documentation(execute, tmp_path):
    """Its snippets are the cells of one notebook, in their order."""
    from snippets import blocks

    cells = [text for _, text in blocks(ROOT / "docs/notebooks.md", "python")]
    assert len(cells) >= 4
    book = execute(*cells)
    assert sum(len(html_of(cell)) for cell in book.cells) >= 4
