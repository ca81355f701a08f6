"""A query that reads another relation in place of one that it names: a test of a table then runs on its staged rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planproof_engine.catalog import RelationName
from planproof_engine.ground import Conf, Unknown, place, quote_name
from planproof_engine.sql import nodes as q
from planproof_engine.sql.edits import splice
from planproof_engine.sql.names import name_parts
from planproof_engine.sql.parse import parse


def stand_in(
    text: str, target: RelationName, replacement: str, namespace: Sequence[str], conf: Conf
) -> tuple[str, int]:
    """The text with `replacement` (a relation, as it is written in FROM) in place of each reading of `target`, and how
    many there were. `target` is a whole name; `namespace` is the current catalog and database.

    The relation keeps the name that the text calls it by; a CTE of the table's name stays what it is. Raises
    `AnalysisError` and `Unknown` as `parse` does, and `Unknown` for a reading that has no such form.

    >>> m = RelationName(("shop", "m"))
    >>> stand_in("select m.a from shop.m, x.m as n", m, "`s`", ("spark_catalog", "default"), Conf())
    ('select m.a from `s` AS `m`, x.m as n', 1)
    """
    tree = parse(text, conf)
    readings = {table.span: table for table in _find_tables(tree, conf) if _is_read(table, target, namespace)}
    if readings:
        _refuse_full_names(tree, target, text)
    bare = {query.table.span for query in tree.find_all(q.TableQuery)}
    edits = [_make_edit(table, replacement, text, span in bare) for span, table in readings.items()]
    return splice(text, edits), len(edits)


def _find_tables(tree: q.Node, conf: Conf) -> Iterator[q.Table]:
    """The relations that a query names, without those that are its CTEs."""
    waiting: list[tuple[q.Node, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, ctes = waiting.pop()
        if isinstance(node, q.Table):
            parts = name_parts(node)
            if len(parts) != 1 or _fold_case(parts[0], conf) not in ctes:
                yield node
        clause = node.with_ if isinstance(node, q.Query) else None
        for cte in clause.ctes if clause is not None else ():
            name = _fold_case(cte.alias.name.text, conf)
            waiting.append((cte, ctes | {name} if clause is not None and clause.recursive else ctes))
            ctes |= {name}
        waiting += [(child, ctes) for child in node.children if child is not clause]


def _fold_case(name: str, conf: Conf) -> str:
    return name if conf.case_sensitive else name.lower()


def _is_read(table: q.Table, target: RelationName, namespace: Sequence[str]) -> bool:
    """A name that is computed has no parts."""
    parts = tuple(name_parts(table))
    return bool(parts) and RelationName(parts).within(namespace) == target


def _refuse_full_names(tree: q.Node, target: RelationName, text: str) -> None:
    """Refuses a column under its table's full name, `shop.m.a`: the relation that stands for the table has no such
    name."""
    for node in tree.find_all(q.Column, q.Dot, q.Star):
        parts = tuple(i.text for i in node.qualifier) if isinstance(node, q.Star) else name_parts(node)
        pairs = (RelationName(parts[at : at + 2]) for at in range(len(parts) - 1))
        if any(pair == target.in_schema for pair in pairs):
            raise Unknown("a column's table by its full name, for a relation in its place", place(text, *node.span))


def _make_edit(table: q.Table, replacement: str, text: str, bare: bool) -> tuple[int, int, str]:
    """The edit that puts the replacement in; `bare` of a relation that takes no alias: `TABLE t`."""
    odd = "version" if table.version is not None else "options" if table.options is not None else None
    start, stop = table.parts[0].span[0], table.parts[-1].span[1]
    if table.alias is None and table.sample is not None:
        odd = "sample"
    if odd is not None:
        raise Unknown(f"a relation with {odd}, for another one in its place", place(text, start))
    alias = "" if bare or table.alias is not None else f" AS {quote_name(table.parts[-1].text)}"
    return start, stop, f"{replacement}{alias}"
