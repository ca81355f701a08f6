"""Where a Spark that starts inside this process writes what it says of itself: to a file, so that a command's output is
planproof's alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

_SHOWN = 5
_file: ContextVar[Callable[[], Path] | None] = ContextVar("file", default=None)


@contextmanager
def logging_to(file: Callable[[], Path]) -> Iterator[None]:
    """Within it, a JVM that starts writes its standard error to `file()`. One that runs already writes where it did."""
    token = _file.set(file)
    try:
        yield
    finally:
        _file.reset(token)


def launch(settings: Mapping[str, str]) -> Path | None:
    """Starts the JVM with its standard error in the file, and says in which; None where none was asked for or can be
    written, or a JVM runs already. Raises pyspark's error where it does not start."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    asked = _file.get()
    context: Any = SparkContext
    if asked is None or context._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    file = asked()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = file.open("wb")
    except OSError:  # A folder that nobody may write to stops no audit.
        return None
    conf = SparkConf()
    for key, value in settings.items():
        conf.set(key, value)
    with opened as log:
        # What pyspark's documentation of launch_gateway offers for this.
        context._ensure_initialized(gateway=launch_gateway(conf, {"stderr": log}))
    return file


def last_lines() -> str:
    """The end of what a JVM wrote that did not start, with the file's name; empty where nothing was asked for."""
    asked = _file.get()
    if asked is None or not asked().is_file():
        return ""
    file = asked()
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    return "; ".join(line.strip() for line in lines[-_SHOWN - 1 :] if line.strip()) + f" ({file})"
