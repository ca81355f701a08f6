"""The tree's own node classes, where sqlglot has none that says what Spark's grammar says, and what reads a node.

The shapes, construct by construct, are listed in the docstring of `planproof.sql`.
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

Span = tuple[int, int]
Node = TypeVar("Node", bound=exp.Expr)


class TypedLiteral(exp.Expression, exp.Condition):
    """`DATE '2020-01-01'`, `X'1F'`, `INTERVAL '1 day'`: `this` the unescaped text, `kind` the word in upper case."""

    arg_types = {"this": True, "kind": True}


class IntervalLiteral(exp.Expression, exp.Condition):
    """`INTERVAL 1 DAY 2 HOURS`, `INTERVAL '1-2' YEAR TO MONTH`: its `IntervalPart`s, `to` a unit or None."""

    arg_types = {"expressions": True, "to": False}


class IntervalPart(exp.Expression):
    """One value and unit of an interval: `this` a Literal, `negative` for a minus before it, `unit` in upper case."""

    arg_types = {"this": True, "unit": True, "negative": False}


class Pos(exp.Unary):
    """Unary plus."""


class UnsignedRightShift(exp.Expression, exp.Binary):
    """`a >>> b`."""


class QuantifiedLike(exp.Expression, exp.Condition):
    """`a [NOT] LIKE ANY (b, c)`: `kind` LIKE or ILIKE, `quantifier` ANY (also for SOME) or ALL, `negated`."""

    arg_types = {"this": True, "expressions": True, "kind": True, "quantifier": True, "negated": False}


class VariantPath(exp.Expression, exp.Condition):
    """`a:b.c[0]`: `path` is the text after the colon."""

    arg_types = {"this": True, "path": True}


class IdentifierClause(exp.Expression, exp.Condition):
    """`IDENTIFIER(expr)` whose text is not known from literals alone."""


class TypeName(exp.Expression):
    """A data type: `this` its text, `data_type` the `planproof.types.DataType`."""

    arg_types = {"this": True, "data_type": True}


class Joined(exp.Expression):
    """Two relations side by side: left `this`, right `expression`.

    `kind` is INNER, CROSS, LEFT, RIGHT, FULL, LEFT SEMI or LEFT ANTI; `comma`, `natural` and `lateral` (of the right
    side) are flags; `on` is a condition, `using` a list of identifiers.
    """

    arg_types = {
        "this": True,
        "expression": True,
        "kind": True,
        "on": False,
        "using": False,
        "natural": False,
        "lateral": False,
        "comma": False,
    }


class Grouped(exp.Expression):
    """A relation in parentheses, perhaps with an alias."""

    arg_types = {"this": True, "alias": False, "sample": False}


class TableFunction(exp.Expression):
    """A function in FROM: `this` the call (exp.Anonymous), its arguments perhaps `TableArgument`s."""

    arg_types = {"this": True, "alias": False}


class TableArgument(exp.Expression):
    """`TABLE(t) PARTITION BY a ORDER BY b` as an argument: `this` an exp.Table or a query."""

    arg_types = {"this": True, "partition_by": False, "order": False, "single": False}


class LateralView(exp.Expression):
    """`this LATERAL VIEW [OUTER] call alias`; `this` is None where there is no FROM. `alias` is an exp.TableAlias."""

    arg_types = {"this": False, "call": True, "outer": False, "alias": True}


class Pivoted(exp.Expression):
    """`this PIVOT (aggregates FOR columns IN (values)) alias`.

    `aggregates` are expressions or aliases, `columns` identifiers, `values` expressions or aliases.
    """

    arg_types = {"this": True, "aggregates": True, "columns": True, "values": True, "alias": False}


class Unpivoted(exp.Expression):
    """`this UNPIVOT (values FOR name IN (columns)) alias`.

    `values` are identifiers, `name` one identifier, `columns` `UnpivotSet`s, `multi` the
    multi-column form.
    """

    arg_types = {
        "this": True,
        "values": True,
        "name": True,
        "columns": True,
        "multi": False,
        "include_nulls": False,
        "alias": False,
    }


class UnpivotSet(exp.Expression):
    """One entry of UNPIVOT's IN list: `expressions` are columns, `alias` an identifier or None."""

    arg_types = {"expressions": True, "alias": False}


class TableQuery(exp.Expression, exp.Query):
    """`TABLE t` as a query: `this` an exp.Table."""


class Transform(exp.Expression, exp.Query):
    """`SELECT TRANSFORM (expressions) USING script AS columns`; Select's other arguments are as in exp.Select.

    `columns` are exp.ColumnDefs (whose `kind` is None where only a name stands), or missing without AS; `row_format`
    says that a ROW FORMAT stands.
    """

    arg_types = {"expressions": True, "script": True, "columns": False, "row_format": False, "distinct": False}


class Pipe(exp.Expression, exp.Query):
    """`this |> kind ...`: `this` is the query before the pipe; see the table in `planproof.sql` for each kind."""

    arg_types = {"this": True, "kind": True, "expressions": False, "expression": False}


_NONE: Span = (-1, -1)


def span(node: exp.Expr) -> Span:
    """Where a node stands in the text that was parsed: (start, stop), in characters, stop exclusive.

    A node that the parser did not place (an empty alias, say) gives (-1, -1).
    """
    found: Span = node.meta_get("span", _NONE)
    return found


def placed_at(node: Node, start: int, stop: int) -> Node:
    """The node, with its span."""
    node._meta = {"span": (start, stop)}
    return node


def name_parts(node: exp.Expr) -> tuple[str, ...]:
    """The parts of a dotted name, outermost first, of an exp.Column, exp.Table, exp.Identifier or exp.Dot over those.

    `(a).b` is the name a.b to Spark. An empty tuple where the node is no plain dotted name: a star, an
    `IDENTIFIER(expr)`, a field of an expression.
    """
    if isinstance(node, exp.Identifier):
        return (node.args["this"],)
    if isinstance(node, exp.Dot):
        base = node.args["this"]
        while isinstance(base, exp.Paren):
            base = base.args["this"]
        before = name_parts(base)
        return (*before, *name_parts(node.args["expression"])) if before else ()
    if not isinstance(node, (exp.Column, exp.Table)):
        return ()
    args = node.args
    name = name_parts(args["this"])
    outer = [args[key].args["this"] for key in ("catalog", "db", "table") if args.get(key) is not None]
    return (*outer, *name) if name else ()
