"""What a plan's shape says of its rows: which columns tell any two rows apart, and from which stored rows they come.

Nothing here looks at data. What is said holds for each run of the plan: whatever the order of rows, whatever a volatile
function gives, and as long as the relations that are read keep their columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from planproof_engine.expr import Alias, Call, Column, Expr, Literal, Subquery, Window, conjuncts, drop_alias
from planproof_engine.ground import evolve, record
from planproof_engine.logical import nodes as p

Key = frozenset[int]
MOST_KEYS = 16
"""A key that is given out under several names becomes several keys. At most so many are followed."""


@record(frozen=True, slots=True)
class StoredColumn:
    """A column whose values all come from one column of a relation, unconverted.

    `once`: each stored row makes at most one row here, so that what is unique there is unique here. `padded`: an outer
    join added nulls to the stored values. `whole`: every stored value is here; no filter or join dropped one.
    """

    relation: str
    column: str
    once: bool = True
    padded: bool = False
    whole: bool = True


@record(frozen=True, slots=True)
class Rows:
    """`keys`: sets of columns in all of which no two rows agree (a null equals a null), each with its reason. The empty
    set as a key says that there is one row at most. `stored`: by the id of a column, the stored column whose values it
    has. `numbered`: by the id of a column that numbers rows from one on (`row_number`), the columns within whose values
    it numbers."""

    keys: Mapping[Key, str] = field(default_factory=dict)
    stored: Mapping[int, StoredColumn] = field(default_factory=dict)
    numbered: Mapping[int, Key] = field(default_factory=dict)


NOTHING = Rows()


def rows_of(root: p.Plan) -> Rows:
    """What is known of a plan's output, by the ids of its columns."""
    if isinstance(root, (p.OneRow, p.Values)):
        return Rows({Key(): "one row"}) if isinstance(root, p.OneRow) else NOTHING
    if isinstance(root, p.Scan):
        found = {} if root.recursive else {c.id: StoredColumn(root.relation, c.name) for c in root.output}
        return Rows(stored=found)
    step = next((step for kind, step in _STEPS if isinstance(root, kind)), None)
    return step(root) if step is not None else NOTHING


def _distinct(node: p.Distinct) -> Rows:
    below = rows_of(node.child)
    return evolve(_take_part(below), keys={Key(c.id for c in node.output): "distinct", **below.keys})


def _named(node: p.Named) -> Rows:
    return _rename(rows_of(node.child), [(c.id, new.id) for c, new in zip(node.child.output, node.output)])


def _project(node: p.Project) -> Rows:
    below = rows_of(node.child)
    found = _rename(below, _list_kept(node.items))
    return evolve(found, numbered={**found.numbered, **_find_numbered(node.items)})


def _filter(node: p.Filter) -> Rows:
    below = _take_part(rows_of(node.child))
    found = (_find_first(c, below.numbered) for c in conjuncts(node.condition))
    first = {key: "the first row of each" for key in found if key is not None}
    return evolve(below, keys={**first, **below.keys})


def _aggregate(node: p.Aggregate) -> Rows:
    if node.grouping_sets is not None:
        return NOTHING
    below = rows_of(node.child)
    shown = [_find_shown_id(group, node.items) for group in node.groups]
    why = "group by" if shown else "one row"
    keys = {Key(i for i in shown if i is not None): why} if None not in shown else {}
    kept = _rename(below, _list_kept(node.items)).stored
    # Each value stands in some group, so that what the child holds whole is here.
    return Rows(keys, {i: evolve(s, once=False) for i, s in kept.items()})


def _join(node: p.Join) -> Rows:
    left, right = rows_of(node.left), rows_of(node.right)
    mine, theirs = {c.id for c in node.left.output}, {c.id for c in node.right.output}
    if mine & theirs:
        return NOTHING
    if node.kind in (p.LEFT_SEMI, p.LEFT_ANTI):
        return _take_part(left)
    equal = _equalities(node.condition)
    pads_left, pads_right = node.kind in (p.RIGHT, p.FULL), node.kind in (p.LEFT, p.FULL)
    kept = _make_side(left, pads_left, _is_single(right, equal, theirs), pads_right)
    other = _make_side(right, pads_right, _is_single(left, equal, mine), pads_left)
    return Rows({**other.keys, **kept.keys}, {**kept.stored, **other.stored})


def _set(node: p.SetOperation) -> Rows:
    return NOTHING if node.all else Rows({Key(c.id for c in node.output): f"{node.kind} without repeated rows"})


def _generate(node: p.Generate) -> Rows:
    below = rows_of(node.child)
    return Rows(stored={i: evolve(s, once=False, whole=False) for i, s in below.stored.items()})


