"""Functions that only the grammar calls, and syntax that `SHOW FUNCTIONS` lists beside functions. Source:
`AstBuilder`."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import EITHER, Args, Category, Coerce
from planproof_engine.expr.traits import PURE, RAISES
from planproof_engine.functions import arithmetic as a
from planproof_engine.functions.families import operators, strings
from planproof_engine.functions.families.line import Table, fn, lines, prints
from planproof_engine.functions.families.operators import comparable_operands
from planproof_engine.origin import Unknown
from planproof_engine.records import evolve
from planproof_engine.types.kinds import ANY


def _make_symbol(symbol: str, name: str, table: Table) -> Table:
    """A symbol for a function that has a name of its own."""
    function = next(line for called, line in table if called == name)
    return [(symbol, evolve(function, category=Category.OPERATOR))]


def _named_type(args: Args, conf: Conf) -> dt.DataType:
    raise Unknown("a cast without its type")


TABLE: Table = lines(
    fn("!= <>", (ANY, ANY), dt.BOOLEAN, EITHER, coerces=a.equality, coerce=Coerce.NONE, check=comparable_operands("="), show=prints("(NOT ({0} = {1}))"), traits=PURE, category=Category.OPERATOR),
    _make_symbol("||", "concat", strings.TABLE),
    _make_symbol("case", "when", operators.TABLE),
    fn("cast", (ANY,), _named_type, EITHER, coerce=Coerce.NONE, traits=RAISES, category=Category.OPERATOR),
)
