"""Which rows break a promise: the query that shows them and, where the project asks for that, a few of them.

Nothing here changes the outcome of a publish: what Spark does not answer is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from planproof.contract import Constraint
from planproof.invariants import count_queries
from planproof.judge.draft import Draft
from planproof.publish.audit.constraints import KEYS, OF_THE_WHOLE, list_declared, reference
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_write import StagedWrite
from planproof.report.details import BrokenRows
from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, ColumnNames, Finding, PhysicalSchema, Verdict, quote_name
from planproof_engine.claim import find_place as find

MOST = 5
_CUT = 60
_COUNTED = ("PP500", "PP505", "PP507")


def sample_broken_rows(job: Job, staged: StagedWrite) -> None:
    """Adds to the job's draft, for each violation that was counted in the staged rows, which rows these are."""
    _tell(job.draft, lambda counted: _sample_staged(job, staged, counted))


def sample_stored_rows(draft: Draft, session: Session, relation: str) -> None:
    """The same for an audit: `relation`, as it stands in FROM, holds the rows now and later."""
    _tell(draft, lambda counted: _sample_each(Asked.of(session, draft, relation), counted, relation))


def _tell(draft: Draft, look: Callable[[Sequence[Finding]], list[BrokenRows]]) -> None:
    counted = [f for f in draft.findings if f.verdict is Verdict.VIOLATED and f.code in _COUNTED]
    try:
        found = look(counted) if counted else ()
    except (AnalysisError, SparkFailure, KeyError):
        return
    except Exception as error:  # A sample that cannot be shown fails no publish.
        draft.add_own_error("files", error)
        return
    if found:
        draft.set_details(broken=(*(draft.details.broken or ()), *found))


def _sample_staged(job: Job, staged: StagedWrite, counted: Sequence[Finding]) -> list[BrokenRows]:
    draft = job.draft
    rows = Asked.of(job.session, draft, staged.new_rows())
    keys = [f for f in counted if _is_key(draft, f) is not None]
    found = _sample_each(rows, [f for f in counted if f not in keys], staged.new_rows_later())
    if keys:  # Keys are unique over all rows that the table will hold.
        whole = Asked(job.session, draft, rows.schema, staged.rows_after())
        found += _sample_each(whole, keys, staged.rows_after_later())
    return found


def _sample_each(asked: Asked, counted: Sequence[Finding], later: str | None) -> list[BrokenRows]:
    """`later` is the relation that still holds the rows after the report; None where there is none."""
    found = []
    for finding in counted:
        if asked.ending(finding, asked.relation) is None:
            continue
        ending = asked.ending(finding, later) if later is not None else None
        shown = None if ending is None else f"SELECT {ending}"
        found.append(BrokenRows(finding.code, finding.promised, finding.field, shown, *asked.sample(finding)))
    return found


class Asked:
    """The rows of one relation, as it stands in FROM, that break what a finding says."""

    def __init__(self, session: Session, draft: Draft, schema: PhysicalSchema, relation: str) -> None:
        self.session, self.draft, self.schema, self.relation = session, draft, schema, relation

    @classmethod
    def of(cls, session: Session, draft: Draft, relation: str) -> Asked:
        return cls(session, draft, session.planes(f"SELECT * FROM {relation} AS counted").analyzed, relation)

    def ending(self, finding: Finding, relation: str, columns: Sequence[str] = ()) -> str | None:
        """What follows SELECT; None where no query shows the rows."""
        key, constraint = _is_key(self.draft, finding), _constraint(self.draft, finding)
        if key is not None:
            return count_queries.repeated_keys_query(relation, key, MOST)
        if constraint is not None and constraint.kind == "foreign_key":
            found = reference(self.session, constraint, self.draft.model.name, relation)
            return (
                None
                if found is None
                else count_queries.dangling_rows_query(relation, constraint.columns, *found, columns, MOST)
            )
        condition = self._condition(finding, constraint)
        listed = ", ".join(map(quote_name, columns)) or "*"
        return None if condition is None else f"{listed}\nFROM {relation} AS counted\nWHERE {condition}\nLIMIT {MOST}"

    def _condition(self, finding: Finding, constraint: Constraint | None) -> str | None:
        if finding.code == "PP507":
            return f"NOT (\n{constraint.condition}\n)" if constraint is not None else None
        field = find(self.schema, finding.field or "")
        term = count_queries.term_of(finding, field)
        return count_queries.broken_condition(self.schema, term) if term is not None else None

    def sample(self, finding: Finding) -> tuple[tuple[str, ...] | None, tuple[tuple[str | None, ...], ...] | None]:
        """The columns' names and up to `MOST` rows of them, as far as the model's settings allow."""
        wanted = self.draft.settings.samples
        columns = _keys(self.draft, finding, self.schema.names) if wanted == "keys" else self.schema.names
        ending = self.ending(finding, self.relation, columns) if wanted != "none" and columns else None
        if ending is None:
            return None, None
        try:
            rows = self.session.rows(f"SELECT {ending}")
        except (AnalysisError, SparkFailure):
            return None, None
        names = (*(_is_key(self.draft, finding) or ()), "rows") if _is_key(self.draft, finding) else tuple(columns)
        return names, tuple(tuple(map(_format_value, row)) for row in rows)


def _constraint(draft: Draft, finding: Finding) -> Constraint | None:
    declared = list_declared(draft.model, "check", *OF_THE_WHOLE)
    return next((c for c in declared if finding.code == "PP507" and str(c) == finding.promised), None)


def _is_key(draft: Draft, finding: Finding) -> tuple[str, ...] | None:
    """The columns of a key that stands on several rows, None for another finding."""
    found = _constraint(draft, finding)
    return found.columns if found is not None and found.kind in KEYS else None


def _keys(draft: Draft, finding: Finding, names: Sequence[str]) -> Sequence[str]:
    """The columns that tell rows apart: of a declared key, else dbt's `unique_key`; none where nobody says so."""
    found = [c.columns for c in list_declared(draft.model, *KEYS)]
    given: Any = getattr(draft.model, "options", {}).get("unique_key") or ()
    found.append((given,) if isinstance(given, str) else tuple(given))
    known = ColumnNames(names)
    return next((list(map(known.find_spelling, key)) for key in found if key and all(c in known for c in key)), [])


def _format_value(value: object) -> str | None:
    text = None if value is None else str(value)
    return text if text is None or len(text) <= _CUT else f"{text[: _CUT - 1]}…"
