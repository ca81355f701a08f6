"""dbt's own data tests, counted in the files of a table by this process: no Spark job where the numbers are at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planproof.arrow import column_counts
from planproof.publish.known_tests import Question
from planproof.quoting import quoted
from planproof.schema import PhysicalField, PhysicalSchema
from planproof.session.protocol import Session, SparkFailure, StoredTable
from planproof.session.store import decoded, local
from planproof.types import STRING


@dataclass(frozen=True, slots=True)
class Stored:
    """All files of a relation, on this machine, and its columns as Spark reads them."""

    paths: Sequence[str]
    schema: PhysicalSchema


@dataclass(frozen=True, slots=True)
class Count:
    """How many failures a test has, and by what that is known."""

    failures: int
    ground: str


Find = Callable[[tuple[str, ...]], "Stored | None"]


def count(question: Question, find: Find, case_sensitive: bool) -> Count | None:
    """What dbt's test would count; None where the files do not tell, or only a job does. `find` gives a relation."""
    stored = find(question.relation)
    field = _field(stored, question.column, case_sensitive)
    if stored is None or field is None:
        return None
    if question.kind == "not_null":
        return _count(column_counts.nulls(stored.paths, field.name), f"footers of {_files(stored)}")
    if question.kind == "unique":
        return _count(column_counts.repeated(stored.paths, field.name, field.type), f"rows of {_files(stored)}")
    if question.kind == "accepted_values":
        if field.type != STRING:
            return None
        found = column_counts.beside(stored.paths, field.name, question.values)
        return _count(found, f"values of {_files(stored)}")
    other = find(question.other)
    known = _field(other, question.field, case_sensitive)
    if other is None or known is None or known.type != field.type:
        return None
    found = column_counts.without_match(stored.paths, field.name, other.paths, known.name, field.type)
    return _count(found, f"rows of {_files(stored)}, against {_files(other)} of {'.'.join(question.other)}")


def stored_whole(session: Session, relation: tuple[str, ...]) -> Stored | None:
    """A table whose rows are all that lies in one folder of this machine; None for any other relation."""
    return stored_as(session, session.registered(quoted(relation)))


def stored_as(session: Session, table: StoredTable | None) -> Stored | None:
    if table is None or table.kind != "table" or table.format != "parquet" or not table.location:
        return None
    return None if table.partition_by else stored_below(session, decoded(table.location), table.schema)


def stored_below(session: Session, location: str, schema: PhysicalSchema) -> Stored | None:
    folder = local(location)
    try:
        return None if folder is None else Stored(session.files(folder), schema)
    except SparkFailure:
        return None


def _count(failures: int | None, source: str) -> Count | None:
    return None if failures is None else Count(failures, f"counted: {source}")


def _field(stored: Stored | None, name: str, case_sensitive: bool) -> PhysicalField | None:
    wanted = name if case_sensitive else name.lower()
    known = stored.schema.fields if stored is not None else ()
    fields = [f for f in known if (f.name if case_sensitive else f.name.lower()) == wanted]
    return fields[0] if len(fields) == 1 else None


def _files(stored: Stored) -> str:
    return f"{len(stored.paths)} file{'' if len(stored.paths) == 1 else 's'}"
