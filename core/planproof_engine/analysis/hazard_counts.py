"""Queries that count, over a model's own sources, the rows for which a hazard comes true.

Each is cut from the model's text: the part in question keeps its text and the WITH clauses that it sees. Where it
cannot be cut out safely there is no query, and the hazard stays a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planproof_engine.analysis.branches_taken import list_kept_conditions, narrow_condition
from planproof_engine.expr import Span
from planproof_engine.hazards.suspicion import Count
from planproof_engine.sql import nodes as q


class Counting(NamedTuple):
    """A query that gives one row with the number of rows for which a condition holds.

    `before` (WITH), `rows` (FROM and WHERE) and `block` are the same for all counts of one query block. `condition` is
    over the rows. With `block`, an own SELECT of the block up to its last column, the condition is one more column of
    it, and `rows` its other clauses: so an aggregate, a window or GROUP BY keep their meaning. `value` is what the
    condition is about. `inside` is the condition where the value stands, if that is in a subquery or a lambda.
    """

    before: str
    condition: str
    rows: str
    block: str | None = None
    value: str | None = None
    inside: str | None = None

    @property
    def at_value(self) -> str:
        """The condition where the value stands."""
        return self.inside or self.condition

    @property
    def sql(self) -> str:
        return join_counts([self])

    @property
    def showing(self) -> str:
        """The query that shows some of the rows."""
        value = f"{self.value} AS value" if self.value is not None else ""
        block = self.block or f"SELECT {', '.join(filter(None, (value, '*' if self.rows else '')))}"
        query = _make_query(block, [self.condition], self.rows)
        return f"{self.before}SELECT *\nFROM {query}\nWHERE {_NAME}0\nLIMIT {MOST}"


MOST = 5
_NAME = "counted_"
"""Conditions as columns begin so: no column that is counted may have the same name, and of a set operation these are
`c0`, `c1`, ..."""


def join_counts(counts: Sequence[Counting]) -> str:
    """One query that makes all counts of one query block, a column for each."""
    first, conditions = counts[0], [count.condition for count in counts]
    if first.block is not None:
        numbers = ", ".join(f"count_if({_NAME}{at})" for at in range(len(counts)))
        return f"{first.before}SELECT {numbers}\nFROM {_make_query(first.block, conditions, first.rows)}"
    return f"{first.before}SELECT {', '.join(f'count_if({one})' for one in conditions)}\n{first.rows}"


def _make_query(block: str, conditions: Sequence[str], rows: str) -> str:
    columns = "".join(f", {one} AS {_NAME}{at}" for at, one in enumerate(conditions))
    return f"(\n{block}{columns}\n{rows}\n) AS counted"


def make_counting_query(
    tree: q.Node, text: str, count: Count, is_accepted: Callable[[str], bool] = lambda sql: True
) -> Counting | None:
    """The query of a count; None where it cannot be cut out. A subquery that does not stand alone, as it uses the query
    around it, is counted there."""
    path = _find_path(tree, count.span)
    if path is None or any(isinstance(node, (q.Pipe, q.Transform)) for node in path):
        return None
    prefix = _make_with(path, text, count.span)
    if prefix is None:
        return None
    if count.columns:
        start, stop = count.span
        names = ", ".join(f"c{i}" for i in range(count.columns))
        rows = f"FROM (\n{text[start:stop]}\n) AS counted ({names})"
        return Counting(prefix, count.condition, rows)
    found = _count_in_block(path, text, count, prefix)
    at = _find_subquery(path) if count.cast else None
    if found is None or at is None or is_accepted(found.sql):
        return found
    return _count_around(path, at, text, found)


def is_in_subquery(tree: q.Node, span: Span) -> bool:
    """Whether the innermost query block of a place is a scalar or lateral subquery."""
    return _find_subquery(_find_path(tree, span) or []) is not None


def _find_subquery(path: Sequence[q.Node]) -> int | None:
    """Where on the way to a place its query block begins, if that is a scalar or lateral subquery of another block."""
    at = next((i for i in range(len(path) - 1, 0, -1) if isinstance(path[i], q.Select)), 0)
    if at < 2 or not isinstance(path[at - 1], q.Subquery):
        return None
    holder = path[at - 2]
    relation = isinstance(holder, (q.From, q.Joined)) and not (isinstance(holder, q.Joined) and holder.lateral)
    outside = any(isinstance(node, q.Select) for node in path[: at - 1])
    return at if outside and not relation and not isinstance(holder, (q.Query, q.CTE)) else None


def _count_around(path: list[q.Node], at: int, text: str, found: Counting) -> Counting | None:
    """The count over the rows of the block around a subquery, which tells for each of them whether a value is lost."""
    block, outer = path[at], next(i for i in range(at - 1, -1, -1) if isinstance(path[i], q.Select))
    around, prefix = path[outer], _make_with(path[: outer + 1], text, block.span)
    if not isinstance(block, q.Select) or not isinstance(around, q.Select) or prefix is None or not _is_plain(block):
        return None
    if isinstance(path[at - 2], q.Joined):
        return _count_lateral(path[at - 1], block, around, text, found, prefix)
    lost = f"coalesce(({found._replace(before='').sql}), 0) > 0"
    taken = narrow_condition(path[outer + 1 : at], text, lost)
    rows = _spell_clauses((around.from_, around.where), text)
    if taken is None or rows is None or around.from_ is None:
        return None
    return Counting(prefix, taken, rows, inside=found.condition)


def _count_lateral(
    subquery: q.Node, block: q.Select, around: q.Select, text: str, found: Counting, prefix: str
) -> Counting | None:
    """The block around with one more column of the lateral subquery, which tells of each of its rows."""
    alias = subquery.alias if isinstance(subquery, q.Subquery) else None
    if around.from_ is None or (alias is not None and alias.columns):
        return None
    rows = _spell_clauses((around.from_, around.where), text)
    last, start = block.items[-1].span[1] if block.items else -1, around.from_.span[0]
    if rows is None or last < start or start < 0:
        return None
    own = text[slice(*around.from_.span)]
    other = f"{own[: last - start]}, {found.condition} AS {_LOST}{own[last - start :]}"
    return Counting(prefix, _LOST, rows.replace(own, other, 1), inside=found.condition)


_LOST = "planproof_lost"


def _is_plain(block: q.Select) -> bool:
    """Whether all rows of the block's FROM and WHERE count: nothing groups, picks or repeats them."""
    picks = (block.group, block.having, block.qualify, block.limit, block.offset, block.distinct, block.with_)
    return not any(picks)


