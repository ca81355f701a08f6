"""Expressions: nodes, traversal, output names."""

from planproof_engine.expr.nodes import *
