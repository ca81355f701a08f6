"""Claims: one reader per plane."""

from planproof.claims.model import Claim, Facts, Path

__all__ = ["Claim", "Facts", "Path"]
