"""The claim of Parquet files: one schema, and facts over all rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planproof.arrow.footers import Footer, read_footers
from planproof.claims.model import Claim, Facts, Path
from planproof.schema import PhysicalSchema


def read(paths: Iterable[str]) -> tuple[Claim, list[Footer]]:
    """The claim of the files at `paths` together, and each one's footer.

    The schema is that of the first file with rows: whether the others agree is an invariant, not a claim. Raises
    `FooterError`.
    """
    footers = read_footers(paths)
    first = next((f for f in footers if f.rows), footers[0] if footers else None)
    return Claim("files", first.schema if first else PhysicalSchema(), facts(footers)), footers


def facts(footers: Sequence[Footer]) -> Facts:
    """Rows and exact null counts over all files; a place that one file with rows does not count is not known."""
    filled = [f for f in footers if f.rows]
    source = f"the footers of {len(footers)} file{'' if len(footers) == 1 else 's'}"
    if not filled:
        nulls: dict[Path, int] = {path: 0 for f in footers for path in f.nulls}
        return Facts(0, nulls, len(footers), source)
    shared = set(filled[0].nulls).intersection(*(f.nulls for f in filled[1:]))
    nulls = {path: sum(f.nulls[path] for f in filled) for path in sorted(shared)}
    return Facts(sum(f.rows for f in filled), nulls, len(footers), source)
