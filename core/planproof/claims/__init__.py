"""Claims: one reader per plane."""

from planproof.claims.model import Claim, Facts, Path, dotted

__all__ = ["Claim", "Facts", "Path", "dotted"]
