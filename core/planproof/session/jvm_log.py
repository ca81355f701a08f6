"""How the JVM of a Spark inside this process starts: what it says of itself goes to a file, so that a command's output
is planproof's alone, and no secret stands on its command line, which all users of the machine can read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from planproof.confidential import is_confidential
from planproof.regular import open_anew

_FETCHED = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")
"""What Spark fetches as it starts, for which it may need the keys of a store."""
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
    written, or a JVM runs already. Of `settings`, its command line shows those that are no secrets: pyspark hands over
    all of them when it makes the SparkContext. Raises pyspark's error where it does not start."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    asked, shown = _file.get(), _without_secrets(settings)
    context: Any = SparkContext
    if context._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    file = opened = None
    if asked is not None:
        # A folder that nobody may write to stops no audit.
        with suppress(OSError):
            file = asked()
            opened = open_anew(file)
    if opened is None and len(shown) == len(settings):
        return None
    conf = SparkConf()
    for key, value in shown.items():
        conf.set(key, value)
    with opened or nullcontext():
        # What pyspark's documentation of launch_gateway offers for this.
        context._ensure_initialized(gateway=launch_gateway(conf, {"stderr": opened} if opened else None))
    return file if opened else None


def _without_secrets(settings: Mapping[str, str]) -> Mapping[str, str]:
    if any("://" in str(settings.get(name, "")) for name in _FETCHED):
        return settings
    return {name: value for name, value in settings.items() if not is_confidential(name, value)}


def last_lines() -> str:
    """The end of what a JVM wrote that did not start, with the file's name; empty where nothing was asked for."""
    asked = _file.get()
    if asked is None or not asked().is_file():
        return ""
    file = asked()
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    return "; ".join(line.strip() for line in lines[-_SHOWN - 1 :] if line.strip()) + f" ({file})"
