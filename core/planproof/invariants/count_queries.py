"""Counts, in one pass over all rows, what neither the plan nor footers can tell. A row keeps or breaks a term by its
own values or by its key: each term is a condition on one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from planproof.contract import Constraint, Contract
from planproof.invariants.contract import judge_counted_length, judge_counted_nulls
from planproof.session import Session
from planproof.settings import Settings
from planproof_engine import AnalysisError, ColumnNames, Finding, PhysicalSchema, Verdict, evolve, quote_name, record
from planproof_engine.claim import Facts, NestedField, Path, join_path, nested_fields
from planproof_engine.claim import find_place as find
from planproof_engine.types import Array, Char, DataType, Map, Struct, Varchar, parse_type

_Leaf = Callable[[str], str]


@record(frozen=True, slots=True)
class Term:
    """What to count at a path: nulls, or with `longer_than` the strings beyond that length."""

    path: Path
    longer_than: int | None = None


def terms_of(contract: Contract) -> list[Term]:
    """Every NOT NULL and every char and varchar length that a contract promises."""
    found: list[Term] = []
    for field in nested_fields(contract.schema):
        if field.promises:
            found.append(Term(field.path))
        if isinstance(field.type, (Char, Varchar)):
            found.append(Term(field.path, field.type.length))
    return found


def count_query(source: str, schema: PhysicalSchema, terms: Sequence[Term], checks: Sequence[str] = ()) -> str:
    """A query that gives one row: the number of rows, then one count per term, in order, then the number of rows that
    fail each check.

    `source` stands in FROM: a quoted name, or a query in parentheses. `schema` is the source's: it tells a struct's
    field from an array's element. Nulls and long strings are counted per value: an array with two null elements counts
    twice, and nothing is counted below a parent that is null itself. Raises `KeyError` where a path is not in the
    schema.
    """
    counts = [
        "count(*)",
        *(f"coalesce(sum({count_expression(schema, term)}), 0L)" for term in terms),
        *map(_check_expression, checks),
    ]
    return f"SELECT {', '.join(counts)} FROM {source} AS counted"


def count_expression(schema: PhysicalSchema, term: Term) -> str:
    """An SQL expression that counts the values in one row that break a term. Raises `KeyError` where the schema has
    none."""
    leaf: _Leaf = _null_expression if term.longer_than is None else partial(_longer_expression, length=term.longer_than)
    for f in schema:
        if f.name == term.path[0]:
            return _count_inside(quote_name(f.name), f.type, term.path[1:], leaf, 0)
    raise KeyError(f"no column {term.path[0]} in {schema}")


def _null_expression(value: str) -> str:
    return f"CASE WHEN {value} IS NULL THEN 1L ELSE 0L END"


def _longer_expression(value: str, length: int) -> str:
    # Trailing blanks do not count: Spark's own varchar check trims them where they alone exceed the length.
    return f"CASE WHEN char_length(rtrim({value})) > {length} THEN 1L ELSE 0L END"


def _count_inside(value: str, t: DataType, rest: Path, leaf: _Leaf, depth: int) -> str:
    """The count inside one value; every lambda has a variable of its own, as shadowing is fragile in Spark."""
    if not rest:
        return leaf(value)
    name, below = rest[0], rest[1:]
    if isinstance(t, Struct):
        inner = next((f for f in t.fields if f.name == name), None)
        if inner is None:
            raise KeyError(f"no field {name} in {t.simple}")
        counted = _count_inside(f"{value}.{quote_name(name)}", inner.type, below, leaf, depth)
        return f"CASE WHEN {value} IS NULL THEN 0L ELSE {counted} END"
    if isinstance(t, Array) and name == "element":
        return _sum_elements(value, t.element, below, leaf, depth)
    if isinstance(t, Map) and name in ("key", "value"):
        inner_type = t.key if name == "key" else t.value
        return _sum_elements(f"map_{name}s({value})", inner_type, below, leaf, depth)
    raise KeyError(f"no {name} in {t.simple}")


def _sum_elements(array: str, element: DataType, below: Path, leaf: _Leaf, depth: int) -> str:
    total, item = f"total_{depth}", f"item_{depth}"
    counted = _count_inside(item, element, below, leaf, depth + 1)
    return f"coalesce(aggregate({array}, 0L, ({total}, {item}) -> {total} + {counted}), 0L)"


def _read_counts(row: Sequence[int], terms: Sequence[Term]) -> Facts:
    counts = list(zip(terms, row[1:]))
    return Facts(
        rows=row[0],
        nulls={t.path: n for t, n in counts if t.longer_than is None},
        too_long={t.path: n for t, n in counts if t.longer_than is not None},
        source="a query over all rows",
    )


def count_terms(session: Session, relation: str, terms: Sequence[Term]) -> Facts:
    """Counts terms over a relation as it stands in FROM. Raises `AnalysisError` and `SparkFailure`."""
    schema = session.planes(f"SELECT * FROM {relation} AS counted").analyzed
    row = session.rows(count_query(relation, schema, terms))[0]
    return _read_counts(row, terms)


def count(
    session: Session, relation: str, findings: Iterable[Finding], checks: Sequence[str] = ()
) -> tuple[list[Finding], list[int]]:
    """Decides open findings on NOT NULL (PP506) and lengths (PP500), and counts the rows that fail each check
    expression, all in one query.

    `relation` stands in FROM. A finding whose field the relation does not have stays as it is. Raises `AnalysisError`
    where a check cannot be analyzed, and `SparkFailure`.
    """
    findings = list(findings)
    schema = session.planes(f"SELECT * FROM {relation} AS counted").analyzed
    wanted = [(f, _term(f, find(schema, f.field or ""))) for f in findings]
    terms = list(dict.fromkeys(term for _, term in wanted if term is not None))
    if not terms and not checks:
        return findings, []
    row = session.rows(count_query(relation, schema, terms, checks))[0]
    facts = _read_counts(row, terms)
    decided = [f if term is None else _decide(f, term, facts) for f, term in wanted]
    return decided, [int(n or 0) for n in row[1 + len(terms) :]]


def _term(finding: Finding, field: NestedField | None) -> Term | None:
    return term_of(finding, field) if finding.verdict is Verdict.UNPROVED else None


def term_of(finding: Finding, field: NestedField | None) -> Term | None:
    """What a finding on NOT NULL or on a length counts at the `place` that it names; None for another finding."""
    if field is None:
        return None
    if finding.code in ("PP505", "PP506"):
        return Term(field.path)
    if finding.code == "PP500" and finding.promised is not None:
        promised = parse_type(finding.promised)
        return Term(field.path, promised.length) if isinstance(promised, (Char, Varchar)) else None
    return None


def _decide(finding: Finding, term: Term, facts: Facts) -> Finding:
    field = finding.field or ""
    if term.longer_than is None:
        decided = judge_counted_nulls(field, facts.nulls[term.path], facts)
    else:
        decided = judge_counted_length(field, finding.promised or "", facts.too_long[term.path], facts)
    return evolve(decided, plane=finding.plane, origin=finding.origin)


def broken_condition(schema: PhysicalSchema, term: Term) -> str:
    """The condition of the rows that `count_query` counts for a term. Raises `KeyError` as it does."""
    name = quote_name(term.path[0])
    if len(term.path) > 1:
        return f"{count_expression(schema, term)} > 0L"
    return f"{name} IS NULL" if term.longer_than is None else f"char_length(rtrim({name})) > {term.longer_than}"


def repeated_keys_query(source: str, columns: Sequence[str], most: int) -> str:
    """What follows SELECT to show keys that stand on more than one row, and on how many."""
    names = ", ".join(quote_name(c) for c in columns)
    full = " AND ".join(f"{quote_name(c)} IS NOT NULL" for c in columns)
    return (
        f"{names}, count(*) AS `rows`\nFROM {source} AS counted\nWHERE {full}\n"
        f"GROUP BY {names} HAVING count(*) > 1\nLIMIT {most}"
    )


def dangling_rows_query(
    source: str, columns: Sequence[str], target: str, target_columns: Sequence[str], shown: Sequence[str], most: int
) -> str:
    """What follows SELECT to show rows whose key is not in the target: these columns of them, or all where none are
    named."""
    listed = ", ".join(f"ours.{quote_name(c)}" for c in shown) or "*"
    rest = foreign_key_query(source, columns, target, target_columns).removeprefix("SELECT count(*)")
    return f"{listed}{rest}\nLIMIT {most}"


def unique_query(source: str, columns: Sequence[str]) -> str:
    """Counts the keys that stand on more than one row. A key with a null is equal to no other (SQL's UNIQUE)."""
    names = ", ".join(quote_name(c) for c in columns)
    full = " AND ".join(f"{quote_name(c)} IS NOT NULL" for c in columns)
    return (
        f"SELECT count(*) FROM (SELECT {names} FROM {source} AS counted WHERE {full} "
        f"GROUP BY {names} HAVING count(*) > 1) AS repeated"
    )


def check_query(source: str, expressions: Sequence[str]) -> str:
    """A query of one row: per check expression, the rows where it is false. Null satisfies a check, as in SQL."""
    return f"SELECT {', '.join(map(_check_expression, expressions))} FROM {source} AS counted"


def _check_expression(expression: str) -> str:
    return f"count_if(NOT (\n{expression}\n))"


def foreign_key_query(source: str, columns: Sequence[str], target: str, target_columns: Sequence[str]) -> str:
    """Counts the rows whose key, without a null in it, is not in the target. `target` stands in FROM."""
    if len(columns) != len(target_columns) or not columns:
        raise AnalysisError("FOREIGN_KEY", f"{len(columns)} columns refer to {len(target_columns)} columns")
    same = " AND ".join(f"ours.{quote_name(a)} = theirs.{quote_name(b)}" for a, b in zip(columns, target_columns))
    full = " AND ".join(f"ours.{quote_name(a)} IS NOT NULL" for a in columns)
    return f"SELECT count(*) FROM {source} AS ours LEFT ANTI JOIN {target} AS theirs ON {same} WHERE {full}"


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
    found = [_term_of_place(schema, term) for term in terms_of(contract) if _is_enforced(term, settings)]
    for number, constraint in enumerate(contract.constraints):
        said = f"{constraint.name}: {constraint}" if constraint.name else str(constraint)
        if constraint.kind == "check":
            found.append(RowTerm(said, None, f"NOT (\n{constraint.condition}\n)"))
        elif constraint.kind in _KEYS:
            field = ", ".join(constraint.columns)
            found.append(RowTerm(said, field, f"repeated_{number}.{_KEY}", _key_columns(constraint, schema)))
    return found


def _is_enforced(term: Term, settings: Settings) -> bool:
    return ("nullability" if term.longer_than is None else "types") in settings.enforce


def _term_of_place(schema: PhysicalSchema, term: Term) -> RowTerm:
    place, condition = join_path(term.path), f"{count_expression(schema, term)} > 0L"
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
