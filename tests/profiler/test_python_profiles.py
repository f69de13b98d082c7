"""Analyses of Python profiles: as 1.0.34, over files of this package, and over malicious files."""

import cProfile
import json
import marshal
import os
import pstats
import subprocess
import sys
import time
from pathlib import Path

import pytest
from smdebug.core.python_sampling import PythonSampler
from smdebug.core.step_profile import write_file
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.profiler.analysis.python_profile_analysis import (
    PyinstrumentAnalysis,
    PythonProfileAnalysis,
    cProfileAnalysis,
)
from smdebug.profiler.analysis.python_stats_reader import LocalPythonStatsReader, S3PythonStatsReader
from smdebug.profiler.analysis.utils.python_profile_analysis_utils import (
    Metrics,
    StepPythonProfileStats,
)
from smdebug.profiler.analysis.utils.stats_file import read_stats
from smdebug.profiler.python_profile_utils import PythonProfileModes, StepPhase

HERE = Path(__file__).parent
ORIGINAL = os.environ.get("SMDEBUG_ORIGINAL_PYTHON", "")
FIRST = 1706745541  # seconds
PLACES = [
    "prestepzero-*-start", "train-0-stepstart", "train-0-forwardpassend", "train-1-stepstart",
    "train-1-forwardpassend", "train-2-stepstart", "train-2-stepend", "eval-3-stepstart",
    "eval-3-stepend", "posthookclose-*-end",
]  # fmt: skip

pytestmark = pytest.mark.timeout(60)


def recursive(depth):
    return depth if depth == 0 else recursive(depth - 1) + len("é" * depth)


def profile(seed):
    """Returns what cProfile records of a small program."""
    recorder = cProfile.Profile()
    recorder.runcall(recursive, seed + 2)
    recorder.runcall(sorted, range(seed), key=str)
    recorder.create_stats()
    return recorder.stats


def folder_of(begin, end, number):
    start = (FIRST + number) * 10**6
    return f"{begin}-{start}.0_{end}-{start + 250000}.5"


@pytest.fixture
def profiles(tmp_path):
    """Writes the profiles of two nodes, and returns their folder."""
    top = tmp_path / "profile/framework/pytorch/cprofile"
    for node in ("314-algo-1", "315-algo-2"):
        for number, (begin, end) in enumerate(zip(PLACES, PLACES[1:])):
            path = top / node / folder_of(begin, end, number) / "python_stats"
            path.parent.mkdir(parents=True)
            path.write_bytes(marshal.dumps(profile(number + len(node))))
    return top


