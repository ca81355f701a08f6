"""What a Python function's Arrow batches are called and hold, against the schema that the function declares.

Spark takes a batch's columns by their places: it stores two that change places under each other's names, reads a time
without zone as one in UTC, and cuts decimals. A setting makes it compare each batch's schema before it reads the batch.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext

from planproof.publish.materialize.materialization import Job
from planproof.report.model import Finding, Verdict
from planproof.session.protocol import SparkFailure
from planproof.session.settings import COMPARED

_COMPARED = {COMPARED: "true"}
_SAID = re.compile(r"\w+: expected (StructType\(.*\)), got (StructType\(.*\))", re.S)
_FLAGS = ("true", "false")
_FLAG = re.compile(r",(true|false)(?=\))")


_REFUSED = re.compile(
    r"\[(?:RESULT_COLUMN\w+|UDF_RETURN_TYPE|UDTF_RETURN_\w+|UDTF_INVALID_OUTPUT\w+|UDTF_ARROW\w+)\] (?P<said>[^\n]+)"
    r"|\[UDTF_EXEC_ERROR\] (?P<null>[^\n]*non-nullable[^\n]*)"
    r"|(?P<converts>(?:Exception thrown when converting|Cannot convert the output value|Failed to convert the value)"
    r" [^\n]+?\.)(?: |\n|$)"
)
"""What pyspark's worker says of a result that is none of the declared type (its conversion.py and worker.py)."""
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line \d+, in (?P<function>\S+)')
_NO_FUNCTIONS = re.compile(r"(^|[/\\])(pyarrow|pyspark|pandas)[/\\]")
_CONVERSIONS = ("toInternal", "pyarrow.lib.array", "pyarrow.lib.Array.cast", "pyarrow.lib.Array.from_pandas")
"""Where pyspark makes what a plain function gave one of Spark's values (its types.py, and the Arrow arrays of its
conversion.py)."""
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Invalid|Exception)): (?P<said>[^\n]+?)\.?(?: Its cause: .*)?$", re.M)
_COLUMN = re.compile(r"(?:column|name) '([^']+)'|Missing: ([^,. ]+)|Unexpected: ([^,. ]+)")


class FitsByPlace(Exception):
    """The batches differ from what is declared, and come to the same by their places; nothing was published.

    Its text says how, where more than flags differ, which no Arrow array of a Python list has as they are declared.
    """

    @property
    def remarks(self) -> list[Finding]:
        said = str(self)
        return [Finding(Verdict.WARNING, "PP301", "batches", message=said)] if said else []


def comparing(job: Job) -> AbstractContextManager[None]:
    """Lets Spark compare, while a query is written that Python feeds."""
    if job.compare_batches and job.examined.planes.python_fed:
        return job.session.settings(_COMPARED)
    return nullcontext()


def uncompared(job: Job) -> list[Finding]:
    """That nobody compares, where this Spark has no such setting: it would take the key, and do nothing."""
    if not job.examined.planes.by_place:
        return []
    message = (
        "a Python function gives Arrow batches, and this Spark takes their columns by place: before Spark 4.1 it "
        "cannot be asked to compare them with what the function declares"
    )
    return [Finding(Verdict.UNPROVED, "PP301", "batches", message=message)]


def mismatch(failure: SparkFailure) -> Finding | None:
    """What a batch holds in place of what is declared; None for any other failure.

    Raises `FitsByPlace` where only names differ that are not the declared ones at other places, where a decimal has
    fewer digits before the same scale, and where a column without a value has no type.
    """
    # The message may be told twice: by the job that failed, and by its cause.
    said = _SAID.match(str(failure).rpartition("Invalid schema from ")[2])
    if said is None:
        return _refused(str(failure))
    declared, found = said.groups()
    columns, given = _columns(declared), _columns(found)
    if _fits(declared, found) and not _moved(declared, found):
        if _FLAG.sub("", declared) == _FLAG.sub("", found):
            raise FitsByPlace("")
        raise FitsByPlace(
            f"a Python function gives Arrow batches of {', '.join(given)}, and declares {', '.join(columns)}: "
            "they were taken by their places"
        )
    promised, held = _first_difference(columns, given)
    name = (promised or held).split(" ")[0]
    message = (
        f"a Python function gives Arrow batches with {held or 'no such column'} where {promised or 'no column'} "
        "is declared: Spark would take columns by their places, whatever they are called or hold"
    )
    return Finding(Verdict.VIOLATED, "PP301", "batches", name, promised or None, held or None, message)


