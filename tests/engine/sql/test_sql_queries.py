"""Queries: relations, clauses, set operations, pipes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from planproof_engine.conf import Conf
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.sql import name_parts, parse
from planproof_engine.sql import nodes as q


def shape(node: q.Node) -> str:
    """A tree of relations, in short."""
    if isinstance(node, q.Joined):
        flags = "".join(f" {flag}" for flag in ("natural", "lateral", "comma") if getattr(node, flag))
        on = " on" if node.on is not None else ""
        using = " using " + ",".join(i.text for i in node.using) if node.using else ""
        left = shape(node.left) if node.left is not None else "-"
        return f"({left} {node.kind}{flags} {shape(node.right)}{on}{using})"
    assert isinstance(node, (q.Table, q.Grouped, q.TableFunction, q.LateralView, q.Subquery, q.Values, q.Unnest))
    alias = f" {node.alias.name.text}" if node.alias is not None else ""
    if isinstance(node, q.Table):
        return ".".join(name_parts(node)) + alias
    if isinstance(node, q.Grouped):
        return f"<{shape(node.relation)}>{alias}"
    if isinstance(node, q.TableFunction):
        return f"{node.call.name}(){alias}"
    if isinstance(node, q.LateralView):
        left = shape(node.relation) if node.relation is not None else "-"
        return f"({left} view{' outer' if node.outer else ''} {node.call.name}(){alias})"
    return type(node).__name__.lower() + alias


def select_of(text: str) -> q.Select:
    select = parse(text)
    assert isinstance(select, q.Select)
    return select


def relation(text: str) -> Any:
    """What stands in FROM of a query."""
    source = select_of(text).from_
    assert source is not None
    return source.relation


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
    assert shape(relation(f"SELECT * FROM {text} WHERE 1 = 1")) == expected


def test_aliases_with_columns() -> None:
    alias = relation("SELECT * FROM f(1) AS t(a, `b c`)").alias
    assert [alias.name.text, *(c.text for c in alias.columns)] == ["t", "a", "b c"]


def test_a_lateral_view_without_from() -> None:
    view = relation("SELECT x LATERAL VIEW explode(array(1)) t AS x")
    assert shape(view) == "(- view explode() t)"


def test_table_arguments() -> None:
    function = relation("SELECT * FROM f(TABLE(t) PARTITION BY a ORDER BY (b, c DESC), k => TABLE(SELECT 1))")
    first, second = function.call.arguments
    assert isinstance(first, q.TableArgument)
    assert (name_parts(first.relation), len(first.partition_by), len(first.order)) == (("t",), 1, 2)
    assert isinstance(second.value, q.TableArgument)
    assert isinstance(second.value.relation, q.Select)


def test_identifier_clause_of_a_variable() -> None:
    table = relation("SELECT * FROM IDENTIFIER(v || '.t') AS x")
    assert isinstance(table.computed, q.IdentifierClause)
    assert (table.alias.name.text, name_parts(table)) == ("x", ())


def test_pivot_and_unpivot() -> None:
    pivot = relation("SELECT * FROM t PIVOT (sum(a) s, max(b) FOR (c, d) IN ((1, 2) AS x, (3, 4))) p")
    assert isinstance(pivot, q.Pivoted)
    assert [len(part) for part in (pivot.aggregates, pivot.columns, pivot.values)] == [2, 2, 2]
    assert isinstance(pivot.values[0], q.Alias)
    assert pivot.values[0].alias.text == "x"
    assert pivot.alias is not None
    assert pivot.alias.text == "p"
    one = relation("SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a AS x, t.b))")
    assert isinstance(one, q.Unpivoted)
    assert (list(one.filters), one.name.text) == ([], "n")
    first, second = one.columns
    assert first.alias is not None
    assert (name_parts(first.columns[0]), first.alias.text) == (("a",), "x")
    assert (name_parts(second.columns[0]), second.alias) == (("t", "b"), None)
    many = relation("SELECT * FROM t UNPIVOT ((v, w) FOR n IN ((a, b) AS x, (c, d)))")
    assert [len(s.columns) for s in many.columns] == [2, 2]
    assert list(many.filters) == [("v",), ("w",)]


def limit_of(query: q.Query) -> str:
    assert query.limit is not None
    count = query.limit.count
    return count.word if isinstance(count, q.Var) else count.text if isinstance(count, q.Literal) else ""


def test_clauses_of_a_select() -> None:
    select = select_of(
        "SELECT /*+ BROADCAST(t), MERGE */ DISTINCT a FROM t WHERE b GROUP BY a HAVING c "
        "WINDOW w AS (ORDER BY d ROWS 1 PRECEDING) QUALIFY e ORDER BY a DESC NULLS LAST, b LIMIT ALL OFFSET 2"
    )
    present = {f.name for f in fields(select) if f.init and getattr(select, f.name)}
    tail = "group having windows qualify order limit offset"
    assert sorted(present) == sorted(f"items hint distinct from_ where {tail}".split())
    assert select.hint is not None
    assert [h.name for h in select.hint.calls] == ["BROADCAST", "MERGE"]
    assert select.order is not None
    keys = [(o.desc, o.nulls_first) for o in select.order.keys if isinstance(o, q.Ordered)]
    assert keys == [(True, False), (False, None)]
    frame = select.windows[0].window.frame
    assert frame is not None
    assert isinstance(frame.start, q.Literal)
    assert (frame.kind, frame.start.text, frame.start_side) == ("ROWS", "1", "PRECEDING")
    assert limit_of(select) == "ALL"


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
    assert [key for key in ("order", "cluster", "distribute", "sort") if getattr(select, key) is not None] == kinds


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
        ("a, ROLLUP(b, (c, d)), GROUPING SETS ((a), (), CUBE(e))", ["Column", "ROLLUP", "GROUPING SETS"]),
        ("a, b WITH ROLLUP", ["Column", "Column"]),
        ("a, b GROUPING SETS ((a, b), a)", ["Column", "Column"]),
        ("rollup", ["Column"]),
    ],
)
def test_grouping(text: str, kinds: list[str]) -> None:
    group = select_of(f"SELECT 1 FROM t GROUP BY {text}").group
    assert group is not None
    assert [e.kind if isinstance(e, q.GroupingAnalytics) else type(e).__name__ for e in group.keys] == kinds
    assert group.with_kind == {"W": "ROLLUP", "G": "GROUPING SETS"}.get(text[5:6])


def test_group_by_all_is_marked_but_kept() -> None:
    group, quoted = (select_of(f"SELECT 1 FROM t GROUP BY {name}").group for name in ("ALL", "`all`"))
    assert group is not None
    assert (group.is_all, name_parts(group.keys[0])) == (True, ("ALL",))
    assert quoted is not None
    assert not quoted.is_all


def test_set_operations_group_as_in_spark() -> None:
    tree = parse("SELECT 1 UNION SELECT 2 INTERSECT ALL SELECT 3 MINUS SELECT 4 ORDER BY 1")
    assert isinstance(tree, q.SetOperation)
    assert (tree.kind, tree.distinct) == ("except", True)
    assert isinstance(tree.left, q.SetOperation)
    assert tree.left.kind == "union"
    assert isinstance(tree.left.right, q.SetOperation)
    assert tree.left.right.kind == "intersect"
    assert tree.left.right.distinct is False
    assert tree.order is not None


def test_order_and_limit_stand_where_they_are_written() -> None:
    tree = parse("(SELECT 1 LIMIT 1) LIMIT 2")
    assert isinstance(tree, q.Subquery)
    assert (limit_of(tree), limit_of(tree.query)) == ("2", "1")


def test_ctes() -> None:
    tree = parse("WITH RECURSIVE r(n) MAX RECURSION LEVEL 9 AS (SELECT 1), s (SELECT 2) SELECT * FROM r, s")
    assert tree.with_ is not None
    assert tree.with_.recursive is True
    first, second = tree.with_.ctes
    assert (first.alias.name.text, [c.text for c in first.alias.columns]) == ("r", ["n"])
    assert first.max_recursion is not None
    assert first.max_recursion.text == "9"
    assert (second.alias.name.text, type(second.query)) == ("s", q.Select)


def test_other_queries() -> None:
    assert isinstance(parse("TABLE a.b"), q.TableQuery)
    assert isinstance(parse("VALUES 1, 2 AS t(a)"), q.Values)
    assert (select_of("FROM t SELECT a WHERE b").from_first, shape(relation("FROM t SELECT a WHERE b"))) == (True, "t")
    several = parse("FROM t SELECT a SELECT b")
    assert isinstance(several, q.SetOperation)
    assert (several.kind, several.distinct) == ("union", False)
    bare = select_of("FROM t")
    assert (bare.from_only, type(bare.items[0])) == (True, q.Star)
    transform = parse(
        "SELECT TRANSFORM(a, b) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' USING 'cat' AS (x INT, y STRING) FROM t"
    )
    assert isinstance(transform, q.Transform)
    assert [c.type.data_type.simple for c in transform.columns or () if c.type is not None] == ["int", "string"]
    assert isinstance(parse("SELECT transform(a, x -> x) FROM t"), q.Select)


def test_pipes_are_kept_as_they_are() -> None:
    tree = parse(
        "FROM t |> WHERE a |> EXTEND b AS c, d |> SET e = 1, f = g |> DROP h |> AS u |> JOIN v USING (k)"
        " |> SELECT DISTINCT x"
        " |> AGGREGATE sum(y) AS s GROUP BY z AS q |> UNION ALL TABLE w |> TABLESAMPLE (1 ROWS)"
        " |> PIVOT (sum(a) FOR b IN (1)) |> UNPIVOT (v FOR n IN (a, b)) |> ORDER BY s |> LIMIT 3"
    )
    kinds, node = [], tree
    while isinstance(node, q.Pipe):
        kinds.append(type(node).__name__.removeprefix("Pipe"))
        node = node.before
    expected = "Where Extend Set Drop As Join Select Aggregate SetOperation Sample Pivot Unpivot Organize Organize"
    assert list(reversed(kinds)) == expected.split()
    assert isinstance(node, q.Select)
    assert limit_of(tree) == "3"


def test_a_single_bar_can_be_a_pipe() -> None:
    assert isinstance(parse("FROM t | WHERE a | LIMIT 1"), q.Pipe)
    assert [one.operator for one in select_of("SELECT a | b FROM t").find_all(q.Binary)] == ["|"]


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
        assert isinstance(subquery.query, q.Query)


@pytest.mark.parametrize("text", ["SELECT * FROM STREAM t", "SELECT * FROM a ASOF JOIN b MATCH_CONDITION (a.x >= b.x)"])
def test_what_the_tree_cannot_say_is_unknown(text: str) -> None:
    with pytest.raises(Unknown):
        parse(text)


def test_a_lateral_table_is_rejected() -> None:
    with pytest.raises(AnalysisError) as caught:
        parse("SELECT * FROM a, LATERAL b")
    assert caught.value.condition == "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC"


def test_deep_nesting_is_unknown_not_a_crash() -> None:
    with pytest.raises(Unknown):
        parse("SELECT " + "(" * 50_000 + "1" + ")" * 50_000)
    chain = parse("SELECT " + " AND ".join(["a"] * 20000), Conf())
    assert len(list(chain.find_all(q.Binary))) == 19999
