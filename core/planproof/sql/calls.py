"""The grammar of function calls: Spark's rule `functionCall`, and the calls that have a syntax of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planproof.sql import nodes as q
from planproof.sql.keywords import WORDS
from planproof.sql.literals import LiteralGrammar

DATETIME_UNITS = frozenset(
    ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]
)
"""Units that Spark's rule `datetimeUnit` names."""

ENDS = frozenset(("EOF", ")", ",", ";", "]", "|>"))
"""What cannot begin an expression and may follow a name."""


class CallGrammar(LiteralGrammar):
    """Calls. Every one becomes a Call: see the table in `planproof.sql`."""

    def expression(self) -> q.Node:
        raise NotImplementedError

    def value(self, floor: int = 1) -> q.Node:
        raise NotImplementedError

    def query(self) -> q.Query:
        raise NotImplementedError

    def named_expression(self) -> q.Node:
        raise NotImplementedError

    def ordered(self) -> list[q.Ordered]:
        raise NotImplementedError

    def call(self, name: str | q.IdentifierClause, start: int, parts: tuple[str, ...] | None = None) -> q.Call:
        """A call, from its opening parenthesis on."""
        self.advance()
        distinct = None
        arguments: Sequence[q.Node] = ()
        if self.kind != ")":
            if self.kind in ("DISTINCT", "ALL") and self.peek() not in ENDS and self.peek() != ".":
                distinct = self.kind == "DISTINCT"
                self.advance()
            arguments = self.arguments()
        node = q.Call(name, arguments, parts, distinct)
        self.take(")")
        if self.kind in _TRAILERS:
            self._trailers(node)
        return self.placed(node, start)

    def arguments(self) -> list[q.Node]:
        found = [self.argument()]
        while self.skip(","):
            found.append(self.argument())
        return found

    def argument(self) -> q.Node:
        if self.kinds[self.i + 1] != "=>" or self.kind not in WORDS:
            return self.expression()
        start = self.start
        name = self.identifier()
        self.advance()
        return self.placed(q.Kwarg(name, self.expression()), start)

    def _trailers(self, node: q.Call) -> None:
        """What may follow a call's closing parenthesis, in Spark's order."""
        if self.kind == "WITHIN" and self.peek() == "GROUP" and "WITHIN GROUP" not in self.lacks:
            self._within_group(node)
        if self.kind == "FILTER" and self.peek() == "(" and self.peek(2) == "WHERE":
            self.advance()
            self.advance()
            self.advance()
            node.filter = self.expression()
            self.take(")")
        if self.kind in ("IGNORE", "RESPECT") and self.peek() == "NULLS":
            node.nulls = self.kind
            self.advance()
            self.advance()
        if self.kind == "OVER" and (self.peek() == "(" or (self.peek() in WORDS and self.peek() != "FROM")):
            self.advance()
            node.over = self.window_spec()

    def _within_group(self, node: q.Call) -> None:
        for word in ("WITHIN", "GROUP", "(", "ORDER", "BY"):
            self.take(word)
        node.within_group = self.ordered()
        self.take(")")

    def window_spec(self) -> q.Window:
        """`w`, `(w)` or `(PARTITION BY .. ORDER BY .. frame)`."""
        start = self.start
        if self.kind != "(":
            return self.placed(q.Window(reference=self.identifier()), start)
        self.advance()
        if self.kind in WORDS and self.peek() == ")":
            node = q.Window(reference=self.identifier())
            self.advance()
            return self.placed(node, start)
        node = q.Window()
        if self.kind in ("PARTITION", "DISTRIBUTE", "CLUSTER") and self.peek() == "BY":
            node.cluster = self.kind == "CLUSTER"
            self.advance()
            self.advance()
            keys = [self.expression()]
            while self.skip(","):
                keys.append(self.expression())
            node.partition_by = keys
        if not node.cluster and self.kind in ("ORDER", "SORT") and self.peek() == "BY":
            self.advance()
            self.advance()
            node.order = self.ordered()
        if self.kind in ("ROWS", "RANGE"):
            node.frame = self._frame()
        self.take(")")
        return self.placed(node, start)

    def _frame(self) -> q.WindowFrame:
        start, kind = self.start, self.kind
        self.advance()
        between = self.skip("BETWEEN")
        low, low_side = self._bound()
        node = q.WindowFrame(kind, low, low_side)
        if between:
            self.take("AND")
            node.end, node.end_side = self._bound()
        return self.placed(node, start)

    def _bound(self) -> tuple[q.Node | str, str | None]:
        """A frame bound: (UNBOUNDED | CURRENT ROW | expression, PRECEDING | FOLLOWING | None)."""
        if self.skip_all("CURRENT", "ROW"):
            return "CURRENT ROW", None
        bound: q.Node | str = "UNBOUNDED"
        if self.kind == "UNBOUNDED" and self.peek() in ("PRECEDING", "FOLLOWING"):
            self.advance()
        else:
            bound = self.expression()
        side = self.kind
        if side not in ("PRECEDING", "FOLLOWING"):
            self.fail()
        self.advance()
        return bound, side

    # Calls with a syntax of their own. Each gives None where the call at hand is an ordinary one after all.

    def _form(self, start: int, name: str, form: str, arguments: list[q.Node]) -> q.SpecialCall:
        self.take(")")
        return self.placed(q.SpecialCall(name, arguments, form=form), start)

    def _enter(self) -> tuple[int, str]:
        start, name = self.start, self.token()
        self.advance()
        self.advance()
        return start, name

    def _cast(self) -> q.Node | None:
        kind = q.TryCast if self.kind == "TRY_CAST" else q.Cast
        start, _ = self._enter()
        operand = self.expression()
        self.take("AS")
        target = self.data_type()
        self.take(")")
        return self.placed(kind(operand, target), start)

    def _struct(self) -> q.Node | None:
        """`struct(a AS x, b)`; named arguments (`=>`) and quantifiers belong to an ordinary call."""
        if self.peek(2) == ")" or self.peek(3) == "=>" or self.peek(2) in ("DISTINCT", "ALL"):
            return None
        at = self.i
        start, name = self._enter()
        fields = [self.named_expression()]
        while self.skip(","):
            if self.peek() == "=>":
                self.back(at)
                return None
            fields.append(self.named_expression())
        return self._form(start, name, "struct", fields)

    def _first(self) -> q.Node | None:
        """`first(x IGNORE NULLS)`; what may follow an ordinary call may not follow this one."""
        if self.peek(2) in ("DISTINCT", "ALL", ")"):
            return None
        start, name = self._enter()
        operand = self.argument()
        if not self.skip_all("IGNORE", "NULLS"):
            return None
        node = self._form(start, name, "ignore_nulls", [operand])
        node.nulls = "IGNORE"
        return node

    def _percentile(self) -> q.Node | None:
        """`percentile_cont(x) WITHIN GROUP (ORDER BY y)`, while that is a rule of its own; else an ordinary call."""
        if self.peek(2) in ENDS:
            return None
        start, name = self._enter()
        node = q.Call(name, [self.value()])
        if not (self.skip(")") and self.kind == "WITHIN" and self.peek() == "GROUP"):
            return None
        self._within_group(node)
        if self.kind in ("FILTER", "OVER"):
            self._trailers(node)
        return self.placed(node, start)

    def _extract(self) -> q.Node | None:
        if self.peek(3) != "FROM" or self.peek(2) not in WORDS:
            return None
        start, name = self._enter()
        field = self.identifier()
        self.advance()
        return self._form(start, name, "extract", [field, self.value()])

    def _position(self) -> q.Node | None:
        start, name = self._enter()
        if self.kind in ENDS:
            return None
        part = self.value()
        if not self.skip("IN"):
            return None
        return self._form(start, name, "position", [part, self.value()])

    def _substring(self) -> q.Node | None:
        start, name = self._enter()
        if self.kind in ENDS:
            return None
        args = [self.value()]
        if not self.skip("FROM"):
            return None
        args.append(self.value())
        if self.skip("FOR") or self.skip(","):
            args.append(self.value())
        return self._form(start, name, "substring", args)

    def _trim(self) -> q.Node | None:
        start, name = self._enter()
        side = None
        if self.kind in ("BOTH", "LEADING", "TRAILING") and self.peek() not in (*ENDS, "."):
            side = self.kind
            self.advance()
        elif self.kind in ENDS:
            return None
        args = [] if self.kind == "FROM" and self.peek() not in ENDS else [self.value()]
        if not self.skip("FROM"):
            return None
        args.insert(0, self.value())
        node = self._form(start, name, "trim", args)
        node.side = side
        return node

    def _overlay(self) -> q.Node | None:
        start, name = self._enter()
        if self.kind in ENDS:
            return None
        args = [self.value()]
        if not self.skip("PLACING"):
            return None
        args.append(self.value())
        self.take("FROM")
        args.append(self.value())
        if self.skip("FOR"):
            args.append(self.value())
        return self._form(start, name, "overlay", args)

    def _unit_call(self) -> q.Node | None:
        """`dateadd(DAY, 1, x)`: a unit word and two values."""
        unit_text = self.peek(2) == "STRING_LITERAL"
        if not (unit_text or self.peek(2) in DATETIME_UNITS) or self.peek(3) != ",":
            return None
        form = "timestampadd" if self.kind in ("DATEADD", "DATE_ADD", "TIMESTAMPADD") else "timestampdiff"
        start, name = self._enter()
        unit, shown, at = self.kind, self.token(), self.start
        self.advance()
        self.advance()
        args = [self.value()]
        if not self.skip(","):
            return None
        args.append(self.value())
        if self.kind != ")":
            return None
        if unit_text:
            self.later(
                "INVALID_PARAMETER_VALUE.DATETIME_UNIT",
                f"The value of parameter(s) `unit` in `{name}` is invalid: expects one of the units without quotes "
                "YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, "
                f"but got the string literal {shown}.",
                at,
                at + len(shown),
            )
        node = self._form(start, name, form, args)
        node.unit, node.written = unit, shown
        return node


_TRAILERS = frozenset(("WITHIN", "FILTER", "IGNORE", "RESPECT", "OVER"))

SPECIAL_CALLS: dict[str, Callable[[CallGrammar], q.Node | None]] = {
    "CAST": CallGrammar._cast,
    "TRY_CAST": CallGrammar._cast,
    "STRUCT": CallGrammar._struct,
    "FIRST": CallGrammar._first,
    "LAST": CallGrammar._first,
    "ANY_VALUE": CallGrammar._first,
    "EXTRACT": CallGrammar._extract,
    "POSITION": CallGrammar._position,
    "SUBSTR": CallGrammar._substring,
    "SUBSTRING": CallGrammar._substring,
    "TRIM": CallGrammar._trim,
    "OVERLAY": CallGrammar._overlay,
    "PERCENTILE_CONT": CallGrammar._percentile,
    "PERCENTILE_DISC": CallGrammar._percentile,
    **dict.fromkeys(
        ["DATEADD", "DATE_ADD", "TIMESTAMPADD", "DATEDIFF", "DATE_DIFF", "TIMEDIFF", "TIMESTAMPDIFF"],
        CallGrammar._unit_call,
    ),
}
"""Keyword to the reader of its own call syntax."""
