"""The schema of the Arrow batches that a Python function gives, against the schema that it declares.

Spark takes the columns of a batch by position. It looks neither at their names nor, always, at their types:

- a function that declares `a, b` and gives `b, a` has each column stored under the other's name;
- a timestamp without zone is read as one in UTC;
- a decimal with more digits than declared is cut.

Since Spark 4.1 a setting (`COMPARED`) makes Spark compare each batch's schema before it reads the batch, and fail with
both schemas in its message. `compare_batches` sets it while the model is staged; `find_mismatch` reads the message.
Some differences are harmless, as a batch whose columns bear no names at all: then `FitsByPlace` has the model staged
again without the comparison, and a warning stays.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext

from planproof.publish.materialize.materialization import Job
from planproof.session import SparkFailure
from planproof.session.described import COMPARED
from planproof_engine import Finding, Verdict, fold_name

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
"""What pyspark's worker says of a result that has not the declared type (its conversion.py and worker.py)."""
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line \d+, in (?P<function>\S+)')
_NO_FUNCTIONS = re.compile(r"(^|[/\\])(pyarrow|pyspark|pandas)[/\\]")
_CONVERSIONS = ("toInternal", "pyarrow.lib.array", "pyarrow.lib.Array.cast", "pyarrow.lib.Array.from_pandas")
"""The functions in which pyspark converts what a plain Python function gave to one of Spark's values (its types.py and
conversion.py)."""
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Invalid|Exception)): (?P<said>[^\n]+?)\.?(?: Its cause: .*)?$", re.M)
_COLUMN = re.compile(r"(?:column|name) '([^']+)'|Missing: ([^,. ]+)|Unexpected: ([^,. ]+)")


class FitsByPlace(Exception):
    """The batches differ from what is declared, but Spark stores the same values: every column fits by its position.

    Nothing was published yet. The text says what differs. It is empty where only nullability flags differ: an Arrow
    array that is made of a Python list is always nullable.
    """

    @property
    def remarks(self) -> list[Finding]:
        said = str(self)
        return [Finding(Verdict.WARNING, "PP301", "batches", message=said)] if said else []


def compare_batches(job: Job) -> AbstractContextManager[None]:
    """A context in which Spark compares batches, for a query that Python functions feed; else one without effect."""
    if job.compare_batches and job.examined.planes.python_fed:
        return job.session.change_settings(_COMPARED)
    return nullcontext()


def find_uncompared_batches(job: Job) -> list[Finding]:
    """The finding that batches are not compared, where this Spark has no such setting (before 4.1).

    Such a Spark would accept the key, and ignore it.
    """
    if not job.examined.planes.by_place:
        return []
    message = (
        "a Python function gives Arrow batches, and this Spark takes their columns by place: before Spark 4.1 it "
        "cannot be asked to compare them with what the function declares"
    )
    return [Finding(Verdict.UNPROVED, "PP301", "batches", message=message)]


def find_mismatch(failure: SparkFailure) -> Finding | None:
    """The finding of a failure that says how a batch differs from its declaration; None for any other failure.

    Raises `FitsByPlace` where the difference is harmless: other names, unless they are the declared ones in another
    order; a decimal of fewer digits and the same scale; a column of nulls that has no type.
    """
    # The message may stand there twice: from the job that failed, and from its cause.
    said = _SAID.match(str(failure).rpartition("Invalid schema from ")[2])
    if said is None:
        return _find_refused_result(str(failure))
    declared, found = said.groups()
    columns, given = _split_columns(declared), _split_columns(found)
    if _is_readable_as(declared, found) and not _is_reordered(declared, found):
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


def _find_refused_result(text: str) -> Finding | None:
    """The finding of a result that pyspark's worker refused, before Spark saw it; None for the function's own error."""
    found = _REFUSED.search(text)
    if found is None:
        return _find_unconverted_value(text)
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


def _find_unconverted_value(text: str) -> Finding | None:
    """The finding of a value that pyspark could not convert to the declared type; None for the function's own error.

    The traceback tells them apart. Of a failed conversion it holds pyspark's lines alone, and ends in a conversion. Of
    the function's own error it holds the function's lines, and pyspark leaves its own ones out.
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


def _split_type(text: str) -> tuple[str, list[str]]:
    """A type as Spark's classes print it, in parts: `DecimalType(10,2)` is `("DecimalType", ["10", "2"])`."""
    name, _, inner = text.removesuffix(")").partition("(")
    found, depth, start = [], 0, 0
    for at, letter in enumerate(f"{inner},"):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append(inner[start:at])
            start = at + 1
    return name, [part for part in found if part]


def _is_readable_as(declared: str, found: str) -> bool:
    """Whether Spark reads every value of the found type as the same value of the declared one, names aside."""
    if found == "NullType" or (found in _FLAGS and declared in _FLAGS):
        return True
    (kind, wanted), (other, given) = _split_type(declared), _split_type(found)
    if kind != other or len(wanted) != len(given):
        return False
    if kind == "DecimalType":
        return wanted[1] == given[1] and int(given[0]) <= int(wanted[0])
    if kind == "StructField":
        return _is_readable_as(wanted[1], given[1])
    if kind in ("StructType", "ArrayType", "MapType"):
        return all(map(_is_readable_as, wanted, given))
    return wanted == given


def _is_reordered(declared: str, found: str) -> bool:
    """Whether a struct has the declared names in another order: `a, b` where `b, a` is declared."""
    (kind, wanted), (other, given) = _split_type(declared), _split_type(found)
    if kind == "StructType" == other:
        names, called = ([fold_name(_split_type(field)[1][0]) for field in fields] for fields in (wanted, given))
        if names != called and sorted(names) == sorted(called):
            return True
    return any(map(_is_reordered, wanted, given))


def _split_columns(struct: str) -> list[str]:
    """The columns of a struct as people read them: `StructType(StructField(id,LongType,true))` is `["id long"]`."""
    fields = (_split_type(field)[1] for field in _split_type(struct)[1])
    return [f"{name} {kind.replace('Type', '').lower()}" for name, kind, *_ in fields]


def _first_difference(declared: list[str], found: list[str]) -> tuple[str, str]:
    longest = max(len(declared), len(found))
    pairs = zip(*(side + [""] * (longest - len(side)) for side in (declared, found)))
    return next(((d, f) for d, f in pairs if d.lower() != f.lower()), (", ".join(declared), ", ".join(found)))
