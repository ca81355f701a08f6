"""Columns and fields of structs that Spark matches by position, or that the text does not name at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.ground import Conf, quote_name
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.suspicion import Count, Suspicion, find_place_in_rows, make_warning
from planproof_engine.logical import nodes as p


def find_swapped(wanted: Sequence[str], given: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(place, place in `given` of the name that is wanted there), where the name given there is wanted elsewhere."""
    mine, theirs = [n.lower() for n in wanted], [n.lower() for n in given]
    for at, (name, other) in enumerate(zip(mine, theirs)):
        if name != other and other in mine and name in theirs:
            yield at, theirs.index(name)


def find_swapped_fields(
    source: dt.DataType, target: dt.DataType, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path of a field in `target`, the field of `source` whose value it gets)."""
    if isinstance(source, dt.Struct) and isinstance(target, dt.Struct):
        for at, _ in find_swapped(target.names, source.names):
            yield (*path, target.names[at]), source.names[at]
        for old, new in zip(source.fields, target.fields):
            yield from find_swapped_fields(old.type, new.type, (*path, new.name))
    elif isinstance(source, dt.Array) and isinstance(target, dt.Array):
        yield from find_swapped_fields(source.element, target.element, (*path, "element"))
    elif isinstance(source, dt.Map) and isinstance(target, dt.Map):
        yield from find_swapped_fields(source.key, target.key, (*path, "key"))
        yield from find_swapped_fields(source.value, target.value, (*path, "value"))


def make_difference_condition(a: str, b: str) -> str:
    """The condition for which putting one value in the other's place changes a row."""
    return f"NOT (CAST({a} AS STRING) <=> CAST({b} AS STRING))"


def list_difference_conditions(value: str, source: dt.DataType, target: dt.DataType, depth: int = 0) -> Iterator[str]:
    """The conditions for which a value of type `source`, taken as `target` by position, has another field's value."""
    if isinstance(source, dt.Struct) and isinstance(target, dt.Struct):
        inner = [f"{value}.{quote_name(name)}" for name in source.names]
        yield from (
            make_difference_condition(inner[at], inner[other]) for at, other in find_swapped(target.names, source.names)
        )
        for field, old, new in zip(inner, source.fields, target.fields):
            yield from list_difference_conditions(field, old.type, new.type, depth)
    elif isinstance(source, dt.Array) and isinstance(target, dt.Array):
        yield from _list_conditions_within(value, source.element, target.element, depth)
    elif isinstance(source, dt.Map) and isinstance(target, dt.Map):
        yield from _list_conditions_within(f"map_keys({value})", source.key, target.key, depth)
        yield from _list_conditions_within(f"map_values({value})", source.value, target.value, depth)


def _list_conditions_within(values: str, source: dt.DataType, target: dt.DataType, depth: int) -> Iterator[str]:
    element = f"x{depth}"
    found = list(list_difference_conditions(element, source, target, depth + 1))
    if found:
        yield f"coalesce(exists({values}, {element} -> {' OR '.join(found)}), false)"


