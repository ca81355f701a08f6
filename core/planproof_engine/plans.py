"""For who walks a plan: its nodes and expressions, what it says of its rows, and where its columns come from."""

from __future__ import annotations

from planproof_engine.expr import Alias, Call, Column, Expr, Outer, Subquery
from planproof_engine.logical.lineage import References, Source
from planproof_engine.logical.nodes import Filter, Named, Plan, Project, Scan
from planproof_engine.logical.outline import plan_details
from planproof_engine.logical.rows import StoredColumn, rows_of
from planproof_engine.optimizer import may_raise
