"""Evidence over aggregates: what groups prove, and what grouping sets take away.

A rule here must hold for every row that the node can give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.aggregated import Keys
from planproof_engine.expr import Alias, Call, Cast, Column, Expr, GetField, InSubquery, Nulled, Window, is_aggregate
from planproof_engine.expr.function import Category
from planproof_engine.expr.tree import transform_down, transform_up
from planproof_engine.functions.bind import find_evidence
from planproof_engine.ground import Conf, evolve
from planproof_engine.logical.nodes import not_null_columns, strict_columns

Sets = tuple[tuple[int, ...], ...]


def prove_over_rows(call: Call, conf: Conf) -> str | None:
    """Why an aggregate over at least one row is not null: its arguments are not, and no row is filtered away.

    A decimal sum or average that overflows is null where ANSI is off.
    """
    if call.filter is not None or not call.function.traits.null_over_nothing or not call.args:
        return None
    if isinstance(call.type, dt.Decimal) and not conf.ansi:
        return None
    reasons = [a.evidence for a in call.args]
    return None if None in reasons else reasons[0]


def prove_by_groups(items: list[Expr], groups: Sequence[Expr], sets: Sets | None, conf: Conf) -> list[Expr]:
    """The items with the evidence that a group is never empty. The one row of an aggregation without groups may be."""
    if not groups or (sets is not None and not all(sets)):
        return items
    return [_prove(i, conf) for i in items]


def _prove(expr: Expr, conf: Conf) -> Expr:
    def change(e: Expr) -> Expr:
        if not isinstance(e, Call) or not e.nullable or e.known:
            return e
        if e.function.category is Category.AGGREGATE:
            reason = prove_over_rows(e, conf)
        else:
            reason = find_evidence(e.function, e.args, conf)
        return e if reason is None else evolve(e, known=reason)

    return transform_up(expr, change)


def prove_by_branches(call: Call, conf: Conf) -> str | None:
    """Why CASE or IF is never null: no branch is null in the rows for which it is taken.

    `CASE WHEN x IS NOT NULL THEN x ELSE 0 END`, `IF(x IS NULL, 0, x)`.
    """
    if len(call.args) % 2 == 0:
        return None
    *branches, default = call.args
    passed: set[int] = set()
    for condition, value in zip(branches[::2], branches[1::2]):
        if not _is_never_null(value, passed | not_null_columns(condition), conf):
            return None
        passed |= _find_not_null_otherwise(condition)
    return "the conditions before it" if _is_never_null(default, passed, conf) else None


def _find_not_null_otherwise(condition: Expr) -> set[int]:
    """The columns that hold no null in rows for which the condition is not true."""
    if isinstance(condition, Call) and condition.function.name == "isnull":
        return strict_columns(condition.args[0])
    return set()


def _is_never_null(value: Expr, proved: set[int], conf: Conf) -> bool:
    """Whether the value is not null in rows in which these columns are not null."""
    if value.evidence is not None:
        return True
    if not proved:
        return False

    def change(e: Expr) -> Expr:
        if isinstance(e, Column) and e.id in proved:
            return evolve(e, known="the condition before it")
        if isinstance(e, Call) and e.function.category is not Category.AGGREGATE and e.nullable:
            return evolve(e, known=find_evidence(e.function, e.args, conf))
        return e

    return transform_up(value, change).evidence is not None


def find_left_out_keys(groups: tuple[Expr, ...], sets: Sets, keys: Keys, late: Collection[int] = ()) -> Keys | None:
    """The keys that some set leaves out, and those of which Spark learns `late` that they are not null; None where none
    is."""
    everywhere = set(range(len(groups))).intersection(*sets).difference(late)
    found = [i for i in range(len(groups)) if i not in everywhere]
    return keys.only(found) if found else None


def make_keys_nullable(expr: Expr, absent: Keys | None, keys: Keys, conf: Conf) -> Expr:
    """The expression with each grouping expression nullable that some set leaves out. One of `keys` that each set has
    is computed below the sets, and what it is made of with it.

    The arguments of aggregate functions keep their flags: they are computed before the sets are.
    """
    if absent is None:
        return expr
    if isinstance(expr, Alias) and expr.id in absent.known:
        return evolve(expr, child=Nulled(expr.child)) if expr.id in absent.items else expr

    def change(e: Expr) -> Expr | None:
        if isinstance(e, Window):
            return _make_window_nullable(e, change)
        if is_aggregate(e):
            return e
        if e not in absent:
            return e if not isinstance(e, Column) and e in keys else None
        if isinstance(e, Column):
            return evolve(e, nullable=True, known=None)
        return evolve(e, child=Nulled(e.child)) if isinstance(e, Alias) else Nulled(e)

    return recompute_flags(transform_down(expr, change), conf)


def _make_window_nullable(window: Window, change: Callable[[Expr], Expr | None]) -> Window:
    """A window runs over the rows of the sets, so that its function's arguments may be null there too."""

    within = partial(transform_down, change=change)
    call = window.call
    if isinstance(call, Call):
        call = evolve(call, args=tuple(map(within, call.args)), known=None)
    order = tuple(evolve(key, child=within(key.child)) for key in window.order)
    return evolve(window, call=call, known=None, partition=tuple(map(within, window.partition)), order=order)


def recompute_flags(expr: Expr, conf: Conf) -> Expr:
    """The expression with the flags and the evidence of every scalar call taken anew from its arguments."""

    def change(e: Expr) -> Expr:
        if isinstance(e, InSubquery):
            nullable = e.nullable or any(v.nullable for v in e.values)
            return e if nullable == e.nullable else evolve(e, nullable=nullable)
        if isinstance(e, (Cast, GetField)):
            within = (
                isinstance(e, GetField)
                and isinstance(e.child.type, dt.Struct)
                and e.child.type.fields[e.ordinal].nullable
            )
            return e if e.nullable or not (within or e.child.nullable) else evolve(e, nullable=True)
        if not isinstance(e, Call) or e.function.category is Category.AGGREGATE:
            return e
        nullable = e.nullable or e.function.nullable(e.args, conf)
        known = find_evidence(e.function, e.args, conf) if nullable else None
        same = (nullable, known) == (e.nullable, e.known)
        if isinstance(e.type, dt.Nested) and callable(e.function.returns):
            # What is within has flags too.
            found = dt.loosen(e.type, e.function.returns(e.args, conf))
            return evolve(e, nullable=nullable, known=known, type=found)
        return e if same else evolve(e, nullable=nullable, known=known)

    return transform_up(expr, change)