def column_lists(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP121: a column list gives a column the name of another column of the same query.

    `WITH c(b, a) AS (SELECT a, b ...)`, `(SELECT a, b ...) AS t(b, a)`, `inline(items) AS (price, qty)` over structs of
    `qty, price`: the list names columns by position.
    """
    for node in definitions.nodes:
        if isinstance(node, p.Named):
            owner, before, after = ".".join(node.name), [c.name for c in node.child.output], node.output
        elif isinstance(node, p.Generate):
            owner, before, after = node.call.shown, _own_names(node.call, conf), node.generated
        else:
            continue
        names = [c.name for c in after]
        pairs = list(find_swapped(names, before))
        if pairs:
            said = ", ".join(f"{before[at]} the name {names[at]}" for at, _ in pairs)
            first = pairs[0][0]
            message = f"the column list of {owner} goes by position and gives {said}"
            yield Suspicion(make_warning("PP121", names[first], names[first], before[first], message))


def _own_names(call: x.Call, conf: Conf) -> list[str]:
    """What a generator's columns are called where no list names them; those of `json_tuple` are the keys it reads."""
    if call.function.name == "json_tuple":
        return [str(key.value) if isinstance(key, x.Literal) else "" for key in call.args[1:]]
    assert call.function.columns is not None
    return [name for name, _, _ in call.function.columns(call.args, conf)]


_WHAT = "rows hold a value under another column's name"


def swapped_columns(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP120: a set operation puts a column, or a field of a struct, under another one's name. One warning for each side
    that swaps columns whose names match elsewhere, and for each column whose fields it swaps.

    UNION, INTERSECT and EXCEPT match columns by position; so does `(a, b) IN (query)`, and a union takes the fields of
    structs so, too. Where a name stands at one place on the left and at another on the right, values land in the wrong
    column, and no schema shows it as long as the types agree.

    Rows of the right side whose values differ show it, unless both sides read the same column of one source: a pair
    that is meant both ways, such as an edge and its reverse, swaps on purpose.
    """
    for node in definitions.nodes:
        if isinstance(node, p.SetOperation):
            for at, side in enumerate(node.inputs[1:], 1):
                span = node.spans[at] if at < len(node.spans) else None
                yield from _suspect_columns(node, side, span, definitions)
                for place, (ours, theirs) in enumerate(zip(node.inputs[0].output, side.output)):
                    yield from _suspect_fields(node, ours, theirs, span, (place, len(side.output)))
    for _, expr in definitions.operations:
        if isinstance(expr, x.InSubquery):
            yield from _suspect_in_subquery(expr)


def _suspect_in_subquery(expr: x.InSubquery) -> Iterator[Suspicion]:
    """Columns swapped in `(a, b) IN (query)`: nothing is counted, for the rows do not show which pair was meant."""
    wanted = [value.name if isinstance(value, x.Column) else "" for value in expr.values]
    given = [c.name for c in expr.plan.output]
    pairs = list(find_swapped(wanted, given))
    if pairs:
        said = ", ".join(f"{wanted[at]} with {given[at]}" for at, _ in pairs)
        first = pairs[0][0]
        message = f"IN (query) matches columns by position and compares {said}"
        yield Suspicion(make_warning("PP120", wanted[first], wanted[first], given[first], message))


def _suspect_columns(
    node: p.SetOperation, side: p.Plan, span: x.Span | None, definitions: Definitions
) -> Iterator[Suspicion]:
    wanted, given = node.inputs[0].output, side.output
    pairs = list(find_swapped([c.name for c in wanted], [c.name for c in given]))
    if not pairs:
        return
    said = ", ".join(f"{given[at].name} under {wanted[at].name}" for at, _ in pairs)
    message = f"the {node.kind} matches columns by position and puts {said}"
    first = wanted[pairs[0][0]].name
    finding = make_warning("PP120", first, first, given[pairs[0][0]].name, message)
    mirrored = all(_has_same_source(wanted[at], given[other], definitions) for at, other in pairs)
    condition = " OR ".join(make_difference_condition(f"c{a}", f"c{b}") for a, b in pairs)
    yield Suspicion(finding, span, None if span is None or mirrored else Count(span, condition, _WHAT, len(given)))


def _suspect_fields(
    node: p.SetOperation, ours: x.Column, theirs: x.Column, span: x.Span | None, place: tuple[int, int]
) -> Iterator[Suspicion]:
    """`place` is the column's, and how many there are."""
    found = list(find_swapped_fields(theirs.type, ours.type, (ours.name,)))
    if not found:
        return
    said = ", ".join(f"{old} under {'.'.join(path)}" for path, old in found)
    message = f"the {node.kind} matches struct fields by position and puts {said}"
    path, old = found[0]
    condition = " OR ".join(list_difference_conditions(f"c{place[0]}", theirs.type, ours.type))
    count = None if span is None else Count(span, condition, _WHAT, place[1])
    yield Suspicion(make_warning("PP120", ".".join(path), path[-1], old, message), span, count)


def _has_same_source(a: x.Column, b: x.Column, definitions: Definitions) -> bool:
    one, other = definitions.find_source(a), definitions.find_source(b)
    return one is not None and other is not None and one.relation.lower() == other.relation.lower()


def struct_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP122: a cast matches the fields of structs by position, and names change places.

    `CAST(s AS STRUCT<b: INT, a: INT>)` over `STRUCT<a: INT, b: INT>` puts a's value under b: Spark never looks at
    names.
    """
    for column, expr in definitions.operations:
        if isinstance(expr, x.Cast):
            pairs = list(find_swapped_fields(expr.child.type, expr.type, (column or print_as_written(expr.child),)))
            if pairs and definitions.computes(expr):
                said = ", ".join(f"{old} under {'.'.join(place)}" for place, old in pairs)
                message = f"a cast matches struct fields by position and puts {said}"
                place, old = pairs[0]
                finding = make_warning("PP122", ".".join(place), place[-1], old, message)
                yield Suspicion(finding, expr.span, _count_swapped(expr, definitions))


def _count_swapped(cast: x.Cast, definitions: Definitions) -> Count | None:
    span = find_place_in_rows(cast.child)
    condition = " OR ".join(list_difference_conditions("({x})", cast.child.type, cast.type))
    what = "rows hold a value under another field's name"
    return Count(span, condition, what) if span in definitions.always else None


def natural_keys(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP123: a NATURAL join by no column, or by columns that the query does not name.

    The keys are all columns that the two sides share. Where a side is a table, a column that is added to it later
    becomes a key, and rows are lost without a word; without a shared column the join is a cross join.
    """
    for node in definitions.nodes:
        if not isinstance(node, p.Join) or node.natural is None:
            continue
        if not node.natural:
            message = "the NATURAL join's sides share no column: every row meets every row"
            yield Suspicion(make_warning("PP123", None, "a shared column", "none", message))
        elif _is_unseen(node.left) or _is_unseen(node.right):
            keys = ", ".join(node.natural)
            message = f"the NATURAL join's keys are whatever columns its tables share, today {keys}"
            yield Suspicion(make_warning("PP123", node.natural[0], "keys that the query names", keys, message))


def _is_unseen(side: p.Plan) -> bool:
    """Whether the side's columns are those of a table, named nowhere in the query."""
    while True:
        is_star = isinstance(side, p.Project) and all(getattr(i, "span", None) is None for i in side.items)
        if not is_star and not isinstance(side, (p.Named, p.PassThrough)):
            return isinstance(side, p.Scan)
        [side] = side.children


def open_stars(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP129: `SELECT *` from a table to the end: a column that is added there changes what the model produces. One
    warning for all sources whose columns reach the output through nothing but stars.

    A contract says so by itself, so that models with one are left alone (`planproof_engine.hazards.concerns`), and so
    are views that only give a relation another name.
    """
    root = definitions.nodes[0]
    found: dict[str, str] = {}
    first = None
    places: Places = {}
    for at, column in enumerate(root.output):
        for scan, across in _find_starred(root, at, "", places):
            first = first or column.name
            found[scan.relation] = found.get(scan.relation) or across
    if first is not None:
        across = next(filter(None, found.values()), "")
        have = "has" if len(found) == 1 else "have"
        message = (
            f"`*` hands on whatever columns {' and '.join(found)} {have}: one that is added there changes this model's "
            "width"
        )
        yield Suspicion(make_warning("PP129", first, "columns that are named", f"*{across}", message))


Places = dict[int, dict[int, int]]
"""Where a column stands in what a projection reads: by the projection's `id`, then the column's."""


def _find_starred(node: p.Plan, at: int, across: str, places: Places) -> Iterator[tuple[p.Scan, str]]:
    """The sources from which the column at a place comes, where nothing in the text names it, and across what."""
    if isinstance(node, p.Scan):
        yield node, across
    elif isinstance(node, (p.Named, p.PassThrough, p.Filter)):
        yield from _find_starred(node.child, at, across, places)
    elif isinstance(node, p.SetOperation):
        for side in node.inputs:
            yield from _find_starred(side, at, f" in a {node.kind}", places)
    elif isinstance(node, p.Join):
        left, over = len(node.left.output), " over a join"
        side, there = (node.left, at) if at < left else (node.right, at - left)
        yield from _find_starred(side, there, over, places)
    elif isinstance(node, p.Project):
        item = node.items[at]
        if isinstance(item, x.Column) and item.span is None:
            if id(node) not in places:
                # The first of several counts.
                places[id(node)] = {c.id: i for i, c in reversed([*enumerate(node.child.output)])}
            below = places[id(node)].get(item.id)
            if below is not None:
                yield from _find_starred(node.child, below, across, places)
