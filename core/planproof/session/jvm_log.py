"""How the JVM of a Spark inside this process starts, and what it says of itself.

That goes to a file, so that a command's output is planproof's alone; warnings that the guard's own folders cause, which
nobody can use, are kept out. On the command line of the JVM, which all users of the machine can read, stands no secret.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from planproof.confidential import is_confidential
from planproof.regular import open_anew

_FETCHED = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")
"""What Spark fetches as it starts, for which it may need the keys of a store."""
_DRIVER = "spark.driver."
"""What the launcher of the JVM reads itself begins so."""
_OPTIONS = ("spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions")
"""What it writes on the command line."""
_SUBMIT, _FILE = "PYSPARK_SUBMIT_ARGS", "--properties-file"


def has_confidential(settings: Mapping[str, str]) -> bool:
    """Whether one of them must not be shown."""
    return any(is_confidential(name, str(value)) for name, value in settings.items())


@contextmanager
def shown_settings(settings: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Those of the settings that a command line may show. Within it, files of this user's alone hold the options of a
    JVM, and what Spark needs of the rest before pyspark hands over all settings, which is when it makes the
    SparkContext."""
    told = {name: str(value) for name, value in settings.items()}
    hidden = {name: value for name, value in told.items() if is_confidential(name, value)}
    shown = {name: value for name, value in told.items() if name not in hidden}
    with tempfile.TemporaryDirectory(prefix="planproof") as folder:  # Nobody else may open it.
        for name in _OPTIONS:
            if name in hidden:
                shown[name] = _write_options(Path(folder) / name, hidden.pop(name))
        is_fetching = any("://" in told.get(name, "") for name in _FETCHED)
        if any(is_fetching or name.startswith(_DRIVER) for name in hidden):
            with _submit_settings(Path(folder) / "properties", hidden):
                yield shown
        else:
            yield shown


def _write_options(file: Path, options: str) -> str:
    """An `@argfile` of Java's, since version 9, in place of the options."""
    from planproof.session.versions import has_java_argfiles

    try:
        words = shlex.split(options)
    except ValueError:  # Spark will say what is wrong with it.
        return options
    if not has_java_argfiles():
        return options
    _write(file, [f'"{_escape(word)}"' for word in words])
    return f'"@{_escape(str(file))}"'


@contextmanager
def _submit_settings(file: Path, settings: Mapping[str, str]) -> Iterator[None]:
    """Within it, spark-submit reads the settings from a file too. It reads one file only: what it would have read
    stands there as well."""
    before = os.environ.get(_SUBMIT)
    words = shlex.split(before or "pyspark-shell")
    if _FILE in words[:-1]:
        at = words.index(_FILE)
        defaults = Path(words[at + 1])
        words[at + 1] = str(file)
    else:
        defaults = _spark_defaults()
        words[:0] = [_FILE, str(file)]
    known = defaults.read_text(encoding="utf-8") if defaults.is_file() else ""
    _write(file, [known, *(f"{_escape(name)} {_escape(value)}" for name, value in settings.items())])
    os.environ[_SUBMIT] = shlex.join(words)
    try:
        yield
    finally:
        os.environ.pop(_SUBMIT) if before is None else os.environ.update({_SUBMIT: before})


def _spark_defaults() -> Path:
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(
        os.environ.get("SPARK_HOME") or _find_spark_home(), "conf"
    )
    return Path(folder) / "spark-defaults.conf"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")


def _write(file: Path, lines: list[str]) -> None:
    with open_anew(file) as out:
        out.writelines(f"{line}\n".encode() for line in lines)


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


OWN = "(?s).*(All paths were ignored.*__planproof|[Ff]ailed to delete .*__planproof|__planproof.*Force to delete).*"
"""The texts of these warnings.

Spark takes a folder whose name begins with `_` for a hidden one, and warns of each staged table. Hive tries to delete
the folder of a dropped table after the guard deleted it, and warns of that.
"""

_MARK = "_planproof_filters_log"


def filter_own_warnings(spark: Any) -> None:
    """Puts a filter before the log's root, once per JVM. Where the log is not log4j 2 it stays as it is."""
    from py4j.protocol import Py4JError

    gateway = spark.sparkContext._gateway
    # Not `getattr`: Py4J gives a member of its Java side for every name.
    if _MARK in vars(gateway):
        return
    setattr(gateway, _MARK, True)
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    try:
        result = log4j.core.Filter.Result
        kept_out = log4j.core.filter.RegexFilter.createFilter(OWN, None, False, result.DENY, result.NEUTRAL)
        kept_out.start()
        log4j.LogManager.getContext(False).getConfiguration().getRootLogger().addFilter(kept_out)
    except (Py4JError, TypeError):
        return