def _count_in_block(path: list[q.Node], text: str, count: Count, prefix: str) -> Counting | None:
    at = next((i for i in range(len(path) - 1, -1, -1) if isinstance(path[i], q.Select)), None)
    block = path[at] if at is not None else None
    condition = _make_range_condition(path[-1], text, *count.wide) if count.wide else count.condition
    if at is None or not isinstance(block, q.Select) or not condition:
        return None
    counted = _find_operand(path[-1]) if count.cast else path[-1]
    if counted is None or counted.span[0] < 0:
        return None
    value = f"({text[slice(*counted.span)]})"
    condition = condition.replace("({x})", value) if not count.wide else condition
    is_in_branch = count.cast or count.wide is not None
    taken = narrow_condition(path[at + 1 :], text, condition, null=count.null) if is_in_branch else condition
    if taken is None:
        return None
    found: Counting | None = None
    if count.grouped or (count.cast and _reads_alias(block, path[at + 1], counted)):
        found = _count_groups(block, text, taken, prefix)
    elif block.from_ is not None or count.cast:
        rows = _spell_clauses((block.from_, block.where), text)
        found = None if rows is None else Counting(prefix, taken, rows, value=value)
    body = next((i for i in range(len(path) - 1, at, -1) if isinstance(path[i - 1], q.Lambda)), None)
    if found is None or body is None:
        return found
    inside = narrow_condition(path[body:], text, condition, null=count.null)
    kept = "".join(f" AND {one}" for one in list_kept_conditions(path[:body], text))
    return found._replace(value=None, inside=f"({inside}){kept}" if inside is not None and kept else inside)


def _find_operand(node: q.Node) -> q.Node | None:
    """What a cast casts, `int(x)` too."""
    if isinstance(node, q.Cast):
        return node.operand
    return node.arguments[0] if isinstance(node, q.Call) and node.arguments else None


