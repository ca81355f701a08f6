"""Functions that only the grammar calls, and syntax that `SHOW FUNCTIONS` lists beside functions. Source:
`AstBuilder`."""

from __future__ import annotations

from planproof.conf import Conf
from planproof.expr.function import EITHER, Args, Category, Coerce
from planproof.expr.nodes import Call
from planproof.expr.traits import PURE, RAISES
from planproof.functions import arithmetic as a
from planproof.functions.families import operators, strings
from planproof.functions.families.line import Table, fn, lines
from planproof.functions.families.operators import comparable_operands
from planproof.functions.families.rules import Pretty
from planproof.origin import Unknown
from planproof.records import evolve
from planproof.types import BOOLEAN, DataType
from planproof.types.kinds import ANY


def _written(symbol: str, name: str, table: Table) -> Table:
    """A symbol for a function that has a name of its own."""
    function = next(line for called, line in table if called == name)
    return [(symbol, evolve(function, category=Category.OPERATOR))]


def _unequal(call: Call, pretty: Pretty) -> str:
    left, right = (pretty(arg) for arg in call.args)
    return f"(NOT ({left} = {right}))"


def _named_type(args: Args, conf: Conf) -> DataType:
    raise Unknown("a cast without its type")


TABLE: Table = lines(
    fn("!= <>", (ANY, ANY), BOOLEAN, EITHER, coerces=a.equality, coerce=Coerce.NONE, check=comparable_operands("="), show=_unequal, traits=PURE, category=Category.OPERATOR),
    _written("||", "concat", strings.TABLE),
    _written("case", "when", operators.TABLE),
    fn("cast", (ANY,), _named_type, EITHER, coerce=Coerce.NONE, traits=RAISES, category=Category.OPERATOR),
)
