"""The lambda-aware optimizer: rules, their laws, the driver that holds them to I6, and the text of the result."""

from planproof_engine.optimizer.element_paths import uses_itself
from planproof_engine.optimizer.equivalence import is_alike
from planproof_engine.optimizer.laws import is_costly, is_deterministic, is_independent, may_raise
from planproof_engine.optimizer.retype import bind_once, fits, make_call, make_int, replace_variables
