"""Expressions: grouping, literals, calls, names, and where each node stands."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from planproof_engine.conf import Conf
from planproof_engine.origin import AnalysisError
from planproof_engine.sql import name_parts, parse
from planproof_engine.sql import nodes as q

_FORMS: dict[type[q.Node], str] = {
    q.Not: "[not {operand}]",
    q.Paren: "({operand})",
    q.Between: "[{operand} between {low}, {high}]",
    q.In: "[{operand} in {members}]",
    q.Is: "[{operand} is {negated}{test}]",
    q.Cast: "cast({operand} as {target})",
    q.Lambda: "{{{parameters} -> {body}}}",
    q.Call: "{name}({arguments})",
    q.Bracket: "{operand}[{index}]",
    q.Dot: "{operand}.{field}",
    q.Null: "null",
}


def grouped(node: Any) -> str:
    """The tree with every operator in brackets."""
    kind = type(node)
    if kind in (list, tuple):
        return ", ".join(map(grouped, node))
    if not isinstance(node, q.Node):
        return {True: "not ", False: ""}.get(node, node) if kind is bool else str(node)
    if isinstance(node, q.Binary):
        sign = "<>" if node.operator == "!=" else node.operator.lower()
        return f"[{grouped(node.left)} {sign} {grouped(node.right)}]"
    if isinstance(node, q.Unary):
        return f"[{node.operator}{grouped(node.operand)}]"
    if isinstance(node, q.Like):
        return f"[{grouped(node.operand)} {node.kind.lower()} {grouped(node.pattern)}]"
    if kind in _FORMS:
        return _FORMS[kind].format(**{f.name: grouped(getattr(node, f.name)) for f in fields(node)})
    if isinstance(node, q.Literal):
        return repr(node.text) if node.is_string else node.text
    return node.text if isinstance(node, q.TypeName) else ".".join(name_parts(node))


def item(text: str, **conf: Any) -> Any:
    """The expression `text`, as the only item of a SELECT."""
    select = parse(f"SELECT {text}", Conf(**conf))
    assert isinstance(select, q.Select)
    return select.items[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a || b + c", "[[a || b] + c]"),
        ("a + b * c - d", "[[a + [b * c]] - d]"),
        ("2 * 3 DIV 4 % 5", "[[[2 * 3] div 4] % 5]"),
        ("a << 1 + 2 >> b >>> c", "[[[a << [1 + 2]] >> b] >>> c]"),
        ("a | b ^ c & d << 1", "[a | [b ^ [c & [d << 1]]]]"),
        ("a & b = c", "[[a & b] = c]"),
        ("a = b = c", "[[a = b] = c]"),
        ("a == b != c <=> d", "[[[a = b] <> c] <=> d]"),
        ("a !> b !< c", "[[a <= b] >= c]"),
        ("-1", "-1"),
        ("- 1", "-1"),
        ("2 - -1", "[2 - -1]"),
        ("a -1", "[a - 1]"),
        ("-x * y", "[[-x] * y]"),
        ("-x.y::int", "[-cast(x.y as int)]"),
        ("-1::string", "cast(-1 as string)"),
        ("~a ^ +b", "[[~a] ^ [+b]]"),
        ("NOT a = b", "[not [a = b]]"),
        ("NOT a AND b OR c", "[[[not a] and b] or c]"),
        ("!a = b", "[not [a = b]]"),
        ("NOT NOT a IS NULL", "[not [not [a is null]]]"),
        ("a = b IS NOT NULL", "[[a = b] is not null]"),
        ("a IS DISTINCT FROM b || c", "[a <!> [b || c]]"),
        ("a IS NOT DISTINCT FROM b", "[a <=> b]"),
        ("a BETWEEN b AND c AND d", "[[a between b, c] and d]"),
        ("a NOT BETWEEN b + 1 AND c OR d", "[[not [a between [b + 1], c]] or d]"),
        ("a NOT IN (1, b) AND c", "[[not [a in 1, b]] and c]"),
        ("a LIKE b || c", "[a like [b || c]]"),
        ("a NOT RLIKE b", "[not [a rlike b]]"),
        ("a REGEXP b", "[a rlike b]"),
        ("a AND b AND c AND d", "[[a and b] and [c and d]]"),
        ("a AND b AND c AND d AND e", "[[[a and b] and c] and [d and e]]"),
        ("a OR b AND c OR d", "[[a or [b and c]] or d]"),
        ("f(a, x -> x + 1 AND y)", "f(a, {x -> [[x + 1] and y]})"),
        ("f((x, y) -> x -> x.b[y])", "f({x, y -> {x -> x.b[y]}})"),
        ("f(a)[0].b.c", "f(a)[0].b.c"),
        ("(a).b", "(a).b"),
        ("a[b - 1]", "a[[b - 1]]"),
        ("a::array<array<int>> = b", "[cast(a as array<array<int>>) = b]"),
        ("left(a, 2) + right", "[left(a, 2) + right]"),
        ("date + interval", "[date + interval]"),
    ],
)
def test_operators_group_as_in_sparks_grammar(text: str, expected: str) -> None:
    assert grouped(item(text)) == expected


@pytest.mark.parametrize(
    "text", ["a IS NULL = b", "a IN (1) IN (2)", "a LIKE b LIKE c", "a.1", "a b c", "a | left", "(a b)"]
)
def test_what_sparks_grammar_has_no_place_for_is_a_syntax_error(text: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        item(text)
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", "INTEGER_VALUE"),
        ("007", "INTEGER_VALUE"),
        ("1L", "BIGINT_LITERAL"),
        ("1s", "SMALLINT_LITERAL"),
        ("-128Y", "TINYINT_LITERAL"),
        ("1.50", "DECIMAL_VALUE"),
        (".5", "DECIMAL_VALUE"),
        ("2.", "DECIMAL_VALUE"),
        ("1e3", "EXPONENT_VALUE"),
        ("1.5E-3", "EXPONENT_VALUE"),
        ("1.0D", "DOUBLE_LITERAL"),
        ("1F", "FLOAT_LITERAL"),
        ("1.5bd", "BIGDECIMAL_LITERAL"),
        ("1e2BD", "BIGDECIMAL_LITERAL"),
    ],
)
def test_numbers_keep_their_text(text: str, kind: str) -> None:
    node = item(text)
    assert (node.text, node.kind, node.is_string) == (text, kind, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'a'", "a"),
        (r'"a"', "a"),
        (r"'it''s'", "it's"),
        ('"say ""x"""', 'say "x"'),
        ("'a' 'b'  \"c\"", "abc"),
        (r"'a\tb\\c\'d'", "a\tb\\c'd"),
        (r"'\%\_'", r"\%\_"),
        (r"'A\101\q'", "AAq"),
        (r"'\U0001F600'", "\U0001f600"),
        (r"r'\d''x'", r"\dx"),
        ('R"a\\n"', "a\\n"),
    ],
)
def test_strings_are_unescaped_as_spark_does(text: str, value: str) -> None:
    node = item(text)
    assert (node.text, node.is_string) == (value, True)


