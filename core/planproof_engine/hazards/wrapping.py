"""Arithmetic of integers that wraps with ANSI off.

`quantity * price` of two ints is an int: 100000 * 100000 is 1410065408, without an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Alias, Call, Cast, Column, Expr, Literal, Window
from planproof_engine.expr.pretty import pretty
from planproof_engine.hazards.bounds import Between, Bounds, Computed, Fits, OneOf, StoredRange, find_nothing
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.loss import LIMIT
from planproof_engine.hazards.narrowing import list_handed_on, may_be_large
from planproof_engine.hazards.needed import walk_branches
from planproof_engine.hazards.suspicion import Count, Suspicion, find_place_in_rows, make_warning, subject
from planproof_engine.logical.nodes import Aggregate, Project

CODE = "PP136"


def wrapping(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """Only over what a source holds, what hands it on, or a sum of it, and where the types leave room for it."""
    if conf.ansi or not any(_is_arithmetic(expr) for _, expr in definitions.operations):
        return
    for node in definitions.nodes:
        in_items = isinstance(node, (Project, Aggregate))
        for top in node.expressions:
            if type(top) is Column:
                continue
            column = top.name if isinstance(top, Alias) else None
            for call, always in _list_trees(top):
                yield from _suspect(call, column, always, always and in_items, definitions)


def _list_trees(expr: Expr) -> Iterator[tuple[Call, bool]]:
    """The largest pieces of arithmetic of one type, and whether every row of the block computes them.

    Only such a piece's end counts: what wraps within it and comes back has its value.
    """
    inner: set[int] = set()
    for found, always in walk_branches(expr):
        if not _is_arithmetic(found):
            continue
        assert isinstance(found, Call)
        inner.update(id(child) for child in found.children if child.type == found.type)
        if id(found) not in inner:
            yield found, always


def _is_arithmetic(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function.traits.wraps and len(expr.args) == 2 and dt.is_integral(expr.type)


def _suspect(
    call: Call, column: str | None, always: bool, apart: bool, definitions: Definitions
) -> Iterator[Suspicion]:
    """`apart`: every row computes it, and it can be counted apart from the query."""
    limit = LIMIT[call.type]
    fits = Fits(_find_bounds(call, definitions), -limit, limit - 1)
    if fits.holds(find_nothing) or not (may_be_large(call, definitions) or fits.is_beyond):
        return
    if not definitions.computes(call) or (fits.is_beyond and not always):
        return  # Whether any row takes the branch is not known.
    fits = replace(fits, surely=call.span in definitions.sure)
    name, kind = pretty(call), call.type.simple
    message = f"{subject(column, name)} is computed as {kind}, which wraps beyond its range with ANSI off"
    span = find_place_in_rows(call) if apart else None
    count = None if span is None else Count(span, "", "values wrap", fits=fits, wide=(-limit, limit - 1))
    finding = make_warning(CODE, column or name, name, kind, message)
    yield Suspicion(finding, call.span, count or Count(call.span or (-1, -1), "", "values wrap", fits=fits))


_MOST_PARTS = 1_000
"""So many parts of a value are looked at: each of a chain of columns may take twice as many as the one before."""


def _find_bounds(expr: Expr, definitions: Definitions, parts: Iterator[int] | None = None) -> Bounds:
    """By types: what is no number of a source is taken as small where it is (a count, a length, a part of a date)."""
    parts = itertools.count() if parts is None else parts
    if next(parts) > _MOST_PARTS:
        return Between(-(2**63), 2**63 - 1)
    if isinstance(expr, Cast) and dt.is_integral(expr.child.type) and LIMIT[expr.child.type] <= LIMIT[expr.type]:
        return _find_bounds(expr.child, definitions, parts)
    if isinstance(expr, Literal) and isinstance(expr.value, int):
        return Between(expr.value, expr.value)
    if _is_arithmetic(expr):
        assert isinstance(expr, Call)
        left, right = (_find_bounds(side, definitions, parts) for side in expr.args)
        return Computed(expr.function.name, left, right)
    made = expr.call if isinstance(expr, Window) else definitions.of(expr)
    if isinstance(made, Call) and dt.is_integral(made.type) and list_handed_on(made):
        return OneOf(tuple(_find_bounds(arg, definitions, parts) for arg in list_handed_on(made)))
    limit = LIMIT.get(expr.type, 2**63)
    if not may_be_large(expr, definitions):
        limit = min(limit, 2**31)
    if (found := definitions.find_stored(expr)) is not None:
        return StoredRange(found[0].relation, found[1].name, -limit, limit - 1)
    return Between(-limit, limit - 1)
