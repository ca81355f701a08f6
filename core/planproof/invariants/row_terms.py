"""The terms that single rows keep or break, by their own values or by their key. Each is a condition on one row."""

from __future__ import annotations

from collections.abc import Sequence

from planproof.contract import Constraint, Contract
from planproof.invariants import count_queries
from planproof.settings import Settings
from planproof_engine.claim import join_path
from planproof_engine.finding import Finding, Verdict
from planproof_engine.quoting import quote_name
from planproof_engine.records import record
from planproof_engine.schema import ColumnNames, PhysicalSchema

TERMS = "quarantine_terms"
"""The column of `marked_rows_query` that names the terms which a row breaks: an array, empty where it keeps all."""
_KEYS = ("unique", "primary_key")
_KEY = "`__planproof_repeated`"
_PLACES = ("PP500", "PP505", "PP506")


@record(frozen=True, slots=True)
class RowTerm:
    """A term of a row. `said` names it in messages, `broken` is SQL that is true for a row that breaks it, and `field`
    is the path of its column.

    A key's condition is that the row's key stands on several rows: `key` are its columns.
    """

    said: str
    field: str | None
    broken: str
    key: tuple[str, ...] = ()


def is_of_rows(finding: Finding) -> bool:
    """Whether the finding is on a term that single rows break, violated or not counted yet: such rows can be set
    aside."""
    if finding.verdict not in (Verdict.VIOLATED, Verdict.UNPROVED):
        return False
    return finding.code in _PLACES or (finding.code == "PP507" and not (finding.promised or "").startswith("foreign"))


def row_terms(contract: Contract, schema: PhysicalSchema, settings: Settings) -> list[RowTerm]:
    """Every such term of a contract, over rows of `schema`: NOT NULL, lengths, checks, keys. Terms that
    `settings.enforce` leaves out are not among them. Raises `KeyError` where the schema lacks a place."""
    found = [_term_of_place(schema, term) for term in count_queries.terms_of(contract) if _is_enforced(term, settings)]
    for number, constraint in enumerate(contract.constraints):
        said = f"{constraint.name}: {constraint}" if constraint.name else str(constraint)
        if constraint.kind == "check":
            found.append(RowTerm(said, None, f"NOT (\n{constraint.condition}\n)"))
        elif constraint.kind in _KEYS:
            field = ", ".join(constraint.columns)
            found.append(RowTerm(said, field, f"repeated_{number}.{_KEY}", _key_columns(constraint, schema)))
    return found


def _is_enforced(term: count_queries.Term, settings: Settings) -> bool:
    return ("nullability" if term.longer_than is None else "types") in settings.enforce


def _term_of_place(schema: PhysicalSchema, term: count_queries.Term) -> RowTerm:
    place, condition = join_path(term.path), f"{count_queries.count_expression(schema, term)} > 0L"
    said = f"not_null({place})" if term.longer_than is None else f"at most {term.longer_than} characters({place})"
    return RowTerm(said, place, condition)


def _key_columns(constraint: Constraint, schema: PhysicalSchema) -> tuple[str, ...]:
    return tuple(map(ColumnNames(schema.names).find_spelling, constraint.columns))


def marked_rows_query(source: str, whole: str, columns: Sequence[str], terms: Sequence[RowTerm]) -> str:
    """A query of the rows of `source`, each once, with the terms that it breaks as `quarantine_terms`.

    A row of `source` breaks a key where the key stands on several rows of `whole`, which holds all rows of `source`.
    Both stand in a FROM clause.
    """
    names = ", ".join(f"counted.{quote_name(name)}" for name in columns)
    broken = ", ".join(f"CASE WHEN {term.broken} THEN {text_literal(term.said)} END" for term in terms)
    joins = "".join(_join_keys(term, whole) for term in terms if term.key)
    return f"SELECT {names}, array_compact(array({broken})) AS {TERMS} FROM {source} AS counted{joins}"


def _join_keys(term: RowTerm, whole: str) -> str:
    # One row per key: the join adds none. A key with a null in it is equal to no other.
    alias = term.broken.partition(".")[0]
    columns = [(quote_name(name), f"`__planproof_key_{i}`") for i, name in enumerate(term.key)]
    keys, full = ", ".join(name for name, _ in columns), " AND ".join(f"{name} IS NOT NULL" for name, _ in columns)
    given = ", ".join(f"{name} AS {key}" for name, key in columns)
    same = " AND ".join(f"counted.{name} = {alias}.{key}" for name, key in columns)
    repeated = f"SELECT {given}, true AS {_KEY} FROM {whole} AS rows WHERE {full} GROUP BY {keys} HAVING count(*) > 1"
    return f"\nLEFT JOIN ({repeated}) AS {alias} ON {same}"


def tally_query(marked_rows: str, terms: Sequence[RowTerm]) -> str:
    """A query of one row: all rows of a `marked_rows_query`, those that break a term, and those that break each."""
    each = "".join(f", count_if(array_contains({TERMS}, {text_literal(term.said)}))" for term in terms)
    return f"SELECT count(*), count_if(size({TERMS}) > 0){each} FROM (\n{marked_rows}\n) AS marked"


def text_literal(said: str) -> str:
    """A string as an SQL expression that means the same under every setting of Spark's parser.

    >>> text_literal("not_null(id)"), text_literal("check(s = 'x')")
    ("'not_null(id)'", "CAST(X'636865636B2873203D2027782729' AS STRING)")
    """
    if said.isprintable() and not set(said) & set("'\\$"):
        return f"'{said}'"
    return f"CAST(X'{said.encode().hex().upper()}' AS STRING)"