def test_settings_that_change_what_quotes_mean() -> None:
    assert item(r"'a\tb'", escaped_string_literals=True).text == r"a\tb"
    assert isinstance(item('"a"', double_quoted_identifiers=True), q.Column)
    assert isinstance(item('"a"', double_quoted_identifiers=True, ansi=False), q.Literal)


RESERVED = Conf.of("4.3", {"spark.sql.ansi.enforceReservedKeywords": "true"})


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT a FROM t GROUP BY ALL", "ALL"),
        ("SELECT current_date() FROM t", "current_date"),
        ("SELECT a end FROM t", "end"),
        ("SELECT a AS user FROM t", "user"),
        ("SELECT t.time FROM t", "time"),
        ("SELECT any(true)", "any"),
        ("SELECT transform(array(1), end -> 1)", "end"),
        ("WITH user AS (SELECT 1) SELECT 1", "user"),
    ],
)
def test_a_reserved_keyword_is_no_name_where_spark_enforces_it(text: str, word: str) -> None:
    with pytest.raises(AnalysisError, match=f"at or near '{word}'"):
        parse(text, RESERVED)
    parse(text, replace(RESERVED, ansi=False))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT left(a, 2), right(a, 1), current_date, current_user, TIME '10:00', CAST(a AS TIME(3)) FROM t",
        "SELECT `end`, t.`all` FROM t AS `left` LEFT JOIN u USING (a) WHERE (a) GROUP BY 1 HAVING b LIMIT 3 OFFSET 1",
    ],
)
def test_a_reserved_keyword_keeps_its_other_places(text: str) -> None:
    parse(text, RESERVED)


