"""A rewritten plan back to text: the user's text with only the rewritten spans replaced.

What a rule left alone is a slice of the user's text; only what a rule made is written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from planproof.expr import Call, Cast, Expr, GetField, GetFieldOfElements, Lambda, Literal, Variable
from planproof.expr.nodes import Span
from planproof.plan.nodes import Plan
from planproof.plan.rewrite import changed

Edit = tuple[int, int, str]


class CannotRender(Exception):
    """A rule made something whose text is not known; the rewriting is dropped."""


def edits(before: Plan, after: Plan, text: str) -> list[Edit]:
    """The spans of `text` that differ, with their new text; spans of two edits never overlap."""
    writer = _Writer(text)
    found: dict[Span, str] = {}
    for old, new, name in changed(before, after):
        writer.learn(old)
        for start, stop, replacement in _named(old, name, list(writer.differences(old, new)), text):
            if found.setdefault((start, stop), replacement) != replacement:
                raise CannotRender("one place in the text got two new texts")
    ordered = sorted((start, stop, new) for (start, stop), new in found.items())
    for (_, stop, _), (start, _, _) in pairwise(ordered):
        if start < stop:
            raise CannotRender("two rewritten places overlap")
    return ordered


AFTER_ITEM = re.compile(r"\s*(,|\Z|from\b)", re.I)


def _named(old: Expr, name: str | None, changes: list[Edit], text: str) -> list[Edit]:
    """The edits, with an alias at the item's end where Spark would name the column after its new text."""
    span = span_of(old)
    if name is None or not changes:
        return changes
    if span is None or not AFTER_ITEM.match(text, span[1]):
        raise CannotRender(f"the column {name} would change its name")
    alias = " AS `" + name.replace("`", "``") + "`"
    *rest, (start, stop, replacement) = changes
    if stop == span[1]:
        return [*rest, (start, stop, replacement + alias)]
    return [*changes, (span[1], span[1], alias)]


def span_of(expr: Expr) -> Span | None:
    found: Span | None = getattr(expr, "span", None)
    return found if found is not None and found[0] >= 0 else None


@dataclass(slots=True)
class _Writer:
    text: str
    originals: dict[Span, Expr] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def learn(self, expr: Expr) -> None:
        for node in expr.walk():
            span = span_of(node)
            if span is not None:
                self.originals.setdefault(span, node)
            if isinstance(node, Variable):
                self.names.setdefault(node.id, node.name)

    def differences(self, old: Expr, new: Expr) -> Iterator[Edit]:
        """The edits that make the text of `old` the text of `new`."""
        if old is new or old == new:
            return
        span = span_of(old)
        aligned = type(old) is type(new) and len(old.children) == len(new.children) and _same_head(old, new)
        if aligned:
            for a, b in zip(old.children, new.children):
                yield from self.differences(a, b)
        elif span is None:
            raise CannotRender("a rewritten expression has no place in the text")
        else:
            yield (*span, self.write(new))

    def write(self, expr: Expr) -> str:
        """The text of an expression that stands in a new place."""
        span = span_of(expr)
        original = self.originals.get(span) if span is not None else None
        if span is not None and original is not None:
            return self._edited(span, list(self.differences(original, expr)))
        if isinstance(expr, Variable):
            return self._name(expr)
        if isinstance(expr, Lambda):
            names = [self._name(p) for p in expr.parameters]
            shown = names[0] if len(names) == 1 else f"({', '.join(names)})"
            return f"{shown} -> {self.write(expr.body)}"
        if isinstance(expr, Literal) and isinstance(expr.value, int) and not isinstance(expr.value, bool):
            return str(expr.value)
        if isinstance(expr, Call):
            return self._call(expr)
        if isinstance(expr, GetFieldOfElements):
            return f"{self.write(expr.child)}.`{expr.name.replace('`', '``')}`"
        raise CannotRender(f"no text for {type(expr).__name__}")

    def _call(self, call: Call) -> str:
        if call.function.name == "getarrayitem":
            return f"{self.write(call.args[0])}[{self.write(call.args[1])}]"
        if not re.fullmatch(r"[a-z_]\w*", call.function.name):
            raise CannotRender(f"no text for {call.function.name}")
        return f"{call.function.name}({', '.join(self.write(a) for a in call.args)})"

    def _edited(self, span: Span, changes: list[Edit]) -> str:
        parts, at = [], span[0]
        for start, stop, replacement in sorted(changes):
            parts += [self.text[at:start], replacement]
            at = stop
        return "".join([*parts, self.text[at : span[1]]])

    def _name(self, variable: Variable) -> str:
        """The variable's own name where the query wrote it; a new one that no word of the text equals otherwise."""
        known = self.names.get(variable.id)
        if known is not None:
            return known
        taken = {w.lower() for w in re.findall(r"\w+", self.text)} | {n.lower() for n in self.names.values()}
        number = 1
        while f"{variable.name}{number}" in taken:
            number += 1
        self.names[variable.id] = f"{variable.name}{number}"
        return self.names[variable.id]


def _same_head(old: Expr, new: Expr) -> bool:
    """Whether two nodes differ in their children alone."""
    if isinstance(old, Call) and isinstance(new, Call):
        return old.function is new.function and old.shown == new.shown
    if isinstance(old, Cast) and isinstance(new, Cast):
        return old.type == new.type and old.mode == new.mode
    if isinstance(old, Lambda) and isinstance(new, Lambda):
        return old.parameters == new.parameters
    if isinstance(old, GetField | GetFieldOfElements) and isinstance(new, GetField | GetFieldOfElements):
        return old.ordinal == new.ordinal
    return not isinstance(old, Variable | Literal)
