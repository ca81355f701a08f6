"""Which findings a model's settings, or the lack of a promise, let through, and which no setting can."""

from __future__ import annotations

from collections.abc import Iterable

from planproof.settings import Settings
from planproof_engine import Finding, Verdict, evolve

UNPUBLISHABLE = ("PP102", "PP103", "PP110", "PP301", "PP401", "PP601")
"""Codes that no setting can let through: Spark itself could not publish such a model, or the files would be damaged."""

_SAID = "no setting can allow it"


def allow(finding: Finding, settings: Settings) -> Finding:
    """The finding under the settings: where they allow its code, a violated or unproved one becomes a warning."""
    if finding.code not in settings.allow or finding.verdict in (Verdict.PROVED, Verdict.WARNING):
        return finding
    if finding.code in UNPUBLISHABLE and finding.verdict is Verdict.VIOLATED:
        return finding if _SAID in finding.message else evolve(finding, message=f"{finding.message} ({_SAID})")
    message = f"{finding.message} (allowed by the settings)"
    return evolve(finding, verdict=Verdict.WARNING, message=message)


def downgrade_unpromised(finding: Finding) -> Finding:
    """A hazard that came true where no contract promises anything: a warning. What dbt publishes without a promise
    planproof publishes too."""
    if finding.verdict is not Verdict.VIOLATED:
        return finding
    return evolve(finding, verdict=Verdict.WARNING, message=f"{finding.message}; no contract promises otherwise")


def has_unpublishable(findings: Iterable[Finding]) -> bool:
    """Whether one of the findings stops a publish under every setting."""
    return any(f.verdict is Verdict.VIOLATED and f.code in UNPUBLISHABLE for f in findings)
