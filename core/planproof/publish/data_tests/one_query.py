"""Data tests that one query answers together: what each of them counts is a sum over the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from planproof.publish.data_tests.decided import Failures
from planproof.publish.data_tests.known import Question
from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, quote_literal, quote_parts

LEAST = 2
"""One test alone is asked as dbt asks it."""


def _values(question: Question) -> str:
    return ", ".join(map(quote_literal, question.values))


def _count_outside(question: Question, column: str) -> str:
    return " OR ".join(f"NOT {column} {bound}" for bound in (question.least, question.most) if bound)


_FAILURES: Mapping[str, Callable[[Question, str], str]] = {
    "not_null": lambda q, c: f"count_if({c} IS NULL)",
    "not_empty_string": lambda q, c: f"count_if(trim({c}) = '')",
    "accepted_range": lambda q, c: f"count_if({_count_outside(q, c)})",
    # dbt counts values, not rows.
    "accepted_values": lambda q, c: f"count(DISTINCT CASE WHEN {c} NOT IN ({_values(q)}) THEN {c} END)",
    "not_accepted_values": lambda q, c: f"count(DISTINCT CASE WHEN {c} IN ({_values(q)}) THEN {c} END)",
}
"""How many failures dbt's query of a test would have, in an aggregate: a row of which the condition is unknown is none,
as in its WHERE."""


SHARED = frozenset(_FAILURES)
"""The tests that may share a query."""


def count_together(
    session: Session, relation: str, questions: Iterable[Question], when: str
) -> dict[Question, Failures]:
    """What each of the tests counts in the rows of `relation` (as it stands in FROM). None of them where fewer than two
    can share the query, or Spark cannot run it: then each is asked alone. `when` is the ground of each, with `{tests}`
    for their number."""
    shared = [q for q in dict.fromkeys(questions) if q.kind in SHARED and not q.where]
    if len(shared) < LEAST:
        return {}
    sums = ", ".join(_FAILURES[q.kind](q, quote_parts((q.column,))) for q in shared)
    try:
        (found,) = session.rows(f"SELECT {sums} FROM {relation}")
    except (AnalysisError, SparkFailure):
        return {}
    ground = f"counted {when.format(tests=f'{len(shared)} tests by one query')}"
    return {question: Failures(int(number), ground) for question, number in zip(shared, found)}
