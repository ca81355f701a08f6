"""Queries that count, over a model's own sources, the rows for which a hazard comes true.

Each is cut from the model's text: the part in question keeps its text and the WITH clauses that it sees. Where it
cannot be cut out safely there is no query, and the hazard stays a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planproof.expr.nodes import Span
from planproof.hazards.suspicion import Count
from planproof.sql import nodes as q


class Counting(NamedTuple):
    """A query that gives one row with the number of rows for which a condition holds. It has three parts: `before`
    (WITH), the count, and `rows` (FROM and WHERE). `before` and `rows` are the same for all counts of one query
    block."""

    before: str
    number: str
    rows: str

    @property
    def sql(self) -> str:
        return f"{self.before}SELECT {self.number}\n{self.rows}"


def counting_query(tree: q.Node, text: str, count: Count) -> Counting | None:
    """The query of a count; None where it cannot be cut out."""
    path = _path(tree, count.span)
    if path is None or any(isinstance(node, (q.Pipe, q.Transform)) for node in path):
        return None
    prefix = _with(path, text, count.span)
    if prefix is None:
        return None
    if count.columns:
        start, stop = count.span
        names = ", ".join(f"c{i}" for i in range(count.columns))
        rows = f"FROM (\n{text[start:stop]}\n) AS counted ({names})"
        return Counting(prefix, f"count_if({count.condition})", rows)
    return _in_block(path, text, count, prefix)


def _in_block(path: list[q.Node], text: str, count: Count, prefix: str) -> Counting | None:
    block = next((node for node in reversed(path) if isinstance(node, q.Select)), None)
    source = block.from_ if block is not None else None
    condition = _wide(path[-1], text, *count.wide) if count.wide else count.condition
    if block is None or source is None or not condition:
        return None
    start, stop = count.span
    condition = condition.replace("{x}", text[start:stop]) if not count.wide else condition
    clauses = [source, *([block.where] if block.where is not None else [])]
    spans = [clause.span for clause in clauses]
    if any(start < 0 for start, _ in spans):
        return None
    rest = "\n".join(_with_keyword(text[a:b], word) for (a, b), word in zip(spans, ("FROM", "WHERE")))
    return Counting(prefix, f"count_if({condition})", rest)


def reads_one(tree: q.Node, span: Span) -> bool:
    """Whether the query block of a place reads one relation by its name, which no WITH clause defines."""
    path = _path(tree, span) or []
    block = next((node for node in reversed(path) if isinstance(node, q.Select)), None)
    source = block.from_ if block is not None else None
    tables = [node for node in _below(source) if isinstance(node, q.Table)] if source is not None else []
    if len(tables) != 1 or any(isinstance(node, q.Query) for node in _below(source)):
        return False
    return not any(isinstance(node, q.Query) and node.with_ is not None for node in path)


def _below(node: q.Node | None) -> Iterator[q.Node]:
    if node is not None:
        yield node
        for child in node.children:
            yield from _below(child)


def _wide(node: q.Node, text: str, low: int, high: int) -> str | None:
    """The condition that arithmetic gives a value outside of a range, computed in decimals that are wide enough; None
    for an expression that is no arithmetic.

    Where even the decimals are too narrow, the result is NULL although no operand is.
    """
    leaves: list[str] = []
    value = _in_decimals(node, text, leaves)
    if value is None or len(leaves) < 2:
        return None
    known = " AND ".join(f"{leaf} IS NOT NULL" for leaf in leaves)
    return f"coalesce({value} NOT BETWEEN {low}BD AND {high}BD, {known})"


def _in_decimals(node: q.Node, text: str, leaves: list[str]) -> str | None:
    start, stop = node.span
    if isinstance(node, (q.Paren, q.Add, q.Sub, q.Mul)):
        sides = [_in_decimals(child, text, leaves) for child in node.children]
        if any(side is None for side in sides) or len(sides) != (1 if isinstance(node, q.Paren) else 2):
            return None
        return f"({_SIGNS[type(node)].join(side for side in sides if side is not None)})"
    if start < 0:
        return None
    leaves.append(f"({text[start:stop]})")
    return f"CAST({leaves[-1]} AS DECIMAL(38, 0))"


_SIGNS: dict[type[q.Node], str] = {q.Paren: "", q.Add: " + ", q.Sub: " - ", q.Mul: " * "}


def _with_keyword(clause: str, word: str) -> str:
    return clause if clause[: len(word)].upper() == word else f"{word} {clause}"


def _path(tree: q.Node, wanted: Span) -> list[q.Node] | None:
    """The nodes from the root down to the innermost one with exactly this span; None where none has it."""
    for child in tree.children:
        start, stop = child.span
        if start < 0 or (start <= wanted[0] and wanted[1] <= stop):
            found = _path(child, wanted)
            if found is not None:
                return [tree, *found]
    return [tree] if tree.span == wanted else None


def _with(path: list[q.Node], text: str, wanted: Span) -> str | None:
    """A WITH clause of all CTEs that are visible at a place; None where two of them share a name or one is
    recursive."""
    seen: dict[str, str] = {}
    for node in path:
        with_ = node.with_ if isinstance(node, q.Query) else None
        if with_ is None:
            continue
        if with_.recursive:
            return None
        for cte in with_.ctes:
            start, stop = cte.span
            if stop > wanted[0] and start <= wanted[0]:
                break
            if start > wanted[0]:
                break
            name = cte.alias.name.text.lower()
            if name in seen:
                return None
            seen[name] = text[start:stop]
    return f"WITH {', '.join(seen.values())}\n" if seen else ""
