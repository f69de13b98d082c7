"""Log lines of the C library go to Python's logging, from any thread and until the end."""

import json
import logging
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from helpers import EVERY_STEP
from smdebug import Hook, create_trial
from smdebug.exceptions import IndexReaderException, MissingCollectionFiles

WAITING = "waiting for a job to record here"
DAMAGED = "000000000001_worker_0.json"


class Lines(logging.Handler):
    """Collects lines; `act` is called for each."""

    def __init__(self, act=lambda record: None):
        super().__init__()
        self.records = []
        self.act = act

    def emit(self, record):
        self.records.append(record)
        self.act(record)

    @property
    def text(self):
        return "\n".join(record.getMessage() for record in self.records)


@pytest.fixture
def logger():
    """The package's logger, as it is before a program configures it."""
    logger = logging.getLogger("smdebug")
    level = logger.level
    yield logger
    logger.setLevel(level)
    for handler in logger.handlers[:]:
        logger.removeHandler(handler)


@pytest.fixture
def damaged(recorder):
    """A trial that logs a warning when it is refreshed."""
    trial = recorder.step(0).open()
    (folder,) = Path(recorder.path, "index").iterdir()
    (folder / DAMAGED).write_text("{")
    yield trial
    trial.close()


def failing(out_dir, **settings):
    """A hook whose writer cannot write."""
    hook = Hook(out_dir, save_all=True, save_config=EVERY_STEP, options=settings)
    Path(out_dir, "events").parent.mkdir(exist_ok=True)
    Path(out_dir, "events").write_text("in the way")
    return hook


def save_steps(hook, count=1):
    for _ in range(count):
        with hook.step():
            hook.save("x", np.zeros(8))


# ---- which lines ---------------------------------------------------------------------


def test_waiting_for_a_job_is_logged(out_dir, caplog, capfd):
    with pytest.raises(MissingCollectionFiles):
        create_trial(out_dir, timeout=2)
    (record,) = [each for each in caplog.records if WAITING in each.getMessage()]
    assert (record.name, record.levelno) == ("smdebug", logging.WARNING)
    assert capfd.readouterr().err == ""


def test_the_loggers_level_may_change_at_any_time(damaged, logger, caplog):
    logger.setLevel(logging.ERROR)
    with pytest.raises(IndexReaderException):
        damaged.steps()
    assert caplog.text == ""
    logger.setLevel(logging.DEBUG)
    with pytest.raises(MissingCollectionFiles):
        create_trial(damaged.path + "-other", timeout=0)
    (Path(damaged.path) / "index" / "000000000" / "000000000002_worker_0.json").write_text("{")
    with pytest.raises(IndexReaderException):
        damaged.steps()
    assert "000000000002_worker_0.json" in caplog.text


def test_warnings_of_a_configuration_file_are_logged_once(tmp_path, caplog):
    path = tmp_path / "hook.json"
    path.write_text(json.dumps({"LocalPath": str(tmp_path / "run"), "SaveIntervall": 1}))
    Hook.create_from_json_file(str(path)).close()
    assert [each.levelname for each in caplog.records] == ["WARNING"]
    assert "SaveIntervall" in caplog.text


def test_lines_of_writer_threads_are_logged_before_close_returns(out_dir, caplog, capfd):
    hook = failing(out_dir)
    save_steps(hook)
    with pytest.raises(OSError):
        hook.close()
    records = [each for each in caplog.records if "events" in each.getMessage()]
    assert records and records[0].levelname == "ERROR"
    assert {each.threadName for each in records} <= {"smdebug-log", "MainThread"}
    assert capfd.readouterr().err == ""


# ---- what handlers do --------------------------------------------------------------------


@pytest.mark.timeout(20)
def test_a_handler_may_call_the_trial(damaged, logger):
    found = []
    handler = Lines(lambda record: found.append(damaged.tensor_names()))
    logger.addHandler(handler)
    with pytest.raises(IndexReaderException):
        damaged.steps()
    assert found == [["foo"]] and DAMAGED in handler.text


@pytest.mark.timeout(20)
def test_a_handler_may_wait_for_a_thread_that_uses_the_trial(damaged, logger):
    found = []

    def ask(record):
        thread = threading.Thread(target=lambda: found.append(damaged.steps()))
        thread.start()
        thread.join()

    logger.addHandler(Lines(ask))
    with pytest.raises(IndexReaderException):
        damaged.steps()
    assert found == [[0]]


@pytest.mark.timeout(20)
def test_a_handler_that_closes_the_hook_does_not_wait_for_itself(out_dir, logger):
    hook = failing(out_dir)
    closed = threading.Event()

    def close(record):
        try:
            hook.close()
        except OSError:
            pass
        closed.set()

    logger.addHandler(Lines(close))
    save_steps(hook)
    assert closed.wait(15)


def test_ctrl_c_in_a_handler_is_raised(damaged, logger, capfd):
    def interrupt(record):
        raise KeyboardInterrupt

    logger.addHandler(Lines(interrupt))
    with pytest.raises(KeyboardInterrupt):
        damaged.steps()
        for _ in range(1000):  # signals are handled between instructions
            pass
    assert DAMAGED in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_line_whose_handler_fails_goes_to_stderr(damaged, logger, capfd):
    logger.addHandler(Lines(lambda record: 1 / 0))
    with pytest.raises(IndexReaderException):
        damaged.steps()
    assert re.search(f"^smdebug warning: .*{DAMAGED}", capfd.readouterr().err, re.MULTILINE)


