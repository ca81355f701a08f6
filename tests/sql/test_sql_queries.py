"""Queries: relations, clauses, set operations, pipes."""

from __future__ import annotations

import pytest

from planproof.conf import Conf
from planproof.origin import AnalysisError, Unknown
from planproof.sql import name_parts, parse
from planproof.sql import nodes as q


def shape(node: q.Node) -> str:
    """A tree of relations, in short."""
    alias = f" {node.args['alias'].name}" if node.args.get("alias") else ""
    if isinstance(node, q.Joined):
        flags = "".join(f" {flag}" for flag in ("natural", "lateral", "comma") if node.args.get(flag))
        on = " on" if node.args.get("on") is not None else ""
        using = " using " + ",".join(i.name for i in node.args["using"]) if node.args.get("using") else ""
        left = shape(node.this) if node.this is not None else "-"
        return f"({left} {node.args['kind']}{flags} {shape(node.expression)}{on}{using})"
    if isinstance(node, q.Table):
        return ".".join(name_parts(node)) + alias
    if isinstance(node, q.Grouped):
        return f"<{shape(node.this)}>{alias}"
    if isinstance(node, q.TableFunction):
        return f"{node.this.name}(){alias}"
    if isinstance(node, q.LateralView):
        left = shape(node.this) if node.this is not None else "-"
        return f"({left} view{' outer' if node.args['outer'] else ''} {node.args['call'].name}(){alias})"
    return type(node).__name__.lower() + alias


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "a"),
        ("a.b.c.d AS x", "a.b.c.d x"),
        ("a, b JOIN c ON 1 = 1", "((a INNER comma b) INNER c on)"),
        ("a x LEFT OUTER JOIN b USING (k, l)", "(a x LEFT b using k,l)"),
        ("a LEFT SEMI JOIN b ON p ANTI JOIN c ON q", "((a LEFT SEMI b on) LEFT ANTI c on)"),
        ("a SEMI JOIN b", "(a LEFT SEMI b)"),
        ("a NATURAL FULL JOIN b", "(a FULL natural b)"),
        ("a CROSS JOIN b RIGHT JOIN c ON p", "((a CROSS b) RIGHT c on)"),
        ("a, LATERAL (SELECT a.x) t", "(a INNER lateral comma subquery t)"),
        ("a JOIN LATERAL explode(a.xs) t ON p", "(a INNER lateral explode() t on)"),
        ("(a JOIN b) JOIN c", "(<(a INNER b)> INNER c)"),
        ("((SELECT 1)) t", "subquery t"),
        ("((SELECT 1) x JOIN b) t", "<(subquery x INNER b)> t"),
        ("(VALUES (1)) AS t(a)", "subquery t"),
        ("VALUES (1), (2) t", "values t"),
        ("range(1, 5)", "range()"),
        ("s.f(1) AS t", "s.f() t"),
        (
            "a LATERAL VIEW explode(xs) t AS x LATERAL VIEW OUTER posexplode(ys) u",
            "((a view explode() t) view outer posexplode() u)",
        ),
        ("UNNEST(array(1)) WITH ORDINALITY AS t(x, i)", "unnest t"),
        ("IDENTIFIER('a.' || 'b') t", "a.b t"),
        ("a TABLESAMPLE (10 PERCENT) REPEATABLE (1) AS x", "a x"),
        ("a VERSION AS OF 3 x", "a x"),
        ("a FOR TIMESTAMP AS OF now() - INTERVAL 1 DAY", "a"),
        ("a WITH (k = 'v') x", "a x"),
    ],
)
def test_relations_lean_left(text: str, expected: str) -> None:
    assert shape(parse(f"SELECT * FROM {text} WHERE 1 = 1").args["from_"].this) == expected


def test_aliases_with_columns() -> None:
    alias = parse("SELECT * FROM f(1) AS t(a, `b c`)").args["from_"].this.args["alias"]
    assert [alias.name, *(c.name for c in alias.args["columns"])] == ["t", "a", "b c"]


def test_a_lateral_view_without_from() -> None:
    view = parse("SELECT x LATERAL VIEW explode(array(1)) t AS x").args["from_"].this
    assert shape(view) == "(- view explode() t)"


def test_table_arguments() -> None:
    call = (
        parse("SELECT * FROM f(TABLE(t) PARTITION BY a ORDER BY (b, c DESC), k => TABLE(SELECT 1))")
        .args["from_"]
        .this.this
    )
    first, second = call.expressions
    assert isinstance(first, q.TableArgument)
    assert (name_parts(first.this), len(first.args["partition_by"]), len(first.args["order"])) == (("t",), 1, 2)
    assert isinstance(second.expression, q.TableArgument)
    assert isinstance(second.expression.this, q.Select)


def test_identifier_clause_of_a_variable() -> None:
    table = parse("SELECT * FROM IDENTIFIER(v || '.t') AS x").args["from_"].this
    assert isinstance(table.this, q.IdentifierClause)
    assert (table.args["alias"].name, name_parts(table)) == ("x", ())


