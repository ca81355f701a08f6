"""One report of a model's query and of the table that stands, for a model that somebody else wrote."""

from __future__ import annotations

from dataclasses import replace

from planproof.report.model import Report
from planproof_engine.finding import Finding

_COUNTED = {"PP506": "PP505", "PP508": "PP507"}
"""What a term is called once its rows are counted, by its code before."""


def merge_reports(checked: Report, audited: Report) -> Report:
    """The report of an audit, with what the check of the query found besides.

    Where both judge one term, the stored rows decide, and the query says where the column is written.
    """
    if audited.outcome == "failed":
        return audited if checked.outcome == "failed" else replace(checked, error=audited.error)
    judged = {_term(finding) for finding in audited.findings}
    of_query = tuple(f for f in checked.findings if _term(f) not in judged)
    places = {f.field: f.origin for f in checked.findings if f.field and f.origin}
    planes = {p.plane: p for p in checked.planes}
    planes |= {p.plane: p for p in audited.planes if p.status == "read" or p.plane not in planes}
    invariants = {i.invariant: i for i in audited.invariants}
    invariants |= {i.invariant: i for i in checked.invariants if i.enforced}
    return replace(
        audited,
        findings=(*of_query, *(replace(f, origin=f.origin or places.get(f.field or "")) for f in audited.findings)),
        planes=tuple(planes.values()),
        invariants=tuple(invariants.values()),
        rewrites=checked.rewrites,
    )


def _term(finding: Finding) -> tuple[str, str | None, str | None]:
    return _COUNTED.get(finding.code, finding.code), finding.field, finding.promised
