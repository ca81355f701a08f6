"""A column list that gives columns each other's names.

`WITH c(b, a) AS (SELECT a, b ...)`, `(SELECT a, b ...) AS t(b, a)`, `inline(items) AS (price, qty)` over structs of
`qty, price`: the list names columns by position.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Call, Literal
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.positions import find_swapped
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical.nodes import Generate, Named


def column_lists(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP121: a column list gives a column the name of another column of the same query."""
    for node in definitions.nodes:
        if isinstance(node, Named):
            owner, before, after = ".".join(node.name), [c.name for c in node.child.output], node.output
        elif isinstance(node, Generate):
            owner, before, after = node.call.shown, _own_names(node.call, conf), node.generated
        else:
            continue
        names = [c.name for c in after]
        pairs = list(find_swapped(names, before))
        if pairs:
            said = ", ".join(f"{before[at]} the name {names[at]}" for at, _ in pairs)
            first = pairs[0][0]
            message = f"the column list of {owner} goes by position and gives {said}"
            yield Suspicion(make_warning("PP121", names[first], names[first], before[first], message))


def _own_names(call: Call, conf: Conf) -> list[str]:
    """What a generator's columns are called where no list names them; those of `json_tuple` are the keys it reads."""
    if call.function.name == "json_tuple":
        return [str(key.value) if isinstance(key, Literal) else "" for key in call.args[1:]]
    assert call.function.columns is not None
    return [name for name, _, _ in call.function.columns(call.args, conf)]