def test_pivot_and_unpivot() -> None:
    pivot = parse("SELECT * FROM t PIVOT (sum(a) s, max(b) FOR (c, d) IN ((1, 2) AS x, (3, 4))) p").args["from_"].this
    assert isinstance(pivot, q.Pivoted)
    assert [len(pivot.args[key]) for key in ("aggregates", "columns", "values")] == [2, 2, 2]
    assert pivot.args["values"][0].args["alias"].name == "x"
    assert pivot.args["alias"].name == "p"
    one = parse("SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a AS x, t.b))").args["from_"].this
    assert isinstance(one, q.Unpivoted)
    assert (one.args["include_nulls"], one.args["multi"], one.args["name"].name) == (True, False, "n")
    first, second = one.args["columns"]
    assert (name_parts(first.expressions[0]), first.args["alias"].name) == (("a",), "x")
    assert (name_parts(second.expressions[0]), second.args.get("alias")) == (("t", "b"), None)
    many = parse("SELECT * FROM t UNPIVOT ((v, w) FOR n IN ((a, b) AS x, (c, d)))").args["from_"].this
    assert [len(s.expressions) for s in many.args["columns"]] == [2, 2]


def test_clauses_of_a_select() -> None:
    select = parse(
        "SELECT /*+ BROADCAST(t), MERGE */ DISTINCT a FROM t WHERE b GROUP BY a HAVING c "
        "WINDOW w AS (ORDER BY d ROWS 1 PRECEDING) QUALIFY e ORDER BY a DESC NULLS LAST, b LIMIT ALL OFFSET 2"
    )
    present = {key for key, value in select.args.items() if value}
    tail = "group having windows qualify order limit offset"
    assert sorted(present) == sorted(f"expressions hint distinct from_ where {tail}".split())
    assert [h.name for h in select.args["hint"].expressions] == ["BROADCAST", "MERGE"]
    first, second = select.args["order"].expressions
    assert [(o.args["desc"], o.args["nulls_first"]) for o in (first, second)] == [(True, False), (False, None)]
    spec = select.args["windows"][0].args["spec"]
    assert (spec.args["kind"], spec.args["start"].this, spec.args["start_side"]) == ("ROWS", "1", "PRECEDING")
    assert select.args["limit"].expression.name == "ALL"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("DISTRIBUTE BY a SORT BY b DESC", ["distribute", "sort"]),
        ("CLUSTER BY a", ["cluster"]),
        ("DISTRIBUTE BY a", ["distribute"]),
    ],
)
def test_clauses_that_arrange_rows(text: str, kinds: list[str]) -> None:
    select = parse(f"SELECT a, b FROM t {text}")
    assert [key for key in ("order", "cluster", "distribute", "sort") if select.args.get(key)] == kinds


@pytest.mark.parametrize(
    "text", ["ORDER BY a SORT BY b", "ORDER BY a DISTRIBUTE BY b", "CLUSTER BY a SORT BY b", "ORDER BY a CLUSTER BY b"]
)
def test_one_way_of_arranging_rows(text: str) -> None:
    with pytest.raises(AnalysisError) as refused:
        parse(f"SELECT a, b FROM t {text}")
    assert refused.value.condition == "UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a, ROLLUP(b, (c, d)), GROUPING SETS ((a), (), CUBE(e))", ["Column", "Rollup", "GroupingSets"]),
        ("a, b WITH ROLLUP", ["Column", "Column"]),
        ("a, b GROUPING SETS ((a, b), a)", ["Column", "Column"]),
        ("rollup", ["Column"]),
    ],
)
def test_grouping(text: str, kinds: list[str]) -> None:
    group = parse(f"SELECT 1 FROM t GROUP BY {text}").args["group"]
    assert [type(e).__name__ for e in group.expressions] == kinds
    assert group.args.get("with_kind") == {"W": "ROLLUP", "G": "GROUPING SETS"}.get(text[5:6])


def test_group_by_all_is_marked_but_kept() -> None:
    group = parse("SELECT 1 FROM t GROUP BY ALL").args["group"]
    assert (group.args["all"], name_parts(group.expressions[0])) == (True, ("ALL",))
    assert not parse("SELECT 1 FROM t GROUP BY `all`").args["group"].args["all"]


def test_set_operations_group_as_in_spark() -> None:
    tree = parse("SELECT 1 UNION SELECT 2 INTERSECT ALL SELECT 3 MINUS SELECT 4 ORDER BY 1")
    assert isinstance(tree, q.Except)
    assert tree.args["distinct"] is True
    assert isinstance(tree.this, q.Union)
    assert isinstance(tree.this.expression, q.Intersect)
    assert tree.this.expression.args["distinct"] is False
    assert tree.args["order"] is not None


