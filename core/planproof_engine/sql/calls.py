"""The grammar of function calls: Spark's rule `functionCall`, and the calls that have a syntax of their own.

Every one becomes a Call: see the table in `planproof_engine.sql`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planproof_engine.sql import nodes as q
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.datatypes import data_type
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.tokens import NUMBERS

DATETIME_UNITS = frozenset(
    ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]
)
"""Units that Spark's rule `datetimeUnit` names."""

ENDS = frozenset(("EOF", ")", ",", ";", "]", "|>"))
"""What cannot begin an expression and may follow a name."""


def call(c: Cursor, name: str | q.IdentifierClause, start: int, parts: tuple[str, ...] | None = None) -> q.Call:
    """A call, from its opening parenthesis on."""
    c.advance()
    distinct = None
    given: Sequence[q.Node] = ()
    if c.kind != ")":
        if c.kind in ("DISTINCT", "ALL") and c.peek() not in ENDS and c.peek() != ".":
            distinct = c.kind == "DISTINCT"
            c.advance()
        given = arguments(c)
    node = q.Call(name, given, parts, distinct)
    c.take(")")
    if c.kind in _TRAILERS:
        _parse_trailers(c, node)
    return c.place(node, start)


def arguments(c: Cursor) -> list[q.Node]:
    """One or more, between commas."""
    return c.read_list(argument)


def argument(c: Cursor) -> q.Node:
    """An argument of a call: an expression, or `name => expression`."""
    if c.kinds[c.i + 1] != "=>" or c.kind not in WORDS:
        return c.rules.expression(c)
    start = c.start
    name = c.identifier()
    c.advance()
    return c.place(q.Kwarg(name, c.rules.expression(c)), start)


def _parse_trailers(c: Cursor, node: q.Call) -> None:
    """What may follow a call's closing parenthesis, in Spark's order."""
    if c.kind == "WITHIN" and c.peek() == "GROUP" and "WITHIN GROUP" not in c.lacks:
        _parse_within_group(c, node)
    if c.kind == "FILTER" and c.peek() == "(" and c.peek(2) == "WHERE":
        c.advance(2)
        c.advance()
        node.filter = c.rules.expression(c)
        c.take(")")
    if c.kind in ("IGNORE", "RESPECT") and c.peek() == "NULLS":
        node.nulls = c.kind
        c.advance(2)
    if c.kind == "OVER" and (c.peek() == "(" or (c.peek() in WORDS and (c.peek() != "FROM" or c.is_first_reading()))):
        c.advance()
        node.over = window_spec(c)


def _parse_within_group(c: Cursor, node: q.Call) -> None:
    for word in ("WITHIN", "GROUP", "(", "ORDER", "BY"):
        c.take(word)
    node.within_group = c.rules.ordered(c)
    c.take(")")


def window_spec(c: Cursor) -> q.Window:
    """`w`, `(w)` or `(PARTITION BY .. ORDER BY .. frame)`."""
    start = c.start
    if c.kind != "(":
        return c.place(q.Window(reference=c.identifier() if _subtracts(c) else c.captured_identifier()), start)
    c.advance()
    if c.kind in WORDS and (c.peek() == ")" or (c.peek() == "-" and c.peek(2) in WORDS)):
        node = q.Window(reference=c.captured_identifier())
        c.take(")")
        return c.place(node, start)
    node = q.Window()
    if c.kind in ("PARTITION", "DISTRIBUTE", "CLUSTER") and c.peek() == "BY":
        node.cluster = c.kind == "CLUSTER"
        c.advance(2)
        node.partition_by = c.read_list(c.rules.expression)
    if not node.cluster and c.kind in ("ORDER", "SORT") and c.peek() == "BY":
        c.advance(2)
        node.order = c.rules.ordered(c)
    if c.kind in ("ROWS", "RANGE"):
        node.frame = _frame(c)
    c.take(")")
    return c.place(node, start)


