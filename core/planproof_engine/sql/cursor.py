"""Where the parser stands in the tokens, and how it says that it cannot go on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, NoReturn, TypeVar

from planproof_engine.ground import AnalysisError, Conf, Origin, Unknown, place
from planproof_engine.sql import nodes as q
from planproof_engine.sql.keywords import RESERVED, WORDS
from planproof_engine.sql.tokens import tokens_of, unescape, unquote
from planproof_engine.sql.versions import list_lacking

Node = TypeVar("Node", bound=q.Node)
T = TypeVar("T")


class Rules(NamedTuple):
    """The rules that stand above those that call them: an expression may hold a query, and an operand expressions."""

    expression: Callable[[Cursor], q.Node]
    value: Callable[[Cursor], q.Node]
    named_expression: Callable[[Cursor], q.Node]
    ordered: Callable[[Cursor], list[q.Ordered]]
    query: Callable[[Cursor], q.Query]
    query_primary: Callable[[Cursor], q.Query]


_READINGS = 64
"""How often a text's queries are read again, before nothing is known of it: each keyword may double the readings."""


class Cursor:
    """A place in one text's tokens, which each rule of the grammar takes: a function that steps over what it reads, and
    gives its node. `kind` is the kind of the token at hand, `i` its index. `groups`: of the parentheses that were
    looked into, by index, whether a query stands in them."""

    def __init__(self, text: str, conf: Conf, rules: Rules, as_far: bool = False) -> None:
        tokens = tokens_of(text, conf, as_far)
        self.lacks = list_lacking(conf.grammar)
        self.bar_is_pipe = "bar before a pipe's word" not in self.lacks
        self.reserved = RESERVED if conf.ansi and conf.enforce_reserved_keywords else frozenset[str]()
        self.text, self.conf, self.rules = text, conf, rules
        self.kinds, self.starts, self.stops = tokens.kinds, tokens.starts, tokens.stops
        self.i = 0
        self.kind = self.kinds[0]
        self.groups: dict[int, bool] = {}
        self._first: set[int] = set()
        self._second: set[int] = set()
        self._furthest: AnalysisError | None = None
        self._left = _READINGS
        self._later: list[tuple[int, AnalysisError]] = []

    @cached_property
    def closings(self) -> dict[int, int]:
        """The index of the parenthesis that closes another one, by the index of that. Found once: each of many nested
        ones is asked for."""
        opened, found = list[int](), dict[int, int]()
        for at, kind in enumerate(self.kinds):
            if kind == "(":
                opened.append(at)
            elif kind == ")" and opened:
                found[opened.pop()] = at
        return found

    def advance(self, count: int = 1) -> None:
        if self.kind != "EOF":
            self.i += count
            self.kind = self.kinds[self.i]

    def go_back(self, to: int) -> None:
        if to < self.i and self._later:
            self._later = [kept for kept in self._later if kept[0] < to]
        self.i = to
        self.kind = self.kinds[to]

    def is_first_reading(self) -> bool:
        """Whether the keyword at hand, which the next tokens allow two readings, has the first of them: always, unless
        what follows it could not be read so."""
        if self.i in self._second:
            return False
        self._first.add(self.i)
        return True

    def may_be_read_anew(self, start: int) -> bool:
        """Whether a keyword from this token on has the first of its two readings."""
        return max(self._first, default=-1) >= start

    def read_anew(self, start: int, error: AnalysisError) -> None:
        """Goes back to a rule's first token, where a syntax error may come of a keyword's first reading: the last such
        keyword has the second one from now on. Raises the error where no keyword is left, and `Unknown` where there are
        too many."""
        here = error.at(error.origin)  # A copy: an error that its own frame keeps is not freed.
        if here.condition != "PARSE_SYNTAX_ERROR":
            raise here from None
        if self._furthest is None or _start_of(self._furthest) < _start_of(here):
            self._furthest = here
        if not self.may_be_read_anew(start):
            raise self._furthest.at(self._furthest.origin) from None
        if self._left == 0:
            raise Unknown("so many keywords that may be names", self._furthest.origin) from None
        self._left -= 1
        last = max(self._first)
        self._first.discard(last)
        self._second = {at for at in self._second if at < last} | {last}
        self.go_back(start)

    def keep_error(self, condition: str, message: str, start: int, stop: int | None = None) -> None:
        """Keeps an error that Spark reports only after the whole text was parsed: a syntax error comes first. It stands
        up to the last token taken where no `stop` is given."""
        where = place(self.text, start, self.stop if stop is None else stop)
        self._later.append((self.i, AnalysisError(condition, message, where)))

    def keep_error_here(self, condition: str, message: str, start: int | None = None) -> None:
        """The same for an error that stands at the token at hand, or from `start` up to it."""
        self.keep_error(condition, message, self.start if start is None else start, self.stops[self.i])

    def finish(self) -> None:
        """Raises what was kept for later."""
        if self._later:
            raise min(self._later, key=lambda kept: kept[0])[1]

    def find_hyphened_name(self, error: AnalysisError) -> AnalysisError | None:
        """The error for a name with a hyphen that stands before a syntax error: Spark refuses it when its parser
        leaves the name (`PostProcessor.exitErrorIdent`). It has looked at all that WITH lists by then."""
        if error.condition != "PARSE_SYNTAX_ERROR" or self.kinds[0] == "WITH":
            return None
        kept = (found for at, found in self._later if at <= self.i and found.condition == "INVALID_IDENTIFIER")
        # Of other names that need quotes it is silent until it builds its tree.
        return next((e for e in kept if _start_of(e) < _start_of(error) and "-" in e.message), None)

    def peek(self, ahead: int = 1) -> str:
        return self.kinds[self.i + ahead]

    def skip(self, kind: str) -> bool:
        if self.kind == kind:
            self.i += 1
            self.kind = self.kinds[self.i]
            return True
        return False

    def read_list(self, read: Callable[[Cursor], T]) -> list[T]:
        """One or more, between commas."""
        found = [read(self)]
        while self.skip(","):
            found.append(read(self))
        return found

    def skip_all(self, *kinds: str) -> bool:
        """Steps over these tokens if exactly they come next."""
        at = self.i
        if tuple(self.kinds[at : at + len(kinds)]) != kinds:
            return False
        self.go_back(at + len(kinds))
        return True

    def skip_statement(self) -> None:
        """Steps over the rest of a statement."""
        while self.kind not in ("EOF", ";"):
            self.advance()

    def take(self, kind: str) -> None:
        if self.kind != kind:
            self.fail()
        self.advance()

    def token(self, at: int | None = None) -> str:
        """The text of a token: of the one at hand, or of the one at an index."""
        at = self.i if at is None else at
        return self.text[self.starts[at] : self.stops[at]]

    @property
    def start(self) -> int:
        return self.starts[self.i]

    @property
    def stop(self) -> int:
        """The offset after the last token taken."""
        return self.stops[self.i - 1]

    def place(self, node: Node, start: int) -> Node:
        """The node, with its span: from `start` to the last token taken."""
        node.span = (start, self.stops[self.i - 1])
        return node

    def origin(self, start: int | None = None, stop: int | None = None) -> Origin:
        start = self.start if start is None else start
        return place(self.text, start, self.stops[self.i] if stop is None else stop)

    def fail(self) -> NoReturn:
        """Raises Spark's syntax error at the token at hand."""
        shown = "end of input" if self.kind == "EOF" else f"'{self.token()}'"
        before = self.kinds[max(self.i - 4, 0) : self.i + 1]
        comma = (",", "FROM") in pairwise(before)
        hint = " Is the comma before FROM one too many?" if comma else ""
        raise AnalysisError("PARSE_SYNTAX_ERROR", f"Syntax error at or near {shown}.{hint}", self.origin())

    def refuse_construct(self, construct: str, start: int | None = None) -> NoReturn:
        raise Unknown(construct, self.origin(start))

    def string_value(self, at: int) -> str:
        token = self.token(at)
        return unquote(token) if self.conf.escaped_string_literals else unescape(token)

    def string(self) -> str:
        """The value of one or more adjacent string tokens."""
        if self.kind != "STRING_LITERAL":
            if self.kind == "?" or (self.kind == ":" and self.peek() in WORDS):
                self.refuse_construct("a parameter marker in place of a string")
            self.fail()
        value = self.string_value(self.i)
        self.advance()
        while self.kind == "STRING_LITERAL":
            value += self.string_value(self.i)
            self.advance()
        return value

    def identifier(
        self, allowed: frozenset[str] = WORDS, literals: bool = True, besides: frozenset[str] = frozenset()
    ) -> q.Identifier:
        """One name: Spark's `identifier`, or its `strictIdentifier` with `allowed=ALIAS_WORDS`. With `literals` it may
        be `IDENTIFIER('a')`. `besides`: reserved keywords that the place takes, too."""
        kind = self.kind
        if kind not in allowed or (kind in self.reserved and kind not in besides):
            self.fail()
        if kind == "IDENTIFIER" and literals and self.is_identifier_literal(self.i):
            return self._identifier_literal()
        token = self.text[self.starts[self.i] : self.stops[self.i]]
        if kind == "BACKQUOTED":
            quote = token[0]
            node = q.Identifier(token[1:-1].replace(quote * 2, quote), True)
        else:
            if "/" in token or not token.isascii():
                if not token.isascii() and "letters beyond ASCII" in self.lacks:
                    self.fail()
                self.keep_identifier_error(token, self.start)
            node = q.Identifier(token)
        node.span = (self.starts[self.i], self.stops[self.i])
        self.i += 1
        self.kind = self.kinds[self.i]
        return node

    def is_identifier_literal(self, at: int) -> bool:
        """Whether `IDENTIFIER('name')` stands at the token with this index: a name wherever a name may stand."""
        if self.kinds[at : at + 3] != ["IDENTIFIER", "(", "STRING_LITERAL"] or self.conf.legacy_identifier_clause:
            return False
        at += 3
        while self.kinds[at] == "STRING_LITERAL":
            at += 1
        return self.kinds[at] == ")"

    def _identifier_literal(self) -> q.Identifier:
        start = self.start
        self.advance(2)
        inner = Cursor(self.string(), self.conf, self.rules)
        self.take(")")
        parts = [inner.identifier()]
        while inner.skip("."):
            parts.append(inner.identifier())
        if inner.kind != "EOF":
            inner.fail()
        if len(parts) > 1:
            shown = ".".join(f"`{part.text}`" for part in parts)
            text = f"{shown} is not a valid identifier as it has more than 1 name parts."
            raise AnalysisError("IDENTIFIER_TOO_MANY_NAME_PARTS", text, self.origin(start, self.stop))
        return self.place(parts[0], start)

    def keep_identifier_error(self, name: str, start: int) -> None:
        message = f"The unquoted identifier {name} is invalid and must be back quoted as: `{name}`."
        self.keep_error("INVALID_IDENTIFIER", message, start, start + len(name))

    def captured_identifier(self) -> q.Identifier:
        """Spark's `errorCapturingIdentifier`: a name that an unquoted hyphen must not follow."""
        start = self.start
        found = self.identifier()
        if self.kind == "-" and self.peek() in WORDS:
            while self.kind == "-" and self.peek() in WORDS:
                self.advance(2)
            self.keep_identifier_error(self.text[start : self.stop], start)
        return found

    def enclosed(self, read: Callable[[Cursor], T]) -> T:
        """What stands in parentheses."""
        self.take("(")
        found = read(self)
        self.take(")")
        return found

    def identifiers(self) -> list[q.Identifier]:
        return self.read_list(Cursor.captured_identifier)

    def identifier_list(self) -> list[q.Identifier]:
        """Names in parentheses."""
        return self.enclosed(Cursor.identifiers)


def _start_of(error: AnalysisError) -> int:
    return (error.origin.start if error.origin is not None else None) or 0
