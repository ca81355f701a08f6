"""The heads of statements that write a relation: which relation, by which clauses, and where the query begins.

A head is read by the grammar's own rules. The query behind it is not read, so that it may be anything that Spark takes.
A statement of any other shape than those below is `other`: nothing is guessed. Grammar: SqlBaseParser.g4
(createTableHeader, createTableClauses, insertInto, createView, mergeIntoTable, and the ALTER TABLE rules).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from planproof.conf import Conf
from planproof.origin import AnalysisError, Unknown
from planproof.sql.datatypes import TypeGrammar
from planproof.sql.tokens import NUMBERS, tokenize

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
    name and type; `transforms` are partitions of which one at least is no plain column, as they are written.
    """

    kind: str
    relation: tuple[str, ...] = ()
    query: str = ""
    clauses: Mapping[str, Any] = field(default_factory=dict)


def read_head(sql: str) -> Statement:
    """The statement that `sql` is; `other` where its shape is not one of those.

    >>> read_head("create table s.t using parquet as select 1 as a").query
    'select 1 as a'
    """
    head = _Head(sql.strip(), _DEFAULT, as_far=True)
    try:
        return head.statement()
    except (AnalysisError, Unknown):
        return Statement("other")


class _Head(TypeGrammar):
    """A cursor over a statement's head. Every step that does not fit raises."""

    def statement(self) -> Statement:
        if self.kind in _READS:
            return Statement("read")
        if self.kind in _ABOUT:
            return Statement("about")
        for words, rule in _RULES:
            if self.skip_all(*words):
                return rule(self)
        self.fail()

    def table(self) -> Statement:
        return self.table_of({})

    def replaced_table(self) -> Statement:
        return self.table_of({"replace": True})

    def table_of(self, clauses: dict[str, Any]) -> Statement:
        relation = self.parts()
        is_empty = self.kind == "("
        if is_empty:
            clauses["columns"] = self.definitions()
        while not (self.is_over if is_empty else self.skip("AS")):
            key, value = self.clause()
            if key in clauses:
                self.fail()
            clauses[key] = value
        if is_empty:
            self.closed()
            return Statement("empty_table", relation, "", clauses)
        return Statement("table", relation, self.rest(), clauses)

    def clause(self) -> tuple[str, Any]:
        if self.skip("USING"):
            return "using", ".".join(self.parts())
        if self.skip("OPTIONS"):
            return "options", self.pairs()
        if self.skip("TBLPROPERTIES"):
            return "tblproperties", self.pairs()
        if self.skip_all("PARTITIONED", "BY"):
            return self.partitions()
        if self.skip_all("CLUSTERED", "BY"):
            names = self.names()
            self.take("INTO")
            buckets = self.token()
            self.take("INTEGER_VALUE")
            self.take("BUCKETS")
            return "clustered_by", (names, int(buckets))
        word = self.kind.lower()
        if not (self.skip("LOCATION") or self.skip("COMMENT")):
            self.fail()
        return word, self.string()

    def view(self) -> Statement:
        return self.view_of("view")

    def temporary_view(self) -> Statement:
        return self.view_of("temp_view")

    def view_of(self, kind: str) -> Statement:
        relation = self.parts()
        clauses: dict[str, Any] = {}
        if self.kind == "(":
            clauses["columns"] = self.commented()
        while not self.skip("AS"):
            if self.skip("COMMENT"):
                clauses["comment"] = self.string()
            else:
                self.take("TBLPROPERTIES")
                clauses["tblproperties"] = self.pairs()
        return Statement(kind, relation, self.rest(), clauses)

    def insert_into(self) -> Statement:
        return self.insert(False)

    def insert_overwrite(self) -> Statement:
        return self.insert(True)

    def insert(self, overwrite: bool) -> Statement:
        relation = self.parts()
        clauses: dict[str, Any] = {"overwrite": overwrite}
        if self.skip("PARTITION"):
            clauses["partition_by"] = self.names()
        if self.kind != "SELECT":
            return self.fail() if overwrite or len(clauses) > 1 else self.insert_some(relation)
        return Statement("insert", relation, self.rest(), clauses)

    def insert_plain(self) -> Statement:
        return self.insert_some(self.parts())

    def insert_some(self, relation: tuple[str, ...]) -> Statement:
        """`t (a, b) (select ...)`, `t replace where a = 1 select ...`: one query, of one relation."""
        if self.kinds.count("SELECT") != 1:
            self.fail()
        columns = self.names() if self.kind == "(" and self.kinds[self.i + 1] != "SELECT" else ()
        if self.skip_all("REPLACE", "WHERE"):
            while self.kind not in ("SELECT", "EOF"):
                self.advance()
        self.skip("(")
        if self.kind != "SELECT":
            self.fail()
        return Statement("insert_some", relation, self.rest(), {"columns": columns})

    def delete(self) -> Statement:
        relation = self.parts()
        return Statement("delete", relation, self.text[self.stop :].strip())

    def merge(self) -> Statement:
        relation = self.parts()
        self.word("AS", "DBT_INTERNAL_DEST", "USING")
        source = self.parts()
        self.word("AS", "DBT_INTERNAL_SOURCE", "ON")
        self.end_of_text()
        text = f"ON {self.rest()}"
        kinds = [kind for kind in self.kinds[self.i :] if kind not in ("EOF", ";")]
        all_rows = kinds[-len(_ALL_ROWS) :] == _ALL_ROWS and "MATCHED" not in kinds[: -len(_ALL_ROWS)]
        return Statement("merge" if all_rows else "merge_some", relation, text, {"source": source})

    def alter(self) -> Statement:
        relation = self.parts()
        if self.skip_all("ADD", "COLUMNS"):
            return Statement("add_columns", relation, self.rest(), {"columns": self.typed()})
        if self.skip_all("ADD", "CONSTRAINT"):
            return Statement("constrain", relation, self.rest())
        if self.skip_all("RENAME", "TO"):
            return Statement("rename", relation, "", {"to": self.parts()})
        if self.skip_all("CHANGE", "COLUMN"):
            self.identifier()
            self.word("SET", "NOT", "NULL")
            return Statement("constrain", relation)
        self.word("ALTER", "COLUMN")
        self.identifier()
        self.take("TYPE")
        return Statement("retype_column", relation, self.rest())

    def word(self, *words: str) -> None:
        """Steps over these words, keywords or not."""
        for word in words:
            if self.token().upper() != word:
                self.fail()
            self.advance()

    def rest(self) -> str:
        """What follows as it is written: a query may begin with a comment, and end with a semicolon."""
        text = self.text[self.stop :].lstrip()
        if not text or self.kind == ";":
            self.fail()
        return text

    @property
    def is_over(self) -> bool:
        return self.kind in ("EOF", ";")

    def closed(self) -> None:
        """The statement ends here, or after a semicolon."""
        self.end_of_text()
        self.skip(";")
        if self.kind != "EOF":
            self.fail()

    def end_of_text(self) -> None:
        """The lexer could read all of the text."""
        if self.starts[-1] != len(self.text):
            self.fail()

    def parts(self) -> tuple[str, ...]:
        found = [self.identifier().text]
        while self.skip("."):
            found.append(self.identifier().text)
        return tuple(found)

    def names(self) -> tuple[str, ...]:
        """`(a, b)`: plain names only; a type or a transform is another shape."""
        return tuple(name.text for name in self.identifier_list())

    def partitions(self) -> tuple[str, tuple[str, ...]]:
        """`(a, days(b))`: columns, and transforms of one as Iceberg has them."""
        self.take("(")
        found: list[str] = []
        transformed = False
        while True:
            start, name = self.start, self.identifier().text
            transformed = transformed or self.kind == "("
            if self.skip("("):
                while not self.skip(")"):
                    if self.kind in ("EOF", "("):
                        self.fail()
                    self.advance()
                name = self.text[start : self.stop]
            found.append(name)
            if not self.skip(","):
                self.take(")")
                return ("transforms" if transformed else "partition_by"), tuple(found)

    def pairs(self) -> dict[str, str]:
        """`('key' = 'value', a.b "value")`."""
        self.take("(")
        found: dict[str, str] = {}
        while True:
            key = self.string() if self.kind == "STRING_LITERAL" else ".".join(self.parts())
            self.skip("=")
            found[key] = self.value_of_property()
            if not self.skip(","):
                self.take(")")
                return found

    def value_of_property(self) -> str:
        if self.kind == "STRING_LITERAL":
            return self.string()
        kind, text = self.kind, self.token()
        if kind not in NUMBERS and kind not in ("TRUE", "FALSE"):
            self.fail()
        self.advance()
        return text if kind in NUMBERS else text.lower()

    def commented(self) -> tuple[tuple[str, str | None], ...]:
        """``(`a` comment 'text', b)``: a view's columns with their comments."""
        self.take("(")
        found: list[tuple[str, str | None]] = []
        while True:
            column = self.identifier().text
            found.append((column, self.string() if self.skip("COMMENT") else None))
            if not self.skip(","):
                self.take(")")
                return tuple(found)

    def typed(self) -> tuple[tuple[str, str], ...]:
        """Columns and their types, up to the end."""
        found = self.definitions()
        self.closed()
        return found

    def definitions(self) -> tuple[tuple[str, str], ...]:
        """``a int, `b` struct<x:int,y:int>``, in parentheses or not; types as they are written."""
        grouped = self.skip("(")
        found: list[tuple[str, str]] = []
        while True:
            column = self.identifier().text
            found.append((column, self.data_type().text))
            if not self.skip(","):
                break
        if grouped:
            self.take(")")
        return tuple(found)


