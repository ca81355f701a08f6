"""The heads of statements that write a relation: which relation, by which clauses, and where the query begins.

A head is read by the grammar's own rules. The query behind it is not read, so that it may be anything that Spark takes.
A statement of any other shape than those below is `other`: nothing is guessed. Grammar: SqlBaseParser.g4
(createTableHeader, createTableClauses, insertInto, createView, mergeIntoTable, and the ALTER TABLE rules).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from planproof_engine.ground import AnalysisError, Conf, Unknown
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.datatypes import data_type
from planproof_engine.sql.parse import RULES
from planproof_engine.sql.tokens import NUMBERS, tokenize

_READS = frozenset(("SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "SET", "USE"))
_ABOUT = frozenset(("GRANT", "REVOKE", "COMMENT", "ANALYZE", "REFRESH"))
_ALL_ROWS = ["WHEN", "MATCHED", "THEN", "UPDATE", "SET", "*", "WHEN", "NOT", "MATCHED", "THEN", "INSERT", "*"]
_DEFAULT = Conf()


@dataclass(frozen=True)
class Statement:
    """One statement. `kind`: table, empty_table (columns, and no query), view, temp_view, insert, merge (which stores
    every row of its source as it is), merge_some (which stores what its clauses say), insert_some (which names its
    columns or the rows that it replaces), delete, add_columns, retype_column, constrain, rename, read, about (no row
    changes) or other.

    `relation` holds the name parts of what is written, `query` the text after the head (of a merge, its clauses from
    ON), and `clauses` the head's values: using, options, tblproperties, partition_by, transforms, clustered_by,
    buckets, location, comment, columns, overwrite, replace, source, to. The columns that are added stand in `columns`,
    name and type; `transforms` are partitions of which one at least is no plain column, as they are written. `text` is
    the whole statement, `words` the text of each of its tokens, and `query_at` the word with which the query begins.
    """

    kind: str
    relation: tuple[str, ...] = ()
    query: str = ""
    clauses: Mapping[str, Any] = field(default_factory=dict)
    text: str = field(default="", compare=False, repr=False)
    words: Sequence[str] = field(default=(), compare=False, repr=False)
    query_at: int = field(default=0, compare=False, repr=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """The words and quoted names of the statement, in lower case and without their quotes. Words within literals
        are left out."""
        return frozenset(word.strip("`").replace("``", "`").lower() for word in self.words)

    @property
    def query_words(self) -> Sequence[str]:
        return self.words[self.query_at :]


def read_head(sql: str) -> Statement:
    """The statement that `sql` is; `other` where its shape is not one of those.

    >>> read_head("create table s.t using parquet as select 1 as a").query
    'select 1 as a'
    """
    c = Cursor(sql.strip(), _DEFAULT, RULES, as_far=True)
    try:
        found = _statement(c)
    except (AnalysisError, Unknown):
        found = Statement("other")
    last = c.kinds.index("EOF")
    words = _words_of(c.text, c.starts, c.stops, last)
    return replace(found, text=sql, words=words, query_at=min(c.i, last))


def _statement(c: Cursor) -> Statement:
    if c.kind in _READS:
        return Statement("read")
    if c.kind in _ABOUT:
        return Statement("about")
    for words, rule in _RULES:
        if c.skip_all(*words):
            return rule(c)
    c.fail()


def _table(c: Cursor, clauses: dict[str, Any]) -> Statement:
    relation = _parts(c)
    is_empty = c.kind == "("
    if is_empty:
        clauses["columns"] = _definitions(c)
    while not (c.kind in ("EOF", ";") if is_empty else c.skip("AS")):
        key, value = _clause(c)
        if key in clauses:
            c.fail()
        clauses[key] = value
    if is_empty:
        _require_end(c)
        return Statement("empty_table", relation, "", clauses)
    return Statement("table", relation, _following_text(c), clauses)


def _clause(c: Cursor) -> tuple[str, Any]:
    if c.skip("USING"):
        return "using", ".".join(_parts(c))
    if c.skip("OPTIONS"):
        return "options", _pairs(c)
    if c.skip("TBLPROPERTIES"):
        return "tblproperties", _pairs(c)
    if c.skip_all("PARTITIONED", "BY"):
        return _partitions(c)
    if c.skip_all("CLUSTERED", "BY"):
        names = _names(c)
        c.take("INTO")
        buckets = c.token()
        c.take("INTEGER_VALUE")
        c.take("BUCKETS")
        return "clustered_by", (names, int(buckets))
    word = c.kind.lower()
    if not (c.skip("LOCATION") or c.skip("COMMENT")):
        c.fail()
    return word, c.string()


def _view(c: Cursor, kind: str) -> Statement:
    relation = _parts(c)
    clauses: dict[str, Any] = {}
    if c.kind == "(":
        clauses["columns"] = _commented_columns(c)
    while not c.skip("AS"):
        if c.skip("COMMENT"):
            clauses["comment"] = c.string()
        else:
            c.take("TBLPROPERTIES")
            clauses["tblproperties"] = _pairs(c)
    return Statement(kind, relation, _following_text(c), clauses)


def _insert(c: Cursor, overwrite: bool) -> Statement:
    relation = _parts(c)
    clauses: dict[str, Any] = {"overwrite": overwrite}
    if c.skip("PARTITION"):
        clauses["partition_by"] = _names(c)
    if c.kind != "SELECT":
        return c.fail() if overwrite or len(clauses) > 1 else _insert_some(c, relation)
    return Statement("insert", relation, _following_text(c), clauses)


def _insert_some(c: Cursor, relation: tuple[str, ...]) -> Statement:
    """`t (a, b) (select ...)`, `t replace where a = 1 select ...`: one query, of one relation."""
    if c.kinds.count("SELECT") != 1:
        c.fail()
    columns = _names(c) if c.kind == "(" and c.kinds[c.i + 1] != "SELECT" else ()
    if c.skip_all("REPLACE", "WHERE"):
        while c.kind not in ("SELECT", "EOF"):
            c.advance()
    c.skip("(")
    if c.kind != "SELECT":
        c.fail()
    return Statement("insert_some", relation, _following_text(c), {"columns": columns})


def _delete(c: Cursor) -> Statement:
    relation = _parts(c)
    return Statement("delete", relation, c.text[c.stop :].strip())


def _merge(c: Cursor) -> Statement:
    relation = _parts(c)
    _take_words(c, "AS", "DBT_INTERNAL_DEST", "USING")
    source = _parts(c)
    _take_words(c, "AS", "DBT_INTERNAL_SOURCE", "ON")
    _require_whole_text(c)
    text = f"ON {_following_text(c)}"
    kinds = [kind for kind in c.kinds[c.i :] if kind not in ("EOF", ";")]
    all_rows = kinds[-len(_ALL_ROWS) :] == _ALL_ROWS and "MATCHED" not in kinds[: -len(_ALL_ROWS)]
    return Statement("merge" if all_rows else "merge_some", relation, text, {"source": source})


def _alter(c: Cursor) -> Statement:
    relation = _parts(c)
    if c.skip_all("ADD", "COLUMNS"):
        return Statement("add_columns", relation, _following_text(c), {"columns": _typed_columns(c)})
    if c.skip_all("ADD", "CONSTRAINT"):
        return Statement("constrain", relation, _following_text(c))
    if c.skip_all("RENAME", "TO"):
        return Statement("rename", relation, "", {"to": _parts(c)})
    if c.skip_all("CHANGE", "COLUMN"):
        c.identifier()
        _take_words(c, "SET", "NOT", "NULL")
        return Statement("constrain", relation)
    _take_words(c, "ALTER", "COLUMN")
    c.identifier()
    c.take("TYPE")
    return Statement("retype_column", relation, _following_text(c))


def _take_words(c: Cursor, *words: str) -> None:
    """Steps over these words, keywords or not."""
    for word in words:
        if c.token().upper() != word:
            c.fail()
        c.advance()


def _following_text(c: Cursor) -> str:
    """What follows as it is written: a query may begin with a comment, and end with a semicolon."""
    text = c.text[c.stop :].lstrip()
    if not text or c.kind == ";":
        c.fail()
    return text


def _require_end(c: Cursor) -> None:
    """The statement ends here, or after a semicolon."""
    _require_whole_text(c)
    c.skip(";")
    if c.kind != "EOF":
        c.fail()


def _require_whole_text(c: Cursor) -> None:
    """The lexer could read all of the text."""
    if c.starts[-1] != len(c.text):
        c.fail()


def _parts(c: Cursor) -> tuple[str, ...]:
    found = [c.identifier().text]
    while c.skip("."):
        found.append(c.identifier().text)
    return tuple(found)


def _names(c: Cursor) -> tuple[str, ...]:
    """`(a, b)`: plain names only; a type or a transform is another shape."""
    return tuple(name.text for name in c.identifier_list())


def _partitions(c: Cursor) -> tuple[str, tuple[str, ...]]:
    """`(a, days(b))`: columns, and transforms of one as Iceberg has them."""
    c.take("(")
    found: list[str] = []
    transformed = False
    while True:
        start, name = c.start, c.identifier().text
        transformed = transformed or c.kind == "("
        if c.skip("("):
            while not c.skip(")"):
                if c.kind in ("EOF", "("):
                    c.fail()
                c.advance()
            name = c.text[start : c.stop]
        found.append(name)
        if not c.skip(","):
            c.take(")")
            return ("transforms" if transformed else "partition_by"), tuple(found)


def _pairs(c: Cursor) -> dict[str, str]:
    """`('key' = 'value', a.b "value")`."""
    return dict(c.enclosed(lambda c: c.read_list(_pair)))


def _pair(c: Cursor) -> tuple[str, str]:
    key = c.string() if c.kind == "STRING_LITERAL" else ".".join(_parts(c))
    c.skip("=")
    return key, _value_of_property(c)


def _value_of_property(c: Cursor) -> str:
    if c.kind == "STRING_LITERAL":
        return c.string()
    kind, text = c.kind, c.token()
    if kind not in NUMBERS and kind not in ("TRUE", "FALSE"):
        c.fail()
    c.advance()
    return text if kind in NUMBERS else text.lower()


def _commented_columns(c: Cursor) -> tuple[tuple[str, str | None], ...]:
    """``(`a` comment 'text', b)``: a view's columns with their comments."""
    return tuple(c.enclosed(lambda c: c.read_list(_commented_column)))