def _subtracts(c: Cursor) -> bool:
    """Whether a hyphen behind the name of a window can only be a minus: what follows it is more than a name."""
    if c.peek(2) == "CASE":
        return c.peek(3) not in ("WHEN", "AS", "FROM", ")")
    return c.peek(2) == "INTERVAL" or c.peek(3) in ("(", "STRING_LITERAL", *NUMBERS)


def _frame(c: Cursor) -> q.WindowFrame:
    start, kind = c.start, c.kind
    c.advance()
    between = c.skip("BETWEEN")
    low, low_side = _bound(c)
    node = q.WindowFrame(kind, low, low_side)
    if between:
        c.take("AND")
        node.end, node.end_side = _bound(c)
    return c.place(node, start)


_NOT_CONSTANT = (q.Column, q.Call, q.SpecialCall, q.Subquery)


def _bound(c: Cursor) -> tuple[q.Node | str, str | None]:
    """A frame bound: (UNBOUNDED | CURRENT ROW | expression, PRECEDING | FOLLOWING | None)."""
    if c.skip_all("CURRENT", "ROW"):
        return "CURRENT ROW", None
    bound: q.Node | str = "UNBOUNDED"
    if c.kind == "UNBOUNDED" and c.peek() in ("PRECEDING", "FOLLOWING"):
        c.advance()
    else:
        at = c.start
        bound = c.rules.expression(c)
        if any(isinstance(n, _NOT_CONSTANT) for n in bound.walk()):
            message = "Invalid SQL syntax: Frame bound value must be a literal."
            c.keep_error("INVALID_SQL_SYNTAX.INVALID_WINDOW_FRAME_BOUND", message, at)
    side = c.kind
    if side not in ("PRECEDING", "FOLLOWING"):
        c.fail()
    c.advance()
    return bound, side


def _form(c: Cursor, start: int, name: str, form: str, arguments: list[q.Node]) -> q.SpecialCall:
    c.take(")")
    return c.place(q.SpecialCall(name, arguments, form=form), start)


def _enter(c: Cursor) -> tuple[int, str]:
    start, name = c.start, c.token()
    c.advance(2)
    return start, name


def _cast(c: Cursor) -> q.Node | None:
    kind = q.TryCast if c.kind == "TRY_CAST" else q.Cast
    if c.peek(2) in ENDS:
        return None
    start, _ = _enter(c)
    operand = c.rules.expression(c)
    if c.kind in ENDS:
        return None  # An ordinary call of a function of this name.
    c.take("AS")
    target = data_type(c)
    c.take(")")
    return c.place(kind(operand, target), start)


def _struct(c: Cursor) -> q.Node | None:
    """`struct(a AS x, b)`; named arguments (`=>`) belong to an ordinary call. DISTINCT is a name here."""
    if c.peek(2) == ")" or c.peek(3) == "=>":
        return None
    at = c.i
    start, name = _enter(c)
    fields = [c.rules.named_expression(c)]
    while c.skip(","):
        if c.peek() == "=>":
            c.go_back(at)
            return None
        fields.append(c.rules.named_expression(c))
    if c.kind == ")" and c.peek() in ("OVER", "FILTER"):
        c.go_back(at)
        return None
    return _form(c, start, name, "struct", fields)


def _first(c: Cursor) -> q.Node | None:
    """`first(x IGNORE NULLS)`; what may follow an ordinary call may not follow this one."""
    if c.peek(2) in ("DISTINCT", "ALL", ")"):
        return None
    start, name = _enter(c)
    operand = argument(c)
    if not c.skip_all("IGNORE", "NULLS"):
        return None
    node = _form(c, start, name, "ignore_nulls", [operand])
    node.nulls = "IGNORE"
    return node


def _percentile(c: Cursor) -> q.Node | None:
    """`percentile_cont(x) WITHIN GROUP (ORDER BY y)`, while that is a rule of its own; else an ordinary call."""
    if c.peek(2) in ENDS:
        return None
    start, name = _enter(c)
    node = q.Call(name, [c.rules.value(c)])
    if not (c.skip(")") and c.kind == "WITHIN" and c.peek() == "GROUP"):
        return None
    _parse_within_group(c, node)
    if len(node.within_group) > 1:
        c.go_back(c.starts.index(node.within_group[1].span[0]) - 1)
        c.fail()  # At the comma: this rule takes one key.
    if c.kind in ("FILTER", "OVER"):
        _parse_trailers(c, node)
    return c.place(node, start)


