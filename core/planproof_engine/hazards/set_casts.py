"""A set operation that casts a column to a type that loses something.

A union of a string and a number is a number under ANSI: '007' becomes 7. A bigint beside a double is rounded.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Alias, Cast, Column, Literal
from planproof_engine.finding import Finding
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.loss import loss, make_change_condition
from planproof_engine.hazards.suspicion import Count, Suspicion, make_warning
from planproof_engine.logical.nodes import Plan, Project, SetOperation


def set_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP125: a set operation casts a column to the other side's type."""
    for node in definitions.nodes:
        if isinstance(node, SetOperation):
            for at, side in enumerate(node.inputs):
                span = node.spans[at] if at < len(node.spans) else None
                for place, item in _list_casts(side):
                    found = _judge(node.kind, item, place, definitions)
                    if found is not None:
                        yield Suspicion(found[0], span, _count(span, found[1], len(side.output)))


def _list_casts(side: Plan) -> Iterator[tuple[int, Alias]]:
    """The casts that the set operation added, with their places."""
    if isinstance(side, Project):
        for place, item in enumerate(side.items):
            if not isinstance(item, Alias) or item.explicit or not isinstance(item.child, Cast):
                continue
            if not item.child.written and isinstance(item.child.child, Column):
                yield place, item


def _judge(kind: str, item: Alias, place: int, definitions: Definitions) -> tuple[Finding, str] | None:
    """The finding, and the condition for which a value is not what it was."""
    cast = item.child
    assert isinstance(cast, Cast)
    given, used = cast.child.type, cast.type
    lost = loss(given, used)
    if lost is None or isinstance(definitions.of(cast.child), Literal):
        return None
    message = f"the {kind} makes {item.name} of {given.simple} a {used.simple}: {lost}"
    finding = make_warning("PP125", item.name, given.simple, used.simple, message)
    return finding, make_change_condition(f"c{place}", given, used)


def _count(span: tuple[int, int] | None, condition: str, columns: int) -> Count | None:
    return None if span is None else Count(span, condition, "rows hold another value than before", columns)