_STEPS: tuple[tuple[type[p.Plan], Callable[[Any], Rows]], ...] = (
    (p.Project, _project),
    (p.Filter, _filter),
    (p.Join, _join),
    (p.Aggregate, _aggregate),
    (p.SetOperation, _set),
    (p.Ordered, lambda node: rows_of(node.child)),
    (p.Limit, lambda node: _take_part(rows_of(node.child))),
    (p.Distinct, _distinct),
    (p.Named, _named),
    (p.Generate, _generate),
)


def _take_part(rows: Rows) -> Rows:
    """Some of the rows."""
    return evolve(rows, stored={i: evolve(s, whole=False) for i, s in rows.stored.items()})


def _rename(rows: Rows, names: Iterable[tuple[int, int]]) -> Rows:
    """The same rows with some of their columns, under other ids. One column may stand there several times."""
    given: dict[int, list[int]] = {}
    for old, new in names:
        given.setdefault(old, []).append(new)
    return Rows(
        {new: why for key, why in rows.keys.items() for new in _translate(key, given)},
        {new: stored for old, stored in rows.stored.items() for new in given.get(old, ())},
        {
            new: key
            for old, counted in rows.numbered.items()
            for new in given.get(old, ())
            for key in itertools.islice(_translate(counted, given), 1)
        },
    )


def _translate(key: Key, given: Mapping[int, list[int]]) -> Iterable[Key]:
    choices = [given.get(i, []) for i in sorted(key)]
    return (Key(choice) for choice in itertools.islice(itertools.product(*choices), MOST_KEYS))


def _list_kept(items: Iterable[Expr]) -> list[tuple[int, int]]:
    """(id of a column, id under which an item gives it out unchanged)."""
    found = []
    for item in items:
        inner = drop_alias(item)
        if isinstance(inner, Column):
            found.append((inner.id, item.id if isinstance(item, Alias) else inner.id))
    return found


def _find_numbered(items: Iterable[Expr]) -> dict[int, Key]:
    """The items that number rows from one on, where the columns by which they group are given out beside them."""
    listed = list(items)
    given = dict(_list_kept(listed))
    found = {}
    for item in listed:
        groups = _find_numbering(item.child) if isinstance(item, Alias) else None
        if isinstance(item, Alias) and groups is not None and groups <= given.keys():
            found[item.id] = Key(given[i] for i in groups)
    return found


def _find_numbering(expr: Expr) -> Key | None:
    """The columns within whose values an expression numbers the rows."""
    if not isinstance(expr, Window) or not isinstance(expr.call, Call) or expr.call.function.name != "row_number":
        return None
    groups = [c.id for c in expr.partition if isinstance(c, Column)]
    return Key(groups) if len(groups) == len(expr.partition) else None


def _find_first(condition: Expr, numbered: Mapping[int, Key]) -> Key | None:
    """The columns of which a condition keeps one row for each value: `row_number() over (partition by ...) = 1`."""
    if not isinstance(condition, Call) or condition.function.name != "=":
        return None
    for side, other in (condition.args, condition.args[::-1]):
        if isinstance(other, Literal) and type(other.value) is int and other.value == 1:
            return numbered.get(side.id) if isinstance(side, Column) else _find_numbering(side)
    return None


def _find_shown_id(group: Expr, items: Iterable[Expr]) -> int | None:
    """The id under which a grouping expression is given out."""
    steady = not any(isinstance(e, Subquery) or (isinstance(e, Call) and _may_differ(e)) for e in group.walk())
    for item in items:
        inner = drop_alias(item)
        if steady and inner == group and isinstance(item, (Alias, Column)):
            return item.id
    return None


def _may_differ(call: Call) -> bool:
    return call.function.traits.volatile


def _equalities(condition: Expr | None) -> list[tuple[Expr, Expr]]:
    """Both sides of each equality that the condition asks of every row."""
    found = [c.args for c in conjuncts(condition) if isinstance(c, Call) and c.function.name == "="]
    return [(a, b) for a, b in found]


def _is_single(rows: Rows, equal: list[tuple[Expr, Expr]], own: set[int]) -> bool:
    """Whether each row of the other side meets at most one of these rows: the equalities fix a whole key of these
    rows."""
    fixed = set()
    for one, other in (pair for sides in equal for pair in (sides, sides[::-1])):
        outside = not any(isinstance(e, Subquery) or (isinstance(e, Column) and e.id in own) for e in other.walk())
        steady = not any(isinstance(e, Call) and _may_differ(e) for e in other.walk())
        if isinstance(one, Column) and one.id in own and outside and steady:
            fixed.add(one.id)
    return any(key <= fixed for key in rows.keys)


def _make_side(rows: Rows, padded: bool, single: bool, whole: bool) -> Rows:
    """One side of a join. `padded`: it has nulls where the other side has no match. `single`: each of its rows meets at
    most one row of the other side. `whole`: the join drops none of its rows."""
    once = single and not padded
    stored = {
        i: evolve(s, once=s.once and once, padded=s.padded or padded, whole=s.whole and whole)
        for i, s in rows.stored.items()
    }
    return Rows(rows.keys if once else {}, stored)
