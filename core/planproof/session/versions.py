"""What pyspark and Spark say in different ways from version to version: one function per question.

Each function looks for what exists, never for a version's number. No other module of this room knows how an older Spark
answers.
"""

from __future__ import annotations

import importlib
import logging
import platform
import re
import signal
import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from planproof.session.java import option_text, text_map
from planproof.session.protocol import SparkFailure

_NAMED = re.compile(r"\s*\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_PLACE = re.compile(r"\bline (\d+),? pos(?:ition)? (\d+)")


class ErrorPlace(NamedTuple):
    """Where an error stands, in characters, in the SQL of an object such as a view; `object_type` is empty where it
    stands in the statement itself."""

    object_type: str
    object_name: str
    start: int
    stop: int


def condition(error: PySparkException) -> str | None:
    """The error's condition. Spark 3.5 calls it the error's class, and a Connect client has it in the message only."""
    ask = getattr(error, "getCondition", None) or error.getErrorClass
    found = ask()
    if found is not None:
        return str(found)
    named = _NAMED.match(str(getattr(error, "message", None) or ""))
    return named.group(1) if named else None


def java_condition(error: Any) -> str | None:
    """The condition of an exception in the JVM; None where it has none."""
    for name in ("getCondition", "getErrorClass"):
        try:
            found = getattr(error, name)()
        except Py4JError:
            continue
        return str(found) if found else None
    return None


def error_places(error: PySparkException) -> list[ErrorPlace]:
    """The places in SQL texts that Spark names. pyspark 3.5 does not have them: there the JVM's exception is asked."""
    if hasattr(error, "getQueryContext"):
        return [_place(c) for c in error.getQueryContext() or () if c.contextType().name == "SQL"]
    java = getattr(error, "_origin", None)
    try:
        return [_place(c) for c in java.getQueryContext()] if java is not None else []
    except (Py4JError, TypeError):
        return []


def _place(context: Any) -> ErrorPlace:
    kind, name = str(context.objectType()), str(context.objectName())
    return ErrorPlace(kind, name, int(context.startIndex()), int(context.stopIndex()))


def line_and_position(error: PySparkException) -> tuple[int, int] | None:
    """The line (from 1) and the position in it (from 0) of an error that names no place: a ParseException's."""
    java = getattr(error, "_origin", None)
    if java is None:
        found = _PLACE.search(str(getattr(error, "message", None) or ""))
        return (int(found.group(1)), int(found.group(2))) if found else None
    try:
        line, position = java.line(), java.startPosition()
        return (line.get(), position.get()) if line.isDefined() and position.isDefined() else None
    except (Py4JError, TypeError):
        return None


def has_java_argfiles() -> bool:
    """Whether every Java that this Spark runs on takes an `@argfile`: Spark 3.5 runs on Java 8, which has none."""
    return hasattr(PySparkException, "getCondition")


def is_unreadable_file(condition: str, java: Any) -> bool:
    """Whether a rejection means that a file cannot be read: Spark 3.5 rejects `parquet.`path`` then, with a cause."""
    try:
        return condition == "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY" and java.getCause() is not None
    except (Py4JError, AttributeError):
        return False


def filter_stack_traces(dropped: logging.Filter) -> None:
    """Puts a filter before pyspark's JSON stack traces; pyspark 3.5 prints none."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return
    # pyspark's own class must make the logger: pyspark logs with keywords that a plain logger refuses.
    PySparkLogger.getLogger("SQLQueryContextLogger").addFilter(dropped)


def given_settings(spark: Any) -> dict[str, str]:
    """The settings that somebody set."""
    known = getattr(type(spark.conf), "getAll", None)
    if known is not None:
        return dict(spark.conf.getAll)
    if hasattr(spark, "_jsparkSession"):
        return text_map(spark._jsparkSession.conf().getAll())
    return {key: value for key, value in _ask_settings(spark, "get_all") if value is not None}


def settings_in_force(spark: Any, keys: Iterable[str]) -> dict[str, str]:
    """The values of settings, those that nobody set too; a setting that this Spark does not know is left out.

    `conf.get(key, None)` would not do: it gives nothing for a setting that nobody set.
    """
    if hasattr(spark, "_jsparkSession"):
        conf = spark._jsparkSession.conf()
        found = [(key, option_text(conf.getOption(key))) for key in keys]
    else:
        found = _ask_settings(spark, "get_option", keys=list(keys))
    return {key: value for key, value in found if value is not None}


def _ask_settings(spark: Any, request: str, **arguments: Any) -> list[tuple[str, str | None]]:
    """Asks a Connect server about settings: pyspark's client does not have these requests in every version."""
    from pyspark.sql.connect import proto

    kinds = {"get_all": proto.ConfigRequest.GetAll, "get_option": proto.ConfigRequest.GetOption}
    operation = proto.ConfigRequest.Operation(**{request: kinds[request](**arguments)})
    return list(spark.client.config(operation).pairs)


def session_class(session: type, jvm: Any) -> Any:
    """The JVM's object SparkSession, under the name by which this pyspark imports it."""
    found = getattr(session, "_get_j_spark_session_class", None)
    return jvm.SparkSession if found is None else found(jvm)


def dataset_class(jvm: Any) -> Any:
    """The JVM's object Dataset, which makes a Dataset of a logical plan. Spark 4 moved it to another package."""
    own = "org.apache.spark.sql.classic.Dataset"
    return getattr(jvm, own if find_class(jvm, own) is not None else "org.apache.spark.sql.Dataset")


def find_class(jvm: Any, name: str) -> Any | None:
    """A class of the JVM; None where this Spark has none of that name.

    The helper is asked for by its whole name: of `jvm.py4j`, the JVM would look for a class of that name in every jar.
    """
    try:
        return getattr(jvm, "py4j.reflection.ReflectionUtil").classForName(name)
    except Py4JError:
        return None


def require_arrow() -> None:
    """Raises `SparkFailure` where this Python lacks what pyspark imports to convert to Arrow and pandas.

    pyspark 3.5 imports `distutils`, which Python 3.12 dropped and setuptools brings back.
    """
    try:
        for name in ("pyspark.sql.pandas.utils", "pyspark.sql.pandas.types"):
            importlib.import_module(name)
        if not hasattr(DataFrame, "toArrow"):
            importlib.import_module("distutils.version")
    except ImportError as error:
        where = f"pyspark {pyspark.__version__} cannot hand over Arrow data on Python {platform.python_version()}"
        cure = "; install setuptools, or take Python 3.11" if "distutils" in str(error) else ""
        raise SparkFailure(f"{where} ({error}){cure}") from error


def kinds_of_functions() -> Any:
    """pyspark's numbers for the kinds of Python functions."""
    try:
        from pyspark.util import PythonEvalType
    except ImportError:
        from pyspark.rdd import PythonEvalType
    return PythonEvalType


def pass_on_interrupts() -> None:
    """Has Ctrl-C end what the main thread does, also while it waits for Spark: pyspark's own handler cancels all jobs
    first, and before 4.2 raises that call's failure in place of KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        return

    def interrupt(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        finally:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
