"""A rewritten plan back to text: the user's text with only the rewritten spans replaced.

What a rule left alone is a slice of the user's text; only what a rule made is written anew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from planproof_engine import expr as x
from planproof_engine import types as dt
from planproof_engine.expr import Category, Span, span_of
from planproof_engine.ground import quote_name
from planproof_engine.logical.nodes import Aggregate, Plan
from planproof_engine.logical.rewrite import find_changes
from planproof_engine.optimizer.laws import is_item

Edit = tuple[int, int, str]


class CannotRender(Exception):
    """Raised where a rule made an expression for which no text is known. The rewriting is then dropped."""


def find_edits(before: Plan, after: Plan, text: str) -> list[Edit]:
    """The spans of `text` that differ, with their new text; spans of two edits never overlap."""
    words = frozenset(w.lower() for w in re.findall(r"\w+", text))
    found: dict[Span, str] = {}
    repeated, aliases = _find_repeated(before), _find_aliases(before)
    for old, new, item in find_changes(before, after):
        # Each with a writer of its own: a CTE that is read twice is planned twice, and both plans must give the one
        # text alike.
        writer = _Writer(text, words)
        writer.learn(old)
        made = _keep_name(old, item, list(writer.find_edits(old, new)), text)
        alias = aliases.get(item.id) if item is not None else None
        for span in repeated.get(item.id, ()) if item is not None else ():
            if span is None:
                raise CannotRender("the text says an item again, and something else with it")
            made.append((*span, alias if alias and _names_fields(new) else writer.write(new, tight=True)))
        for start, stop, replacement in made:
            if found.setdefault((start, stop), replacement) != replacement:
                raise CannotRender("one place in the text got two new texts")
    ordered = sorted((start, stop, new) for (start, stop), new in found.items())
    for (_, stop, _), (start, _, _) in pairwise(ordered):
        if start < stop:
            raise CannotRender("two rewritten places overlap")
    return ordered


def _find_repeated(plan: Plan) -> dict[int, list[Span | None]]:
    """By column: the places where the text says the column's expression once more. The plan computes it once."""
    found: dict[int, list[Span | None]] = {}
    for expr in plan.all_expressions():
        if isinstance(expr, x.Column) and expr.repeats:
            found.setdefault(expr.id, []).append(span_of(expr))
    return found


def _names_fields(expr: x.Expr) -> bool:
    """Whether the text would mean another expression over an Aggregate, where `arrays_zip` takes no field names from
    columns."""
    return any(isinstance(e, x.Call) and e.function.name == "arrays_zip" for e in expr.walk())


def _find_aliases(plan: Plan) -> dict[int, str]:
    """The name by which HAVING and ORDER BY may refer to an item of an Aggregate: its alias, unless something else has
    that name."""
    found: dict[int, str] = {}
    lambdas = (e for e in plan.all_expressions() if isinstance(e, x.Lambda))
    variables = {p.name.lower() for function in lambdas for p in function.parameters}
    for node in plan.walk():
        if not isinstance(node, Aggregate):
            continue
        taken = Counter(c.name.lower() for c in (*node.child.output, *node.output))
        aliases = (i for i in node.items if isinstance(i, x.Alias) and i.explicit and taken[i.name.lower()] == 1)
        aliases = (a for a in aliases if a.name.lower() not in variables)
        found.update((a.id, quote_name(a.name)) for a in aliases)
    return found


AFTER_ITEM = re.compile(r"\s*(,|\Z|from\b)", re.I)


def _keep_name(old: x.Expr, item: x.Alias | None, changes: list[Edit], text: str) -> list[Edit]:
    """The edits, with an alias at the item's end where Spark would name the column after its new text."""
    span = span_of(old)
    if item is None or item.explicit or not changes:
        return changes
    if span is None or not AFTER_ITEM.match(text, span[1]):
        raise CannotRender(f"the column {item.name} would change its name")
    alias = f" AS {quote_name(item.name)}"
    *rest, (start, stop, replacement) = changes
    if stop == span[1]:
        return [*rest, (start, stop, replacement + alias)]
    return [*changes, (span[1], span[1], alias)]


_LAST = re.compile(r"\.(\w+|(`[^`]*`)+)\Z")
"""The last part of a dotted name."""
_POSTFIX = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}


