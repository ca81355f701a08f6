"""Spark's exceptions as ours: `AnalysisError` with condition and place, `SparkFailure` for everything else."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException

from planproof.session import versions
from planproof.session.outside import FRAME, OUTSIDE_CLASSES, OUTSIDE_CONDITIONS, OUTSIDE_STATES, TRANSIENT_WORDS
from planproof.session.protocol import SparkFailure
from planproof_engine.origin import AnalysisError, Origin, place

_quiet = threading.local()
_MISSING = re.compile(r"(?:Method|Constructor) .* does not exist|(?<!\S)\S+ does not exist in the JVM")
"""What py4j says of a name. An object that "does not exist for this gateway" was one of a JVM that is gone."""
_CONDITION = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_TAIL = re.compile(
    r"(?<!\s)\s*(?:SQLSTATE: [0-9A-Z]{5}.*|; line \d+ pos \d+(?:;\n.*)?\Z|;\n'?[A-Z]\w+.*"
    r"|\(line \d+, pos \d+\)\s+== SQL ==.*|\n== SQL(?: ==|\().*)",
    re.S,
)
"""Where a message ends: at the SQLSTATE. Spark 3.5 has none in its texts: there it ends at the place or at the plan."""


class _Hush(logging.Filter):
    """Drops pyspark's JSON stack trace of an exception that the current thread is about to translate."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_quiet, "depth", 0)


versions.filter_stack_traces(_Hush())


@contextmanager
def silence_pyspark() -> Iterator[None]:
    """Keeps pyspark from printing a JSON stack trace to stderr for each error in the block (this thread only)."""
    _quiet.depth = getattr(_quiet, "depth", 0) + 1
    try:
        yield
    finally:
        _quiet.depth -= 1


@contextmanager
def translate_errors(sql: str | None = None, analysing: bool = False) -> Iterator[None]:
    """Raises `AnalysisError` or `SparkFailure` in place of what Spark raises in the block.

    `sql` is the text that Spark's offsets point into. With `analysing` every error means that Spark rejects the text
    (the class of some rejections is an internal error), unless its cause lies outside of the text: files, privileges,
    the metastore, the network.
    """
    with silence_pyspark():
        try:
            yield
        except AnalysisException as error:
            raise _rejection(error, sql) from None
        except PySparkException as error:
            failure = _failure(error)
            if analysing and not failure.outside:
                raise _rejection(error, sql) from None
            raise failure from error
        except Py4JJavaError as error:
            java = error.java_exception
            message = str(java.getMessage() or java.toString())
            condition, outside = _java_condition(java), _is_outside(java)
            if analysing and condition and not outside:
                raise AnalysisError(condition, strip_message(message, condition)) from None
            raise SparkFailure(_add_cause(strip_message(message, condition), java), condition, outside) from error
        except (Py4JError, ConnectionError) as error:
            raise SparkFailure(_describe_lost(error), outside=True) from error
        except Exception as error:
            # Connect's transport has its own errors, and need not be installed.
            if not type(error).__module__.startswith("grpc"):
                raise
            raise SparkFailure(f"the connection to Spark was lost: {error}", outside=True) from error


def _describe_lost(error: Exception) -> str:
    """py4j has one class of error for a connection that broke and for a name that the JVM does not know."""
    missing = _MISSING.search(str(error))
    if missing is None:
        return f"the connection to Spark was lost: {error}"
    return f"this version of Spark, or of its table format, lacks what planproof calls: {missing[0]}"


@dataclass
class Unplanned:
    """Why Spark could not plan a query that it analyzed; None where it could."""

    reason: str | None = None


@contextmanager
def explain_unplanned() -> Iterator[Unplanned]:
    """Within it a query is planned. Raises `SparkFailure` where the cause lies outside of the query."""
    found = Unplanned()
    try:
        with translate_errors():
            yield found
    except AnalysisError as error:  # The optimizer raises them too, for a query that the analyzer accepted.
        found.reason = f"[{error.condition}] {error.message}"
    except SparkFailure as failure:
        if failure.outside:
            raise
        found.reason = f"[{failure.condition}] {failure}" if failure.condition else str(failure)


