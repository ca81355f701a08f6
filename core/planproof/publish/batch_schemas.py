"""What a Python function's Arrow batches are called and hold, against the schema that the function declares.

Spark takes a batch's columns by their places: it stores two that change places under each other's names, reads a time
without zone as one in UTC, and cuts decimals. A setting makes it compare each batch's schema before it reads the batch.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext

from planproof.publish.materialization import Job
from planproof.report.model import Finding, Verdict
from planproof.session.protocol import SparkFailure

_COMPARED = {"spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true"}
_SAID = re.compile(r"\w+: expected StructType\((.*)\), got StructType\((.*)\)", re.S)
_NAME = re.compile(r"StructField\(([^,()]*),")
_FLAG = re.compile(r",(?:true|false)\)")
_LAST_FLAG = re.compile(r",(?:true|false)\)\Z")


class CalledOtherwise(Exception):
    """The batches hold what is declared under other names, which Spark takes by their places; nothing was published."""


def comparing(job: Job) -> AbstractContextManager[None]:
    """Lets Spark compare, while a query is written that Python feeds."""
    if job.compare_batches and job.examined.planes.python_fed:
        return job.session.settings(_COMPARED)
    return nullcontext()


def mismatch(failure: SparkFailure) -> Finding | None:
    """What a batch holds in place of what is declared; None for any other failure.

    Raises `CalledOtherwise` where only names differ, and are not the declared ones at other places.
    """
    # The message may be told twice: by the job that failed, and by its cause.
    said = _SAID.match(str(failure).rpartition("Invalid schema from ")[2])
    if said is None:
        return None
    declared, found = said.groups()
    if _nameless(declared) == _nameless(found):
        names, given = _names(declared), _names(found)
        if names == given or sorted(names) != sorted(given):
            raise CalledOtherwise(f"the batches' columns are called {', '.join(given)}, declared {', '.join(names)}")
    promised, held = _first_difference(_columns(declared), _columns(found))
    name = (promised or held).split(" ")[0]
    message = (
        f"a Python function gives Arrow batches with {held or 'no such column'} where {promised or 'no column'} "
        "is declared: Spark would take columns by their places, whatever they are called or hold"
    )
    return Finding(Verdict.VIOLATED, "PP301", "batches", name, promised or None, held or None, message)


def _nameless(fields: str) -> str:
    return _FLAG.sub(")", _NAME.sub("StructField(", fields))


def _names(fields: str) -> list[str]:
    return [name.lower() for name in _NAME.findall(fields)]


def _columns(fields: str) -> list[str]:
    """The outermost columns, each as its name and Spark's name of its type without `Type`."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(f"{fields},"):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append(fields[start:at])
            start = at + 1
    inner = (_LAST_FLAG.sub("", f.removeprefix("StructField(")).split(",", 1) for f in found if f)
    return [f"{name} {kind.replace('Type', '').lower()}" for name, kind in inner]


def _first_difference(declared: list[str], found: list[str]) -> tuple[str, str]:
    longest = max(len(declared), len(found))
    pairs = zip(*(side + [""] * (longest - len(side)) for side in (declared, found)))
    return next(((d, f) for d, f in pairs if d.lower() != f.lower()), (", ".join(declared), ", ".join(found)))
