"""The commands `smdebug query` and `smdebug export`.

The program smdebug, which is written in C++, lists and describes these commands, and starts this
module.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from typing import IO, Callable, Iterator, List, NoReturn, Optional, Sequence, Union

from smdebug.core.logger import get_logger, stop_relay
from smdebug.exceptions import SMDebugError, SMDebugValueError
from smdebug.tables.conditions import Option
from smdebug.tables.parquet import EXPORTED, export
from smdebug.tables.output import FORMATS, write_rows
from smdebug.tables.query import Query, interrupt_all

__all__ = ["main", "run"]

_USAGE, _DAMAGED, _INTERNAL, _FILES, _UNSUPPORTED = 2, 4, 1, 5, 8
# The exit codes of errors by their codes, as in cli/exit_code.cc; docs/cli.md lists them.
_EXIT_CODES = {
    code: number
    for number, codes in {
        2: "INVALID_ARGUMENT INVALID_CONFIG TRIAL_EXISTS",
        3: "STEP_UNAVAILABLE STEP_NOT_YET NO_MORE_DATA TENSOR_UNAVAILABLE VALUE_UNAVAILABLE "
        "WORKER_UNKNOWN MISSING_COLLECTIONS SHAPE_UNAVAILABLE NOT_FOUND BUCKET_NOT_FOUND",
        4: "CORRUPT_DATA",
        5: "IO PERMISSION NO_SPACE",
        6: "NETWORK TIMEOUT TLS THROTTLED",
        7: "CREDENTIALS CREDENTIALS_REFUSED CREDENTIALS_EXPIRED CLOCK_SKEWED WRONG_REGION",
        8: "UNSUPPORTED ABI_MISMATCH",
    }.items()
    for code in codes.split()
}
_DAMAGE_SHOWN = 5
# How long an interrupted command may take to remove its files, in seconds.
_LONGEST_END = 5


def main(arguments: Sequence[str]) -> int:
    """Runs a command, and returns its exit code.

    Parameters
    ----------
    arguments : sequence of str
        The command's name and its arguments.
    """
    # If the reader of stdout is gone, the program stops silently.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        options = _parsed(arguments)
        with _collected_log() as damage:
            code = _interruptibly(lambda: int(options.run(options)))
            sys.stdout.flush()
            stop_relay()  # after the last queued line
        return damage.conclude(code)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        return _INTERNAL
    except Exception as error:
        return _complain(error)


def _interruptibly(command: Callable[[], int]) -> int:
    """Runs a command in a thread of its own: Ctrl-C does not reach one in which DuckDB computes."""
    ending: List[Union[int, BaseException]] = []
    has_ended = threading.Event()  # Thread.join() does not wait once more after an interrupt

    def call() -> None:
        try:
            ending.append(command())
        except BaseException as error:
            ending.append(error)
        has_ended.set()

    threading.Thread(target=call, daemon=True).start()
    try:
        has_ended.wait()
    except KeyboardInterrupt:
        interrupt_all()
        has_ended.wait(_LONGEST_END)
        raise
    [result] = ending
    if isinstance(result, BaseException):
        raise result
    return result


def run(arguments: Sequence[str]) -> NoReturn:
    """Runs a command, and exits with its exit code."""
    try:
        code = main(arguments)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else _USAGE
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    # DuckDB prints what the interpreter's end does not free.
    os._exit(code)


# ---- arguments ------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"smdebug: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(_USAGE)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    name = arguments[0]
    parser = _Parser(prog=f"smdebug {name}", allow_abbrev=False, add_help=False)
    if name == "query":
        parser.add_argument("sql", metavar="SQL")
        parser.add_argument("-o", "--output", metavar="FILE")
        parser.add_argument("--format", choices=[*FORMATS, "parquet"])
        parser.add_argument("-r", "--rule", metavar="NAME[,PARAMETER=VALUE...]", action="append")
        parser.add_argument("--profile", choices=("calibrated", "aws", "llm"))
    else:
        parser.add_argument("--table", choices=EXPORTED, action="append")
        parser.add_argument("--column", metavar="NAME", action="append")
    parser.add_argument("paths", metavar="PATH", nargs="+")
    if name == "export":
        parser.add_argument("out", metavar="OUT")
    parser.add_argument("--compute", action="store_true")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[])
    options = parser.parse_args(list(arguments[1:]))
    options.run = _query if name == "query" else _export
    return options


def _settings(options: argparse.Namespace) -> List[Option]:
    given: List[Option] = []
    for setting in options.set:
        name, equals, value = setting.partition("=")
        if not equals:
            raise SMDebugValueError(f"--set needs NAME=VALUE, not '{setting}'")
        given.append((name, value))
    if options.compute:
        given.append(("compute", "true"))
    return given


# ---- query ----------------------------------------------------------------------


def _query(options: argparse.Namespace) -> int:
    if options.output == "-":
        options.output = None
    given = _settings(options)
    for rule in options.rule or []:
        name, comma, parameters = rule.partition(",")
        given.append(("rule", f"{name} {_parameters(parameters)}" if comma else name))
    if options.profile:
        given.append(("profile", options.profile))
    form = options.format or _format_of(options.output)
    if form == "parquet" and options.output is None:
        raise SMDebugValueError("a file is needed for Parquet: -o FILE")
    if options.output is not None:
        _check_is_new(options.output)
    with contextlib.closing(Query(options.sql, options.paths, given)) as query:
        _write(query, options.output, form)
    return 0


def _write(query: Query, output: Optional[str], form: str) -> None:
    if output is None:
        write_rows(query, sys.stdout, form)
        return
    with _new_file(output) as unfinished:
        if form == "parquet":
            query.write_parquet(unfinished)
        else:
            with open(unfinished, "w", encoding="utf-8", newline="") as out:
                write_rows(query, out, form)


def _parameters(text: str) -> str:
    """Returns NAME=VALUE,... as a JSON object."""
    if text.lstrip().startswith("{"):
        return text
    found = {}
    name = ""
    for each in text.split(","):
        key, equals, value = each.partition("=")
        if equals:
            name = key
            found[name] = value
        elif name:
            found[name] += f",{each}"  # text without "=" belongs to the value before it
        else:
            raise SMDebugValueError(f"the parameter '{each}' of --rule has no value")
    return json.dumps(found)


def _format_of(output: Optional[str]) -> str:
    if output is None:
        return "table"
    suffix = os.path.splitext(output)[1].lower()
    forms = {".csv": "csv", ".json": "json", ".jsonl": "json", ".txt": "table", ".parquet": "parquet"}
    if suffix not in forms:
        raise SMDebugValueError(
            f"{output}: the name must end in .csv, .json, .txt or .parquet, or --format say the format"
        )
    return forms[suffix]


def _check_is_new(output: str) -> None:
    if os.path.lexists(output):
        raise SMDebugValueError(f"{output}: it exists; remove it, or choose another name")


@contextlib.contextmanager
def _new_file(output: str) -> Iterator[str]:
    """Yields the path of a file that gets its name when it is complete."""
    folder, name = os.path.split(output)
    unfinished = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.unlink(unfinished)
    except OSError as error:
        raise OSError(error.errno, error.strerror, output) from None
    try:
        yield unfinished
        _check_is_new(output)
        os.rename(unfinished, output)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)


# ---- export ---------------------------------------------------------------------


def _export(options: argparse.Namespace) -> int:
    written = export(
        options.paths,
        options.out,
        tables=options.table or EXPORTED,
        columns=options.column,
        options=_settings(options),
    )
    if written.files == 0:
        print(f"nothing new in {_count(written.trials, 'trial')}")
    else:
        print(
            f"wrote {_count(written.rows, 'row')} in {_count(written.files, 'file')} "
            f"of {_count(written.trials, 'trial')} to {options.out}"
        )
    return 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# ---- errors ---------------------------------------------------------------------


class _Damage(logging.Handler):
    """Keeps what the library logs; lines about skipped data are damage."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: List[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def conclude(self, code: int) -> int:
        """Prints the first lines, and returns the exit code."""
        for line in self.lines[:_DAMAGE_SHOWN]:
            _print_error(line)
        if len(self.lines) > _DAMAGE_SHOWN:
            _print_error(f"{len(self.lines) - _DAMAGE_SHOWN} more like these")
        is_damage = any(line.endswith(("; skipped", "in no collection")) for line in self.lines)
        return _DAMAGED if is_damage and code == 0 else code


@contextlib.contextmanager
def _collected_log() -> Iterator[_Damage]:
    damage = _Damage()
    logger = get_logger()
    logger.addHandler(damage)
    logger.propagate = False
    try:
        yield damage
    finally:
        logger.removeHandler(damage)
        logger.propagate = True


def _complain(error: Exception) -> int:
    text = str(error.strerror) if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, OSError) and error.filename and str(error.filename) not in text:
        text = f"{error.filename}: {text}"
    if type(error).__module__.endswith("duckdb"):
        text = text.partition("Error: ")[2].split("\n")[0] or text
    _print_error(text or type(error).__name__)
    if isinstance(error, ImportError):
        return _UNSUPPORTED
    if isinstance(error, SMDebugError) and error.code:
        return _EXIT_CODES.get(error.code, _INTERNAL)
    if isinstance(error, SMDebugValueError):
        return _USAGE
    is_file = isinstance(error, OSError) or type(error).__name__ == "IOException"
    return _FILES if is_file else _INTERNAL


def _print_error(text: str, out: Optional[IO[str]] = None) -> None:
    line = " ".join(text.split())
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)
    print(f"smdebug: {shown}", file=out or sys.stderr)