# ---- the end of the process ------------------------------------------------------------------


def run(out_dir, script, **variables):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), out_dir],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    return done


LOGS = """
import atexit, logging, os, sys, threading, time
from smdebug import Hook, SaveConfig, create_trial

class Handler(logging.Handler):
    def handle(self, record):  # without the handler's lock, which logging.shutdown() takes
        began.set()
        self.act(record)

def logs_soon():
    '''Warns after a second.'''
    try:
        create_trial(sys.argv[1] + "-none", timeout=2)
    except Exception:
        pass

began, handler = threading.Event(), Handler()
logging.getLogger("smdebug").addHandler(handler)
"""


@pytest.mark.parametrize("seconds", [0.9, 1.0, 1.1])
def test_a_daemon_thread_may_log_while_python_exits(out_dir, seconds):
    script = f"""
    handler.act = lambda record: print(record.getMessage(), file=sys.stderr)
    for _ in range(8):
        threading.Thread(target=logs_soon, daemon=True).start()
    time.sleep({seconds})
    """
    run(out_dir, LOGS + textwrap.dedent(script))


def test_a_daemon_thread_in_a_handler_does_not_keep_python_from_exiting(out_dir):
    script = """
    def act(record):
        while True:
            time.sleep(0.001)
    handler.act = act
    threading.Thread(target=logs_soon, daemon=True).start()
    began.wait()
    """
    run(out_dir, LOGS + textwrap.dedent(script))


def test_a_daemon_thread_in_a_rule_does_not_keep_python_from_exiting(recorder):
    recorder.step(0)
    script = """
    from smdebug.rules import RuleSet
    def rule(trial, step):
        began.set()
        while True:
            time.sleep(0.001)
    rules = RuleSet("aws").add(rule)
    trial = create_trial(sys.argv[1])
    threading.Thread(target=lambda: list(rules.evaluate(trial)), daemon=True).start()
    began.wait()
    """
    run(recorder.path, LOGS + textwrap.dedent(script))


@pytest.mark.parametrize(("level", "is_logged"), [("WARNING", True), ("ERROR", False)])
def test_lines_after_the_exit_functions_go_to_stderr(out_dir, level, is_logged):
    script = f"""
    import atexit, logging, sys
    def late():
        try:
            smdebug.create_trial(sys.argv[1], timeout=2)
        except smdebug.exceptions.MissingCollectionFiles:
            print("missing")
    atexit.register(late)  # runs after those of the package
    import smdebug, smdebug.exceptions
    logging.getLogger("smdebug").setLevel("{level}")
    """
    done = run(out_dir, script)
    assert done.stdout == "missing\n"
    assert ("smdebug warning: " in done.stderr and WAITING in done.stderr) == is_logged


def test_lines_of_writers_are_logged_before_python_exits(out_dir):
    script = """
    handler.act = lambda record: (time.sleep(0.3), print("line", record.getMessage()))
    hook = Hook(sys.argv[1], save_all=True, save_config=SaveConfig(save_interval=1))
    os.makedirs(sys.argv[1], exist_ok=True)
    open(os.path.join(sys.argv[1], "events"), "w").close()
    with hook.step():
        hook.save("x", 1.0)
    """
    assert "line" in run(out_dir, LOGS + textwrap.dedent(script)).stdout


class SlowAndFull(BaseHTTPRequestHandler):
    """A service with empty buckets, which refuses each object after a while."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, code=""):
        body = f"<Error><Code>{code}</Code></Error>".encode()
        if "list-type" in self.path:
            status, body = 200, b"<ListBucketResult></ListBucketResult>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        self.answer(404, "NoSuchKey")

    do_HEAD = do_DELETE = do_GET

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.3)
        self.answer(403, "AccessDenied")

    def log_message(self, *unused):
        pass


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), SlowAndFull)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.timeout(60)
def test_a_writer_logs_while_saves_wait_for_room(out_dir, service):
    """A small save holds the interpreter lock, also while it waits for another thread."""
    script = """
    import array
    handler.act = lambda record: print(record.threadName, record.levelname)
    options = {"queue_policy": "block", "queue_bytes": "65536"}
    hook = Hook("s3://bucket/run", save_all=True, save_config=SaveConfig(save_interval=1),
                options=options)
    def save():
        while not has_ended:
            try:
                hook.save("y", 1.0)
            except Exception:
                pass
    has_ended = False
    saver = threading.Thread(target=save)
    saver.start()
    for step in range(6):
        with hook.step():
            hook.save("x", array.array("d", bytes(8 * 4096)))
    has_ended = True
    saver.join()
    try:
        hook.close()
    except OSError as error:
        print(type(error).__name__)
    """
    variables = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_S3": service,
    }
    done = run(out_dir, LOGS + textwrap.dedent(script), **variables)
    assert "smdebug-log ERROR" in done.stdout, (done.stdout, done.stderr)


@pytest.mark.timeout(30)
def test_a_forked_child_logs_its_own_lines(out_dir, logger):
    handler = Lines()
    logger.addHandler(handler)
    with pytest.raises(OSError):
        with failing(out_dir) as hook:
            save_steps(hook)
    count = len(handler.records)
    assert count > 0
    child = os.fork()
    if child == 0:
        try:
            with failing(out_dir + "-child") as hook:
                save_steps(hook)
        except OSError:
            os._exit(0 if "run-child" in handler.text else 3)
        os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(handler.records) == count
