"""The grammar of CREATE, REPLACE and DECLARE."""

from __future__ import annotations

from planproof_engine.sql import commands
from planproof_engine.sql import nodes as q
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.datatypes import data_type
from planproof_engine.sql.expressions import expression
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.primary import column, find_closing, identifier_clause, is_query_at, multipart, primary
from planproof_engine.sql.queries import query, relation_name

_NAMESPACES = ("SCHEMA", "DATABASE", "NAMESPACE")
_CONSTRAINTS = frozenset(("CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN", "REFERENCES"))
_TABLE_CLAUSES = frozenset(
    ("OPTIONS", "SKEWED", "CLUSTER", "CLUSTERED", "ROW", "STORED", "LOCATION", "COMMENT", "DEFAULT", "TBLPROPERTIES")
)
_AFTER_CLAUSES = frozenset((*_TABLE_CLAUSES, "PARTITIONED", "AS", "EOF", ";", "USING", "SELECT", "WITH"))
_CHARACTERISTICS = frozenset(
    ("LANGUAGE", "SPECIFIC", "DETERMINISTIC", "NOT", "NO", "CONTAINS", "READS", "MODIFIES", "RETURNS", "CALLED", "SQL")
)


def parenthesized_text(c: Cursor) -> str:
    """Steps over a parenthesized group, and gives its text."""
    start = c.start
    if c.kind != "(":
        c.fail()
    c.go_back(find_closing(c, c.i))
    c.take(")")
    return c.text[start : c.stop]


def schema_binding(c: Cursor) -> str:
    """How a view follows its tables' schemas: what comes after WITH SCHEMA."""
    start = c.start
    if c.skip("TYPE"):
        c.take("EVOLUTION")
    elif c.kind in ("BINDING", "COMPENSATION", "EVOLUTION"):
        c.advance()
    else:
        c.fail()
    return c.text[start : c.stop].upper()


def create(c: Cursor) -> q.Node:
    """CREATE or REPLACE, from its first word on."""
    at = c.i
    replace = c.kind == "REPLACE"
    c.advance()
    replace = c.skip_all("OR", "REPLACE") or replace
    global_ = c.skip("GLOBAL")
    temporary = c.skip("TEMPORARY")
    external = c.skip("EXTERNAL")
    kind = c.kind
    if kind == "VIEW":
        return _create_view(c, replace, temporary, global_)
    if kind == "TABLE":
        return _create_table(c, replace, temporary, external)
    if kind == "FUNCTION":
        return _create_function(c, replace, temporary)
    if kind in _NAMESPACES:
        c.advance()
        exists = c.skip_all("IF", "NOT", "EXISTS")
        node = commands.CreateNamespace(relation_name(c), exists)
        c.skip_statement()
        return node
    if kind in ("MATERIALIZED", "STREAMING", "FLOW"):
        c.refuse_construct(f"CREATE {kind}")
    if kind not in ("ROLE", "INDEX", "MACRO"):
        c.fail()
    c.go_back(at)
    return command(c)


def _create_view(c: Cursor, replace: bool, temporary: bool, global_: bool) -> q.Node:
    c.advance()
    exists = c.skip_all("IF", "NOT", "EXISTS")
    name = relation_name(c)
    if temporary and _provider_follows(c):
        return _create_view_using(c, name, replace, global_)
    columns = c.enclosed(lambda c: c.read_list(_commented)) if c.kind == "(" else []
    binding = None
    while c.kind != "AS":
        if c.skip("COMMENT"):
            c.string()
        elif c.skip_all("WITH", "SCHEMA"):
            binding = schema_binding(c)
        elif c.skip_all("DEFAULT", "COLLATION"):
            c.refuse_construct("DEFAULT COLLATION")
        elif c.skip_all("PARTITIONED", "ON") or c.skip("TBLPROPERTIES"):
            parenthesized_text(c)
        elif (c.kind, c.peek()) in (("WITH", "METRICS"), ("LANGUAGE", "IDENTIFIER_TOKEN")):
            c.refuse_construct("a metric view")
        else:
            c.fail()
    c.advance()
    return commands.CreateView(name, query(c), columns, binding, replace, temporary, global_, exists)