def strip_message(message: str, condition: str | None = None) -> str:
    """Spark's message without its condition, SQLSTATE, position and plan.

    >>> strip_message("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012; line 1 pos 8;", "DIVIDE_BY_ZERO")
    'Division by zero.'
    """
    text = "\n".join(line for line in message.strip().splitlines() if not FRAME.match(line)).strip()
    if condition:
        text = text.removeprefix(f"[{condition}]").strip()
    return _TAIL.sub("", text) or text


def _rejection(error: PySparkException, sql: str | None) -> AnalysisError | SparkFailure:
    condition = versions.condition(error) or type(error).__name__
    java = getattr(error, "_origin", None)
    message = strip_message(_message(error), condition)
    # A file that is gone, a refused access and a metastore that cannot be reached come as AnalysisExceptions too.
    around = _is_outside_condition(condition, error.getSqlState()) or versions.is_unreadable_file(condition, java)
    if around or (java is not None and _is_outside(java)):
        return SparkFailure(_add_cause(message, java), condition, outside=True)
    named = versions.error_places(error)
    own = [p for p in named if not p.object_type]
    if named and not own:
        return AnalysisError(condition, f"{message} (in {named[0].object_type.lower()} {named[0].object_name})")
    origin = None
    if sql is not None:
        origin = (
            place(sql, own[0].start, own[0].stop + 1) if own else _locate_line(versions.line_and_position(error), sql)
        )
    return AnalysisError(condition, message, origin)


def _locate_line(found: tuple[int, int] | None, sql: str) -> Origin | None:
    if found is None:
        return None
    line, position = found
    start = sum(len(text) for text in sql.splitlines(keepends=True)[: line - 1]) + position
    return place(sql, start) if start <= len(sql) else None


def _message(error: PySparkException) -> str:
    java = getattr(error, "_origin", None)
    return str((java.getMessage() if java is not None else None) or getattr(error, "_desc", None) or error)


def _failure(error: PySparkException) -> SparkFailure:
    condition = versions.condition(error)
    java = getattr(error, "_origin", None)
    # Connect's client says so of a call that got no answer; a server's exception begins with its class.
    is_lost = type(error).__name__ == "SparkConnectGrpcException" and not (condition or _message(error).startswith("("))
    outside = is_lost or (java is not None and _is_outside(java))
    return SparkFailure(_add_cause(strip_message(_message(error), condition), java), condition, outside)


def _add_cause(message: str, java: Any) -> str:
    """The message with the innermost of its causes: "Task failed" alone says nothing."""
    chain = list(_causes(java))
    lines = strip_message(str(chain[-1].getMessage() or "")).splitlines() if chain else []
    # The condition at the beginning of the cause's text was removed from the message.
    if not lines or _CONDITION.sub("", lines[0]).rstrip(".") in message:
        return message
    # A text with two schemas is not cut: whoever reads it compares them.
    shown = lines[0] if "ARROW_TYPE_MISMATCH" in lines[0] else lines[0][:500]
    return f"{message.rstrip('.')}. Its cause: {chain[-1].getClass().getSimpleName()}: {shown}"


def _causes(java: Any) -> Iterator[Any]:
    for _ in range(20):
        if java is None:
            return
        yield java
        java = java.getCause()


def _is_outside_condition(condition: str, state: str | None) -> bool:
    return condition.startswith(OUTSIDE_CONDITIONS) or bool(state and state.startswith(OUTSIDE_STATES))


def _is_outside(java: Any) -> bool:
    """Whether the cause lies outside of the text, so that a second try may succeed."""
    for cause in _causes(java):
        name, message = str(cause.getClass().getName()), str(cause.getMessage())
        if any(word in name for word in OUTSIDE_CLASSES) or TRANSIENT_WORDS.search(message):
            return True
    return False


def _java_condition(java: Any) -> str | None:
    """The condition of the innermost Spark error in a chain of causes."""
    found = None
    for cause in _causes(java):
        found = versions.java_condition(cause) or found
    return found
