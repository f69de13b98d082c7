"""Adds traces of other programs to a profile."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from typing import Optional, Union

from smdebug import _raw
from smdebug._handles import out, text
from smdebug.exceptions import SMDebugError

__all__ = ["import_chrome_trace"]

_PIECE = 1 << 20
_MOST = 1 << 30


def import_chrome_trace(
    trace: Union[str, os.PathLike[str]],
    out_dir: Union[str, os.PathLike[str]],
    node: Optional[str] = None,
) -> int:
    """Adds the events of a trace in Chrome's format, such as torch.profiler's, to a profile.

    Kernels get the phase "gpu_functions-dev:<n>", operators "cpu_functions".  Events within
    "ProfilerStep#<n>" have step n.

    Parameters
    ----------
    trace : str or path
        The trace: ``.json`` or ``.json.gz``, of at most 1 GiB.
    out_dir : str or path
        The folder of the profile, or s3://bucket/prefix.
    node : str, optional
        The name of the trace's process in file names.  Default: "trace".

    Returns
    -------
    int
        The number of events.

    Raises
    ------
    FileNotFoundError
        If there is no such trace.
    SMDebugError
        If the trace is cut off, or is none; nothing is added then.
    """
    path, folder = text(os.fspath(trace), "trace"), text(os.fspath(out_dir), "out_dir")
    name = None if node is None else text(node, "node")
    if not path.endswith(".gz") or path.startswith("s3://"):
        return _import(path, folder, name)
    with tempfile.TemporaryDirectory() as scratch:
        # Messages name the file.
        plain = os.path.join(scratch, os.path.basename(path)[: -len(".gz")])
        _decompress(path, plain)
        return _import(plain, folder, name)


def _import(path: str, folder: str, node: Optional[str]) -> int:
    count: int = out("int64", _raw.smd_profile_import_trace, path, folder, node)
    return count


def _decompress(path: str, plain: str) -> None:
    size = 0
    try:
        with gzip.open(path, "rb") as source, open(plain, "wb") as target:
            while piece := source.read(_PIECE):
                size += len(piece)
                if size > _MOST:
                    raise SMDebugError(f"{path} has more than 1 GiB")
                target.write(piece)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SMDebugError(f"{path} is no whole file of gzip: {error}") from error
