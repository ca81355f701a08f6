"""I1 over a whole plan: where two columns of one node share relation and name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from planproof_engine.expr import Column
from planproof_engine.logical.nodes import PassThrough, Plan

Key = tuple[str | None, str]


class Repeated(NamedTuple):
    """Columns of one node that share relation and name."""

    node: Plan
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        first = self.columns[0]
        return f"{first.relation}.{first.name}" if first.relation else first.name


def find_repeated(nodes: Iterable[Plan], case_sensitive: bool = False) -> Iterator[Repeated]:
    """Every one of a plan's nodes (`walk_everywhere`) whose output repeats a (relation, name), outermost first.

    A node that gives out its child's columns as they are is left out: the repetition is its child's.
    """
    seen: set[int] = set()
    for node in nodes:
        if (isinstance(node, PassThrough) and seen) or id(node) in seen:
            continue
        seen.add(id(node))
        output = node.output
        if len({c.name.lower() for c in output}) == len(output):
            continue
        groups: dict[Key, list[Column]] = {}
        for column in output:
            groups.setdefault(_key(column, case_sensitive), []).append(column)
        yield from (Repeated(node, tuple(group)) for group in groups.values() if len(group) > 1)


def find_bare(nodes: Iterable[Plan], case_sensitive: bool = False) -> Iterator[Repeated]:
    """Every node with a column `a` that has no relation, beside a column `t.a`: the bare name `a` means both, so that
    nothing names the first one alone."""
    for node in nodes:
        if isinstance(node, PassThrough):
            continue
        related: dict[str, list[Column]] = {}
        for column in node.output:
            if column.relation is not None:
                related.setdefault(_key(column, case_sensitive)[1], []).append(column)
        for column in node.output if related else ():
            others = related.get(_key(column, case_sensitive)[1], ()) if column.relation is None else ()
            if others:
                yield Repeated(node, (column, *others))


def list_repeated_names(root: Plan, case_sensitive: bool = False) -> frozenset[Key]:
    """The pairs of relation and name that some node repeats. A rewriting must add no pair to them."""
    repeated = find_repeated(root.walk_everywhere(), case_sensitive)
    return frozenset(_key(found.columns[0], case_sensitive) for found in repeated)


def _key(column: Column, case_sensitive: bool) -> Key:
    if case_sensitive:
        return column.relation, column.name
    return column.relation and column.relation.lower(), column.name.lower()
