"""Declared constraints, counted: a pass per key, one for all checks, an anti-join per foreign key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from planproof.contract import Constraint
from planproof.invariants import count_queries
from planproof.judge.draft import Judged
from planproof.publish.materialize.materialization import Job
from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, Finding, RelationName, Verdict

KEYS = ("unique", "primary_key")
OF_THE_WHOLE = (*KEYS, "foreign_key")
"""Constraints over all rows that the table will hold; a check looks at a single row."""
_KEYS = "key stands on several rows", "keys stand on several rows"
_FAIL = "row fails the check", "rows fail the check"
_NULLS = " (Delta takes a CHECK that is null for broken)"
_DANGLE = "row refers to nothing", "rows refer to nothing"
_REFERENCE = re.compile(r"(?:references\s+)?(.+)", re.I | re.S)


def judge_constraints(
    session: Session, model: Judged, whole: str, staged: str, failing: Sequence[int] | None = None
) -> list[Finding]:
    """A finding per declared constraint: proved by the count, or violated.

    `whole` is what the table will hold and keys are unique over; `staged` the rows that are new. Both stand in a FROM
    clause. `failing` are the counts of `checks`, where they were made already. Raises `SparkFailure`.
    """
    declared_checks = list_declared(model, "check")
    found = judge_keys(session, model, whole)
    if failing is None:
        found += _count_checks(session, declared_checks, staged)
    else:
        found += [_finding(c, number, _FAIL) for c, number in zip(declared_checks, failing)]
    references = list_declared(model, "foreign_key")
    return found + [_count_foreign_key(session, c, staged, model.name, whole) for c in references]


def judge_keys(session: Session, model: Judged, whole: str) -> list[Finding]:
    """A finding per key that is declared, counted over a relation. Raises `SparkFailure`."""
    return [
        _count_rows(session, c, count_queries.unique_query(whole, c.columns), _KEYS)
        for c in list_declared(model, *KEYS)
    ]


def checks(model: Judged) -> list[str]:
    """The expressions of the declared checks, in order."""
    return [c.condition for c in list_declared(model, "check")]


def list_declared(model: Judged, *kinds: str) -> list[Constraint]:
    """The declared constraints of some kinds, in order."""
    declared = model.contract.constraints if model.contract else ()
    return [c for c in declared if c.kind in kinds]


def looks_at_all(job: Job) -> bool:
    """Whether what is promised is counted over all rows that the table will hold."""
    keys = list_declared(job.model, *OF_THE_WHOLE)
    return bool(keys) or bool(job.draft.settings.limits) or job.tests is not None or bool(job.keys)


def _count_checks(session: Session, checks: Sequence[Constraint], relation: str) -> list[Finding]:
    """Counts all checks in one pass. Where one cannot be analyzed they are counted one by one, so that it is named."""
    if not checks:
        return []
    try:
        counts = session.rows(count_queries.check_query(relation, [c.condition for c in checks]))[0]
    except (AnalysisError, SparkFailure) as error:
        if getattr(error, "outside", False):
            raise
        queries = [count_queries.check_query(relation, [c.condition]) for c in checks]
        return [_count_rows(session, c, query, _FAIL) for c, query in zip(checks, queries)]
    return [_finding(c, int(n or 0), _FAIL) for c, n in zip(checks, counts)]


def _count_foreign_key(session: Session, constraint: Constraint, relation: str, model: str, whole: str) -> Finding:
    """A foreign key may refer to the model's own table, as an employee's row to the manager's: it is counted over the
    rows that the table will hold."""
    referred = reference(session, constraint, model, whole)
    if referred is None:
        return _report_unreadable(constraint, "a foreign key reads `relation (column, ...)`")
    try:
        query = count_queries.foreign_key_query(relation, constraint.columns, *referred)
    except AnalysisError as error:
        return _report_unreadable(constraint, str(error))
    if referred[0] != whole:
        # This session may have listed its files before another one wrote the rows that are referred to.
        with suppress(AnalysisError, SparkFailure):
            session.rows(f"REFRESH TABLE {referred[0]}")
    return _count_rows(session, constraint, query, _DANGLE)


def reference(session: Session, constraint: Constraint, model: str, whole: str) -> tuple[str, list[str]] | None:
    """The relation that a foreign key refers to, as it stands in FROM, and its columns; `whole` stands for the model's
    own. None where the constraint cannot be read."""
    named, _, columns = (constraint.expression or "").strip().rpartition("(")
    match = _REFERENCE.fullmatch(named.strip())
    if match is None or not columns.endswith(")") or ")" in columns[:-1] or len(columns) < 2:
        return None
    referred = RelationName.parse(match.group(1))
    is_own = referred.within(session.namespace) == RelationName.parse(model).within(session.namespace)
    return whole if is_own else referred.quoted, [c.strip().strip("`") for c in columns[:-1].split(",")]


def _count_rows(session: Session, constraint: Constraint, query: str, what: tuple[str, str]) -> Finding:
    try:
        number = session.rows(query)[0][0]
    except AnalysisError as error:
        return _report_unreadable(constraint, str(error))
    except SparkFailure as failure:
        if failure.outside:
            raise
        condition = f"[{failure.condition}] " if failure.condition else ""
        return _report_unreadable(constraint, f"{condition}{failure}")
    return _finding(constraint, int(number or 0), what)


def _finding(constraint: Constraint, number: int, what: tuple[str, str]) -> Finding:
    name = f"{constraint.name}: {constraint}" if constraint.name else str(constraint)
    return Finding(
        Verdict.VIOLATED if number else Verdict.PROVED,
        "PP507",
        "files",
        ", ".join(constraint.columns) or None,
        promised=str(constraint),
        found=f"{number} {what[number != 1].split()[0]}",
        message=f"{name}: {number} {what[number != 1]}{'' if constraint.takes_null or not number else _NULLS}",
        evidence=None if number else "counted over all rows",
    )


def _report_unreadable(constraint: Constraint, why: str) -> Finding:
    return Finding(
        Verdict.VIOLATED,
        "PP509",
        "contract",
        promised=str(constraint),
        message=f"{constraint} cannot be counted: {why.partition(chr(10))[0]}",
    )
