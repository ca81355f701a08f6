"""Functions that a user declares in Python: how they are registered, and how their calls in lambdas are lowered.

What runs in Spark's workers is `planproof_engine.functions.nested`, which loads nothing else.
"""

from __future__ import annotations

from planproof_engine.expr import Call, Lambda, Variable
from planproof_engine.expr.function import ALWAYS, Coerce, Many, Signature
from planproof_engine.functions.declared import DeclarationError, Function, calls_declared
from planproof_engine.functions.registry import RegistrationError, Registry, builtin
from planproof_engine.optimizer.lowering import CannotLower, Lowered, lower
from planproof_engine.types.kinds import ANY