def _extract(c: Cursor) -> q.Node | None:
    if c.peek(3) != "FROM" or c.peek(2) not in WORDS:
        return None
    start, name = _enter(c)
    field = c.identifier()
    c.advance()
    return _form(c, start, name, "extract", [field, c.rules.value(c)])


def _make_reader(form: str, first: str, *others: str, last: tuple[str, ...] = ()) -> Callable[[Cursor], q.Node | None]:
    """A reader of calls with words in place of commas; without the first word it is an ordinary call. `last`: words of
    which one may stand before one more argument."""

    def read(c: Cursor) -> q.Node | None:
        start, name = _enter(c)
        if c.kind in ENDS:
            return None
        args = [c.rules.value(c)]
        if not c.skip(first):
            return None
        args.append(c.rules.value(c))
        for word in others:
            c.take(word)
            args.append(c.rules.value(c))
        if any(map(c.skip, last)):
            args.append(c.rules.value(c))
        return _form(c, start, name, form, args)

    return read


def _trim(c: Cursor) -> q.Node | None:
    start, name = _enter(c)
    side = None
    if c.kind in ("BOTH", "LEADING", "TRAILING") and c.peek() not in (*ENDS, "."):
        side = c.kind
        c.advance()
    elif c.kind in ENDS:
        return None
    args = [] if c.kind == "FROM" and c.peek() not in ENDS else [c.rules.value(c)]
    if not c.skip("FROM"):
        return None
    args.insert(0, c.rules.value(c))
    node = _form(c, start, name, "trim", args)
    node.side = side
    return node


def _unit_call(c: Cursor) -> q.Node | None:
    """`dateadd(DAY, 1, x)`: a unit word and two values."""
    unit_text = c.peek(2) == "STRING_LITERAL"
    if not (unit_text or c.peek(2) in DATETIME_UNITS) or c.peek(3) != ",":
        return None
    form = "timestampadd" if c.kind in ("DATEADD", "DATE_ADD", "TIMESTAMPADD") else "timestampdiff"
    start, name = _enter(c)
    unit, shown, at = c.kind, c.token(), c.start
    c.advance(2)
    args = [c.rules.value(c)]
    if not c.skip(","):
        return None
    args.append(c.rules.value(c))
    if c.kind != ")":
        return None
    if unit_text:
        message = (
            f"The value of parameter(s) `unit` in `{name}` is invalid: expects one of the units without quotes "
            "YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, "
            f"but got the string literal {shown}."
        )
        c.keep_error("INVALID_PARAMETER_VALUE.DATETIME_UNIT", message, at, at + len(shown))
    node = _form(c, start, name, form, args)
    node.unit, node.written = unit, shown
    return node


_TRAILERS = frozenset(("WITHIN", "FILTER", "IGNORE", "RESPECT", "OVER"))

SPECIAL_CALLS: dict[str, Callable[[Cursor], q.Node | None]] = {
    "CAST": _cast,
    "TRY_CAST": _cast,
    "STRUCT": _struct,
    "FIRST": _first,
    "LAST": _first,
    "ANY_VALUE": _first,
    "EXTRACT": _extract,
    "POSITION": _make_reader("position", "IN"),
    **dict.fromkeys(("SUBSTR", "SUBSTRING"), _make_reader("substring", "FROM", last=("FOR", ","))),
    "TRIM": _trim,
    "OVERLAY": _make_reader("overlay", "PLACING", "FROM", last=("FOR",)),
    "PERCENTILE_CONT": _percentile,
    "PERCENTILE_DISC": _percentile,
    **dict.fromkeys(
        ["DATEADD", "DATE_ADD", "TIMESTAMPADD", "DATEDIFF", "DATE_DIFF", "TIMEDIFF", "TIMESTAMPDIFF"], _unit_call
    ),
}
"""Keyword to the reader of its own call syntax."""