_RULES: tuple[tuple[tuple[str, ...], Callable[[_Head], Statement]], ...] = (
    (("CREATE", "TABLE"), _Head.table),
    (("CREATE", "OR", "REPLACE", "TABLE"), _Head.replaced_table),
    (("CREATE", "OR", "REPLACE", "TEMPORARY", "VIEW"), _Head.temporary_view),
    (("CREATE", "OR", "REPLACE", "VIEW"), _Head.view),
    (("INSERT", "INTO", "TABLE"), _Head.insert_into),
    (("INSERT", "INTO"), _Head.insert_plain),
    (("DELETE", "FROM"), _Head.delete),
    (("TRUNCATE", "TABLE"), _Head.delete),
    (("INSERT", "OVERWRITE", "TABLE"), _Head.insert_overwrite),
    (("INSERT", "OVERWRITE"), _Head.insert_overwrite),
    (("MERGE", "INTO"), _Head.merge),
    (("ALTER", "TABLE"), _Head.alter),
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

    def is_all_of(self, text: str) -> bool:
        """Whether the text is this query, and nothing else."""
        return self._places(_words(text), whole=True)

    def stands_in(self, text: str) -> bool:
        """Whether this query stands in the text as a query of its own: in parentheses, or up to the text's end."""
        return self._places(_words(text), whole=False)

    def _places(self, words: list[str], whole: bool) -> bool:
        while words and words[-1] == ";":
            words.pop()
        size = len(self.words)
        if whole or not size:
            return bool(size) and words == self.words
        first = self.words[0]
        for at, word in enumerate(words):
            if word != first or words[at : at + size] != self.words:
                continue
            after = next((i for i in range(at + size, len(words)) if words[i] != ";"), len(words))
            grouped = at > 0 and words[at - 1] == "(" and words[after : after + 1] == [")"]
            if grouped or after == len(words):
                return True
        return False


def may_change(sql: str, statement: Statement, name: str) -> bool:
    """Whether a statement may have changed the relation whose last name part is `name`. Hooks run such statements
    before the one that writes the relation."""
    return statement.kind not in ("read", "about") and name.lower() in names_in(sql)


def names_in(text: str) -> frozenset[str]:
    """The words and quoted names of a text, in lower case and without their quotes. Words within literals are left
    out."""
    return frozenset(word.strip("`").replace("``", "`").lower() for word in _words(text))


def _words(text: str) -> list[str]:
    """The text of each token. Where the lexer cannot read on, the rest of the text is the last one."""
    text = text.strip()
    tokens = tokenize(text, as_far=True)
    last = tokens.kinds.index("EOF")
    words = [text[start:stop] for start, stop in zip(tokens.starts[:last], tokens.stops[:last])]
    rest = text[tokens.starts[last] :].strip() if tokens.starts[last] != len(text) else ""
    return [*words, *rest.split()]
