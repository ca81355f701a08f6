"""The way of a broken column through the models of one run: the columns that it is made of, and those made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from planproof.report.model import Report
from planproof_engine.catalog import RelationName, split_name
from planproof_engine.finding import Verdict
from planproof_engine.schema import fold_name

DEEPEST = 12
MOST = 500_000
"""Columns from which others are made, of all models of a run: a page of more shows no ways."""


class Stop(NamedTuple):
    """One column on the way; `broken` marks the one whose promise is violated."""

    name: str
    broken: bool = False


Column = tuple[str, str]


class Ways:
    """The columns of all reports of a run, and which are made of which: looked at once, where a page asks first."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self._reports = reports
        self.made_of: dict[Column, list[Column]] = {}
        self.feeds: dict[Column, list[Column]] = {}
        self.shown: dict[Column, str] = {}

    @cached_property
    def _is_known(self) -> bool:
        """Whether the columns were looked at: not of a run that has too many."""
        left = MOST
        for report in self._reports:
            for name, sources in (report.details.lineage or {}).get("columns", ()):
                left -= len(sources)
                if left < 0:
                    self.made_of, self.feeds, self.shown = {}, {}, {}
                    return False
                own = self._known_column(report.model, name)
                for source in sources:
                    other = self._known_column(str(source[0]), str(source[1]))
                    self.made_of.setdefault(own, []).append(other)
                    self.feeds.setdefault(other, []).append(own)
        return True

    def find_ways(self, report: Report) -> list[list[Stop]]:
        """For each column of the model whose promise is violated, its way; a column that stands alone has none."""
        fields = dict.fromkeys(split_name(f.field)[0] for f in report.of(Verdict.VIOLATED) if f.field)
        ways = [self._follow(_key(report.model, name)) for name in fields] if fields and self._is_known else []
        return [way for way in ways if len(way) > 1]

    def _follow(self, column: Column) -> list[Stop]:
        before, after = list(_follow_edges(column, self.made_of)), list(_follow_edges(column, self.feeds))
        names = [(c, False) for c in reversed(before)], [(column, True)], [(c, False) for c in after]
        return [Stop(self.shown.get(c, ".".join(c)), broken) for part in names for c, broken in part]

    def _known_column(self, relation: str, column: str) -> Column:
        key = _key(relation, column)
        self.shown.setdefault(key, f"{relation}.{column}")
        return key


def _follow_edges(column: Column, edges: Mapping[Column, Sequence[Column]]) -> Iterator[Column]:
    """From a column along the first edge each time, not in circles and not too far."""
    seen = {column}
    while len(seen) <= DEEPEST:
        following: Any = next((c for c in edges.get(column, ()) if c not in seen), None)
        if following is None:
            return
        yield following
        seen.add(following)
        column = following


def _key(relation: str, column: str) -> Column:
    """A relation is known by its last two parts, however it is spelled."""
    return ".".join(RelationName.parse(relation).key[-2:]), fold_name(column)
