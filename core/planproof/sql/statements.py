"""The grammar of statements: Spark's rules `statement`, `setResetStatement`, `dmlStatementNoWith`."""

from __future__ import annotations

import re
from collections.abc import Callable

from planproof.sql import nodes as q
from planproof.sql.commands import (
    AlterView,
    Command,
    Drop,
    ExecuteImmediate,
    Insert,
    ResetConf,
    SetConf,
    SetTimeZone,
    SetVariable,
    Use,
)
from planproof.sql.creates import CreateGrammar
from planproof.sql.keywords import WORDS

_SPACE = r"(?:\s|--[^\n]*\n|/\*(?!\+).*?\*/)"
_SETTING = re.compile(rf"{_SPACE}*(SET|RESET)\b{_SPACE}*(.*?)[\s;]*\Z", re.I | re.S)
_NO_SETTING = re.compile(rf"(?:VAR|VARIABLE|ROLE|CATALOG|PATH)\b(?!\s*=|\s*\.)|TIME{_SPACE}+ZONE\b", re.I)


def setting(text: str) -> q.Node | None:
    """The node of a SET or RESET of a configuration; None for any other statement.

    Read from the raw text, as Spark does: a value need not be made of SQL tokens.
    """
    found = _SETTING.match(text)
    if found is None:
        return None
    word, rest = found.group(1).upper(), found.group(2)
    if word == "SET" and _NO_SETTING.match(rest):
        return None
    key, equals, value = rest.partition("=")
    name = key.strip().strip("`") or None
    set_to = value.strip().strip("`") if equals else None
    node: q.Node = ResetConf(name) if word == "RESET" else SetConf(name, set_to)
    node.span = (0, len(text))
    return node


