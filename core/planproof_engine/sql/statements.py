"""The grammar of statements: Spark's rules `statement`, `setResetStatement`, `dmlStatementNoWith`.

What changes neither schemas nor names is a `Command`, whose syntax is Spark's to judge.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from planproof_engine.sql import commands, creates
from planproof_engine.sql import nodes as q
from planproof_engine.sql.clauses import named_expressions
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.expressions import expression
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.literals import interval, string_literal
from planproof_engine.sql.primary import column, find_closing, is_query_at, multipart
from planproof_engine.sql.queries import assignment, ctes, query, relation_name
from planproof_engine.sql.relations import properties_text

_SPACE = r"(?:\s|--[^\n]*\n|/\*(?!\+)(?:[^*]|\*(?!/))*\*/)"
_SETTING = rf"(?is){_SPACE}*(SET|RESET)\b{_SPACE}*(.*)"
_NO_SETTING = rf"(?i)(?:VAR|VARIABLE|ROLE|CATALOG|PATH)\b(?!\s*=|\s*\.)|TIME{_SPACE}+ZONE\b"


def parse_setting(text: str) -> q.Node | None:
    """The node of a SET or RESET of a configuration; None for any other statement.

    Read from the raw text, as Spark does: a value need not be made of SQL tokens.
    """
    found = re.match(_SETTING, text)
    if found is None:
        return None
    word, rest, end = found.group(1).upper(), found.group(2), len(found.group(2))
    while end and (rest[end - 1] == ";" or rest[end - 1].isspace()):
        end -= 1
    rest = rest[:end]
    if word == "SET" and re.match(_NO_SETTING, rest):
        return None
    key, equals, value = rest.partition("=")
    name = key.strip().strip("`") or None
    set_to = value.strip().strip("`") if equals else None
    node: q.Node = commands.ResetConf(name) if word == "RESET" else commands.SetConf(name, set_to)
    node.span = (0, len(text))
    return node


def statement(c: Cursor) -> q.Node:
    """Any statement: Spark's rule `statement`."""
    start = c.start
    if (reader := _READERS.get(c.kind)) is not None:
        return c.place(reader(c), start)
    if is_query_at(c, c.i) or c.kind == "(":
        return _query_statement(c)
    if c.kind in _COMMANDS:
        return creates.command(c)
    if c.kind == "BEGIN":
        c.refuse_construct("a SQL script")
    if c.kind == "AUTO" and c.peek() == "CDC":
        c.refuse_construct("AUTO CDC")
    c.fail()


def _query_statement(c: Cursor) -> q.Node:
    """A query, or a WITH before an INSERT."""
    if c.kind == "FROM" and "INSERT" in c.kinds:
        c.refuse_construct("INSERT after FROM")
    if c.kind != "WITH":
        return query(c)
    at = c.i
    with_ = ctes(c)
    if c.kind not in ("INSERT", "MERGE", "UPDATE", "DELETE"):
        c.go_back(at)
        return query(c)
    node = statement(c)
    if isinstance(node, commands.Insert):
        node.with_ = with_
    return node


def _set_statement(c: Cursor) -> q.Node:
    c.advance()
    if c.skip_all("TIME", "ZONE"):
        return commands.SetTimeZone(_time_zone(c))
    if c.skip("CATALOG"):
        start = c.start
        if c.kind == "STRING_LITERAL":
            name = c.place(q.Table([q.Identifier(c.string(), True)]), start)
        else:
            name = relation_name(c)
        return commands.Use(name, catalog=True)
    if c.kind in ("ROLE", "PATH"):
        c.refuse_construct(f"SET {c.kind}")
    c.advance()
    if c.kind == "(" or c.kind not in WORDS:
        return _set_row(c)
    return commands.SetVariable(c.read_list(assignment))


def _set_row(c: Cursor) -> commands.SetVariable:
    names = c.enclosed(lambda c: c.read_list(lambda c: column(c, multipart(c))))
    c.take("=")
    rows = c.enclosed(query)
    return commands.SetVariable(names=names, query=rows)


def _time_zone(c: Cursor) -> q.Literal | q.IntervalLiteral | q.Var:
    if c.kind == "STRING_LITERAL":
        return string_literal(c)
    if c.kind == "INTERVAL":
        return interval(c)
    start = c.start
    c.take("LOCAL")
    return c.place(q.Var("LOCAL"), start)


def _use(c: Cursor) -> commands.Use:
    c.advance()
    if c.kind in ("DATABASE", "SCHEMA", "NAMESPACE") and c.peek() in WORDS:
        c.advance()
    return commands.Use(relation_name(c))


def _drop_statement(c: Cursor) -> q.Node:
    at = c.i
    c.advance()
    temporary = c.kind == "TEMPORARY" and c.peek() in ("FUNCTION", "VARIABLE", "VAR")
    if temporary:
        c.advance()
    kind = _DROPPED.get(c.kind)
    if kind is None:
        c.go_back(at)
        return creates.command(c)
    c.advance()
    exists = c.skip_all("IF", "EXISTS")
    node = commands.Drop(relation_name(c), kind, exists, temporary)
    for word in ("PURGE", "RESTRICT"):
        c.skip(word)
    node.cascade = c.skip("CASCADE")
    return node


