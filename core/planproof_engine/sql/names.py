"""What a node is called."""

from __future__ import annotations

from planproof_engine.sql import nodes as q


def drop_parentheses(node: q.Node) -> q.Node:
    """The node without the parentheses around it."""
    while isinstance(node, q.Paren):
        node = node.operand
    return node


def name_parts(node: q.Node) -> tuple[str, ...]:
    """The parts of a dotted name, outermost first, of a Column, Table, Identifier or Dot over those.

    `(a).b` is the name a.b to Spark. An empty tuple where the node is no plain dotted name: a star, an
    `IDENTIFIER(expr)`, a field of an expression.
    """
    if isinstance(node, (q.Column, q.Table)):
        return tuple([part.text for part in node.parts])
    if isinstance(node, q.Identifier):
        return (node.text,)
    if isinstance(node, q.Dot):
        before = name_parts(drop_parentheses(node.operand))
        return (*before, node.field.text) if before else ()
    return ()