def _commented_column(c: Cursor) -> tuple[str, str | None]:
    return c.identifier().text, c.string() if c.skip("COMMENT") else None


def _typed_columns(c: Cursor) -> tuple[tuple[str, str], ...]:
    """Columns and their types, up to the end."""
    found = _definitions(c)
    _require_end(c)
    return found


def _definitions(c: Cursor) -> tuple[tuple[str, str], ...]:
    """``a int, `b` struct<x:int,y:int>``, in parentheses or not; types as they are written."""
    return tuple(c.enclosed(_columns) if c.kind == "(" else _columns(c))


def _columns(c: Cursor) -> list[tuple[str, str]]:
    return c.read_list(lambda c: (c.identifier().text, data_type(c).text))


_RULES: tuple[tuple[tuple[str, ...], Callable[[Cursor], Statement]], ...] = (
    (("CREATE", "TABLE"), lambda c: _table(c, {})),
    (("CREATE", "OR", "REPLACE", "TABLE"), lambda c: _table(c, {"replace": True})),
    (("CREATE", "OR", "REPLACE", "TEMPORARY", "VIEW"), lambda c: _view(c, "temp_view")),
    (("CREATE", "OR", "REPLACE", "VIEW"), lambda c: _view(c, "view")),
    (("INSERT", "INTO", "TABLE"), lambda c: _insert(c, False)),
    (("INSERT", "INTO"), lambda c: _insert_some(c, _parts(c))),
    (("DELETE", "FROM"), _delete),
    (("TRUNCATE", "TABLE"), _delete),
    (("INSERT", "OVERWRITE", "TABLE"), lambda c: _insert(c, True)),
    (("INSERT", "OVERWRITE"), lambda c: _insert(c, True)),
    (("MERGE", "INTO"), _merge),
    (("ALTER", "TABLE"), _alter),
)