def _provider_follows(c: Cursor) -> bool:
    """Whether USING comes next, perhaps after a list of columns."""
    at = find_closing(c, c.i) + 1 if c.kind == "(" else c.i
    return c.kinds[at] == "USING"


def _create_view_using(c: Cursor, name: q.Table, replace: bool, global_: bool) -> q.Node:
    columns = column_types(c) if c.kind == "(" else ()
    c.take("USING")
    start = c.start
    multipart(c)
    node = commands.CreateViewUsing(name, c.text[start : c.stop], columns, replace, global_)
    if c.skip("OPTIONS"):
        parenthesized_text(c)
    return node


def _commented(c: Cursor) -> q.Identifier:
    found = c.identifier()
    if c.skip("COMMENT"):
        c.string()
    return found


def column_types(c: Cursor) -> list[q.ColumnDef]:
    """`(a INT NOT NULL COMMENT 'x', ..)` with table constraints stepped over, as ColumnDefs."""
    return [found for found in c.enclosed(lambda c: c.read_list(_definition)) if found is not None]


def _definition(c: Cursor) -> q.ColumnDef | None:
    if not _constraint_follows(c):
        return column_definition(c)
    _step_over_option(c)
    return None


def _constraint_follows(c: Cursor) -> bool:
    following = c.peek()
    if c.kind in ("CHECK", "UNIQUE"):
        return following == "("
    if c.kind in ("PRIMARY", "FOREIGN"):
        return following == "KEY"
    return c.kind == "CONSTRAINT" and c.peek(2) in _CONSTRAINTS


def column_definition(c: Cursor) -> q.ColumnDef:
    """A column of CREATE TABLE: its name, its type, and what is said of it."""
    start = c.start
    name = c.captured_identifier()
    node = q.ColumnDef(name, data_type(c))
    while c.kind not in (",", ")", "EOF", ";"):
        if c.kind in ("NOT", "!") and c.peek() == "NULL":
            c.advance(2)
            node.not_null = True
        elif c.skip("DEFAULT"):
            node.default = expression(c)
        elif c.skip("COMMENT"):
            c.string()
        elif c.kind in _CONSTRAINTS or c.kind == "GENERATED":
            _step_over_option(c)
        else:
            c.fail()
    return c.place(node, start)


def _step_over_option(c: Cursor) -> None:
    """A constraint or a generated value: to the comma or parenthesis that ends the column."""
    while c.kind not in (",", ")", "EOF") and not (c.kind == "NOT" and c.peek() == "NULL"):
        if c.kind == "COMMENT":
            return
        if c.kind == "(":
            parenthesized_text(c)
        else:
            c.advance()


def _create_table(c: Cursor, replace: bool, temporary: bool, external: bool) -> q.Node:
    c.advance()
    exists = c.skip_all("IF", "NOT", "EXISTS")
    name = relation_name(c)
    if c.skip("LIKE"):
        like = commands.CreateTableLike(name, relation_name(c), exists)
        c.skip_statement()
        return like
    node = commands.CreateTable(name, replace=replace, temporary=temporary, external=external, exists=exists)
    if c.kind == "(" and not is_query_at(c, c.i):
        node.columns = column_types(c)
    clauses: dict[str, str] = {}
    while True:
        word, start = c.kind, c.start
        if word == "USING":
            c.advance()
            start = c.start
            multipart(c)
            node.provider = c.text[start : c.stop]
        elif word == "PARTITIONED" and c.peek() == "BY":
            node.partitioned_by = _partitioned_by(c)
        elif word in _TABLE_CLAUSES:
            _step_over_clause(c)
            clauses[word] = c.text[start : c.stop]
        else:
            break
    node.clauses = clauses
    if c.skip("AS") or is_query_at(c, c.i):
        node.query = query(c)
    return node


def _step_over_clause(c: Cursor) -> None:
    c.advance()
    while c.kind not in _AFTER_CLAUSES or (c.kind in ("AS", "WITH") and _is_within_clause(c)):
        if c.kind == "(":
            if is_query_at(c, c.i) and c.kinds[c.i - 1] not in ("BY", "OPTIONS", "TBLPROPERTIES"):
                return
            parenthesized_text(c)
        else:
            c.advance()


