"""The one line with which an invocation of dbt ends: what was published, stopped, and left to dbt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dbt_planproof.message import shorten_path
from planproof.report.model import Report
from planproof.report.parts import format_count, is_counted, would_stop
from planproof_engine.finding import Verdict

NAMED = 3
"""At most so many models that dbt wrote itself are named with the reason. The report has them all."""


class Left(NamedTuple):
    """A node that dbt wrote itself: what it is (`seed`, `snapshot`, `model`), and why."""

    kind: str
    reason: str


def closing_line(reports: Iterable[Report], left: Mapping[str, Left], path: Path) -> str:
    """`planproof: 12 published (5 contracts proved, 3 counted, 4 without a contract), 1 stopped, 2 left to dbt (1 seed,
    1 snapshot); report ...`. Where there is none of these, there is no report either."""
    last = {report.model: report for report in reports}
    watched = [report for report in last.values() if report.details.guard == "watch"]
    parts = _list_outcomes([report for report in last.values() if report not in watched])
    parts += [_describe_watched(watched)] if watched else []
    if left:
        parts.append(f"{len(left):,} left to dbt ({', '.join(_count_kinds(left))})")
    if not parts:
        return "planproof: nothing was published"
    return f"planproof: {', '.join(parts)}; report {shorten_path(path)}"


def _list_outcomes(reports: Sequence[Report]) -> list[str]:
    outcomes = Counter(report.outcome for report in reports)
    published = [report for report in reports if report.outcome == "published"]
    contracts = _count_contracts(published)
    parts = [f"{len(published):,} published{f' ({contracts})' if contracts else ''}"] if reports else []
    ends = (("rejected", "stopped"), ("failed", "could not run"), ("audited", "audited after dbt wrote it"))
    parts += [f"{outcomes[outcome]:,} {word}" for outcome, word in ends if outcomes[outcome]]
    rewritings = sum(f.code == "PP210" for report in published for f in report.findings)
    return [*parts, *([f"{format_count(rewritings, 'rewriting')} suggested"] if rewritings else [])]


def _count_contracts(published: Sequence[Report]) -> str:
    """How the contracts of the published models were found to hold: each model counts once, by its weakest term."""
    found = Counter(_describe_proof(report) for report in published if report.has_contract)
    words = [
        f"{found[word]:,} {word}"
        for word in ("proved", "counted", "enforced in part", "unproved", "violated")
        if found[word]
    ]
    if words:
        first, _, how = words[0].partition(" ")
        words[0] = f"{first} {'contract' if first == '1' else 'contracts'} {how}"
    without = len(published) - sum(found.values())
    return ", ".join([*words, *([f"{without:,} without a contract"] if without else [])])


def _describe_watched(reports: Sequence[Report]) -> str:
    """Those that were only watched; what would have been stopped is named."""
    names = sorted(report.details.name or report.model for report in reports if would_stop(report))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    said = f" ({len(names):,} would have been stopped: {', '.join(names[:NAMED])}{more})" if names else ""
    return f"{len(reports):,} watched{said}"


def _describe_proof(report: Report) -> str:
    if report.verdict is not Verdict.PROVED:
        return str(report.verdict)
    if report.details.unenforced:
        return "enforced in part"
    return "counted" if any(is_counted(finding) for finding in report.of(Verdict.PROVED)) else "proved"


def _count_kinds(left: Mapping[str, Left]) -> list[str]:
    """Seeds and snapshots counted, then models, the first ones with their names and reasons: by name, since threads
    end in any order."""
    kinds = Counter(node.kind for node in left.values())
    parts = [format_count(number, kind) for kind, number in sorted(kinds.items()) if kind != "model"]
    models = [f"{name}: {node.reason}" for name, node in sorted(left.items()) if node.kind == "model"]
    if models:
        more = f"; and {len(models) - NAMED} more" if len(models) > NAMED else ""
        parts.append(f"{format_count(len(models), 'model')}: {'; '.join(models[:NAMED])}{more}")
    return parts