def test_order_and_limit_stand_where_they_are_written() -> None:
    tree = parse("(SELECT 1 LIMIT 1) LIMIT 2")
    assert isinstance(tree, q.Subquery)
    assert (tree.args["limit"].expression.this, tree.this.args["limit"].expression.this) == ("2", "1")


def test_ctes() -> None:
    tree = parse("WITH RECURSIVE r(n) MAX RECURSION LEVEL 9 AS (SELECT 1), s (SELECT 2) SELECT * FROM r, s")
    with_ = tree.args["with_"]
    assert with_.args["recursive"] is True
    first, second = with_.expressions
    assert (first.args["alias"].name, [c.name for c in first.args["alias"].args["columns"]]) == ("r", ["n"])
    assert first.args["max_recursion"].this == "9"
    assert (second.args["alias"].name, type(second.this)) == ("s", q.Select)


def test_other_queries() -> None:
    assert isinstance(parse("TABLE a.b"), q.TableQuery)
    assert isinstance(parse("VALUES 1, 2 AS t(a)"), q.Values)
    first = parse("FROM t SELECT a WHERE b")
    assert (first.args["from_first"], shape(first.args["from_"].this)) == (True, "t")
    several = parse("FROM t SELECT a SELECT b")
    assert isinstance(several, q.Union)
    assert several.args["distinct"] is False
    bare = parse("FROM t")
    assert (bare.args["from_only"], type(bare.expressions[0])) == (True, q.Star)
    transform = parse(
        "SELECT TRANSFORM(a, b) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' USING 'cat' AS (x INT, y STRING) FROM t"
    )
    assert isinstance(transform, q.Transform)
    assert [c.args["kind"].args["data_type"].simple for c in transform.args["columns"]] == ["int", "string"]
    assert isinstance(parse("SELECT transform(a, x -> x) FROM t"), q.Select)


def test_pipes_are_kept_as_they_are() -> None:
    tree = parse(
        "FROM t |> WHERE a |> EXTEND b AS c, d |> SET e = 1, f = g |> DROP h |> AS u |> JOIN v USING (k)"
        " |> SELECT DISTINCT x"
        " |> AGGREGATE sum(y) AS s GROUP BY z AS q |> UNION ALL TABLE w |> TABLESAMPLE (1 ROWS)"
        " |> PIVOT (sum(a) FOR b IN (1)) |> UNPIVOT (v FOR n IN (a, b)) |> ORDER BY s LIMIT 3"
    )
    kinds, node = [], tree
    while isinstance(node, q.Pipe):
        kinds.append(node.args["kind"])
        node = node.this
    expected = "WHERE EXTEND SET DROP AS JOIN SELECT AGGREGATE UNION TABLESAMPLE PIVOT UNPIVOT ORGANIZE"
    assert list(reversed(kinds)) == expected.split()
    assert isinstance(node, q.Select)
    assert tree.args["limit"].expression.this == "3"


def test_a_single_bar_can_be_a_pipe() -> None:
    assert isinstance(parse("FROM t | WHERE a | LIMIT 1"), q.Pipe)
    assert isinstance(parse("SELECT a | b FROM t").expressions[0], q.BitwiseOr)


def test_a_group_by_gives_aliases_in_pipes_only() -> None:
    with pytest.raises(AnalysisError, match="near 'AS'"):
        parse("SELECT 1 FROM t GROUP BY a AS b")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 WHERE x IN (SELECT (SELECT 1) + 1)",
        "SELECT ((SELECT 1) + 1), ((SELECT 1)), (((SELECT 1) UNION (SELECT 2)))",
        "SELECT * FROM ((SELECT 1) UNION ALL (SELECT 2)) t",
        "SELECT EXISTS (SELECT 1), exists(xs, x -> x)",
        "SELECT * FROM t WHERE (a, b) IN (SELECT 1, 2) AND (SELECT max(a) FROM u WHERE u.b = t.b) > 0",
    ],
)
def test_parentheses_around_queries_and_expressions(text: str) -> None:
    tree = parse(text)
    assert tree.span == (0, len(text))
    for subquery in tree.find_all(q.Subquery):
        assert isinstance(subquery.this, q.Query)


@pytest.mark.parametrize("text", ["SELECT * FROM STREAM t", "SELECT * FROM a ASOF JOIN b", "SELECT * FROM t@v1"])
def test_what_the_tree_cannot_say_is_unknown(text: str) -> None:
    with pytest.raises(Unknown):
        parse(text)


def test_a_lateral_table_is_rejected() -> None:
    with pytest.raises(AnalysisError) as caught:
        parse("SELECT * FROM a, LATERAL b")
    assert caught.value.condition == "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC"


def test_deep_nesting_is_unknown_not_a_crash() -> None:
    with pytest.raises(Unknown):
        parse("SELECT " + "(" * 5000 + "1" + ")" * 5000)
    chain = parse("SELECT " + " AND ".join(["a"] * 20000), Conf())
    assert len(list(chain.find_all(q.And))) == 19999