def _refused(text: str) -> Finding | None:
    """What the worker itself refused before Spark saw a batch; None for an error of the function's own."""
    found = _REFUSED.search(text)
    if found is None:
        return _unconverted(text)
    said = next(part for part in found.groups() if part)
    column = _COLUMN.search(said)
    name = next((part for part in column.groups() if part), None) if column else None
    promised = "NOT NULL" if found["null"] else None
    return Finding(
        Verdict.VIOLATED,
        "PP301",
        "batches",
        name,
        promised,
        message=f"a Python function breaks its declaration: {said}",
    )


def _unconverted(text: str) -> Finding | None:
    """A value of a plain function that pyspark could not make one of the declared type.

    The traceback then ends in a conversion, and no line of it is the function's own; pyspark leaves its own lines out
    of a traceback that has others.
    """
    frames = list(_FRAME.finditer(text))
    if not any(frame["function"] in _CONVERSIONS for frame in frames):
        return None
    if not all(_NO_FUNCTIONS.search(frame["file"]) for frame in frames):
        return None
    raised = _RAISED.search(text, frames[-1].end())
    said = raised["said"] if raised else "a value is none of the declared type"
    return Finding(
        Verdict.VIOLATED, "PP301", "batches", message=f"a Python function gives a value of another type: {said}"
    )


def _parts(text: str) -> tuple[str, list[str]]:
    """The name of a type as Spark's classes print it, and what stands in its parentheses."""
    name, _, inner = text.removesuffix(")").partition("(")
    found, depth, start = [], 0, 0
    for at, letter in enumerate(f"{inner},"):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append(inner[start:at])
            start = at + 1
    return name, [part for part in found if part]


def _fits(declared: str, found: str) -> bool:
    """Whether every value of the found type, whatever its fields are called, is read as the same one."""
    if found == "NullType" or (found in _FLAGS and declared in _FLAGS):
        return True
    (kind, wanted), (other, given) = _parts(declared), _parts(found)
    if kind != other or len(wanted) != len(given):
        return False
    if kind == "DecimalType":
        return wanted[1] == given[1] and int(given[0]) <= int(wanted[0])
    if kind == "StructField":
        return _fits(wanted[1], given[1])
    if kind in ("StructType", "ArrayType", "MapType"):
        return all(map(_fits, wanted, given))
    return wanted == given


def _moved(declared: str, found: str) -> bool:
    """Whether fields of one struct bear each other's names."""
    (kind, wanted), (other, given) = _parts(declared), _parts(found)
    if kind == "StructType" == other:
        names, called = ([_parts(field)[1][0].lower() for field in fields] for fields in (wanted, given))
        if names != called and sorted(names) == sorted(called):
            return True
    return any(map(_moved, wanted, given))


def _columns(struct: str) -> list[str]:
    """The columns, each as its name and Spark's name of its type without `Type`."""
    fields = (_parts(field)[1] for field in _parts(struct)[1])
    return [f"{name} {kind.replace('Type', '').lower()}" for name, kind, *_ in fields]


def _first_difference(declared: list[str], found: list[str]) -> tuple[str, str]:
    longest = max(len(declared), len(found))
    pairs = zip(*(side + [""] * (longest - len(side)) for side in (declared, found)))
    return next(((d, f) for d, f in pairs if d.lower() != f.lower()), (", ".join(declared), ", ".join(found)))
