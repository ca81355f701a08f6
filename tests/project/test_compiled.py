"""Places in compiled SQL, moved to the template: right or not at all."""

from __future__ import annotations

import time

import pytest

from planproof.origin import Origin, place
from planproof.project.compiled import TemplateMap, relocate
from planproof.report.model import Finding, Report, Verdict

TEMPLATE = """

{{ config(materialized='table') }}
with a as (
    select
        id,
        x
    from {{ ref('o') }}
),
b as (
    select
        id,
        {{ money('y') }} as y
    from {{ ref('p') }}
)
{% for c in ['u', 'v'] %}
-- {{ c }}
{% endfor %}
select a.id, b.y
from a
{{ var('j') }} join b on a.id = b.id
"""
COMPILED = """

with a as (
    select
        id,
        x
    from shop.o
),
b as (
    select
        id,
        cast(y as
  decimal(1,2)) as y
    from shop.p
)

-- u

-- v

select a.id, b.y
from a
left join b on a.id = b.id"""


@pytest.fixture
def node(tmp_path):
    (tmp_path / "m.sql").write_text(TEMPLATE)
    return {
        "raw_code": TEMPLATE.strip(),
        "compiled_code": COMPILED,
        "original_file_path": "m.sql",
        "compiled_path": "target/compiled/m.sql",
        "root_path": str(tmp_path),
    }


def at(node, text, nth=1):
    """Where the nth `text` of the compiled SQL is said to stand."""
    start = -1
    for _ in range(nth):
        start = COMPILED.index(text, start + 1)
    return str(TemplateMap.of(node).locate(place(COMPILED, start)))


def test_equal_lines_that_occur_once(node):
    assert at(node, "with a as") == "m.sql:4:1"
    assert at(node, "b.y") == "m.sql:19:14"
    assert at(node, "from a") == "m.sql:20:1"


def test_lines_that_repeat_are_told_apart_by_their_neighbours(node):
    assert at(node, "id,", 1) == "m.sql:6:9"
    assert at(node, "id,", 2) == "m.sql:12:9"


def test_lines_with_an_expression_before_in_and_behind_it(node):
    assert at(node, "    from shop.o") == "m.sql:8:1"
    assert at(node, "shop.o") == "m.sql:8:10 (in a macro called here)"
    assert at(node, "join b") == "m.sql:21:16"
    assert at(node, "b.id", 1) == "m.sql:21:33"


def test_what_is_not_sure_keeps_its_place_in_the_compiled_file(node):
    assert at(node, "cast(y as") == "target/compiled/m.sql:12:9"
    assert at(node, "decimal(1,2)") == "target/compiled/m.sql:13:3"
    assert at(node, "-- v") == "target/compiled/m.sql:19:1"


def test_every_line_is_right_or_left_in_the_compiled_file(node):
    template, mapped = TEMPLATE.splitlines(), TemplateMap.of(node)
    for number, text in enumerate(COMPILED.splitlines(), 1):
        found = mapped.locate(Origin(number, 1))
        if found.file == "m.sql" and "{{" not in template[found.line - 1]:
            assert template[found.line - 1] == text


def test_a_file_that_changed_since_the_compile_is_not_trusted(node, tmp_path):
    (tmp_path / "m.sql").write_text("-- new first line\n" + TEMPLATE)
    assert at(node, "with a as") == "target/compiled/m.sql:3:1"


def test_without_the_file_no_line_is_guessed(node):
    del node["root_path"]
    assert at(node, "with a as") == "target/compiled/m.sql:3:1"


def test_a_line_that_a_macro_wrote_is_not_taken_for_a_comment_of_the_template(tmp_path):
    template = "{#\nfrom secret\n#}\nselect 1\n{{ tail() }}"
    (tmp_path / "m.sql").write_text(template)
    form = {"raw_code": template, "compiled_code": "select 1\nfrom secret", "original_file_path": "m.sql"}
    assert str(TemplateMap.of(form, tmp_path).locate(Origin(2, 1))) == "m.sql (compiled):2:1"


def test_lines_that_changed_places_are_doubted(tmp_path):
    template = "{{ first() }}\nselect b\nfrom t\n"
    (tmp_path / "m.sql").write_text(template)
    form = {"raw_code": template.strip(), "compiled_code": "from t\nselect b", "original_file_path": "m.sql"}
    assert str(TemplateMap.of(form, tmp_path).locate(Origin(1, 1))) == "m.sql (compiled):1:1"


def report(sql, *origins):
    found = [Finding(Verdict.VIOLATED, "PP505", "logical", "y", origin=origin) for origin in origins]
    return Report("shop.m", "checked", tuple(found), sql=sql)


def test_a_report_is_moved_once_and_quotes_its_lines(node):
    start = COMPILED.index("b.y")
    moved = relocate(report(COMPILED, place(COMPILED, start), None), node)
    assert [str(f.origin) for f in moved.findings] == ["m.sql:19:14", "None"]
    assert moved.details["lines"] == {"m.sql:19": "select a.id, b.y"}
    assert relocate(moved, node) is moved


def test_what_was_put_around_the_compiled_text_is_nobodys(node):
    wrapped = f"select `y`, `id` from (\n{COMPILED.strip()}\n) as model_subq"
    inside = Origin(wrapped[: wrapped.index("b.y")].count("\n") + 1, 14, "m.sql")
    moved = relocate(report(wrapped, inside, Origin(1, 9, "m.sql")), node)
    assert [str(f.origin) for f in moved.findings] == ["m.sql:19:14", "None"]


def test_another_text_is_not_mapped(node):
    given = report("select something else", Origin(1, 1))
    assert relocate(given, node) is given


def test_large_and_hostile_models_are_mapped_quickly(tmp_path):
    lines = [f"  column_{i} as c{i}," for i in range(20_000)]
    template = "\n".join([*lines, "{{ a }}x" * 200])
    compiled = "\n".join([*lines, "x" * 5_000 + "y"])
    (tmp_path / "m.sql").write_text(template)
    form = {"raw_code": template, "compiled_code": compiled, "original_file_path": "m.sql"}
    started = time.perf_counter()
    mapped = TemplateMap.of(form, tmp_path)
    assert str(mapped.locate(Origin(19_999, 3))) == "m.sql:19999:3"
    assert mapped.locate(Origin(20_001, 1)).file == "m.sql (compiled)"
    assert time.perf_counter() - started < 5