def _reads_alias(block: q.Select, item: q.Node, counted: q.Node) -> bool:
    """Whether a name may be that of another item of the SELECT, which FROM does not know."""
    if block.group is not None or not any(one is item for one in block.items):
        return False
    before = block.items[: next(at for at, one in enumerate(block.items) if one is item)]
    aliases = {one.alias.text.lower() for one in before if isinstance(one, q.Alias)}
    return any(column.parts[0].text.lower() in aliases for column in counted.find_all(q.Column))


def _count_groups(block: q.Select, text: str, condition: str, prefix: str) -> Counting | None:
    """The block with one more column: names, places and groups in its other clauses keep their meaning."""
    if not block.items:
        return None
    first, last = block.items[0].span[0], block.items[-1].span[1]
    rows = _spell_clauses((block.from_, block.where, block.group, block.having, block.qualify), text)
    if rows is None or first < 0 or last < first:
        return None
    windows = [text[slice(*window.span)] for window in block.windows]
    rows += f"\nWINDOW {', '.join(windows)}" if windows else ""
    return Counting(prefix, condition, rows, f"SELECT {text[first:last]}")


def _spell_clauses(clauses: Sequence[q.Node | None], text: str) -> str | None:
    given = [clause for clause in clauses if clause is not None]
    if any(clause.span[0] < 0 for clause in given):
        return None
    return "\n".join(_add_keyword(text[slice(*clause.span)], _WORDS[type(clause)]) for clause in given)


_WORDS: dict[type[q.Node], str] = {
    q.From: "FROM",
    q.Where: "WHERE",
    q.Group: "GROUP BY",
    q.Having: "HAVING",
    q.Qualify: "QUALIFY",
}


def reads_one(tree: q.Node, span: Span) -> bool:
    """Whether the query block of a place reads one relation by its name, which no WITH clause defines."""
    path = _find_path(tree, span) or []
    block = next((node for node in reversed(path) if isinstance(node, q.Select)), None)
    source = block.from_ if block is not None else None
    if source is None or sum(1 for _ in source.find_all(q.Table)) != 1 or source.holds(q.Query):
        return False
    return not any(isinstance(node, q.Query) and node.with_ is not None for node in path)


def _make_range_condition(node: q.Node, text: str, low: int, high: int) -> str | None:
    """The condition that arithmetic gives a value outside of a range, computed in decimals that are wide enough; None
    for an expression that is no arithmetic.

    Where even the decimals are too narrow, the result is NULL although no operand is.
    """
    leaves: list[str] = []
    value = _convert_to_decimals(node, text, leaves)
    if value is None or len(leaves) < 2:
        return None
    known = " AND ".join(f"{leaf} IS NOT NULL" for leaf in leaves)
    return f"coalesce({value} NOT BETWEEN {low}BD AND {high}BD, {known})"


_EXACT = frozenset("+-*")
"""Signs of arithmetic that gives whole numbers for whole numbers."""


def _convert_to_decimals(node: q.Node, text: str, leaves: list[str]) -> str | None:
    start, stop = node.span
    operator = node.operator if isinstance(node, q.Binary) else ""
    if isinstance(node, q.Paren) or operator in _EXACT:
        sides = [_convert_to_decimals(child, text, leaves) for child in node.children]
        if any(side is None for side in sides) or len(sides) != (1 if isinstance(node, q.Paren) else 2):
            return None
        return f"({f' {operator} '.join(side for side in sides if side is not None)})"
    if start < 0:
        return None
    leaves.append(f"({text[start:stop]})")
    return f"CAST({leaves[-1]} AS DECIMAL(38, 0))"


def _add_keyword(clause: str, word: str) -> str:
    first = word.split()[0]
    return clause if clause[: len(first)].upper() == first else f"{word} {clause}"


def _find_path(tree: q.Node, wanted: Span) -> list[q.Node] | None:
    """The nodes from the root down to the innermost one with exactly this span; None where none has it."""
    for child in tree.children:
        start, stop = child.span
        if start < 0 or (start <= wanted[0] and wanted[1] <= stop):
            found = _find_path(child, wanted)
            if found is not None:
                return [tree, *found]
    return [tree] if tree.span == wanted else None


def _make_with(path: list[q.Node], text: str, wanted: Span) -> str | None:
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
