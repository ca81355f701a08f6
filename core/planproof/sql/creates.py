"""The grammar of CREATE, REPLACE and DECLARE."""

from __future__ import annotations

from planproof.sql import nodes as q
from planproof.sql.commands import (
    Command,
    CreateFunction,
    CreateNamespace,
    CreateTable,
    CreateTableLike,
    CreateView,
    CreateViewUsing,
    DeclareVariable,
)
from planproof.sql.keywords import WORDS
from planproof.sql.queries import QueryGrammar

_NAMESPACES = ("SCHEMA", "DATABASE", "NAMESPACE")
_CONSTRAINTS = frozenset(("CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN", "REFERENCES"))
_TABLE_CLAUSES = frozenset(
    ("OPTIONS", "SKEWED", "CLUSTER", "CLUSTERED", "ROW", "STORED", "LOCATION", "COMMENT", "DEFAULT", "TBLPROPERTIES")
)
_AFTER_CLAUSES = frozenset((*_TABLE_CLAUSES, "PARTITIONED", "AS", "EOF", ";", "USING", "SELECT", "WITH"))
_CHARACTERISTICS = frozenset(
    ("LANGUAGE", "SPECIFIC", "DETERMINISTIC", "NOT", "NO", "CONTAINS", "READS", "MODIFIES", "RETURNS", "CALLED", "SQL")
)


