"""How the JVM of a Spark inside this process starts: what it says of itself goes to a file, so that a command's output
is planproof's alone, and no secret stands on its command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from planproof.regular import open_anew

_SHOWN = 5
_file: ContextVar[Callable[[], Path] | None] = ContextVar("file", default=None)


@contextmanager
def log_to(file: Callable[[], Path]) -> Iterator[None]:
    """Within it, a JVM that starts writes its standard error to `file()`. One that runs already writes where it did."""
    token = _file.set(file)
    try:
        yield
    finally:
        _file.reset(token)


def launch(settings: Mapping[str, str]) -> Path | None:
    """Starts the JVM with its standard error in the file, and says in which; None where none was asked for or can be
    written, or a JVM runs already. Of `settings`, its command line shows those that are no secrets. Raises pyspark's
    error where it does not start."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    from planproof.session.command_line import has_confidential, shown_settings

    asked = _file.get()
    context: Any = SparkContext
    if context._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    file = opened = None
    if asked is not None:
        # A folder that nobody may write to stops no audit.
        with suppress(OSError):
            file = asked()
            opened = open_anew(file, home=file.parent.parent)
    if opened is None and not has_confidential(settings):
        return None
    conf = SparkConf()
    with opened or nullcontext(), shown_settings(settings) as shown:
        for key, value in shown.items():
            conf.set(key, value)
        # What pyspark's documentation of launch_gateway offers for this.
        context._ensure_initialized(gateway=launch_gateway(conf, {"stderr": opened} if opened else None))
    return file if opened else None


def last_lines() -> str:
    """The end of what a JVM wrote that did not start, with the file's name; empty where nothing was asked for."""
    asked = _file.get()
    if asked is None or not asked().is_file():
        return ""
    file = asked()
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    return "; ".join(line.strip() for line in lines[-_SHOWN - 1 :] if line.strip()) + f" ({file})"
