"""What is said of a table right after its publish: that others have taken it back, or that nobody could look."""

from __future__ import annotations

from planproof_engine import Finding, Verdict


def tell_of_undoing(model: str, by: str = "") -> Finding:
    """`by` names what they have made, where the table keeps names of that."""
    message = (
        f"{model} was published, and another writer took back or replaced rows of it right after"
        f"{f' ({by} of the table)' if by else ''}: what stands there now was not checked. If nobody meant to, run the "
        "model again"
    )
    return Finding(Verdict.WARNING, "PP623", "catalog", message=message)


def tell_unseen(model: str, error: Exception) -> Finding:
    """PP403 for what planproof itself failed to look at after *model* was published; it undoes nothing."""
    message = f"{model} was published, and planproof failed to look at it: {error!r}"
    return Finding(Verdict.WARNING, "PP403", "catalog", message=message)