def _alter(c: Cursor) -> q.Node:
    at, of_table = c.i, c.peek() == "TABLE"
    c.advance()
    if c.skip("VIEW") or c.skip("TABLE"):
        name = relation_name(c)
        if c.skip_all("RENAME", "TO"):
            return commands.Rename(name, relation_name(c), not of_table)
        if of_table and ((c.kind, c.peek()) in _COLUMN_CHANGES or _alters_column(c)):
            return _change_columns(c, name)
        if not of_table and c.skip_all("WITH", "SCHEMA"):
            return commands.AlterView(name, schema_binding=creates.schema_binding(c))
        if not of_table and (c.skip("AS") or is_query_at(c, c.i)):
            return commands.AlterView(name, query(c))
    c.go_back(at)
    return creates.command(c)


_COLUMN_CHANGES = frozenset(
    (
        *itertools.product(("ADD", "DROP"), ("COLUMN", "COLUMNS")),
        *(("RENAME", "COLUMN"), ("REPLACE", "COLUMNS"), ("DEFAULT", "COLLATION")),
    )
)
_OF_COLUMNS = frozenset(("TYPE", "NOT", "FIRST", "AFTER"))
_NOT_PLAIN = frozenset((".", "FIRST", "AFTER", "NOT"))


def _alters_column(c: Cursor) -> bool:
    """Whether a column gets another type, flag or place; its comment and default are no part of a schema."""
    changed = c.kind == "CHANGE" or not _OF_COLUMNS.isdisjoint(c.kinds[c.i :])
    return c.kind in ("ALTER", "CHANGE") and changed


def _change_columns(c: Cursor, name: q.Table) -> commands.ChangeColumns:
    at = c.i
    c.skip_statement()
    node = commands.ChangeColumns(name)
    if c.kinds[at] == "ADD" and _NOT_PLAIN.isdisjoint(c.kinds[at : c.i]):
        c.go_back(at + 2)
        node.added = creates.column_types(c) if c.kind == "(" else c.read_list(creates.column_definition)
    return node


def _cache(c: Cursor) -> q.Node:
    """`CACHE TABLE name AS query` makes a temporary view."""
    at = c.i
    c.advance()
    c.skip("LAZY")
    if c.skip("TABLE"):
        name = relation_name(c)
        if c.skip("OPTIONS"):
            creates.parenthesized_text(c)
        if c.skip("AS") or is_query_at(c, c.i):
            return commands.CreateView(name, query(c), temporary=True)
    c.go_back(at)
    return creates.command(c)


def _insert(c: Cursor) -> q.Node:
    c.advance()
    c.skip_all("WITH", "SCHEMA", "EVOLUTION")
    overwrite = c.kind == "OVERWRITE"
    if c.kind not in ("OVERWRITE", "INTO"):
        c.fail()
    c.advance()
    if c.kind in ("DIRECTORY", "LOCAL") and c.peek() in ("DIRECTORY", "STRING_LITERAL", "USING"):
        c.refuse_construct("INSERT OVERWRITE DIRECTORY")
    if c.kind == "TABLE" and c.peek() in WORDS:
        c.advance()
    node = commands.Insert(relation_name(c), overwrite=overwrite)
    if c.kind == "WITH" and c.peek() == "(":
        properties_text(c)
    if c.kind == "PARTITION" and c.peek() == "(":
        c.advance()
        node.partition = creates.parenthesized_text(c)
    c.skip_all("IF", "NOT", "EXISTS")
    if c.kind == "REPLACE" or (c.kind in WORDS and c.peek() == "REPLACE"):
        c.refuse_construct("INSERT .. REPLACE")
    if c.skip_all("BY", "NAME"):
        node.by_name = True
    elif c.kind == "(" and not is_query_at(c, c.i + 1):
        node.columns = c.identifier_list()
    node.query = query(c)
    return node


def _immediate_text(c: Cursor) -> q.Node:
    if "EXECUTE IMMEDIATE of expressions" not in c.lacks:
        return expression(c)
    return string_literal(c) if c.kind == "STRING_LITERAL" else column(c, multipart(c))


def _execute(c: Cursor) -> commands.ExecuteImmediate:
    c.advance()
    c.take("IMMEDIATE")
    node = commands.ExecuteImmediate(_immediate_text(c))
    if c.skip("INTO"):
        node.into = c.read_list(lambda c: column(c, multipart(c)))
    if c.skip("USING"):
        grouped = c.kind == "(" and c.kinds[find_closing(c, c.i) + 1] in ("EOF", ";")
        if grouped:
            c.advance()
        node.arguments = named_expressions(c)
        if grouped:
            c.take(")")
    return node


_DROPPED = {
    **{word: word for word in ("TABLE", "VIEW", "FUNCTION", "VARIABLE", "SCHEMA")},
    "VAR": "VARIABLE",
    **dict.fromkeys(("DATABASE", "NAMESPACE"), "SCHEMA"),
}

_READERS: dict[str, Callable[[Cursor], q.Node]] = {
    "SET": _set_statement,
    "USE": _use,
    "CREATE": creates.create,
    "REPLACE": creates.create,
    "DECLARE": creates.declare,
    "DROP": _drop_statement,
    "ALTER": _alter,
    "INSERT": _insert,
    "EXECUTE": _execute,
    "CACHE": _cache,
}

_COMMAND_WORDS = (
    "ADD ANALYZE CALL CLEAR CLOSE COMMENT COMMIT DELETE DESC DESCRIBE DFS EXPLAIN EXPORT FETCH GRANT IMPORT LIST "
    "LOAD LOCK MERGE MSCK OPEN REFRESH REPAIR REVOKE ROLLBACK SHOW START TRUNCATE UNCACHE UNLOCK UPDATE"
)
_COMMANDS = frozenset(_COMMAND_WORDS.split())
