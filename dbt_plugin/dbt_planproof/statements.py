"""The statements of dbt-spark that write a model, read back from their text.

Only the shapes that dbt-spark's macros render are understood, clause by clause. Anything else is `other`: it is run
as it is, never guessed at. Grammar: Spark's SqlBaseParser.g4 (createTableHeader, createTableClauses, insertInto,
createView).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
      | (?P<quoted>`(?:``|[^`])*`)
      | (?P<word>\w+)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_READS = ("select", "show", "describe", "desc", "explain", "set", "use")
_ALL_ROWS = ["when", "matched", "then", "update", "set", "*", "when", "not", "matched", "then", "insert", "*"]
_ABOUT = ("grant", "revoke", "comment", "analyze", "refresh")


@dataclass(frozen=True)
class Statement:
    """One statement. `kind`: table, view, temp_view, insert, merge (which stores every row of its source as it is),
    add_columns, retype_column, constrain, rename, read, about (no row changes) or other.

    `relation` holds the name parts of what is written, `query` the text after the head, and `clauses` the head's
    values: using, options, tblproperties, partition_by, clustered_by, buckets, location, comment, columns, overwrite,
    source, to. The columns that are added stand in `columns`, name and type.
    """

    kind: str
    relation: tuple[str, ...] = ()
    query: str = ""
    clauses: Mapping[str, Any] = field(default_factory=dict)


class _Other(Exception):
    """The text is none of the shapes that are understood here."""


def read(sql: str) -> Statement:
    """The statement that `sql` is; `other` where its shape is not understood.

    >>> read("create table s.t using parquet as select 1 as a").query
    'select 1 as a'
    """
    tokens = _Tokens(sql.strip())
    try:
        return _read(tokens)
    except _Other:
        return Statement("other")


def _read(tokens: _Tokens) -> Statement:
    first = tokens.peek()
    if first in _READS:
        return Statement("read")
    if first in _ABOUT:
        return Statement("about")
    if tokens.take("create", "table"):
        return _table(tokens)
    if tokens.take("create", "or", "replace", "temporary", "view"):
        return _view(tokens, "temp_view")
    if tokens.take("create", "or", "replace", "view"):
        return _view(tokens, "view")
    if tokens.take("insert", "into", "table"):
        return _insert(tokens, False)
    if tokens.take("insert", "overwrite", "table"):
        return _insert(tokens, True)
    if tokens.take("merge", "into"):
        return _merge(tokens, tokens.name())
    if tokens.take("alter", "table"):
        return _alter(tokens, tokens.name())
    raise _Other


def _table(tokens: _Tokens) -> Statement:
    relation, clauses = tokens.name(), {}
    while not tokens.take("as"):
        key, value = _clause(tokens)
        if key in clauses:
            raise _Other
        clauses[key] = value
    return Statement("table", relation, tokens.rest(), clauses)


def _clause(tokens: _Tokens) -> tuple[str, Any]:
    if tokens.take("using"):
        return "using", ".".join(tokens.name())
    if tokens.take("options"):
        return "options", tokens.pairs()
    if tokens.take("tblproperties"):
        return "tblproperties", tokens.pairs()
    if tokens.take("partitioned", "by"):
        return "partition_by", tokens.names()
    if tokens.take("clustered", "by"):
        names = tokens.names()
        tokens.expect("into")
        buckets = tokens.next("word")
        tokens.expect("buckets")
        return "clustered_by", (names, int(buckets))
    if tokens.take("location"):
        return "location", tokens.string()
    if tokens.take("comment"):
        return "comment", tokens.string()
    raise _Other


def _view(tokens: _Tokens, kind: str) -> Statement:
    relation = tokens.name()
    clauses: dict[str, Any] = {}
    if tokens.peek() == "(":
        clauses["columns"] = tokens.columns()
    while not tokens.take("as"):
        if tokens.take("comment"):
            clauses["comment"] = tokens.string()
        elif tokens.take("tblproperties"):
            clauses["tblproperties"] = tokens.pairs()
        else:
            raise _Other
    return Statement(kind, relation, tokens.rest(), clauses)


def _insert(tokens: _Tokens, overwrite: bool) -> Statement:
    relation = tokens.name()
    clauses: dict[str, Any] = {"overwrite": overwrite}
    if tokens.take("partition"):
        clauses["partition_by"] = tokens.names()
    if tokens.peek() != "select":
        raise _Other
    return Statement("insert", relation, tokens.rest(), clauses)


def _merge(tokens: _Tokens, relation: tuple[str, ...]) -> Statement:
    tokens.expect("as", "dbt_internal_dest", "using")
    source = tokens.name()
    tokens.expect("as", "dbt_internal_source", "on")
    words = tokens.words()
    if words[-len(_ALL_ROWS) :] != _ALL_ROWS or "matched" in words[: -len(_ALL_ROWS)]:
        raise _Other
    return Statement("merge", relation, "", {"source": source})


def _alter(tokens: _Tokens, relation: tuple[str, ...]) -> Statement:
    if tokens.take("add", "columns"):
        return Statement("add_columns", relation, tokens.rest(), {"columns": tokens.typed_columns()})
    if tokens.take("add", "constraint"):
        return Statement("constrain", relation, tokens.rest())
    if tokens.take("rename", "to"):
        return Statement("rename", relation, "", {"to": tokens.name()})
    if tokens.take("change", "column"):
        tokens.part()
        tokens.expect("set", "not", "null")
        return Statement("constrain", relation)
    tokens.expect("alter", "column")
    tokens.part()
    tokens.expect("type")
    return Statement("retype_column", relation, tokens.rest())


class _Tokens:
    """A cursor over the significant tokens of a text; every step that does not fit raises `_Other`."""

    def __init__(self, whole: str) -> None:
        self.whole, self.text = whole, whole.removesuffix(";")
        self.at = self.passed = 0
        self.found: re.Match[str] | None = None
        self._advance()

    def _advance(self) -> None:
        self.found = _TOKEN.match(self.text, self.at)
        while self.found is not None and self.found.lastgroup == "space":
            self.at = self.found.end()
            self.found = _TOKEN.match(self.text, self.at)

    def peek(self) -> str:
        if self.found is None:
            return ""
        text = self.found.group()
        return text.lower() if self.found.lastgroup == "word" else text

    def take(self, *words: str) -> bool:
        """True, and past them, where the next tokens are these words; else nothing moves."""
        before = self.at, self.passed, self.found
        for word in words:
            if self.peek() != word:
                self.at, self.passed, self.found = before
                return False
            self.next()
        return True

    def expect(self, *words: str) -> None:
        if not self.take(*words):
            raise _Other

    def next(self, kind: str | None = None) -> str:
        if self.found is None or kind not in (None, self.found.lastgroup):
            raise _Other
        text, self.at = self.found.group(), self.found.end()
        self.passed = self.at
        self._advance()
        return text

    def rest(self) -> str:
        """What follows as it is written: a query may begin with a comment, and end with a semicolon."""
        if self.found is None:
            raise _Other
        return self.whole[self.passed :].lstrip()

    def words(self) -> list[str]:
        """What is left, token by token, in lower case but for texts and quoted names."""
        found = []
        while self.found is not None:
            found.append(self.peek())
            self.next()
        return found

    def part(self) -> str:
        if self.found is not None and self.found.lastgroup == "quoted":
            return self.next()[1:-1].replace("``", "`")
        return self.next("word")

    def name(self) -> tuple[str, ...]:
        parts = [self.part()]
        while self.take("."):
            parts.append(self.part())
        return tuple(parts)

    def string(self) -> str:
        from planproof.sql.strings import unescape

        return unescape(self.next("string"))

    def names(self) -> tuple[str, ...]:
        """`(a, b)`: plain names only; a type or a transform is not understood."""
        self.expect("(")
        names = [self.part()]
        while self.take(","):
            names.append(self.part())
        self.expect(")")
        return tuple(names)

    def pairs(self) -> dict[str, str]:
        """`('key' = 'value', a.b "value")`."""
        self.expect("(")
        found: dict[str, str] = {}
        while True:
            key = self.string() if self._is("string") else ".".join(self.name())
            self.take("=")
            found[key] = self.string() if self._is("string") else self.next("word")
            if not self.take(","):
                self.expect(")")
                return found

    def columns(self) -> tuple[tuple[str, str | None], ...]:
        """``(`a` comment 'text', b)``: a view's columns with their comments."""
        self.expect("(")
        found = []
        while True:
            column = self.part()
            found.append((column, self.string() if self.take("comment") else None))
            if not self.take(","):
                self.expect(")")
                return tuple(found)

    def typed_columns(self) -> tuple[tuple[str, str], ...]:
        """``a int, `b` struct<x:int,y:int>``, in parentheses or not, up to the end; types as they are written."""
        closed = self.take("(")
        found = []
        while True:
            column, start = self.part(), self.at if self.found is None else self.found.start()
            found.append((column, self._type_text(start)))
            if self.take(","):
                continue
            if (closed and not self.take(")")) or self.found is not None:
                raise _Other
            return tuple(found)

    def _type_text(self, start: int) -> str:
        """What stands up to the next comma or parenthesis that is not the type's own."""
        depth, end = 0, start
        while self.found is not None and (depth or self.peek() not in (",", ")")):
            sign = self.next()
            depth += (sign in ("<", "(")) - (sign in (">", ")"))
            end = self.found.start() if self.found is not None else len(self.text)
        text = self.text[start:end].strip()
        if not text or depth:
            raise _Other
        return text

    def _is(self, kind: str) -> bool:
        return self.found is not None and self.found.lastgroup == kind
