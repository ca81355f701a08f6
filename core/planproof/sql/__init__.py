"""Spark SQL, read faithfully: text to tree, spans, splicing.

    parse(text, conf) -> sqlglot.exp.Expr             one query
    parse_statement(text, conf) -> sqlglot.exp.Expr   one statement of a setup script, or a query
    span(node) -> (start, stop)                       where a node stands in the text
    name_parts(node) -> tuple[str, ...]               the parts of a dotted name
    splice(text, [(start, stop, replacement)]) -> str

The grammar is Spark 4.3's own (SqlBaseParser.g4), written as a recursive descent: sqlglot's dialect folds functions,
types and literals into others, which cannot be undone. The tree is made of sqlglot's node classes, and of those in
`planproof.sql.nodes` where sqlglot has none. Nothing is renamed, folded or evaluated. A text is never written back from
a tree: a rewriting splices spans (`splice`), so sqlglot's generator has no part in it.

Conventions: `args.get(key)` of an absent thing is None or missing (read with `.get`). Names keep their case.
`exp.Identifier` has `this` and `quoted`. Every node below has a span; an operator's runs from its first operand to its
last, a parenthesis belongs to the exp.Paren alone, an alias is part of the exp.Alias's span.

Expressions
-----------
====================================  =================================================================================
construct                             node
====================================  =================================================================================
1, 1L, 1S, 1Y, 1.5, 1e3, 1D, 1F, 1BD  exp.Literal(this=token text, is_string=False, kind=K); K is INTEGER_VALUE,
                                      BIGINT_LITERAL, SMALLINT_LITERAL, TINYINT_LITERAL, DECIMAL_VALUE, EXPONENT_VALUE,
                                      DOUBLE_LITERAL, FLOAT_LITERAL or BIGDECIMAL_LITERAL. `-1` and `- 1` are one
                                      literal "-1" as in Spark; `-x` and `-(1)` are exp.Neg
'a', "a", r'a', 'a' 'b'               exp.Literal(this=unescaped value, is_string=True), meta["tokens"] the raw tokens
DATE '..', TIMESTAMP[_NTZ|_LTZ] '..', TypedLiteral(this=value, kind=DATE|TIME|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|X
TIME '..', X'1F', INTERVAL '1 day'    |INTERVAL); INTERVAL only where no unit follows the string
INTERVAL '1-2' YEAR TO MONTH,         IntervalLiteral(expressions=[IntervalPart(this=Literal, unit=as written, upper
INTERVAL 1 DAY -2 HOURS               case, negative=bool)], to=unit or None)
NULL, TRUE, FALSE                     exp.Null, exp.Boolean(this=bool)
:name, ?                              exp.Placeholder(this=name or None)
a, a.b, a.b.c, current_date           exp.Column(this, table, db, catalog: exp.Identifier); from the fifth part on
                                      exp.Dot(this=Column of the first four parts, expression=Identifier). `name_parts`
                                      reads both. Whether a part is a relation or a struct field is for the binder.
                                      `current_date`, `user`, ... without parentheses are columns too: Spark takes them
                                      for calls only where no such column exists. A lambda's parameter is a column too
expr.f (expr no name)                 exp.Dot(this=expr, expression=Identifier)
a[i]                                  exp.Bracket(this, expressions=[index])
a:b.c[0]                              VariantPath(this, path="b.c[0]")
*, t.*, a.b.*, t.* EXCEPT (x, y.z)    exp.Star(qualifier=[Identifier] or missing, except_=[exp.Column] or missing)
(a), (SELECT ..)                      exp.Paren(this), exp.Subquery(this=query)
(a, b AS c)                           exp.Tuple(expressions): members may be exp.Alias
+ - * / % DIV ||                      exp.Add Sub Mul Div Mod IntDiv DPipe (this, expression)
& | ^ ~ << >> >>>                     exp.BitwiseAnd Or Xor Not LeftShift RightShift, UnsignedRightShift
-x, +x                                exp.Neg, Pos
= == <=> <> != < <= > >=              exp.EQ NullSafeEQ NEQ LT LTE GT GTE
AND OR, NOT x, !x                     exp.And, exp.Or (a chain is a balanced tree, as Spark builds it), exp.Not(this)
x [NOT] BETWEEN a AND b               exp.Between(this, low, high); with NOT: exp.Not(this=Between, inner=True), same
                                      span
x [NOT] IN (a, b), IN (SELECT ..)     exp.In(this, expressions=[..]) or exp.In(this, query=exp.Subquery); NOT as above
x [NOT] LIKE p [ESCAPE e], ILIKE      exp.Like / ILike(this, expression, escape=Literal); NOT as above
x [NOT] RLIKE p, REGEXP               exp.RegexpLike(this, expression); NOT as above
x [NOT] LIKE ANY|SOME|ALL (a, b)      QuantifiedLike(this, expressions, kind=LIKE|ILIKE, quantifier=ANY|ALL, negated)
x IS [NOT] NULL|TRUE|FALSE|UNKNOWN    exp.Is(this, expression=Null|Boolean|Var("UNKNOWN"), negate=bool)
x IS [NOT] DISTINCT FROM y            exp.NullSafeNEQ; with NOT exp.NullSafeEQ
EXISTS (SELECT ..)                    exp.Exists(this=query)
CASE                                  exp.Case(this=operand or None, ifs=[exp.If(this=condition, true=result)],
                                      default)
CAST(x AS t), TRY_CAST, x::t          exp.Cast / TryCast(this, to=TypeName(this=text, data_type=planproof DataType));
                                      colons=True for `::`
x COLLATE c                           exp.Collate(this, expression=exp.Column naming the collation)
x -> e, (x, y) -> e                   exp.Lambda(this=body, expressions=[Identifier])
IDENTIFIER(expr)                      IdentifierClause(this=expr), a Literal with the quoted name where literals tell
                                      it; before `(` and as a relation what the name itself would give. IDENTIFIER('a')
                                      in place of a name is that exp.Identifier
f(..), a.b.f(..)                      exp.Anonymous(this=name as written, dots joined, expressions=args). Only where
                                      said: parts (tuple of names, for a dotted or quoted name), distinct (True|False
                                      for ALL), filter (condition), nulls (IGNORE|RESPECT), within_group
                                      ([exp.Ordered]), over (exp.Window). `this` is an IdentifierClause for
                                      `IDENTIFIER(expr)(..)`. IF(..), LEFT(..), count(*) (one exp.Star) and all others
                                      are such calls
name => value (in a call)             exp.Kwarg(this=Identifier, expression=value)
calls with a syntax of their own      exp.Anonymous as above with `form`:
  EXTRACT(f FROM x)                   form=extract, expressions=[Identifier f, x]
  TRIM([side] [s] FROM x)             form=trim, expressions=[x] or [x, s], side=BOTH|LEADING|TRAILING|None
  SUBSTRING(x FROM a [FOR b])         form=substring, expressions=[x, a] or [x, a, b]
  POSITION(a IN b)                    form=position, expressions=[a, b]
  OVERLAY(x PLACING y FROM a [FOR b]) form=overlay, expressions=[x, y, a] or [x, y, a, b]
  DATEADD(DAY, n, x) and the like     form=timestampadd|timestampdiff, unit=DAY (upper case), written=the unit as in
                                      the text, expressions=the two values; `this` keeps the name as written
  STRUCT(a AS x, b)                   form=struct, expressions may be exp.Alias
  FIRST|LAST|ANY_VALUE(x IGNORE NULLS)form=ignore_nulls, nulls=IGNORE
OVER (..), WINDOW w AS (..)           exp.Window(partition_by, order=[exp.Ordered],
                                      spec=exp.WindowSpec(kind=ROWS|RANGE, start, start_side, end, end_side),
                                      cluster=True for CLUSTER BY); a reference is exp.Window(alias=Identifier); a
                                      definition in WINDOW has `this`=Identifier. Bounds: "UNBOUNDED", "CURRENT ROW" or
                                      an expression; sides PRECEDING|FOLLOWING|None
ORDER BY items                        exp.Ordered(this, desc=bool, nulls_first=True|False|None where not said)
item AS a, item a, item AS (a, b)     exp.Alias(this, alias=Identifier), exp.Aliases(this, expressions=[Identifier])
====================================  =================================================================================

Queries. ORDER BY, LIMIT, ... and WITH stand in the arguments of the query's outermost node, whatever it is:
`with_` exp.With(expressions=[exp.CTE(this=query, alias=exp.TableAlias(this, columns), max_recursion)], recursive),
`order` exp.Order(expressions=[Ordered]), `sort` exp.Sort, `cluster` exp.Cluster, `distribute` exp.Distribute,
`windows` [exp.Window], `limit` exp.Limit(expression; exp.Var("ALL")), `offset` exp.Offset(expression).

====================================  =================================================================================
SELECT                                exp.Select(expressions, distinct (True, False for ALL, missing), hint, from_,
                                      where, group, having, windows, qualify). from_first=True: `FROM t SELECT ..`;
                                      from_only=True: a bare `FROM t`, whose only expression is a star
(query)                               exp.Subquery(this)
UNION EXCEPT MINUS INTERSECT          exp.Union / Except / Intersect(this, expression, distinct=bool: True unless ALL)
VALUES (1, 2), (3, 4) AS t(a, b)      exp.Values(expressions=[Tuple, Paren or any expression], alias=exp.TableAlias)
TABLE t                               TableQuery(this=exp.Table)
SELECT TRANSFORM(..) USING 's' AS ..  Transform(expressions, script, columns=[exp.ColumnDef(this, kind=TypeName or
                                      None)] or missing, row_format=bool; from_, where, group, having, windows as in
                                      Select)
query |> operator                     Pipe(this=query before, kind, ..): SELECT expressions, hint, distinct, group,
                                      windows; EXTEND expressions; SET expressions=[exp.EQ(Column, value)]; DROP
                                      expressions=[Column]; AS expression=Identifier; WHERE expression=exp.Where,
                                      windows; AGGREGATE expressions, group (whose expressions may be exp.Alias);
                                      UNION|EXCEPT|INTERSECT expression=query, distinct; JOIN expression=Joined, PIVOT
                                      expression=Pivoted, UNPIVOT expression=Unpivoted (each with `this` None);
                                      TABLESAMPLE expression=exp.TableSample; ORGANIZE order, sort, cluster,
                                      distribute, windows, limit, offset
GROUP BY                              exp.Group(expressions, all=True for GROUP BY ALL (its expression stands there
                                      too), with_kind=ROLLUP|CUBE|GROUPING SETS, sets=[..] for the last). ROLLUP(..),
                                      CUBE(..), GROUPING SETS(..) are exp.Rollup, Cube, GroupingSets(expressions); each
                                      member is one set: an expression, exp.Paren, or exp.Tuple (of none: the grand
                                      total)
====================================  =================================================================================

Relations: `from_` is exp.From(this=tree); a tree leans left as Spark's plan does.

====================================  =================================================================================
a.b.t AS x(c1, c2)                    exp.Table(this, db, catalog, alias=exp.TableAlias(this=Identifier,
                                      columns=[Identifier]), sample=exp.TableSample,
                                      version=exp.Version(this=VERSION|TIMESTAMP, kind="AS OF", expression),
                                      options=text); beyond three parts `this` is a chain of exp.Dot; `this` is an
                                      IdentifierClause for `IDENTIFIER(expr)`. Read names by `name_parts`
(query) AS x                          exp.Subquery(this=query, alias, sample)
(relation) AS x                       Grouped(this=tree, alias, sample)
f(..) AS x                            TableFunction(this=exp.Anonymous, alias); arguments may be
                                      TableArgument(this=Table or query, partition_by, order, single) or exp.Kwarg of
                                      one
UNNEST(..) [WITH ORDINALITY]          exp.Unnest(expressions, offset=bool, alias)
a, b / a JOIN b                       Joined(this=left, expression=right, kind, on, using, natural, lateral, comma);
                                      kind is INNER CROSS LEFT RIGHT FULL "LEFT SEMI" "LEFT ANTI". `FROM LATERAL x`:
                                      this=None
x LATERAL VIEW [OUTER] f(..) t AS a   LateralView(this=x or None, call=exp.Anonymous, outer, alias=exp.TableAlias)
x PIVOT (..)                          Pivoted(this=x, aggregates, columns=[Identifier], values, alias=Identifier)
x UNPIVOT (..)                        Unpivoted(this=x, values=[Identifier], name,
                                      columns=[UnpivotSet(expressions=[Column], alias)], multi, include_nulls,
                                      alias=Identifier)
====================================  =================================================================================

Statements other than queries are the nodes of `planproof.sql.commands`, whose docstrings list their arguments; what
changes neither names nor schemas is a `Command`, unchecked. `exp.ColumnDef` has `this`, `kind` (TypeName), `not_null`
(bool), and perhaps `default`.

Unknown: STREAM, CHANGES, JSON_TABLE, WATERMARK, IDENTIFIED BY, BIN BY, ASOF and NEAREST joins, `t@v`, parameter markers
inside types and names, `${..}`.
"""

from planproof.sql.nodes import name_parts, span
from planproof.sql.parse import parse, parse_statement
from planproof.sql.splice import splice

__all__ = ["name_parts", "parse", "parse_statement", "span", "splice"]
