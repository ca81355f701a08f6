"""What a node is called."""

from __future__ import annotations

from planproof.sql import nodes as q


def bare(node: q.Node) -> q.Node:
    """The node without the parentheses around it."""
    while isinstance(node, q.Paren):
        node = node.args["this"]
    return node


def name_parts(node: q.Node) -> tuple[str, ...]:
    """The parts of a dotted name, outermost first, of a Column, Table, Identifier or Dot over those.

    `(a).b` is the name a.b to Spark. An empty tuple where the node is no plain dotted name: a star, an
    `IDENTIFIER(expr)`, a field of an expression.
    """
    if isinstance(node, q.Identifier):
        return (node.args["this"],)
    if isinstance(node, q.Dot):
        before = name_parts(bare(node.args["this"]))
        return (*before, *name_parts(node.args["expression"])) if before else ()
    if not isinstance(node, (q.Column, q.Table)):
        return ()
    args = node.args
    name = name_parts(args["this"])
    outer = [args[key].args["this"] for key in ("catalog", "db", "table") if args.get(key) is not None]
    return (*outer, *name) if name else ()