def test_typed_literals_are_not_casts() -> None:
    for text, kind, value in [
        ("DATE '2020-01-01'", "DATE", "2020-01-01"),
        ("timestamp_ntz'2020-01-01'", "TIMESTAMP_NTZ", "2020-01-01"),
        ("TIME '10:00'", "TIME", "10:00"),
        ("X'1F'", "X", "1F"),
        ("INTERVAL '1 day 2 hours'", "INTERVAL", "1 day 2 hours"),
    ]:
        node = item(text)
        assert isinstance(node, q.TypedLiteral)
        assert (node.kind, node.text) == (kind, value)


@pytest.mark.parametrize(
    ("text", "parts", "to"),
    [
        ("INTERVAL '1' DAY", [("1", "DAY", False)], None),
        ("INTERVAL -1.5 seconds", [("1.5", "SECONDS", True)], None),
        ("INTERVAL 1 DAY -2 HOURS", [("1", "DAY", False), ("2", "HOURS", True)], None),
        ("INTERVAL '1-2' YEAR TO MONTH", [("1-2", "YEAR", False)], "MONTH"),
    ],
)
def test_intervals_keep_their_values_and_units(text: str, parts: list[tuple[str, str, bool]], to: str | None) -> None:
    node = item(text)
    assert isinstance(node, q.IntervalLiteral)
    found = [(p.value.text, p.unit, p.negative) for p in node.parts]
    assert (found, node.to) == (parts, to)


def test_every_call_keeps_its_name_and_arguments() -> None:
    node = item("My_Db.`f n`(DISTINCT a, b => 1, x -> y) FILTER (WHERE c > 1) RESPECT NULLS OVER w")
    assert isinstance(node, q.Call)
    assert node.name == "My_Db.f n"
    assert node.parts == ("My_Db", "f n")
    assert node.distinct is True
    assert [type(a) for a in node.arguments] == [q.Column, q.Kwarg, q.Lambda]
    assert grouped(node.filter) == "[c > 1]"
    assert node.nulls == "RESPECT"
    assert node.over is not None
    assert node.over.reference is not None
    assert node.over.reference.text == "w"


@pytest.mark.parametrize(
    "name", ["sum", "IF", "ifnull", "nvl2", "Date_Format", "coalesce", "log", "array", "map", "transform"]
)
def test_no_function_becomes_another(name: str) -> None:
    node = item(f"{name}(a, b, c)")
    assert type(node) is q.Call
    assert (node.name, len(node.arguments)) == (name, 3)
    assert not any((node.parts, node.distinct, node.filter, node.nulls, node.within_group, node.over))


@pytest.mark.parametrize(
    ("text", "name", "form", "arguments", "extra"),
    [
        ("EXTRACT(year FROM a)", "EXTRACT", "extract", "year a", {}),
        ("trim(BOTH 'x' FROM a)", "trim", "trim", "a 'x'", {"side": "BOTH"}),
        ("trim(LEADING FROM a)", "trim", "trim", "a", {"side": "LEADING"}),
        ("trim('x' FROM a)", "trim", "trim", "a 'x'", {"side": None}),
        ("substr(a FROM 2 FOR 3)", "substr", "substring", "a 2 3", {}),
        ("position('x' IN a)", "position", "position", "'x' a", {}),
        ("overlay(a PLACING b FROM 1 FOR 2)", "overlay", "overlay", "a b 1 2", {}),
        ("date_add(day, 1, a)", "date_add", "timestampadd", "1 a", {"unit": "DAY"}),
        ("DATEDIFF(HOUR, a, b)", "DATEDIFF", "timestampdiff", "a b", {"unit": "HOUR"}),
        ("first(a IGNORE NULLS)", "first", "ignore_nulls", "a", {"nulls": "IGNORE"}),
    ],
)
def test_calls_with_a_syntax_of_their_own(
    text: str, name: str, form: str, arguments: str, extra: dict[str, str | None]
) -> None:
    call = item(text)
    assert isinstance(call, q.SpecialCall)
    assert (call.name, call.form) == (name, form)
    assert " ".join(grouped(a) for a in call.arguments) == arguments
    assert {key: getattr(call, key) for key in extra} == extra


