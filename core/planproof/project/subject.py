"""A node as the offline check judges it, and what is said where that came to no end."""

from __future__ import annotations

from planproof.contract import Contract
from planproof.judge.draft import Draft
from planproof.own_errors import describe
from planproof.project import ProjectNode, contract_of
from planproof.project.reads import UnreadableContract
from planproof.report import Report
from planproof_engine import Conf, Finding, OverBudget, Verdict, evolve, record


@record(frozen=True, slots=True)
class Subject:
    """A node as it is judged, also where its materialization, or its language, is none that a guard could run."""

    name: str
    sql: str
    contract: Contract | None
    materialized: str
    file_format: str
    file: str | None = None

    @classmethod
    def of(cls, node: ProjectNode, conf: Conf) -> Subject:
        format = str((node.raw.get("config") or {}).get("file_format") or "parquet")
        return cls(node.relation, node.sql or "", contract_of(node.raw, conf), node.materialized, format)

    @classmethod
    def of_name(cls, node: ProjectNode) -> Subject:
        """What is said of a node that could not be judged."""
        return cls(node.relation, node.sql or "", None, node.materialized, "parquet")


def report_failed(draft: Draft, error: Exception) -> Report:
    """The report on a model on which planproof itself failed."""
    said = describe(error)
    draft.add([Finding(Verdict.UNPROVED, "PP901", "logical", message=said)])
    draft.mark_unreadable("logical", said)
    return draft.report("failed", said)


def report_unreadable(draft: Draft, error: UnreadableContract) -> Report:
    """The report on a model whose contract cannot be read."""
    said = str(error)
    draft.add([Finding(Verdict.UNPROVED, "PP509", "contract", message=said)])
    draft.mark_unreadable("contract", said)
    return draft.report("failed", said)


def report_too_large(draft: Draft, over: OverBudget) -> Report:
    """The report on a model that cost more than one may. It depends on the machine: no cache may keep it."""
    draft.mark_unreadable("logical", draft.add_too_large(over, Verdict.UNPROVED))
    return draft.report("checked")


def excuse_ephemeral(report: Report) -> Report:
    """An ephemeral model is never built alone: what is wrong with it is wrong with the models that read it."""
    said = "an ephemeral model is never built alone; the models that read it are judged"
    findings = [
        evolve(f, verdict=Verdict.WARNING, evidence=said) if f.verdict is Verdict.VIOLATED else f
        for f in report.findings
    ]
    return evolve(report, findings=tuple(findings))
