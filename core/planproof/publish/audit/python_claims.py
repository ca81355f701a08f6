"""NOT NULL that Python data claims: watched while the rows are written, else counted where they enter.

A null below such a flag is stored as 0 or an empty text, and the file counts none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from planproof.invariants import count_queries
from planproof.judge.draft import Effect
from planproof.publish.materialize.materialization import Job, Publication
from planproof.session.protocol import NULL_FOUND, SparkFailure
from planproof_engine import AnalysisError, Finding, Verdict, evolve
from planproof_engine.claim import Facts, Path, join_path, nested_fields


@contextmanager
def watch_claims(job: Job, publication: Publication) -> Iterator[Job]:
    """The job as it is to be staged: with a query that fails at the first null below a flag that Python claims."""
    if not job.examined.planes.python_fed or job.draft.effect is Effect.DEFINES:
        yield job
        return
    with job.session.watch(job.examined.sql) as text:
        publication.watched = text is not None
        yield job if text is None else evolve(job, examined=job.examined._replace(sql=text))


def keep_trusted(job: Job, publication: Publication, facts: Facts | None) -> Facts | None:
    """The facts without those that rest on a flag of Python data under which nobody could look."""
    planes, draft = job.examined.planes, job.draft
    if not planes.python_fed or facts is None or publication.watched:
        return facts
    broken_claims, unread = _count_claims(job)
    draft.add(broken_claims)
    if not unread:
        return facts
    claimed = {p.path for p in nested_fields(planes.analyzed) if p.promises}
    draft.uncountable = frozenset(map(join_path, claimed))
    return evolve(facts, nulls={path: n for path, n in facts.nulls.items() if path not in claimed})


def holds_unseen(job: Job) -> bool:
    """Whether Python data claim NOT NULL somewhere: where nobody watched the rows, a null may stand there as a zero."""
    if not job.examined.planes.python_fed:
        return False
    with job.session.entries(job.examined.sql) as entries:
        return bool(entries.rows or entries.unread)


def find_broken_claims(job: Job, failure: SparkFailure) -> bool:
    """After a write that failed: adds a finding where Python data hold nulls that they claim not to hold, and says
    whether it did. Spark reads an Arrow value below such a flag unchecked, and fails with another error."""
    if not job.examined.planes.python_fed:
        return False
    try:
        found, _ = _count_claims(job)
    except (AnalysisError, SparkFailure):
        found = []
    # A function that gives other rows each time was seen to give a null once.
    found = found or _find_met_null(failure)
    job.draft.add(found)
    return bool(found)


def _find_met_null(failure: SparkFailure) -> list[Finding]:
    found = re.search(rf"{NULL_FOUND[0]} (.+?) {NULL_FOUND[1]}", str(failure), re.S)
    return [_report_claim((found[1],), "a null")] if found else []


def _count_claims(job: Job) -> tuple[list[Finding], Sequence[str]]:
    """What Python data claim and do not keep, counted where they enter, and the kinds that nobody can count."""
    found: list[Finding] = []
    with job.session.entries(job.examined.sql) as entries:
        for entry in entries.rows:
            terms = [count_queries.Term(p.path) for p in nested_fields(entry.claimed) if p.promises]
            counted = count_queries.count_terms(job.session, entry.relation, terms)
            nulls = ((path, number) for path, number in counted.nulls.items() if number)
            found += [_report_claim(path, f"{number} null{'' if number == 1 else 's'}") for path, number in nulls]
    return found, entries.unread


def _report_claim(path: Path, found: str) -> Finding:
    field = join_path(path)
    message = f"Python data claims that {field} is NOT NULL and holds {found}, which Spark would store as other values"
    return Finding(Verdict.VIOLATED, "PP301", "batches", field, "NOT NULL", found, message)
