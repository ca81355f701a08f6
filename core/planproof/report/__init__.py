"""Reports: verdicts, findings, and their JSON, HTML and terminal forms."""

from planproof.report.model import (
    INVARIANTS,
    PLANES,
    Enforcement,
    Finding,
    PlaneReading,
    Report,
    Rewrite,
    Verdict,
    worst,
)

__all__ = ["INVARIANTS", "PLANES", "Enforcement", "Finding", "PlaneReading", "Report", "Rewrite", "Verdict", "worst"]