def answers(python, folder, environment):
    done = subprocess.run(
        [python, str(HERE / "dump_python_profiles.py"), str(folder)],
        capture_output=True, text=True, check=False, env={**environment, "SMDEBUG_LOG_LEVEL": "off"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_cprofile_as_the_original(profiles):
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    theirs = answers(ORIGINAL, profiles, plain)
    ours = answers(sys.executable, profiles, dict(os.environ))
    # Rows are sorted by time and node; whole numbers of a column with "inf" are shown as floats.
    assert ours.pop("rows") == theirs.pop("rows")
    assert ours.keys() == theirs.keys()
    for part, theirs_of_part in theirs.items():
        if isinstance(theirs_of_part, dict):
            for name, their_stats in theirs_of_part.items():
                assert_same(ours[part][name], their_stats)
        else:
            assert ours[part] == theirs_of_part
    assert theirs["any"]["steps"] and theirs["any"]["job"]["finalization"]


def assert_same(mine, other):
    """Sums of floats differ in the last digit with the order of files."""
    if isinstance(other, dict):
        assert mine.keys() == other.keys()
        for name, each in other.items():
            assert_same(mine[name], each)
    elif isinstance(other, list):
        assert len(mine) == len(other)
        for left, right in zip(mine, other):
            assert_same(left, right)
    else:
        assert mine == pytest.approx(other) if isinstance(other, float) else mine == other


def test_the_folder_of_a_whole_profile(profiles):
    whole = cProfileAnalysis(str(profiles.parents[2]))
    part = cProfileAnalysis(f"{profiles}/")
    assert whole.list_profile_stats().equals(part.list_profile_stats().assign(
        stats_path=whole.list_profile_stats()["stats_path"]
    ))  # fmt: skip
    assert {each.framework for each in part.python_profile_stats} == {"pytorch"}
    assert len(PythonProfileAnalysis(str(profiles)).fetch_profile_stats_by_step(0, 2)) == 5


def test_a_time_inside_of_a_profile_selects_it(profiles):
    found = cProfileAnalysis(str(profiles)).fetch_profile_stats_by_time(FIRST + 0.1, FIRST + 0.2)
    assert found is not None
    assert found.get_function_stats().columns[0] == "function name"
    assert len(found.get_function_stats()) == len(found.function_stats_list)


def test_the_initialization_is_the_sum_of_all_that_begin_before_the_first_step(profiles):
    before = cProfileAnalysis(str(profiles)).fetch_profile_stats_by_job_phase()["initialization"]
    path = profiles / "314-algo-1" / folder_of("prestepzero-*-start", "eval-0-stepstart", 20)
    path.mkdir()
    (path / "python_stats").write_bytes(marshal.dumps(profile(50)))
    both = cProfileAnalysis(str(profiles)).fetch_profile_stats_by_job_phase()["initialization"]
    assert both.ps.total_calls > before.ps.total_calls + 50


def test_functions_are_printed_by_a_metric(profiles, capsys):
    found = cProfileAnalysis(str(profiles)).fetch_profile_stats_by_step(0, 2)
    found.print_top_n_functions(Metrics.TOTAL_CALLS, 2)
    assert "recursive" in capsys.readouterr().out
    with pytest.raises(SMDebugTypeError, match="by is a Metrics, not a str"):
        found.print_top_n_functions("ncalls")
    with pytest.raises(SMDebugTypeError, match="n is an int"):
        found.print_top_n_functions(Metrics.TOTAL_CALLS, "2")


def record(path, write):
    sampler = PythonSampler()
    sampler.start()
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        recursive(20)
    sampler.stop(lambda recording: write(recording, path))
    sampler.close()


def test_files_of_the_sampler(tmp_path):
    def as_cprofile(recording, path):
        write_file(f"{path}/python_stats", recording.as_pstats("total_time"))

    def as_pyinstrument(recording, path):
        write_file(f"{path}/python_stats.json", recording.as_json().encode())
        write_file(f"{path}/python_stats.html", recording.as_html().encode())

    name = folder_of("train-4-stepstart", "posthookclose-*-end", 0)
    for profiler, write in (("cprofile", as_cprofile), ("pyinstrument", as_pyinstrument)):
        record(tmp_path / f"framework/pytorch/{profiler}/1-algo-1/{name}", write)
    found = cProfileAnalysis(str(tmp_path)).fetch_post_hook_close_profile_stats()
    assert any("(recursive)" in each.function_name for each in found.function_stats_list)
    pages = PyinstrumentAnalysis(str(tmp_path)).fetch_profile_stats_between_modes(
        PythonProfileModes.TRAIN, PythonProfileModes.POST_HOOK_CLOSE
    )
    assert [page.json_stats["sample_count"] > 0 for page in pages] == [True]
    assert Path(pages[0].html_file_path).name == "python_stats.html"
    assert len(PythonProfileAnalysis(str(tmp_path)).list_profile_stats()) == 3


def test_damaged_pyinstrument_files_cost_only_themselves(tmp_path):
    top = tmp_path / "pytorch/pyinstrument"
    contents = [b"{}", b"[" * 100000, b"[]", b"{", b'{"duration": 1}']
    for number, content in enumerate(contents):
        path = top / "1-algo-1" / folder_of("train-0-stepstart", "train-0-stepend", number)
        path.mkdir(parents=True)
        (path / "python_stats.json").write_bytes(content)
    found = PyinstrumentAnalysis(str(top)).fetch_profile_stats_by_step(0)
    assert [each.json_stats for each in found] == [{}, {"duration": 1}]
    assert [each.html_file_path for each in found] == [None, None]


# ---- files of cProfile ------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 2, 3, 4])
def test_the_reader_gives_what_marshal_gives(version):
    shared = ("é.py", 2**31 + 5, "x" * 300)
    stats = {
        **profile(30),
        shared: (1, 2, 0.5, 1e-300, {shared: (1, 2**40, -0.0, 3.0), ("~", 0, "<x>"): (1, 1, 0.0, 0)}),
    }
    if version < 2:  # floats as text, and no references: not a version that cProfile writes
        with pytest.raises(SMDebugValueError):
            read_stats(marshal.dumps(stats, version))
        return
    assert read_stats(marshal.dumps(stats, version)) == stats


NAME = ("a", 1, "f")


@pytest.mark.parametrize(
    "value",
    [
        compile("import os; os._exit(1)", "x", "exec"), {NAME: compile("1", "x", "eval")}, None, 1,
        [], {1: 2}, {NAME: 1}, {NAME: (1, 1, 0.0, 0.0)}, {NAME: (1, 1, 0.0, 0.0, [])},
        {NAME: (1, 1, 0.0, 0.0, {1: 2})}, {NAME: (1, 1, 0.0, 0.0, {NAME: (1, 1, "", 0.0)})},
        {NAME: (1, 1, float("nan"), 0.0, {})}, {NAME: (1.5, 1, 0.0, 0.0, {})},
        {NAME: (2**999, 1, 0.0, 0.0, {})}, {(b"a", 1, "f"): (1, 1, 0.0, 0.0, {})}, {NAME: {NAME: {}}},
    ],
)  # fmt: skip
def test_the_reader_refuses_other_values(value):
    with pytest.raises(SMDebugValueError, match="not a file of cProfile"):
        read_stats(marshal.dumps(value))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\xff" * 100, b"{" * 10**6, b"(\xff\xff\xff\x7f", b"\xfb\xe9(", b"r\x00\x00\x00\x00",
        b"\xdb\xa9\x01r\x01\x00\x00\x00", b"{{0N0", b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x04\x95\x00\x00", b"u\xff\xff\xff\xff", b"l\x00\x00\x00\x80", b"u\x01\x00\x00\x00\xff",
    ],
)  # fmt: skip
def test_the_reader_refuses_malicious_files(content):
    with pytest.raises(SMDebugValueError):
        read_stats(content)


def test_every_cut_and_flipped_byte_is_an_error_or_valid():
    content = marshal.dumps(profile(2))
    for length in range(len(content)):
        with pytest.raises(SMDebugValueError):
            read_stats(content[:length])
    for place in range(len(content)):
        for mask in (0x01, 0x80, 0xFF):
            changed = bytearray(content)
            changed[place] ^= mask
            try:
                read_stats(bytes(changed))
            except SMDebugValueError:
                continue


def test_a_malicious_file_costs_only_itself(profiles):
    whole = cProfileAnalysis(str(profiles)).fetch_profile_stats_by_step(0, 2)
    path = profiles / "314-algo-1" / folder_of("train-1-stepstart", "train-1-stepend", 30)
    path.mkdir()
    (path / "python_stats").write_bytes(marshal.dumps(compile("1", "x", "eval")))
    (path / "other").write_text("")
    (profiles / "314-algo-1/train-0-nonsense").mkdir()
    (profiles / "314-algo-1/train-0-nonsense/python_stats").write_text("")
    (profiles / "a file").write_text("")
    again = cProfileAnalysis(str(profiles)).fetch_profile_stats_by_step(0, 2)
    assert again.ps.stats == whole.ps.stats


def test_a_profile_without_functions(tmp_path):
    path = tmp_path / "pytorch/cprofile/1-algo-1" / folder_of("train-0-stepstart", "train-0-stepend", 0)
    path.mkdir(parents=True)
    (path / "python_stats").write_bytes(marshal.dumps({}))
    found = cProfileAnalysis(str(path.parents[1])).fetch_profile_stats_by_step(0)
    assert found.function_stats_list == [] and isinstance(found.ps, pstats.Stats)


@pytest.mark.parametrize(
    "name",
    ["", "_", "train-0-stepstart-1", "train-0-stepstart-1_train-0-stepend-nan", "x-0-start-1_train-0-end-2",
     "train-0-x-1_train-0-end-2", "train--1-start-1_train-0-end-2", "train-" + "9" * 5000 + "-start-1_train-0-end-2"],
)  # fmt: skip
def test_names_of_folders_are_checked(name):
    with pytest.raises(SMDebugValueError):
        StepPythonProfileStats("pytorch", "cprofile", "1-algo-1", name, "")


def test_folders_that_do_not_exist_are_named(tmp_path):
    for make in (
        lambda path: LocalPythonStatsReader(path),
        lambda path: S3PythonStatsReader(path, "s3://bucket/job"),
        lambda path: cProfileAnalysis(path),
    ):
        with pytest.raises(SMDebugValueError, match="missing: no such folder"):
            make(str(tmp_path / "missing"))
    with pytest.raises(SMDebugValueError, match="not an address in S3"):
        S3PythonStatsReader(str(tmp_path), str(tmp_path))


def test_an_empty_folder_has_no_profiles(tmp_path):
    analysis = cProfileAnalysis(str(tmp_path))
    assert analysis.list_available_node_ids() == []
    assert analysis.list_profile_stats().empty
    assert analysis.fetch_profile_stats_by_step(0, start_phase=StepPhase.STEP_END) is None
    assert analysis.fetch_profile_stats_by_training_phase() == {}
    assert list(analysis.fetch_profile_stats_by_job_phase()) == ["training_loop"]
