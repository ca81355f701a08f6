"""Places in compiled SQL, moved to the template: right or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.sandbox import SandboxedEnvironment

from planproof.project.compiled import TemplateMap, relocate
from planproof.report.model import Report
from planproof_engine.finding import Finding, Verdict
from planproof_engine.origin import Origin, place

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


def rendered(template, **names):
    """The template as dbt renders it: without the white space around it."""
    return SandboxedEnvironment(extensions=["jinja2.ext.do"]).from_string(template.strip()).render(**names)


COMPILED = rendered(
    TEMPLATE,
    config=lambda **given: "",
    ref=lambda name: f"shop.{name}",
    money=lambda column: f"cast({column} as\n  decimal(1,2))",
    var=lambda name: "left",
)


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A node of the project in this folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.sql").write_text(TEMPLATE)
    return {
        "raw_code": TEMPLATE.strip(),
        "compiled_code": COMPILED,
        "original_file_path": "m.sql",
        "compiled_path": "target/compiled/m.sql",
    }


def at(node, text, nth=1):
    """Where the nth `text` of the compiled SQL is said to stand."""
    start = -1
    for _ in range(nth):
        start = COMPILED.index(text, start + 1)
    return str(TemplateMap.of(node, ".").locate(place(COMPILED, start)))


def test_equal_lines_that_occur_once(node):
    assert at(node, "with a as") == "m.sql:4:1"
    assert at(node, "b.y") == "m.sql:19:14"
    assert at(node, "from a") == "m.sql:20:1"


def test_lines_that_repeat_are_told_apart_by_their_neighbours(node):
    assert at(node, "id,", 1) == "m.sql:6:9"
    assert at(node, "id,", 2) == "m.sql:12:9"


def test_lines_with_an_expression_before_in_and_behind_it(node):
    assert at(node, "    from shop.o") == "m.sql:8:1"
    assert at(node, "shop.o") == "m.sql:8:10 (in what is rendered here)"
    assert at(node, "cast(y as") == "m.sql:13:9 (in what is rendered here)"
    assert at(node, "decimal(1,2)") == "m.sql:13:9 (in what is rendered here)"
    assert at(node, "join b") == "m.sql:21:16"
    assert at(node, "b.id", 1) == "m.sql:21:33"


def test_what_a_loop_repeats_stands_where_the_loop_wrote_it(node):
    assert [at(node, "--", 1), at(node, "--", 2)] == ["m.sql:17:1", "m.sql:17:1"]
    assert at(node, "v\n") == "m.sql:17:4 (in what is rendered here)"


def test_what_is_not_sure_keeps_its_place_in_the_compiled_file(tmp_path):
    template = "select {{ a }}\nfrom t\nwhere {{ b }}\nfrom t\nwhere x"
    (tmp_path / "m.sql").write_text(template)
    compiled = rendered(template, a="1\nfrom t\nwhere 2", b="3")
    form = {"raw_code": template, "compiled_code": compiled, "original_file_path": "m.sql"}
    mapped = TemplateMap.of(form, tmp_path)
    # The first `from t` may be what `a` printed, the second what `b` printed.
    assert str(mapped.locate(Origin(4, 7))) == "m.sql (compiled):4:7"
    assert str(mapped.locate(Origin(6, 1))) == "m.sql:4:1"


def test_every_character_that_is_not_doubted_is_the_template_s(node):
    template, mapped = TEMPLATE.split("\n"), TemplateMap.of(node, ".")
    sure = 0
    for offset, character in enumerate(COMPILED):
        found = mapped.locate(place(COMPILED, offset))
        if character != "\n" and found.file == "m.sql" and not found.approximate:
            assert template[found.line - 1][found.column - 1] == character
            sure += 1
    assert sure > 120


def test_a_package_s_model_lies_where_dbt_installs_it(node, tmp_path):
    installed = tmp_path / "project" / "dbt_packages" / "shop"
    installed.mkdir(parents=True)
    (tmp_path / "m.sql").rename(installed / "m.sql")
    mapped = TemplateMap.of({**node, "package_name": "shop"}, tmp_path / "project")
    assert str(mapped.locate(place(COMPILED, COMPILED.index("b.y")))) == "dbt_packages/shop/m.sql:19:14"


def test_a_file_that_changed_since_the_compile_is_not_trusted(node, tmp_path):
    (tmp_path / "m.sql").write_text("-- new first line\n" + TEMPLATE)
    assert at(node, "with a as") == "target/compiled/m.sql:2:1"


def test_without_the_file_no_line_is_guessed(node, tmp_path):
    (tmp_path / "m.sql").unlink()
    assert at(node, "with a as") == "target/compiled/m.sql:2:1"


def test_a_line_that_a_macro_wrote_is_not_taken_for_a_comment_of_the_template(tmp_path):
    template = "{#\nfrom secret\n#}\nselect 1\n{{ tail() }}"
    (tmp_path / "m.sql").write_text(template)
    compiled = rendered(template, tail=lambda: "from secret")
    form = {"raw_code": template, "compiled_code": compiled, "original_file_path": "m.sql"}
    assert str(TemplateMap.of(form, tmp_path).locate(Origin(3, 1))) == "m.sql:5:1 (in what is rendered here)"


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
    moved = relocate(report(COMPILED, place(COMPILED, start), None), node, ".")
    assert [str(f.origin) for f in moved.findings] == ["m.sql:19:14", "None"]
    assert moved.details.lines == {"m.sql:19": "select a.id, b.y"}
    assert relocate(moved, node) is moved


def test_what_was_put_around_the_compiled_text_is_nobodys(node):
    wrapped = f"select `y`, `id` from (\n{COMPILED.strip()}\n) as model_subq"
    inside = Origin(wrapped[: wrapped.index("b.y")].count("\n") + 1, 14, "m.sql")
    moved = relocate(report(wrapped, inside, Origin(1, 9, "m.sql")), node, ".")
    assert [str(f.origin) for f in moved.findings] == ["m.sql:19:14", "None"]


def test_another_text_is_not_mapped(node):
    given = report("select something else", Origin(1, 1))
    assert relocate(given, node) is given


def test_a_large_model_is_mapped_and_a_hostile_one_is_given_up(tmp_path):
    lines = [f"  column_{i} as c{i}," for i in range(20_000)]
    template = "\n".join([*lines, "{{ a }}x" * 200])
    (tmp_path / "m.sql").write_text(template)
    # Thousands of ways to read a line are too many; a rendering that is none is seen at once.
    for tail, sure in (("x" * 300, True), ("x" * 5_000, False), ("x" * 5_000 + "y", False)):
        form = {"raw_code": template, "compiled_code": "\n".join([*lines, tail]).strip(), "original_file_path": "m.sql"}
        mapped = TemplateMap.of(form, tmp_path)
        assert str(mapped.locate(Origin(19_999, 3))) == f"m.sql{'' if sure else ' (compiled)'}:19999:3"
        assert mapped.locate(Origin(20_001, 299)).file == ("m.sql" if sure else "m.sql (compiled)")


PIECES = ["select", "a,", "\n", "\n  ", " ", "\t", "\r\n", "é", "x\u2028y", "\x0c", "from t", ",\n", "}", "%", "$"]
TAGS = st.tuples(st.sampled_from(["", "-"]), st.sampled_from(["", "-"]))
TEXTS = ["", "a,", "from t", "m", "m\n  n", "\n", "a,\n", "select\na,"]


@st.composite
def templates(draw, depth=2):
    """A template with a mark for every character that it may print, and the texts that its expressions print.

    Pieces are (text, mark): literal text has the mark "", an expression the number of the text that it prints.
    """
    found = []
    for _ in range(draw(st.integers(1, 6))):
        deeper = ["if", "for", "set", "comment", "ways"] if depth else []
        kind = draw(st.sampled_from(["text"] * 4 + ["print"] * 2 + ["raw"] + deeper))
        left, right = draw(TAGS)
        if kind == "text":
            found.append(("text", draw(st.sampled_from(PIECES))))
        elif kind == "print":
            spread = draw(st.sampled_from(["", "\n "]))
            found.append(("print", f"{{{{{left} {spread}p(", draw(st.sampled_from(TEXTS)), f"){spread} {right}}}}}"))
        elif kind == "raw":
            found.append(("tag", f"{{%{left} raw {right}%}}"))
            found += [("text", draw(st.sampled_from(PIECES))), ("tag", "{% endraw %}")]
        elif kind == "ways":
            # A loop that may not run, and does something else then; each round but the last ends in a comma.
            found.append(("tag", f"{{%{left} for i in range({draw(st.integers(0, 2))}) {right}%}}"))
            found += [*draw(templates(depth - 1)), ("tag", "{% if loop.last %}"), *draw(templates(depth - 1))]
            found += [("tag", "{% elif not loop.last %}"), ("text", ","), ("tag", f"{{%{left} endif {right}%}}")]
            found += [("tag", "{% else %}"), *draw(templates(depth - 1)), ("tag", f"{{% endfor {right}%}}")]
        elif kind == "comment":
            found.append(("tag", f"{{#{left} select\n{{{{ x }}}} {right}#}}"))
        elif kind == "set" and draw(st.booleans()):
            value = draw(st.sampled_from(["a,", "from t\\n  b", "select"]))
            found.append(("tag", f"{{% set word = '{value}' %}}"))
            found.append(("word", value.replace("\\n", "\n")))
        elif kind == "set":
            found += [("tag", "{% set kept %}"), ("tag", "a,\n"), ("tag", "{% endset %}")]
        else:
            head = "for i in [1, 2]" if kind == "for" else draw(st.sampled_from(["if true", "if false"]))
            word = "if" if head.startswith("if") else "for"
            found.append(("tag", f"{{%{left} {head} {right}%}}"))
            found += draw(templates(depth - 1))
            if word == "if" and draw(st.booleans()):
                found += [("tag", f"{{%{left} else {right}%}}"), *draw(templates(depth - 1))]
            found.append(("tag", f"{{% end{word} {right}%}}"))
    return found


def written(pieces):
    """The template; and as text with one private character for each character that is no white space."""
    template, marked, texts, marked_texts = "", "", [], []
    for kind, *parts in pieces:
        if kind == "text":
            marked += "".join(c if c.isspace() else chr(0xF0000 + len(template) + i) for i, c in enumerate(parts[0]))
            template += parts[0]
        elif kind == "tag":
            template, marked = template + parts[0], marked + parts[0]
        elif kind == "word":
            shown = "".join(c if c.isspace() else chr(0x100000 + len(template)) for c in parts[0])
            shown = shown.replace("\n", "\\n")
            # The marked copy sets the word anew, so that it prints its marks.
            marked += "{% set word = '" + shown + "' %}{{ word }}"
            template += "{{ word }}"
        else:
            head, text, tail = parts
            start = len(template)
            marked_texts.append("".join(c if c.isspace() else chr(0x100000 + start) for c in text))
            texts.append(text)
            code = f"{head}{len(texts) - 1}{tail}"
            template, marked = template + code, marked + code
    return template, marked, texts, marked_texts


@settings(max_examples=200, deadline=None, derandomize=True)
@given(templates())
def test_no_place_in_any_template_is_ever_wrong(tmp_path_factory, pieces):
    """The truth comes from rendering a copy of the template in which every character says where it stands."""
    template, marked, texts, marked_texts = written(pieces)
    names = {"p": lambda i: texts[i]}
    compiled = rendered(template, **names)
    truth = rendered(marked, p=lambda i: marked_texts[i])
    if not compiled:
        return
    assert len(truth) == len(compiled)
    directory = tmp_path_factory.mktemp("m")
    (directory / "m.sql").write_bytes(template.encode())
    form = {"raw_code": template.strip(), "compiled_code": compiled, "original_file_path": "m.sql"}
    mapped = TemplateMap.of(form, directory)
    assert mapped.alignment is not None
    for offset, mark in enumerate(truth):
        found = mapped.locate(place(compiled, offset))
        if mark.isspace() or found.file != "m.sql":
            continue
        inside = ord(mark) >= 0x100000
        before = template[: ord(mark) - (0x100000 if inside else 0xF0000)].replace("\r\n", "\n")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        assert found.line == line, (template, compiled, offset)
        if not found.approximate:
            assert not inside
            assert found.column == column