@pytest.mark.parametrize(
    "text",
    ["trim(a)", "substring(a, 1, 2)", "position(a, b)", "date_add(a, 1)", "dateadd(day, 1)", "first(a)", "extract(a)"],
)
def test_the_same_names_are_ordinary_calls_otherwise(text: str) -> None:
    assert type(item(text)) is q.Call


def test_struct_and_rows_may_name_their_members() -> None:
    for members in (item("struct(a AS x, b)").arguments, item("(a AS x, b)").members):
        assert [type(member) for member in members] == [q.Alias, q.Column]


def test_a_lambdas_parameter_is_an_ordinary_column() -> None:
    node = item("transform(xs, (x, i) -> x.a + i)")
    body = node.arguments[1].body
    assert [name_parts(c) for c in body.find_all(q.Column)] == [("x", "a"), ("i",)]
    assert repr(item("x.a")) == repr(body.left)


def test_names_keep_every_part() -> None:
    assert name_parts(item("a.`b c`.D")) == ("a", "b c", "D")
    assert name_parts(item("a.b.c.d.e.f")) == ("a", "b", "c", "d", "e", "f")
    assert name_parts(item("(a).b")) == ("a", "b")
    assert name_parts(item("f(a).b")) == ()
    assert name_parts(item("f(a).IDENTIFIER('b')").field) == ("b",)
    assert isinstance(item("IDENTIFIER(:p)"), q.IdentifierClause)


def test_stars() -> None:
    star = item("a.b.* EXCEPT (c, d.e) FROM t")
    assert [part.text for part in star.qualifier] == ["a", "b"]
    assert [name_parts(column) for column in star.except_] == [("c",), ("d", "e")]
    assert type(item("* FROM t")) is q.Star
    assert type(item("count(*)").arguments[0]) is q.Star


def test_casts_carry_the_type() -> None:
    node = item("TRY_CAST(a AS struct<x: int NOT NULL, y: map<string, decimal(10,2)>>)")
    assert type(node) is q.TryCast
    assert node.target.data_type.simple == "struct<x:int,y:map<string,decimal(10,2)>>"
    assert item("a::timestamp", timestamp_type="TIMESTAMP_NTZ").target.data_type.simple == "timestamp_ntz"


def test_quantified_like_and_variant_paths() -> None:
    like = item("a NOT ILIKE SOME ('x', b)")
    assert isinstance(like, q.QuantifiedLike)
    assert (like.kind, like.quantifier, like.negated) == ("ILIKE", "ANY", True)
    path = item("v:a.b[0]['c']::int").operand
    assert isinstance(path, q.VariantPath)
    assert path.path == "a.b[0]['c']"


