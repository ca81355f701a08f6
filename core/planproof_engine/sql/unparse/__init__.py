"""A plan back to SQL: a text that Spark analyzes to the plan's names, types and nullability.

For `explain` and for tests; a rewriting never goes this way (it splices the user's own text). Every column is named
by its id below the root, so that two equal names stay two columns; relations are not kept. Raises `Unknown` for what
has no text.
"""

from __future__ import annotations

from planproof_engine.depth import deeply
from planproof_engine.ground import Unknown, quote_name
from planproof_engine.logical.nodes import Plan
from planproof_engine.sql.unparse import expressions, plans
from planproof_engine.sql.unparse.texts import add_writers, column_id, use_names, write_item, write_node

add_writers(plans.WRITERS)
add_writers(expressions.WRITERS)


def unparse(plan: Plan, *, readable: bool = False) -> str:
    """The plan as one query. `readable`: columns below the root are named as people named them, as far as those names
    tell them apart. Raises `Unknown` with the name of a node or function that it cannot write."""
    try:
        return deeply(lambda: _write_readable(plan) if readable else _write_query(plan))
    except RecursionError:
        raise Unknown("a query nested this deep") from None


def _write_readable(plan: Plan) -> str:
    with use_names(lambda: _write_query(plan)):
        return _write_query(plan)


def _write_query(plan: Plan) -> str:
    if not plan.output:
        return write_node(plan)
    items = ", ".join(write_item(column_id(c), quote_name(c.name)) for c in plan.output)
    return f"SELECT {items} FROM ({write_node(plan)}) AS q"