class StatementGrammar(CreateGrammar):
    """One statement. What changes neither schemas nor names is a `Command`, whose syntax is Spark's to judge."""

    def statement(self) -> q.Node:
        start = self.start
        reader = _READERS.get(self.kind)
        if reader is not None:
            return self.placed(reader(self), start)
        if self.query_at(self.i) or self.kind == "(":
            return self._query_statement()
        if self.kind in _COMMANDS:
            return self._command()
        if self.kind == "BEGIN":
            self.unknown("a SQL script")
        if self.kind == "AUTO" and self.peek() == "CDC":
            self.unknown("AUTO CDC")
        self.fail()

    def _query_statement(self) -> q.Node:
        """A query, or a WITH before an INSERT."""
        if self.kind == "FROM" and "INSERT" in self.kinds:
            self.unknown("INSERT after FROM")
        if self.kind != "WITH":
            return self.query()
        at = self.i
        ctes = self.ctes()
        if self.kind not in ("INSERT", "MERGE", "UPDATE", "DELETE"):
            self.back(at)
            return self.query()
        node = self.statement()
        if isinstance(node, Insert):
            node.with_ = ctes
        return node

    def _command(self) -> Command:
        start, first = self.start, self.i
        while self.kind not in ("EOF", ";"):
            self.advance()
        words = " ".join(self.kinds[first : min(first + 2, self.i)])
        return self.placed(Command(words, self.text[start : self.stop]), start)

    def _set_statement(self) -> q.Node:
        self.advance()
        if self.skip_all("TIME", "ZONE"):
            return SetTimeZone(self._time_zone())
        if self.kind == "CATALOG":
            self.advance()
            start = self.start
            if self.kind == "STRING_LITERAL":
                name = self.placed(q.Table([q.Identifier(self.string(), True)]), start)
            else:
                name = self.relation_name()
            return Use(name, catalog=True)
        if self.kind in ("ROLE", "PATH"):
            self.unknown(f"SET {self.kind}")
        self.advance()
        if self.kind == "(" or self.kind not in WORDS:
            return self._set_row()
        found = [self.assignment()]
        while self.skip(","):
            found.append(self.assignment())
        return SetVariable(found)

    def _set_row(self) -> SetVariable:
        self.take("(")
        names = [self.column(self.multipart())]
        while self.skip(","):
            names.append(self.column(self.multipart()))
        self.take(")")
        self.take("=")
        self.take("(")
        query = self.query()
        self.take(")")
        return SetVariable(names=names, query=query)

    def _time_zone(self) -> q.Literal | q.IntervalLiteral | q.Var:
        if self.kind == "STRING_LITERAL":
            return self.string_literal()
        if self.kind == "INTERVAL":
            return self.interval()
        start = self.start
        self.take("LOCAL")
        return self.placed(q.Var("LOCAL"), start)

    def _use(self) -> Use:
        self.advance()
        if self.kind in ("DATABASE", "SCHEMA", "NAMESPACE") and self.peek() in WORDS:
            self.advance()
        return Use(self.relation_name())

    def _drop_statement(self) -> q.Node:
        at = self.i
        self.advance()
        temporary = self.kind == "TEMPORARY" and self.peek() in ("FUNCTION", "VARIABLE", "VAR")
        if temporary:
            self.advance()
        kind = _DROPPED.get(self.kind)
        if kind is None:
            self.back(at)
            return self._command()
        self.advance()
        exists = self.skip_all("IF", "EXISTS")
        node = Drop(self.relation_name(), kind, exists, temporary)
        for word in ("PURGE", "RESTRICT", "CASCADE"):
            self.skip(word)
        return node

    def _alter(self) -> q.Node:
        at = self.i
        self.advance()
        if not self.skip("VIEW"):
            self.back(at)
            return self._command()
        name = self.relation_name()
        if self.skip_all("WITH", "SCHEMA"):
            return AlterView(name, schema_binding=self.schema_binding())
        if self.skip("AS") or self.query_at(self.i):
            return AlterView(name, self.query())
        self.back(at)
        return self._command()

    def _insert(self) -> q.Node:
        self.advance()
        self.skip_all("WITH", "SCHEMA", "EVOLUTION")
        overwrite = self.kind == "OVERWRITE"
        if self.kind not in ("OVERWRITE", "INTO"):
            self.fail()
        self.advance()
        if self.kind in ("DIRECTORY", "LOCAL") and self.peek() in ("DIRECTORY", "STRING_LITERAL", "USING"):
            self.unknown("INSERT OVERWRITE DIRECTORY")
        if self.kind == "TABLE" and self.peek() in WORDS:
            self.advance()
        node = Insert(self.relation_name(), overwrite=overwrite)
        if self.kind == "WITH" and self.peek() == "(":
            self.properties_text()
        if self.kind == "PARTITION" and self.peek() == "(":
            self.advance()
            node.partition = self.parenthesized_text()
        self.skip_all("IF", "NOT", "EXISTS")
        if self.kind == "REPLACE" or (self.kind in WORDS and self.peek() == "REPLACE"):
            self.unknown("INSERT .. REPLACE")
        if self.skip_all("BY", "NAME"):
            node.by_name = True
        elif self.kind == "(" and not self.query_at(self.i + 1):
            node.columns = self.identifier_list()
        node.query = self.query()
        return node

    def _immediate_text(self) -> q.Node:
        if "EXECUTE IMMEDIATE of expressions" not in self.lacks:
            return self.expression()
        return self.string_literal() if self.kind == "STRING_LITERAL" else self.column(self.multipart())

    def _execute(self) -> ExecuteImmediate:
        self.advance()
        self.take("IMMEDIATE")
        node = ExecuteImmediate(self._immediate_text())
        if self.skip("INTO"):
            into = [self.column(self.multipart())]
            while self.skip(","):
                into.append(self.column(self.multipart()))
            node.into = into
        if self.skip("USING"):
            grouped = self.kind == "(" and self.kinds[self._closing(self.i) + 1] in ("EOF", ";")
            if grouped:
                self.advance()
            node.arguments = self.named_expressions()
            if grouped:
                self.take(")")
        return node


_DROPPED = {
    "TABLE": "TABLE",
    "VIEW": "VIEW",
    "FUNCTION": "FUNCTION",
    "VARIABLE": "VARIABLE",
    "VAR": "VARIABLE",
    "SCHEMA": "SCHEMA",
    "DATABASE": "SCHEMA",
    "NAMESPACE": "SCHEMA",
}

_READERS: dict[str, Callable[[StatementGrammar], q.Node]] = {
    "SET": StatementGrammar._set_statement,
    "USE": StatementGrammar._use,
    "CREATE": StatementGrammar.create,
    "REPLACE": StatementGrammar.create,
    "DECLARE": StatementGrammar.declare,
    "DROP": StatementGrammar._drop_statement,
    "ALTER": StatementGrammar._alter,
    "INSERT": StatementGrammar._insert,
    "EXECUTE": StatementGrammar._execute,
}

_COMMAND_WORDS = (
    "ADD ANALYZE CACHE CALL CLEAR CLOSE COMMENT COMMIT DELETE DESC DESCRIBE DFS EXPLAIN EXPORT FETCH GRANT IMPORT LIST "
    "LOAD LOCK MERGE MSCK OPEN REFRESH REPAIR REVOKE ROLLBACK SHOW START TRUNCATE UNCACHE UNLOCK UPDATE"
)
_COMMANDS = frozenset(_COMMAND_WORDS.split())
