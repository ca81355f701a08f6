"""Queries that count over a model's own sources, cut from its text: what a hazard needs so that data can decide.

The part that is in question keeps its text and the WITH clauses that it sees. What cannot be cut out safely gives no
query: a hazard then stays a warning.
"""

from __future__ import annotations

from planproof.expr.nodes import Span
from planproof.hazards.suspicion import Count
from planproof.sql import nodes as q


def counting_query(tree: q.Node, text: str, count: Count) -> str | None:
    """A query of one row and one column, the number of rows for which the condition holds."""
    path = _path(tree, count.span)
    if path is None or any(isinstance(node, (q.Pipe, q.Transform)) for node in path):
        return None
    prefix = _with(path, text, count.span)
    if prefix is None:
        return None
    if count.columns:
        start, stop = count.span
        names = ", ".join(f"c{i}" for i in range(count.columns))
        return f"{prefix}SELECT count_if({count.condition}) FROM (\n{text[start:stop]}\n) AS counted ({names})"
    return _in_block(path, text, count, prefix)


def _in_block(path: list[q.Node], text: str, count: Count, prefix: str) -> str | None:
    block = next((node for node in reversed(path) if isinstance(node, q.Select)), None)
    source = block.args.get("from_") if block is not None else None
    if block is None or source is None:
        return None
    start, stop = count.span
    condition = count.condition.replace("{x}", text[start:stop])
    clauses = [source, *([block.args["where"]] if block.args.get("where") is not None else [])]
    spans = [clause.span for clause in clauses]
    if any(start < 0 for start, _ in spans):
        return None
    rest = "\n".join(_with_keyword(text[a:b], word) for (a, b), word in zip(spans, ("FROM", "WHERE")))
    return f"{prefix}SELECT count_if({condition})\n{rest}"


def _with_keyword(clause: str, word: str) -> str:
    return clause if clause[: len(word)].upper() == word else f"{word} {clause}"


def _path(tree: q.Node, wanted: Span) -> list[q.Node] | None:
    """The nodes from the root to the innermost one that stands exactly at a place; None where there is none."""
    for child in tree.children:
        start, stop = child.span
        if start < 0 or (start <= wanted[0] and wanted[1] <= stop):
            found = _path(child, wanted)
            if found is not None:
                return [tree, *found]
    return [tree] if tree.span == wanted else None


def _with(path: list[q.Node], text: str, wanted: Span) -> str | None:
    """The WITH clause over every CTE that is seen from a place, None where two have one name or one is recursive."""
    seen: dict[str, str] = {}
    for node in path:
        with_ = node.args.get("with_")
        if with_ is None:
            continue
        if with_.args.get("recursive"):
            return None
        for cte in with_.expressions:
            start, stop = cte.span
            if stop > wanted[0] and start <= wanted[0]:
                break
            if start > wanted[0]:
                break
            name = cte.args["alias"].args["this"].args["this"].lower()
            if name in seen:
                return None
            seen[name] = text[start:stop]
    return f"WITH {', '.join(seen.values())}\n" if seen else ""
