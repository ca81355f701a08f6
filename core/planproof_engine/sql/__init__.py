"""Spark SQL, read faithfully: text to tree, spans, splicing.

    parse(text, conf) -> Node                       one query
    parse_statement(text, conf) -> Node             one statement of a setup script, or a query
    name_parts(node) -> tuple[str, ...]             the parts of a dotted name
    splice(text, [(start, stop, replacement)]) -> str

The grammar is Spark 4.3's own (SqlBaseParser.g4), written as a recursive descent; the tree has a node class for each
of its constructs (`planproof_engine.sql.nodes`), whose fields have names and types of their own. Nothing is renamed,
folded or evaluated. A text is never written back from a tree: a rewriting splices the spans (`Node.span`) of what it
replaces.

Conventions: a field is None, an empty sequence or False where the text has no such part. Names keep their case; each
part of a name is an `Identifier(text, quoted)`. Every node below has a span. An operator's span runs from its first
operand to its last, a parenthesis belongs to the Paren alone, and an alias is part of the Alias's span. The classes
list their fields. The tables below say which construct becomes which node, where that is not plain.

Expressions
-----------
====================================  =================================================================================
construct                             node
====================================  =================================================================================
1, 1L, 1S, 1Y, 1.5, 1e3, 1D, 1F, 1BD  Literal(text of the token, kind=K); K is INTEGER_VALUE, BIGINT_LITERAL,
                                      SMALLINT_LITERAL, TINYINT_LITERAL, DECIMAL_VALUE, EXPONENT_VALUE, DOUBLE_LITERAL,
                                      FLOAT_LITERAL or BIGDECIMAL_LITERAL. `-1` and `- 1` are one literal "-1" as in
                                      Spark; `-x` and `-(1)` are Neg
'a', "a", r'a', 'a' 'b'               Literal(unescaped value, is_string=True)
DATE '..', TIMESTAMP[_NTZ|_LTZ] '..', TypedLiteral(text, kind=DATE|TIME|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|X
TIME '..', X'1F', INTERVAL '1 day'    |INTERVAL); INTERVAL only where no unit follows the string
INTERVAL '1-2' YEAR TO MONTH,         IntervalLiteral of IntervalParts, each a Literal and a unit
INTERVAL 1 DAY -2 HOURS
a, a.b, a.b.c, current_date           Column. Whether a part is a relation or a struct field is for the binder; the same
                                      for a lambda's parameter. `current_date`, `user`, ... without parentheses are
                                      columns too: Spark takes them for calls only where no such column exists
expr.f (expr no name)                 Dot; so is `(a).b`, which is a name too: `name_parts` reads it
*, t.*, a.b.*, t.* EXCEPT (x, y.z)    Star
(a), (SELECT ..)                      Paren, Subquery
(a, b AS c)                           Tuple: members may be Alias
+ - * / % DIV || & | ^ << >> >>>      Binary, whose `operator` is the sign or the word in capitals; == is =
= == <=> <> != < <= > >=
AND OR                                Binary (a chain is a balanced tree, as Spark builds it)
-x, +x, ~x                            Unary
NOT x, !x                             Not
x [NOT] BETWEEN a AND b, x [NOT] IN   Between, In, Like (of all three), each a Predicate; with NOT:
(a, b), [NOT] LIKE, ILIKE, RLIKE      Not(the Predicate, inner=True), same span
x [NOT] LIKE ANY|SOME|ALL (a, b)      QuantifiedLike
x IS [NOT] NULL|TRUE|FALSE|UNKNOWN    Is, a Predicate
x IS [NOT] DISTINCT FROM y            Binary: `<!>`; with NOT `<=>`
CASE                                  Case of Whens
CAST(x AS t), TRY_CAST, x::t          Cast, TryCast, Cast(colons=True)
IDENTIFIER(expr)                      IdentifierClause, of a Literal with the quoted name where literals tell it; before
                                      `(` and as a relation what the name itself would give. IDENTIFIER('a') in place of
                                      a name is that Identifier
f(..), a.b.f(..)                      Call. IF(..), LEFT(..), count(*) (one Star) and all others are such calls
calls with a syntax of their own      SpecialCall with `form`:
  EXTRACT(f FROM x)                   extract, of an Identifier f and x
  TRIM([side] [s] FROM x)             trim, of x or x and s; `side` is BOTH, LEADING, TRAILING or None
  SUBSTRING(x FROM a [FOR b])         substring, of x, a and perhaps b
  POSITION(a IN b)                    position, of a and b
  OVERLAY(x PLACING y FROM a [FOR b]) overlay, of x, y, a and perhaps b
  DATEADD(DAY, n, x) and the like     timestampadd or timestampdiff, of the two values; `unit` is DAY (upper case),
                                      `written` the unit as in the text
  STRUCT(a AS x, b)                   struct, whose arguments may be Alias
  FIRST|LAST|ANY_VALUE(x IGNORE NULLS)ignore_nulls
OVER (..), OVER w                     Window, Window(reference=Identifier)
====================================  =================================================================================

Queries. ORDER BY, LIMIT, ... and WITH stand in the fields of the query's outermost node, whatever it is.

====================================  =================================================================================
SELECT, FROM t SELECT .., FROM t      Select; with from_first; with from_only, whose only item is a star
(query)                               Subquery
UNION EXCEPT MINUS INTERSECT          SetOperation, MINUS as "except"
VALUES (1, 2), (3, 4) AS t(a, b)      Values
TABLE t                               TableQuery
SELECT TRANSFORM(..) USING 's' AS ..  Transform
query |> operator                     a Pipe class for each operator (`planproof_engine.sql.nodes.queries`)
WINDOW w AS (..)                      NamedWindow
GROUP BY                              Group, whose keys may be GroupingAnalytics
====================================  =================================================================================

Relations: a tree leans left as Spark's plan does.

====================================  =================================================================================
a.b.t AS x(c1, c2), IDENTIFIER(expr)  Table; of an IDENTIFIER that literals do not tell it is Table((), computed)
(query) AS x                          Subquery
(relation) AS x                       Grouped
f(..) AS x                            TableFunction; arguments may be TableArgument or Kwarg of one
UNNEST(..) [WITH ORDINALITY]          Unnest
a, b / a JOIN b / FROM LATERAL x      Joined, the last without `left`
x LATERAL VIEW [OUTER] f(..) t AS a   LateralView
x PIVOT (..), x UNPIVOT (..)          Pivoted, Unpivoted
====================================  =================================================================================

Statements other than queries are the nodes of `planproof_engine.sql.commands`; what changes neither names nor schemas
is a `Command`, unchecked.

Unknown: STREAM, CHANGES, JSON_TABLE, WATERMARK, IDENTIFIED BY, BIN BY, ASOF and NEAREST joins, `t@v`, parameter markers
inside types and names, `${..}`.
"""

from planproof_engine.sql.edits import splice
from planproof_engine.sql.names import name_parts
from planproof_engine.sql.parse import parse, parse_statement

__all__ = ["name_parts", "parse", "parse_statement", "splice"]