class CreateGrammar(QueryGrammar):
    """The rules of the statements that make a relation, function, namespace or variable."""

    def _command(self) -> Command:
        raise NotImplementedError

    def parenthesized_text(self) -> str:
        """Steps over a parenthesized group, and gives its text."""
        start = self.start
        if self.kind != "(":
            self.fail()
        self.back(self._closing(self.i))
        self.take(")")
        return self.text[start : self.stop]

    def schema_binding(self) -> str:
        start = self.start
        if self.skip("TYPE"):
            self.take("EVOLUTION")
        elif self.kind in ("BINDING", "COMPENSATION", "EVOLUTION"):
            self.advance()
        else:
            self.fail()
        return self.text[start : self.stop].upper()

    def create(self) -> q.Node:
        """CREATE or REPLACE, from its first word on."""
        at = self.i
        replace = self.kind == "REPLACE"
        self.advance()
        replace = self.skip_all("OR", "REPLACE") or replace
        global_ = self.skip("GLOBAL")
        temporary = self.skip("TEMPORARY")
        external = self.skip("EXTERNAL")
        kind = self.kind
        if kind == "VIEW":
            return self._create_view(replace, temporary, global_)
        if kind == "TABLE":
            return self._create_table(replace, temporary, external)
        if kind == "FUNCTION":
            return self._create_function(replace, temporary)
        if kind in _NAMESPACES:
            self.advance()
            exists = self.skip_all("IF", "NOT", "EXISTS")
            node = CreateNamespace(self.relation_name(), exists)
            while self.kind not in ("EOF", ";"):
                self.advance()
            return node
        if kind in ("MATERIALIZED", "STREAMING", "FLOW"):
            self.unknown(f"CREATE {kind}")
        if kind not in ("ROLE", "INDEX", "MACRO"):
            self.fail()
        self.back(at)
        return self._command()

    def _create_view(self, replace: bool, temporary: bool, global_: bool) -> q.Node:
        self.advance()
        exists = self.skip_all("IF", "NOT", "EXISTS")
        name = self.relation_name()
        if temporary and self._provider_follows():
            return self._create_view_using(name, replace, global_)
        columns, binding = self._comment_list(), None
        while self.kind != "AS":
            if self.skip("COMMENT"):
                self.string()
            elif self.skip_all("WITH", "SCHEMA"):
                binding = self.schema_binding()
            elif self.skip_all("DEFAULT", "COLLATION"):
                self.unknown("DEFAULT COLLATION")
            elif self.skip_all("PARTITIONED", "ON") or self.skip("TBLPROPERTIES"):
                self.parenthesized_text()
            elif (self.kind, self.peek()) in (("WITH", "METRICS"), ("LANGUAGE", "IDENTIFIER_TOKEN")):
                self.unknown("a metric view")
            else:
                self.fail()
        self.advance()
        return CreateView(name, self.query(), columns, binding, replace, temporary, global_, exists)

    def _provider_follows(self) -> bool:
        """Whether USING comes next, perhaps after a list of columns."""
        at = self._closing(self.i) + 1 if self.kind == "(" else self.i
        return self.kinds[at] == "USING"

    def _create_view_using(self, name: q.Table, replace: bool, global_: bool) -> q.Node:
        columns = self.column_types() if self.kind == "(" else ()
        self.take("USING")
        start = self.start
        self.multipart()
        node = CreateViewUsing(name, self.text[start : self.stop], columns, replace, global_)
        if self.skip("OPTIONS"):
            self.parenthesized_text()
        return node

    def _comment_list(self) -> list[q.Identifier]:
        found: list[q.Identifier] = []
        if not self.skip("("):
            return found
        while True:
            found.append(self.identifier())
            if self.skip("COMMENT"):
                self.string()
            if not self.skip(","):
                break
        self.take(")")
        return found

    def column_types(self) -> list[q.ColumnDef]:
        """`(a INT NOT NULL COMMENT 'x', ..)` with table constraints stepped over, as ColumnDefs."""
        self.take("(")
        found: list[q.ColumnDef] = []
        while True:
            if self._constraint_follows():
                self._step_over_option()
            else:
                found.append(self.column_definition())
            if not self.skip(","):
                break
        self.take(")")
        return found

    def _constraint_follows(self) -> bool:
        following = self.peek()
        if self.kind in ("CHECK", "UNIQUE"):
            return following == "("
        if self.kind in ("PRIMARY", "FOREIGN"):
            return following == "KEY"
        return self.kind == "CONSTRAINT" and self.peek(2) in _CONSTRAINTS

    def column_definition(self) -> q.ColumnDef:
        start = self.start
        name = self.captured_identifier()
        node = q.ColumnDef(name, self.data_type())
        while self.kind not in (",", ")", "EOF"):
            if self.kind in ("NOT", "!") and self.peek() == "NULL":
                self.advance()
                self.advance()
                node.not_null = True
            elif self.skip("DEFAULT"):
                node.default = self.expression()
            elif self.skip("COMMENT"):
                self.string()
            elif self.kind in _CONSTRAINTS or self.kind == "GENERATED":
                self._step_over_option()
            else:
                self.fail()
        return self.placed(node, start)

    def _step_over_option(self) -> None:
        """A constraint or a generated value: to the comma or parenthesis that ends the column."""
        while self.kind not in (",", ")", "EOF") and not (self.kind == "NOT" and self.peek() == "NULL"):
            if self.kind == "COMMENT":
                return
            if self.kind == "(":
                self.parenthesized_text()
            else:
                self.advance()

    def _create_table(self, replace: bool, temporary: bool, external: bool) -> q.Node:
        self.advance()
        exists = self.skip_all("IF", "NOT", "EXISTS")
        name = self.relation_name()
        if self.kind == "LIKE":
            self.advance()
            like = CreateTableLike(name, self.relation_name(), exists)
            while self.kind not in ("EOF", ";"):
                self.advance()
            return like
        node = CreateTable(name, replace=replace, temporary=temporary, external=external, exists=exists)
        if self.kind == "(" and not self.query_at(self.i):
            node.columns = self.column_types()
        clauses: dict[str, str] = {}
        while True:
            word, start = self.kind, self.start
            if word == "USING":
                self.advance()
                start = self.start
                self.multipart()
                node.provider = self.text[start : self.stop]
            elif word == "PARTITIONED" and self.peek() == "BY":
                node.partitioned_by = self._partitioned_by()
            elif word in _TABLE_CLAUSES:
                self._step_over_clause()
                clauses[word] = self.text[start : self.stop]
            else:
                break
        node.clauses = clauses
        if self.skip("AS") or self.query_at(self.i):
            node.query = self.query()
        return node

    def _step_over_clause(self) -> None:
        self.advance()
        while self.kind not in _AFTER_CLAUSES or (self.kind in ("AS", "WITH") and self._within_clause()):
            if self.kind == "(":
                if self.query_at(self.i) and self.kinds[self.i - 1] not in ("BY", "OPTIONS", "TBLPROPERTIES"):
                    return
                self.parenthesized_text()
            else:
                self.advance()

    def _within_clause(self) -> bool:
        """Whether AS or WITH belongs to `STORED AS x` or `WITH SERDEPROPERTIES`."""
        return self.kinds[self.i - 1] == "STORED" or (self.kind == "WITH" and self.peek() == "SERDEPROPERTIES")

    def _partitioned_by(self) -> list[q.Node]:
        self.advance()
        self.advance()
        self.take("(")
        found: list[q.Node] = []
        while True:
            typed = self.peek() in WORDS and self.peek() not in (".",)
            found.append(self.column_definition() if typed else self.primary())
            if not self.skip(","):
                break
        self.take(")")
        return found

    def _create_function(self, replace: bool, temporary: bool) -> q.Node:
        self.advance()
        exists = self.skip_all("IF", "NOT", "EXISTS")
        node = CreateFunction(self.relation_name(), replace=replace, temporary=temporary, exists=exists)
        if self.skip("AS"):
            node.class_name = self.string()
            while self.kind not in ("EOF", ";"):
                self.advance()
            return node
        if self.kind != "(":
            self.fail()
        if self.peek() == ")":
            self.advance()
            self.advance()
        else:
            node.parameters = self.column_types()
        if self.kind == "RETURNS" and self.peek() != "NULL":
            self.advance()
            self._returns(node)
        while self.kind in _CHARACTERISTICS or self.kind in ("COMMENT", "DEFAULT"):
            self._characteristic()
        self.take("RETURN")
        node.body = self.query() if self.query_at(self.i) else self.expression()
        return node

    def _returns(self, node: CreateFunction) -> None:
        if self.kind != "TABLE":
            node.returns = self.data_type()
            return
        self.advance()
        node.returns_table = self.column_types() if self.kind == "(" else ()

    def _characteristic(self) -> None:
        if self.skip("COMMENT"):
            self.string()
        elif self.kind == "LANGUAGE":
            self.advance()
            if self.kind != "SQL":
                self.unknown(f"a function in {self.token()}")
            self.advance()
        elif self.skip("SPECIFIC"):
            self.captured_identifier()
        elif self.kind in ("RETURNS", "CALLED"):
            while self.kind not in ("INPUT", "EOF"):
                self.advance()
            self.take("INPUT")
        elif self.skip_all("DEFAULT", "COLLATION"):
            self.unknown("DEFAULT COLLATION")
        else:
            at = self.i
            for words in _FIXED:
                self.skip_all(*words)
            if self.i == at:
                self.fail()

    def declare(self) -> q.Node:
        """DECLARE, from that word on."""
        self.advance()
        replace = self.skip_all("OR", "REPLACE")
        if self.kind in ("VAR", "VARIABLE") and self.peek() in WORDS:
            self.advance()
        names = [self._variable()]
        while self.skip(","):
            names.append(self._variable())
        node = DeclareVariable(names, replace=replace)
        if self.kind == "CURSOR" or (self.kind in ("ASENSITIVE", "INSENSITIVE") and self.peek() == "CURSOR"):
            self.unknown("a cursor")
        if self.kind in WORDS and self.kind != "DEFAULT":
            node.type = self.data_type()
        if self.skip("DEFAULT") or self.skip("="):
            node.default = self.expression()
        return node

    def _variable(self) -> q.Column | q.IdentifierClause:
        if self.kind == "IDENTIFIER" and self.peek() == "(":
            found = self.identifier_clause()
            return self.column(found) if isinstance(found, list) else found
        return self.column(self.multipart())


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
