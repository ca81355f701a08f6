"""Expressions: nodes, traversal, output names."""

from planproof_engine.expr.function import Category, LambdaOf, Mismatch, Signature
from planproof_engine.expr.nodes import *
from planproof_engine.expr.traits import Cost, Elements, Evaluates, Frame, Loop, Magnitude, Traits
from planproof_engine.expr.tree import rebuild, span_of, transform_down, transform_up