def test_keywords_are_names_too() -> None:
    select = parse("SELECT select, from FROM order AS group WHERE limit = where.having ORDER BY asc DESC LIMIT 1")
    assert [name_parts(c) for c in select.items] == [("select",), ("from",)]
    assert name_parts(select.from_.relation) == ("order",)
    assert [name_parts(c) for c in select.where.find_all(q.Column)] == [("limit",), ("where", "having")]
    alias = parse("SELECT 1 limit, 2 offset FROM t values WHERE 1 = 1")
    assert [a.alias.text for a in alias.items] == ["limit", "offset"]
    assert alias.from_.relation.alias.name.text == "values"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("200Y", "INVALID_NUMERIC_LITERAL_RANGE"),
        ("X'zz'", "INVALID_TYPED_LITERAL"),
        ("money '1'", "UNSUPPORTED_TYPED_LITERAL"),
        ("a ! IN (1)", "SYNTAX_DISCONTINUED.BANG_EQUALS_NOT"),
        ("a IN ()", "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE"),
        ("CAST(a AS money)", "UNSUPPORTED_DATATYPE"),
        ("CAST(a AS array)", "INCOMPLETE_TYPE_DEFINITION.ARRAY"),
        ("CAST(a AS varchar)", "DATATYPE_MISSING_SIZE"),
        ("CAST(a AS varchar(2147483648))", "DATATYPE_PARAMETER_VALUE_OUT_OF_RANGE"),
        ("CAST(a AS decimal(3, 2147483648))", "DATATYPE_PARAMETER_VALUE_OUT_OF_RANGE"),
        ("a COLLATE sys.builtin.unicode", "COLLATION_INVALID_NAME"),
        ("dateadd('DAY', 1, a)", "INVALID_PARAMETER_VALUE.DATETIME_UNIT"),
        ("größe", "INVALID_IDENTIFIER"),
    ],
)
def test_errors_that_spark_finds_while_it_builds_its_tree(text: str, condition: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        item(text)
    assert caught.value.condition == condition
    with pytest.raises(AnalysisError) as caught:
        item(f"{text} FROM )")  # a syntax error anywhere goes first
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"


def test_a_name_with_a_hyphen_comes_before_a_syntax_error_behind_it() -> None:
    for text in ("a AS my-col", "a AS my-col FROM )"):
        with pytest.raises(AnalysisError) as caught:
            item(text)
        assert caught.value.condition == "INVALID_IDENTIFIER"
    with pytest.raises(AnalysisError) as caught:
        item("a a a AS my-col")
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"


SPANNED = """SELECT /* ü */ coalesce( a.b , 'x' 'y') AS c
  , transform(xs, (x, i) -> filter(ys, y -> y > x + i)) t -- done
  , -1 + (- z) [0], CASE WHEN p THEN DATE '2020-01-01' END, s::array<array<int>>, t.* EXCEPT (q)
FROM d.`e f` AS e
  JOIN (SELECT max(v) FILTER (WHERE v > 0) OVER (ORDER BY w) m FROM u) n USING (k) WHERE r NOT IN (1, 2)"""


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            q.Call,
            {
                "coalesce( a.b , 'x' 'y')",
                "transform(xs, (x, i) -> filter(ys, y -> y > x + i))",
                "filter(ys, y -> y > x + i)",
                "max(v) FILTER (WHERE v > 0) OVER (ORDER BY w)",
            },
        ),
        (q.Lambda, {"(x, i) -> filter(ys, y -> y > x + i)", "y -> y > x + i"}),
        (q.Alias, {"coalesce( a.b , 'x' 'y') AS c", "transform(xs, (x, i) -> filter(ys, y -> y > x + i)) t"}),
        (q.Binary, {"x + i", "y > x + i", "v > 0", "-1 + (- z) [0]"}),
        (q.Bracket, {"(- z) [0]"}),
        (q.Paren, {"(- z)"}),
        (q.Unary, {"- z"}),
        (q.Cast, {"s::array<array<int>>"}),
        (q.Star, {"t.* EXCEPT (q)"}),
        (q.Table, {"d.`e f` AS e", "u"}),
        (q.Not, {"r NOT IN (1, 2)"}),
        (q.TypedLiteral, {"DATE '2020-01-01'"}),
        (q.Subquery, {"(SELECT max(v) FILTER (WHERE v > 0) OVER (ORDER BY w) m FROM u) n"}),
    ],
)
def test_spans_cut_each_node_out_of_the_text(kind: type[q.Node], texts: set[str]) -> None:
    tree = parse(SPANNED)
    found = [SPANNED[slice(*node.span)] for node in tree.find_all(kind)]
    assert {text for text in found if not text.startswith("max(v) FILTER (WHERE v > 0) OVER (ORDER BY w) m")} == texts


def test_every_node_stands_within_its_parent() -> None:
    tree = parse(SPANNED)
    for node in tree.walk():
        start, stop = node.span
        assert 0 <= start <= stop <= len(SPANNED), node
        for child in node.children:
            assert start <= child.span[0] <= child.span[1] <= stop, (child, node)


def test_a_syntax_error_names_its_place() -> None:
    with pytest.raises(AnalysisError) as caught:
        parse("SELECT a,\n  b +) FROM t")
    assert caught.value.origin is not None
    assert (caught.value.origin.line, caught.value.origin.column) == (2, 6)
    assert "near ')'" in caught.value.message


@pytest.mark.parametrize("text", ["", "  ", "-- nothing", "/* a /* b */ c */", ";"])
def test_nothing_is_no_statement(text: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse(text)
    assert caught.value.condition in ("PARSE_EMPTY_STATEMENT", "PARSE_SYNTAX_ERROR")
