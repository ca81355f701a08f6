"""From a tree of an expression to a typed expression: one binder for each kind of node."""

from planproof_engine.analysis.context import Aliases, Context, Environment
from planproof_engine.analysis.expressions.binding import bind, call, make_unresolved_error
from planproof_engine.analysis.expressions.literals import is_position
from planproof_engine.analysis.names.scope import Scope, make_ambiguous_error
