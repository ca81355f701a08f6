"""Builds plans by hand: each step derives its schema and holds to I1.

    t = scan("t", [("c1", "int", False), ("c2", "bigint", False)])
    plan = t.project(t.call("+", "c1", "c2"), ("sum12", t.call("-", "c1", "c2"))).plan

A column is named by its name, by `relation.name`, or by a `LogicalColumn`; it must resolve to exactly one field.
"""

from __future__ import annotations

from collections.abc import Iterable

from planproof_engine.conf import Conf
from planproof_engine.expr import Alias, Column, Expr, fresh_id
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.bind import apply
from planproof_engine.functions.registry import Registry, builtin
from planproof_engine.logical import nodes as p
from planproof_engine.records import evolve, record
from planproof_engine.schema import DuplicateField, LogicalColumn
from planproof_engine.types import DataType, parse_type

Named = Expr | str | LogicalColumn
Item = Named | tuple[str, Named]


@record(frozen=True, slots=True)
class Builder:
    """A plan under construction. `strict` refuses a repeated (relation, name) at the node that creates it (I1)."""

    plan: p.Plan
    conf: Conf
    registry: Registry
    strict: bool = False

    def column(self, named: str | LogicalColumn) -> Column:
        """The one column of that name. Raises `KeyError` for none and `DuplicateField` for several (I1)."""
        wanted = named if isinstance(named, LogicalColumn) else _parse_column(named)
        field = self.plan.schema.field(wanted)
        return next(c for c in self.plan.output if p.field_of(c) == field)

    def expr(self, named: Named) -> Expr:
        return named if isinstance(named, Expr) else self.column(named)

    def call(self, function: str, *args: Named) -> Expr:
        """The function on these arguments, coerced and typed as Spark does. Raises `Mismatch`, `KeyError`."""
        found = self.registry.find(function)
        if found is None:
            raise KeyError(f"no function {function} in this registry")
        return apply(found, tuple(self.expr(a) for a in args), self.conf)

    def project(self, *items: Item) -> Builder:
        """A projection: each item a column, an expression, or (name, expression)."""
        return self.over(p.Project(tuple(self._item(i) for i in items), self.plan))

    def filter(self, condition: Expr) -> Builder:
        return self.over(p.Filter(condition, self.plan))

    def join(self, other: Builder, kind: str = p.INNER, on: tuple[str, str] | None = None) -> Builder:
        """The join with `other`; `on` names a column of each side that must be equal."""
        condition = None
        if on is not None:
            condition = self.call("=", self.column(on[0]), other.column(on[1]))
        return self.over(p.Join(self.plan, other.plan, kind, condition))

    def alias(self, name: str) -> Builder:
        renamed = tuple(evolve(c, qualifier=(name,)) for c in self.plan.output)
        return self.over(p.Named((name,), self.plan, renamed))

    def _item(self, item: Item) -> Expr:
        if isinstance(item, tuple):
            return Alias(self.expr(item[1]), item[0], fresh_id())
        expr = self.expr(item)
        return expr if isinstance(expr, (Column, Alias)) else Alias(expr, pretty(expr), fresh_id(), explicit=False)

    def over(self, plan: p.Plan) -> Builder:
        """Any node over this plan: `t.over(Distinct(t.plan))`. Raises `DuplicateField` where `strict` and it breaks
        I1."""
        repeated = plan.schema.duplicates() if self.strict else []
        if repeated:
            raise DuplicateField(f"{type(plan).__name__} repeats {', '.join(str(g[0]) for g in repeated)}")
        return evolve(self, plan=plan)


def _parse_column(text: str) -> LogicalColumn:
    relation, dot, name = text.rpartition(".")
    return LogicalColumn(relation if dot else None, name)


def scan(
    relation: str,
    columns: Iterable[tuple[str, str | DataType, bool]],
    *,
    conf: Conf | None = None,
    registry: Registry | None = None,
    strict: bool = False,
) -> Builder:
    """A scan of a source. Its schema is the source's, and nothing in the plan changes it. Raises `TypeSyntaxError`."""
    output = tuple(
        Column(fresh_id(), n, parse_type(t) if isinstance(t, str) else t, nullable, tuple(relation.split(".")))
        for n, t, nullable in columns
    )
    start = Builder(p.OneRow(), conf or Conf(), registry or builtin((conf or Conf()).spark), strict)
    return start.over(p.Scan(relation, output))
