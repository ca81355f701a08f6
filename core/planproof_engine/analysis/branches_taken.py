"""When a row computes what stands within branches: of CASE, IF and COALESCE, behind AND and OR, behind a FILTER."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planproof_engine.functions.families.lambdas import FOLDS, LOOKS
from planproof_engine.sql import nodes as q


def narrow_condition(path: Sequence[q.Node], text: str, condition: str, *, null: bool = False) -> str | None:
    """The condition about the last node of a path, in the rows that compute it and show its value, from the path's
    first node on. None where it stands in a lambda whose values are not known before it is called.

    With `null` the value becomes NULL, for which COALESCE takes another one that the row has: then nothing is lost. A
    constant is no value of the row.
    """
    found: list[str] = []
    for at in range(len(path) - 1, 0, -1):
        parent, child = path[at - 1], path[at]
        if isinstance(parent, q.Lambda):
            inner = _conjoin([*found, f"({condition})", *list_kept_conditions(path[:at], text)])
            look = _look_at_each(path[at - 2], parent, text, inner) if at > 1 else None
            if look is None:
                return None
            condition, found = look, []
        else:
            found = [*(f"({one})" for one in _list_conditions(parent, child, text, null)), *found]
    return _conjoin([*found, f"({condition})"]) if found else condition


def list_kept_conditions(path: Sequence[q.Node], text: str) -> list[str]:
    """The conditions that what the lambda at a path's end gives stays in the array: `filter(transform(..), ..)` drops
    elements as WHERE drops rows. They are about the values that the lambda is called with."""
    function, found = path[-1], list[str]()
    if not isinstance(function, q.Lambda) or len(path) < 2 or not _is_call(path[-2], "transform"):
        return found
    for at in range(len(path) - 2, 0, -1):
        call, child = path[at - 1], path[at]
        if not isinstance(call, q.Call) or call.arguments[0] is not child:
            break
        if _is_call(call, "array_compact"):
            found.append(f"({_text(function.body, text)}) IS NOT NULL")
        elif _is_call(call, "filter") and _is_free_of(call.arguments[-1], function):
            found.append(f"exists(array({_text(function.body, text)}), {_text(call.arguments[1], text)})")
        else:
            break
    return found


def _is_call(node: q.Node, name: str) -> bool:
    return isinstance(node, q.Call) and isinstance(node.name, str) and node.name.lower() == name


def _is_free_of(condition: q.Node, function: q.Lambda) -> bool:
    """Whether a lambda looks at an element alone, and means the same within another one: it names no column as that one
    names a parameter."""
    if not isinstance(condition, q.Lambda) or len(condition.parameters) != 1:
        return False
    named = {column.parts[0].text.lower() for column in condition.body.find_all(q.Column)}
    names = {one.text.lower() for one in function.parameters} - {condition.parameters[0].text.lower()}
    return names.isdisjoint(named)


def _conjoin(conditions: Sequence[str]) -> str:
    return " AND ".join(conditions)


def _look_at_each(call: q.Node, function: q.Lambda, text: str, condition: str) -> str | None:
    """Whether a condition within a lambda holds for any values that it is called with; None where they are not known
    without it: what an aggregate has made so far, what a comparator is given."""
    if not isinstance(call, q.Call) or not isinstance(call.name, str):
        return None
    at = next((i for i, one in enumerate(call.arguments) if one is function), 0)
    given, name = [_text(one, text) for one in call.arguments[:at]], call.name.lower()
    names = [_text(one, text) for one in function.parameters]
    listed = f"({', '.join(names)})" if len(names) > 1 else names[0]
    look = f"{listed} -> {condition}"
    if name in LOOKS:
        return LOOKS[name].format(*given, look=look)
    if name not in FOLDS:
        return None
    if at == _FINISHES:
        return f"exists(array({name}({', '.join(given)})), {look})"
    made, element = names
    is_read = re.search(rf"(?<!\w){re.escape(made.strip('`'))}(?!\w)", condition, re.IGNORECASE)
    return None if is_read else f"exists({given[0]}, {element} -> {condition})"


_FINISHES = 3
"""The place of the lambda that an aggregate calls at its end."""


def _list_conditions(parent: q.Node, child: q.Node, text: str, null: bool) -> list[str]:
    if isinstance(parent, q.Case):
        return _list_case_conditions(parent, child, text)
    if isinstance(parent, q.Binary) and parent.operator in ("AND", "OR"):
        left = parent.left
        word = "IS TRUE" if parent.operator == "AND" else "IS NOT TRUE"
        return [] if child is left else [f"({_text(left, text)}) {word}"]
    if isinstance(parent, q.Call):
        return _list_call_conditions(parent, child, text, null)
    return []


def _list_case_conditions(case: q.Case, child: q.Node, text: str) -> list[str]:
    if child is case.operand:
        return []
    found: list[str] = []
    for branch in case.branches:
        chosen = _text(branch.condition, text)
        if case.operand is not None:
            chosen = f"({_text(case.operand, text)}) = ({chosen})"
        if branch is child:
            return [*found, f"({chosen}) IS TRUE"]
        found.append(f"({chosen}) IS NOT TRUE")
    return found


def _list_call_conditions(call: q.Call, child: q.Node, text: str, null: bool) -> list[str]:
    arguments = list(call.arguments)
    if call.filter is not None and child is not call.filter:
        return [f"({_text(call.filter, text)}) IS TRUE"]
    at = next((i for i, one in enumerate(arguments) if one is child), None)
    name = call.name.lower() if isinstance(call.name, str) else ""
    if at is None or not arguments:
        return []
    first = _text(arguments[0], text)
    if name in ("if", "iff") and at:
        return [f"({first}) IS {'' if at == 1 else 'NOT '}TRUE"]
    if name == "nvl2" and at:
        return [f"({first}) IS {'NOT ' if at == 1 else ''}NULL"]
    if name == "coalesce" or name in ("nvl", "ifnull"):
        others = arguments[:at] + ([one for one in arguments[at + 1 :] if not _is_constant(one)] if null else [])
        return [f"({_text(one, text)}) IS NULL" for one in others]
    return []


def _is_constant(node: q.Node) -> bool:
    while isinstance(node, (q.Cast, q.Paren)) or (isinstance(node, q.Unary) and node.operator == "-"):
        node = next(iter(node.children))
    return isinstance(node, (q.Literal, q.TypedLiteral, q.IntervalLiteral))


def _text(node: q.Node, text: str) -> str:
    return text[slice(*node.span)]
