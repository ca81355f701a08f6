"""Spark SQL, read faithfully: text to tree, spans, splicing.

    parse(text, conf) -> Node                       one query
    parse_statement(text, conf) -> Node             one statement of a setup script, or a query
    name_parts(node) -> tuple[str, ...]             the parts of a dotted name
    splice(text, [(start, stop, replacement)]) -> str

The grammar is Spark 4.3's own (SqlBaseParser.g4), written as a recursive descent; the tree has a node class for each
of its constructs (`planproof.sql.nodes`). Nothing is renamed, folded or evaluated. A text is never written back from a
tree: a rewriting splices the spans (`Node.span`) of what it replaces.

Conventions: `args.get(key)` of an absent thing is None or missing (read with `.get`). Names keep their case.
`Identifier` has `this` and `quoted`. Every node below has a span; an operator's runs from its first operand to its
last, a parenthesis belongs to the Paren alone, an alias is part of the Alias's span.

Expressions
-----------
====================================  =================================================================================
construct                             node
====================================  =================================================================================
1, 1L, 1S, 1Y, 1.5, 1e3, 1D, 1F, 1BD  Literal(this=token text, is_string=False, kind=K); K is INTEGER_VALUE,
                                      BIGINT_LITERAL, SMALLINT_LITERAL, TINYINT_LITERAL, DECIMAL_VALUE, EXPONENT_VALUE,
                                      DOUBLE_LITERAL, FLOAT_LITERAL or BIGDECIMAL_LITERAL. `-1` and `- 1` are one
                                      literal "-1" as in Spark; `-x` and `-(1)` are Neg
'a', "a", r'a', 'a' 'b'               Literal(this=unescaped value, is_string=True)
DATE '..', TIMESTAMP[_NTZ|_LTZ] '..', TypedLiteral(this=value, kind=DATE|TIME|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|X
TIME '..', X'1F', INTERVAL '1 day'    |INTERVAL); INTERVAL only where no unit follows the string
INTERVAL '1-2' YEAR TO MONTH,         IntervalLiteral(expressions=[IntervalPart(this=Literal, unit=as written, upper
INTERVAL 1 DAY -2 HOURS               case, negative=bool)], to=unit or None)
NULL, TRUE, FALSE                     Null, Boolean(this=bool)
:name, ?                              Placeholder(this=name or None)
a, a.b, a.b.c, current_date           Column(this, table, db, catalog: Identifier); from the fifth part on
                                      Dot(this=Column of the first four parts, expression=Identifier). `name_parts`
                                      reads both. Whether a part is a relation or a struct field is for the binder.
                                      `current_date`, `user`, ... without parentheses are columns too: Spark takes them
                                      for calls only where no such column exists. A lambda's parameter is a column too
expr.f (expr no name)                 Dot(this=expr, expression=Identifier)
a[i]                                  Bracket(this, expressions=[index])
a:b.c[0]                              VariantPath(this, path="b.c[0]")
*, t.*, a.b.*, t.* EXCEPT (x, y.z)    Star(qualifier=[Identifier] or missing, except_=[Column] or missing)
(a), (SELECT ..)                      Paren(this), Subquery(this=query)
(a, b AS c)                           Tuple(expressions): members may be Alias
+ - * / % DIV ||                      Add Sub Mul Div Mod IntDiv DPipe (this, expression)
& | ^ ~ << >> >>>                     BitwiseAnd Or Xor Not LeftShift RightShift, UnsignedRightShift
-x, +x                                Neg, Pos
= == <=> <> != < <= > >=              EQ NullSafeEQ NEQ LT LTE GT GTE
AND OR, NOT x, !x                     And, Or (a chain is a balanced tree, as Spark builds it), Not(this)
x [NOT] BETWEEN a AND b               Between(this, low, high); with NOT: Not(this=Between, inner=True), same
                                      span
x [NOT] IN (a, b), IN (SELECT ..)     In(this, expressions=[..]) or In(this, query=Subquery); NOT as above
x [NOT] LIKE p [ESCAPE e], ILIKE      Like / ILike(this, expression, escape=Literal); NOT as above
x [NOT] RLIKE p, REGEXP               RegexpLike(this, expression); NOT as above
x [NOT] LIKE ANY|SOME|ALL (a, b)      QuantifiedLike(this, expressions, kind=LIKE|ILIKE, quantifier=ANY|ALL, negated)
x IS [NOT] NULL|TRUE|FALSE|UNKNOWN    Is(this, expression=Null|Boolean|Var("UNKNOWN"), negate=bool)
x IS [NOT] DISTINCT FROM y            NullSafeNEQ; with NOT NullSafeEQ
EXISTS (SELECT ..)                    Exists(this=query)
CASE                                  Case(this=operand or None, ifs=[If(this=condition, true=result)],
                                      default)
CAST(x AS t), TRY_CAST, x::t          Cast / TryCast(this, to=TypeName(this=text, data_type=planproof DataType));
                                      colons=True for `::`
x COLLATE c                           Collate(this, expression=Column naming the collation)
x -> e, (x, y) -> e                   Lambda(this=body, expressions=[Identifier])
IDENTIFIER(expr)                      IdentifierClause(this=expr), a Literal with the quoted name where literals tell
                                      it; before `(` and as a relation what the name itself would give. IDENTIFIER('a')
                                      in place of a name is that Identifier
f(..), a.b.f(..)                      Call(this=name as written, dots joined, expressions=args). Only where
                                      said: parts (tuple of names, for a dotted or quoted name), distinct (True|False
                                      for ALL), filter (condition), nulls (IGNORE|RESPECT), within_group
                                      ([Ordered]), over (Window). `this` is an IdentifierClause for
                                      `IDENTIFIER(expr)(..)`. IF(..), LEFT(..), count(*) (one Star) and all others
                                      are such calls
name => value (in a call)             Kwarg(this=Identifier, expression=value)
calls with a syntax of their own      Call as above with `form`:
  EXTRACT(f FROM x)                   form=extract, expressions=[Identifier f, x]
  TRIM([side] [s] FROM x)             form=trim, expressions=[x] or [x, s], side=BOTH|LEADING|TRAILING|None
  SUBSTRING(x FROM a [FOR b])         form=substring, expressions=[x, a] or [x, a, b]
  POSITION(a IN b)                    form=position, expressions=[a, b]
  OVERLAY(x PLACING y FROM a [FOR b]) form=overlay, expressions=[x, y, a] or [x, y, a, b]
  DATEADD(DAY, n, x) and the like     form=timestampadd|timestampdiff, unit=DAY (upper case), written=the unit as in
                                      the text, expressions=the two values; `this` keeps the name as written
  STRUCT(a AS x, b)                   form=struct, expressions may be Alias
  FIRST|LAST|ANY_VALUE(x IGNORE NULLS)form=ignore_nulls, nulls=IGNORE
OVER (..), WINDOW w AS (..)           Window(partition_by, order=[Ordered],
                                      spec=WindowSpec(kind=ROWS|RANGE, start, start_side, end, end_side),
                                      cluster=True for CLUSTER BY); a reference is Window(alias=Identifier); a
                                      definition in WINDOW has `this`=Identifier. Bounds: "UNBOUNDED", "CURRENT ROW" or
                                      an expression; sides PRECEDING|FOLLOWING|None
ORDER BY items                        Ordered(this, desc=bool, nulls_first=True|False|None where not said)
item AS a, item a, item AS (a, b)     Alias(this, alias=Identifier), Aliases(this, expressions=[Identifier])
====================================  =================================================================================

Queries. ORDER BY, LIMIT, ... and WITH stand in the arguments of the query's outermost node, whatever it is:
`with_` With(expressions=[CTE(this=query, alias=TableAlias(this, columns), max_recursion)], recursive),
`order` Order(expressions=[Ordered]), `sort` Sort, `cluster` Cluster, `distribute` Distribute,
`windows` [Window], `limit` Limit(expression; Var("ALL")), `offset` Offset(expression).

====================================  =================================================================================
SELECT                                Select(expressions, distinct (True, False for ALL, missing), hint, from_,
                                      where, group, having, windows, qualify). from_first=True: `FROM t SELECT ..`;
                                      from_only=True: a bare `FROM t`, whose only expression is a star
(query)                               Subquery(this)
UNION EXCEPT MINUS INTERSECT          Union / Except / Intersect(this, expression, distinct=bool: True unless ALL)
VALUES (1, 2), (3, 4) AS t(a, b)      Values(expressions=[Tuple, Paren or any expression], alias=TableAlias)
TABLE t                               TableQuery(this=Table)
SELECT TRANSFORM(..) USING 's' AS ..  Transform(expressions, script, columns=[ColumnDef(this, kind=TypeName or
                                      None)] or missing, row_format=bool; from_, where, group, having, windows as in
                                      Select)
query |> operator                     Pipe(this=query before, kind, ..): SELECT expressions, hint, distinct, group,
                                      windows; EXTEND expressions; SET expressions=[EQ(Column, value)]; DROP
                                      expressions=[Column]; AS expression=Identifier; WHERE expression=Where,
                                      windows; AGGREGATE expressions, group (whose expressions may be Alias);
                                      UNION|EXCEPT|INTERSECT expression=query, distinct; JOIN expression=Joined, PIVOT
                                      expression=Pivoted, UNPIVOT expression=Unpivoted (each with `this` None);
                                      TABLESAMPLE expression=TableSample; ORGANIZE order, sort, cluster,
                                      distribute, windows, limit, offset
GROUP BY                              Group(expressions, all=True for GROUP BY ALL (its expression stands there
                                      too), with_kind=ROLLUP|CUBE|GROUPING SETS, sets=[..] for the last). ROLLUP(..),
                                      CUBE(..), GROUPING SETS(..) are Rollup, Cube, GroupingSets(expressions); each
                                      member is one set: an expression, Paren, or Tuple (of none: the grand
                                      total)
====================================  =================================================================================

Relations: `from_` is From(this=tree); a tree leans left as Spark's plan does.

====================================  =================================================================================
a.b.t AS x(c1, c2)                    Table(this, db, catalog, alias=TableAlias(this=Identifier,
                                      columns=[Identifier]), sample=TableSample,
                                      version=Version(this=VERSION|TIMESTAMP, kind="AS OF", expression),
                                      options=text); beyond three parts `this` is a chain of Dot; `this` is an
                                      IdentifierClause for `IDENTIFIER(expr)`. Read names by `name_parts`
(query) AS x                          Subquery(this=query, alias, sample)
(relation) AS x                       Grouped(this=tree, alias, sample)
f(..) AS x                            TableFunction(this=Call, alias); arguments may be
                                      TableArgument(this=Table or query, partition_by, order, single) or Kwarg of
                                      one
UNNEST(..) [WITH ORDINALITY]          Unnest(expressions, offset=bool, alias)
a, b / a JOIN b                       Joined(this=left, expression=right, kind, on, using, natural, lateral, comma);
                                      kind is INNER CROSS LEFT RIGHT FULL "LEFT SEMI" "LEFT ANTI". `FROM LATERAL x`:
                                      this=None
x LATERAL VIEW [OUTER] f(..) t AS a   LateralView(this=x or None, call=Call, outer, alias=TableAlias)
x PIVOT (..)                          Pivoted(this=x, aggregates, columns=[Identifier], values, alias=Identifier)
x UNPIVOT (..)                        Unpivoted(this=x, values=[Identifier], name,
                                      columns=[UnpivotSet(expressions=[Column], alias)], multi, include_nulls,
                                      alias=Identifier)
====================================  =================================================================================

Statements other than queries are the nodes of `planproof.sql.commands`, whose docstrings list their arguments; what
changes neither names nor schemas is a `Command`, unchecked. `ColumnDef` has `this`, `kind` (TypeName), `not_null`
(bool), and perhaps `default`.

Unknown: STREAM, CHANGES, JSON_TABLE, WATERMARK, IDENTIFIED BY, BIN BY, ASOF and NEAREST joins, `t@v`, parameter markers
inside types and names, `${..}`.
"""

from planproof.sql.names import name_parts
from planproof.sql.parse import parse, parse_statement
from planproof.sql.splice import splice

__all__ = ["name_parts", "parse", "parse_statement", "splice"]