class Query:
    """A query's text, to be found again in the statements that carry it.

    Tokens are compared: spaces and comments, around the query or between its words, do not count.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip().removesuffix(";").rstrip()
        self.words = _words(self.text)
        while self.words and self.words[-1] == ";":
            self.words.pop()

    def is_in(self, text: str | Sequence[str]) -> bool:
        """Whether this query stands in the text, or in its words, as a query of its own: in parentheses, or up to the
        text's end."""
        words = _words(text) if isinstance(text, str) else list(text)
        size = len(self.words)
        if not size:
            return False
        first = self.words[0]
        for at, word in enumerate(words):
            if word != first or words[at : at + size] != self.words:
                continue
            after = next((i for i in range(at + size, len(words)) if words[i] != ";"), len(words))
            grouped = at > 0 and words[at - 1] == "(" and words[after : after + 1] == [")"]
            if grouped or after == len(words):
                return True
        return False


def may_change(statement: Statement, name: str) -> bool:
    """Whether a statement may have changed the relation whose last name part is `name`. Hooks run such statements
    before the one that writes the relation."""
    return statement.kind not in ("read", "about") and name.lower() in statement.names


def _words(text: str) -> list[str]:
    """The text of each token. Where the lexer cannot read on, the rest of the text is the last one."""
    text = text.strip()
    tokens = tokenize(text, as_far=True)
    return _words_of(text, tokens.starts, tokens.stops, tokens.kinds.index("EOF"))


def _words_of(text: str, starts: Sequence[int], stops: Sequence[int], last: int) -> list[str]:
    words = [text[start:stop] for start, stop in zip(starts[:last], stops[:last])]
    rest = text[starts[last] :].strip() if starts[last] != len(text) else ""
    return [*words, *rest.split()]