@dataclass(slots=True)
class _Writer:
    text: str
    words: frozenset[str]
    originals: dict[Span, x.Expr] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    columns: dict[int, str] = field(default_factory=dict)

    def learn(self, expr: x.Expr) -> None:
        for node in expr.walk():
            span = span_of(node)
            if span is not None:
                self.originals.setdefault(span, node)
            if isinstance(node, x.Lambda):
                self.names.update({p.id: p.name for p in node.parameters})
            if span is not None and isinstance(node, (x.GetField, x.GetFieldOfElements)):
                self._learn_column(node, self.text[slice(*span)])

    def _learn_column(self, path: x.Expr, text: str) -> None:
        """The column before the fields of a dotted name: in `a.b.c` the column `a` has no span of its own."""
        while isinstance(path, (x.GetField, x.GetFieldOfElements)) and text:
            path, text = path.child, text[: found.start()] if (found := _LAST.search(text)) else ""
        if isinstance(path, x.Column) and path.span is None and text:
            self.columns[path.id] = text

    def find_edits(self, old: x.Expr, new: x.Expr) -> Iterator[Edit]:
        """The edits that make the text of `old` the text of `new`."""
        if old is new or old == new:
            return
        span = span_of(old)
        inside = self._find_inner_edits(old, new)
        if inside is not None:
            yield from inside
        elif span is None:
            raise CannotRender("a rewritten expression has no place in the text")
        else:
            yield (*span, self.write(new, tight=not isinstance(old, x.Lambda)))

    def _find_inner_edits(self, old: x.Expr, new: x.Expr) -> list[Edit] | None:
        """The edits of the children, where the text around them can stay; None where the whole must be written anew."""
        if type(old) is not type(new) or len(old.children) != len(new.children) or not _has_same_head(old, new):
            return None
        try:
            found = [edit for a, b in zip(old.children, new.children) for edit in self.find_edits(a, b)]
            # `x NOT BETWEEN y AND z` is one text for two calls.
            return None if any(edit[:2] == span_of(old) for edit in found) else found
        except CannotRender:
            if span_of(old) is None:
                raise
            return None

    def write(self, expr: x.Expr, tight: bool = False) -> str:
        """The text of an expression in a new place. `tight`: in parentheses, unless the text is a unit by itself."""
        span = span_of(expr)
        original = self.originals.get(span) if span is not None else None
        edits = None if original is None else [] if original == expr else self._find_inner_edits(original, expr)
        if span is not None and edits is not None:
            found = self._apply_edits(span, edits)
            return f"({found})" if tight and not _is_unit(expr, found) else found
        if isinstance(expr, x.Column) and expr.span is None and expr.id in self.columns:
            return self.columns[expr.id]
        if isinstance(expr, x.Variable):
            return self._name(expr)
        if isinstance(expr, x.Lambda):
            return self._write_lambda(expr)
        if isinstance(expr, x.Literal):
            return _write_literal(expr)
        if isinstance(expr, x.Call):
            return self._write_call(expr)
        if isinstance(expr, (x.GetField, x.GetFieldOfElements)):
            return f"{self.write(expr.child, tight=True)}.{quote_name(expr.name)}"
        if isinstance(expr, x.Cast) and not expr.written:
            return self.write(expr.child, tight)
        raise CannotRender(f"no text for {type(expr).__name__}")

    def _write_lambda(self, function: x.Lambda) -> str:
        names = [self._name(p) for p in function.parameters]
        shown = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"{shown} -> {self.write(function.body)}"

    def _write_call(self, call: x.Call) -> str:
        name = call.function.name
        if name == "getarrayitem":
            return f"{self.write(call.args[0], tight=True)}[{self.write(call.args[1])}]"
        operator = call.function.operator.upper()
        if operator and len(call.args) == 2:
            return f"({self.write(call.args[0], tight=True)} {operator} {self.write(call.args[1], tight=True)})"
        if name in _POSTFIX:
            return f"({self.write(call.args[0], tight=True)} {_POSTFIX[name]})"
        if name == "not":
            return f"(NOT {self.write(call.args[0], tight=True)})"
        if not re.fullmatch(r"[a-z_]\w*", name) or call.function.in_words:
            raise CannotRender(f"no text for {name}")
        return f"{name}({', '.join(self.write(a) for a in call.args)})"

    def _apply_edits(self, span: Span, changes: list[Edit]) -> str:
        parts, at = [], span[0]
        for start, stop, replacement in sorted(changes):
            if not at <= start <= stop <= span[1]:
                raise CannotRender("a rewritten part lies outside of its expression")
            parts += [self.text[at:start], replacement]
            at = stop
        return "".join([*parts, self.text[at : span[1]]])

    def _name(self, variable: x.Variable) -> str:
        """The variable's own name where the query wrote it. Else a new name that no word of the text equals."""
        if (known := self.names.get(variable.id)) is not None:
            return known
        taken = self.words | {n.lower() for n in self.names.values()}
        number = 1
        while f"{variable.name}{number}" in taken:
            number += 1
        self.names[variable.id] = f"{variable.name}{number}"
        return self.names[variable.id]


def _write_literal(literal: x.Literal) -> str:
    if literal.value is None:
        return "NULL"
    if literal.type == dt.BOOLEAN:
        return "true" if literal.value else "false"
    if literal.type == dt.INT and isinstance(literal.value, int):
        return str(literal.value)
    raise CannotRender(f"no text for a literal of type {literal.type.simple}")


def _is_unit(expr: x.Expr, text: str) -> bool:
    """Whether the text stands by itself before a dot, a bracket or an operator."""
    if isinstance(expr, (x.Column, x.GetField, x.GetFieldOfElements, x.Literal, x.Variable)):
        return True
    if isinstance(expr, x.Cast):
        return expr.written
    if is_item(expr):
        return True
    if not isinstance(expr, x.Call) or expr.function.in_words or expr.function.operator:
        return False
    plain = expr.function.category is not Category.OPERATOR and text.endswith((")", "]"))
    return (
        plain and re.match(rf"({re.escape(expr.shown)}|{re.escape(expr.function.name)})\s*\(", text, re.I) is not None
    )


def _has_same_head(old: x.Expr, new: x.Expr) -> bool:
    """Whether the texts of two nodes differ in their children's alone."""
    if isinstance(old, x.Call) and isinstance(new, x.Call):
        return old.function is new.function and old.shown == new.shown
    if isinstance(old, x.Cast) and isinstance(new, x.Cast):
        return old.type == new.type and old.mode == new.mode and old.written == new.written
    if isinstance(old, x.Lambda) and isinstance(new, x.Lambda):
        return old.parameters == new.parameters
    if isinstance(old, (x.GetField, x.GetFieldOfElements)) and isinstance(new, (x.GetField, x.GetFieldOfElements)):
        return old.name == new.name
    if isinstance(old, x.Subquery):
        return type(old) is type(new)
    return not isinstance(old, (x.Column, x.Variable, x.Literal))
