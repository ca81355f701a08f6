"""What a check without Spark cannot know, and what it makes of its findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from planproof_engine import AnalysisError, Finding, Verdict, evolve, join_path

if TYPE_CHECKING:
    from planproof_engine import LogicalPlan

_WIDTH = ("PP501", "PP502", "PP503")


class Incomplete(NamedTuple):
    """What is not known of a relation, as a source of its columns may have more of them than are declared.

    `source` names the source. `is_wider`: the relation may have more columns, too, or others. `columns` are those that
    may be of another type.
    """

    source: str
    is_wider: bool = True
    columns: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        return f"{self.source} may have more columns than the manifest declares"


class Doubts(NamedTuple):
    """`rejected` says why Spark may accept a query that is rejected here. `incomplete`, asked where a contract stands,
    is what is not known of the columns that a plan shows."""

    rejected: Callable[[AnalysisError], str | None] = lambda error: None
    incomplete: Callable[[LogicalPlan], Incomplete | None] = lambda plan: None


def doubt_term(finding: Finding, incomplete: Incomplete) -> Finding:
    """A term that seems to be broken is unproved, where the columns that it is about may be others; one that seems to
    hold, where its own column may be another."""
    is_open = {Verdict.VIOLATED: _is_about, Verdict.PROVED: _is_of_column}.get(finding.verdict)
    if is_open is None or not is_open(finding, incomplete):
        return finding
    message = f"{finding.message}; {incomplete.said}"
    return evolve(finding, verdict=Verdict.UNPROVED, message=message, evidence=None)


def _is_about(finding: Finding, incomplete: Incomplete) -> bool:
    if finding.code in _WIDTH:
        return incomplete.is_wider
    return _is_of_column(finding, incomplete)


def _is_of_column(finding: Finding, incomplete: Incomplete) -> bool:
    field = finding.field or ""
    return any(field == name or field.startswith(f"{name}.") for name in (join_path((c,)) for c in incomplete.columns))