def _is_within_clause(c: Cursor) -> bool:
    """Whether AS or WITH belongs to `STORED AS x` or `WITH SERDEPROPERTIES`."""
    return c.kinds[c.i - 1] == "STORED" or (c.kind == "WITH" and c.peek() == "SERDEPROPERTIES")


def _partitioned_by(c: Cursor) -> list[q.Node]:
    c.advance(2)
    return c.enclosed(lambda c: c.read_list(_partition))


def _partition(c: Cursor) -> q.Node:
    typed = c.peek() in WORDS and c.peek() not in (".",)
    return column_definition(c) if typed else primary(c)


def _create_function(c: Cursor, replace: bool, temporary: bool) -> q.Node:
    c.advance()
    exists = c.skip_all("IF", "NOT", "EXISTS")
    node = commands.CreateFunction(relation_name(c), replace=replace, temporary=temporary, exists=exists)
    if c.skip("AS"):
        node.class_name = c.string()
        c.skip_statement()
        return node
    if c.kind != "(":
        c.fail()
    if c.peek() == ")":
        c.advance(2)
    else:
        node.parameters = column_types(c)
    if c.kind == "RETURNS" and c.peek() != "NULL":
        c.advance()
        _parse_returns(c, node)
    while c.kind in _CHARACTERISTICS or c.kind in ("COMMENT", "DEFAULT"):
        _parse_characteristic(c)
    c.take("RETURN")
    node.body = query(c) if is_query_at(c, c.i) else expression(c)
    return node


def _parse_returns(c: Cursor, node: commands.CreateFunction) -> None:
    if c.kind != "TABLE":
        node.returns = data_type(c)
        return
    c.advance()
    node.returns_table = column_types(c) if c.kind == "(" else ()


def _parse_characteristic(c: Cursor) -> None:
    if c.skip("COMMENT"):
        c.string()
    elif c.skip("LANGUAGE"):
        if c.kind != "SQL":
            c.refuse_construct(f"a function in {c.token()}")
        c.advance()
    elif c.skip("SPECIFIC"):
        c.captured_identifier()
    elif c.kind in ("RETURNS", "CALLED"):
        while c.kind not in ("INPUT", "EOF"):
            c.advance()
        c.take("INPUT")
    elif c.skip_all("DEFAULT", "COLLATION"):
        c.refuse_construct("DEFAULT COLLATION")
    else:
        at = c.i
        for words in _FIXED:
            c.skip_all(*words)
        if c.i == at:
            c.fail()


def declare(c: Cursor) -> q.Node:
    """DECLARE, from that word on."""
    c.advance()
    replace = c.skip_all("OR", "REPLACE")
    if c.kind in ("VAR", "VARIABLE") and c.peek() in WORDS:
        c.advance()
    names = c.read_list(_variable)
    node = commands.DeclareVariable(names, replace=replace)
    if c.kind == "CURSOR" or (c.kind in ("ASENSITIVE", "INSENSITIVE") and c.peek() == "CURSOR"):
        c.refuse_construct("a cursor")
    if c.kind in WORDS and c.kind != "DEFAULT":
        node.type = data_type(c)
    if c.skip("DEFAULT") or c.skip("="):
        node.default = expression(c)
    return node


def _variable(c: Cursor) -> q.Column | q.IdentifierClause:
    if c.kind == "IDENTIFIER" and c.peek() == "(":
        found = identifier_clause(c)
        return column(c, found) if isinstance(found, list) else found
    return column(c, multipart(c))


_FIXED = (
    ("NOT", "DETERMINISTIC"),
    ("DETERMINISTIC",),
    ("NO", "SQL"),
    ("CONTAINS", "SQL"),
    ("READS", "SQL", "DATA"),
    ("MODIFIES", "SQL", "DATA"),
    ("SQL", "SECURITY", "INVOKER"),
    ("SQL", "SECURITY", "DEFINER"),
)


def command(c: Cursor) -> commands.Command:
    """A statement whose text is stepped over."""
    start, first = c.start, c.i
    c.skip_statement()
    words = " ".join(c.kinds[first : min(first + 2, c.i)])
    return c.place(commands.Command(words, c.text[start : c.stop]), start)
