"""One cause is said once: repeated over models, or seen again by those that read a model."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from dbt_planproof.message import describe_failure, list_remarks
from planproof.report.details import Details
from planproof.report.folding import find_consequences, group_by_cause, list_names
from planproof.report.formats import Form, render
from planproof.report.model import Report
from planproof.report.parts import Parts
from planproof.report.run import run_report
from planproof.report.text import render_plain
from planproof_engine.finding import NOT_COMPILED, UNREAD, Finding, Verdict
from planproof_engine.origin import Origin


def checked(name: str, *findings: Finding, outcome: str = "checked") -> Report:
    return Report(name, outcome, findings, details=Details(contract=True))


def broken(name: str, message: str, outcome: str = "checked") -> Report:
    return checked(name, Finding(Verdict.VIOLATED, "PP110", "logical", message=message), outcome=outcome)


def unread(name: str, parent: str) -> Report:
    said = f"planproof does not know the schema of {parent}: not read offline, and without a contract"
    return checked(name, Finding(Verdict.UNPROVED, "PP111", "logical", message=said))


def test_models_that_are_stopped_by_one_cause_share_a_panel() -> None:
    reports = [broken(f"shop.q{i}", f"Syntax error at or near '\"Name{i}\"'") for i in range(40)]
    other = broken("shop.other", "no such function: f")
    assert [len(group) for group in group_by_cause([*reports, other])] == [40, 1]
    text = render_plain([*reports, other])
    assert text.count("cannot be published as it is") == 2
    assert "the same in 39 other models: shop.q1, shop.q2, shop.q3" in text
    assert "and 33 more" in text


def test_what_a_run_stopped_is_told_table_by_table() -> None:
    reports = [broken(f"shop.q{i}", "the same", outcome="rejected") for i in range(3)]
    assert render_plain(reports).count("was not published") == 3


def test_consequences_stand_under_their_cause() -> None:
    cause = Finding(Verdict.UNPROVED, "PP111", "logical", message="planproof does not know raw.people: freeze")
    reports = [checked("shop.stg", cause), unread("shop.mid", "shop.stg"), unread("shop.mart", "shop.mid")]
    below, folded = find_consequences(reports)
    assert below == {"shop.stg": ["shop.mid", "shop.mart"]}
    assert len(folded) == 2
    text = render_plain(reports)
    assert text.count("PP111 ") == 1
    assert text.count("next (PP111)") == 1
    assert "so 2 models that read it cannot be judged: shop.mid, shop.mart" in text
    assert "3 unproved" in text, "each is counted"


def test_consequences_of_each_model_that_has_the_same_finding_are_named() -> None:
    """Two Python models, and what reads the one or the other: nobody is left out in any form."""
    cause = Finding(Verdict.UNPROVED, "PP111", "logical", message="planproof does not know a Python model")
    roots = [checked(f"shop.py{i}", cause) for i in range(9)]
    reports = [*roots, *(unread(f"shop.mart{i}", f"shop.py{i}") for i in range(3))]
    run = run_report("check", reports, datetime.now(timezone.utc))
    for form in ("text", "markdown", "github"):
        text = " ".join(render(run, form, Form()).split())
        assert all(text.count(f"shop.mart{i}") == (2 if form == "text" else 1) for i in range(3)), (form, text)
    for form in ("text", "markdown"):
        text = " ".join(render(run, form, Form()).replace("\\", "").split())
        assert "PP111 shop.py0, shop.py1, shop.py2, shop.py3, shop.py4, shop.py5 and 3 more: planproof" in text, form
        assert "so 3 models that read one of them cannot be judged: shop.mart0, shop.mart1, shop.mart2" in text, form


def test_sources_that_nobody_declares_are_one_remark_that_names_them() -> None:
    def of(kind: str, source: str, why: str, line: int) -> Finding:
        said = f"planproof does not know the schema of {source}: the {kind} {source} {why}"
        return Finding(Verdict.UNPROVED, "PP111", "logical", message=said, origin=Origin(line, 7, file="models/a.sql"))

    why = "lacks a complete list of columns"
    reports = [
        checked("shop.a", of("source", "raw.orders", why, 1)),
        checked("shop.b", of("source", "raw.users", why, 2)),
        checked("shop.c", of("source", "raw.orders", why, 3)),
        checked("shop.d", of("seed", "raw.codes", "states no column_types", 4)),
    ]
    shared = (
        "planproof does not know the schemas of raw.orders, raw.users: each source lacks a complete list of columns"
    )
    text = " ".join(render_plain(reports).split())
    assert f"PP111 shop.a, shop.b, shop.c at models/a.sql:1:7, and elsewhere: {shared}" in text
    assert "PP111 shop.d at models/a.sql:4:7: planproof does not know the schema of raw.codes: the seed" in text
    assert text.count("next (PP111)") == 1
    markdown = render(run_report("check", reports, datetime.now(timezone.utc)), "markdown", Form()).replace("\\", "")
    assert f"PP111 shop.a, shop.b, shop.c: {shared} (models/a.sql:1:7), and elsewhere" in markdown


@pytest.mark.parametrize(("kind", "why"), [("seed", "states no column_types"), ("snapshot", "has columns of dbt's")])
def test_seeds_and_snapshots_too_are_one_remark_each(kind: str, why: str) -> None:
    said = "planproof does not know the schema of {0}: the {1} {0} {2}"
    messages = [said.format(name, kind, why) for name in ("shop.s1", "shop.s2")]
    findings = [Finding(Verdict.UNPROVED, "PP111", "logical", message=message) for message in messages]
    text = " ".join(render_plain([checked(f"shop.{i}", finding) for i, finding in enumerate(findings)]).split())
    assert f"planproof does not know the schemas of shop.s1, shop.s2: each {kind} {why}" in text


def test_what_is_said_of_many_incremental_models_filters_is_one_remark() -> None:
    def of(line: int, condition: str, why: str) -> Finding:
        said = f"a later run reads only rows with `{condition}`: {why}"
        return Finding(Verdict.WARNING, "PP142", "logical", message=said, origin=Origin(line, 7, file="models/a.sql"))

    empty, late = "if the table is empty, the bound is NULL", "rows that arrive late are never read"
    reports = [
        checked("shop.a", of(3, "at > (select max(at) from shop.a)", empty), of(9, "at > '2020-01-01'", late)),
        checked("shop.b", of(4, "day >= (select max(`day`) from shop.b)", empty)),
    ]
    text = " ".join(render_plain(reports).split())
    shared = f"a later run reads only rows with `...`: {empty}"
    assert f"PP142 shop.a, shop.b at models/a.sql:3:7, and elsewhere: {shared}" in text
    assert f"PP142 shop.a at models/a.sql:9:7: a later run reads only rows with `at > '2020-01-01'`: {late}" in text


def test_two_constants_are_two_causes() -> None:
    def wraps(constant: str) -> Finding:
        return Finding(Verdict.VIOLATED, "PP136", "logical", "n", message=f"n: ({constant}) is computed as int")

    one, other = checked("a_1", wraps("2147483647 + 1")), checked("a_2", wraps("2000000000 + 2000000000"))
    assert [len(group) for group in group_by_cause([one, other])] == [1, 1]
    named = [checked(f"a_{i}", broken("x", f"no column c{i}").findings[0]) for i in range(2)]
    assert [len(group) for group in group_by_cause(named)] == [2]


def test_open_terms_beside_what_does_not_explain_them_get_their_lines() -> None:
    wraps = Finding(Verdict.VIOLATED, "PP136", "logical", "n", message="n wraps")
    failing = Finding(Verdict.VIOLATED, "PP513", "files", message="a data test fails")
    null = Finding(Verdict.UNPROVED, "PP506", "logical", "n", "NOT NULL", message="n may hold nulls")
    long = Finding(Verdict.UNPROVED, "PP500", "logical", "name", "varchar(3)", message="name may be longer")
    for violation in (wraps, failing):
        report = checked("m", violation, null, long)
        assert Parts.of(report).beside == (null, long)
        run = run_report("check", [report], datetime.now(timezone.utc))
        assert [line.split("title=")[1][:5] for line in render(run, "github", Form()).splitlines()[:-1]] == [
            *(violation.code, "PP506", "PP500")
        ]


def test_open_terms_beside_a_violation_are_named_for_those_who_read() -> None:
    wrong = Finding(Verdict.VIOLATED, "PP504", "logical", "n", "int", "string", "n is a string")
    null = Finding(Verdict.UNPROVED, "PP506", "logical", "n", "NOT NULL", message="n may hold nulls")
    others = [Finding(Verdict.UNPROVED, "PP506", "logical", f"c{i}", "NOT NULL", message="?") for i in range(8)]
    run = run_report("check", [checked("m", wrong, null, *others)], datetime.now(timezone.utc))
    named = [f"c{i} NOT NULL" for i in range(6)]
    said = " ".join(render_plain(run.reports).replace("│", " ").split())
    assert f"not proved either: {', '.join(named)} and 2 more" in said
    assert "not proved either: c0 NOT NULL, c1" in render(run, "markdown", Form())
    for words in (said, render(run, "markdown", Form())):
        assert " n NOT NULL" not in words, "its violation explains it"
    alone = run_report("check", [checked("m", wrong, null)], datetime.now(timezone.utc))
    assert "not proved either" not in render_plain(alone.reports)


def test_what_nobody_promised_is_not_said_to_be_promised_somewhere() -> None:
    place = Origin(4, 5, "models/schema.yml")
    extra = Finding(Verdict.VIOLATED, "PP502", "logical", "x", "nothing", "x int", "x is too many", promise=place)
    missing = Finding(Verdict.VIOLATED, "PP501", "logical", "y", "y int", "nothing", "y is missing", promise=place)
    run = run_report("check", [checked("m", extra, missing)], datetime.now(timezone.utc))
    page = render(run, "html", Form()).replace("</span>", "").replace("<code>", "")
    in_dbt = describe_failure(replace(run.reports[0], outcome="rejected"), "m", Path("report.json"))
    assert in_dbt.count("  models/schema.yml:4\n") == 2, "the table's last column"
    for words in (render_plain(run.reports), page, render(run, "markdown", Form()).replace("\\", ""), in_dbt):
        words = " ".join(words.split())
        assert words.count("the contract is at models/schema.yml:4") == 1
        assert words.count("promised at models/schema.yml:4") == 1
    results = json.loads(render(run, "sarif", Form(prefix="etl/")))["runs"][0]["results"]
    places = [result["locations"][0]["physicalLocation"] for result in results]
    assert [place["artifactLocation"]["uri"] for place in places] == ["etl/models/schema.yml"] * 2
    assert [place["region"] for place in places] == [{"startLine": 4}] * 2


def test_a_query_that_spark_would_reject_is_not_called_a_construct() -> None:
    doubted = Finding(Verdict.UNPROVED, "PP111", "logical", found="UNRESOLVED_COLUMN", message="[UNRESOLVED_COLUMN] x")
    assert doubted.next_step.startswith("Correct the model")
    assert "report the construct" in Finding(Verdict.UNPROVED, "PP111", "logical", message="odd").next_step


def test_what_to_do_for_a_relation_that_nobody_declares_is_said() -> None:
    def step(condition: str, doubt: str = "a macro may provide it") -> str:
        return Finding(
            Verdict.UNPROVED, "PP111", "logical", found=condition, message=f"[{condition}] {doubt}"
        ).next_step

    missing = step("TABLE_OR_VIEW_NOT_FOUND")
    assert all(word in missing for word in ("`ref` or `source`", "builds it first", "depends_on", "planproof freeze"))
    assert "Correct the model" not in missing
    own = step("TABLE_OR_VIEW_NOT_FOUND", "it reads itself; give it a contract")
    assert own == "Give the model a contract, which names its columns, or compile with --full-refresh."
    assert step("UNRESOLVED_COLUMN").startswith("Correct the model")


def test_a_step_is_told_by_the_first_finding_that_is_shown() -> None:
    missing = Finding(Verdict.VIOLATED, "PP501", "logical", "a", message="a is missing")
    hidden = Finding(Verdict.UNPROVED, "PP506", "logical", "a", "NOT NULL", message="a may hold nulls")
    shown = Finding(Verdict.UNPROVED, "PP506", "logical", "b", "NOT NULL", message="b may hold nulls")
    run = run_report("check", [checked("m", missing, hidden, shown)], datetime.now(timezone.utc))
    (line,) = (line for line in render(run, "github", Form()).splitlines() if "PP506" in line)
    assert "b may hold nulls. Next: " in line


def test_consequences_of_what_is_stopped_stand_with_it_in_every_form() -> None:
    reports = [broken("shop.Stg", "no such column"), unread("shop.mid", "shop.Stg"), unread("shop.mart", "shop.mid")]
    so = "so 2 models that read it cannot be judged: shop.mid, shop.mart"
    run = run_report("check", reports, datetime.now(timezone.utc))
    for text in (render_plain(reports), render(run, "markdown", Form()), render(run, "github", Form())):
        assert text.lower().count(so) == 1, text
        assert "PP111" not in text
        assert text.count(reports[0].findings[0].next_step) == 1
    assert "So 2 models" in render(run, "markdown", Form())
    assert render(run, "github", Form()).count("\n::") == 0


def test_readers_of_several_stopped_models_are_said_to_read_one_of_them() -> None:
    roots = [broken(f"shop.root_{name}", "no such column") for name in "abc"]
    reports = [*roots, *(unread(f"shop.mart{i}", f"shop.root_{'abc'[i]}") for i in range(3))]
    run = run_report("check", reports, datetime.now(timezone.utc))
    for form in ("text", "markdown"):
        text = " ".join(render(run, form, Form()).replace("\\", "").replace("│", " ").split())
        assert "o 3 models that read one of them cannot be judged: shop.mart0, shop.mart1, shop.mart2" in text, form


def test_one_next_step_is_said_once_of_a_model_on_the_page_and_to_github() -> None:
    null = [Finding(Verdict.VIOLATED, "PP505", "files", name, "NOT NULL", "1 null") for name in ("a", "b")]
    run = run_report("check", [checked("shop.m", *null)], datetime.now(timezone.utc))
    for form in ("html", "github", "markdown", "text"):
        assert render(run, form, Form()).count("Filter the nulls, fill them") == 1, form


def test_a_rejection_without_a_place_names_none() -> None:
    """As Delta's of a column's name, which it finds when the table is made."""
    rejected = Finding(
        Verdict.VIOLATED, "PP110", "executed", message="Spark rejects the statement that writes the model"
    )
    assert "place" not in rejected.next_step
    assert "place" in replace(rejected, origin=Origin(1, 1)).next_step


def test_what_a_model_needs_to_be_read_is_its_next_step() -> None:
    (unknown,) = unread("shop.mid", "shop.stg").findings
    assert unknown.next_step.startswith("Run `planproof freeze` for a source")
    left_out = replace(unknown, message=f"{UNREAD}shop.stg: {NOT_COMPILED}, and without a contract")
    assert left_out.next_step.startswith("Compile that model, too")
    construct = Finding(Verdict.UNPROVED, "PP111", "logical", message="planproof does not know PIVOT XML")
    assert "report the construct" in construct.next_step


def test_only_who_promised_something_breaks_a_promise() -> None:
    typed = Finding(Verdict.VIOLATED, "PP504", "logical", "n", "int", "string")
    assert Parts.of(checked("m", typed)).heading == "breaks its promise"
    assert Parts.of(broken("m", "no such column")).heading == "cannot be published as it is"
    assert "column  promised" not in render_plain([broken("m", "no such column")])


def test_a_promise_without_a_place_in_the_model_is_annotated_where_it_stands() -> None:
    missing = Finding(Verdict.VIOLATED, "PP501", "logical", "n", promise=Origin(12, 9, "models/schema.yml"))
    run = run_report("check", [checked("m", missing)], datetime.now(timezone.utc))
    assert render(run, "github", Form("dbt/")).startswith("::error title=PP501 m,file=dbt/models/schema.yml,line=12::")


def test_a_consequence_whose_cause_is_not_shown_is_said_itself() -> None:
    assert find_consequences([unread("shop.mid", "shop.stg")]) == ({}, set())
    around = [unread("shop.a", "shop.b"), unread("shop.b", "shop.a")]
    assert find_consequences(around) == ({}, set())


def test_style_is_one_line_with_a_count() -> None:
    star = Finding(Verdict.WARNING, "PP129", "logical", message="a star")
    swapped = Finding(Verdict.WARNING, "PP120", "logical", message="a and b are swapped")
    text = render_plain([checked("a", star), checked("b", star, swapped)])
    assert "style: 2 of PP129 (open star)" in text
    assert "a star" not in text
    assert "PP120 b: a and b are swapped" in text


def test_what_is_nearly_always_a_mistake_comes_first() -> None:
    cut = Finding(Verdict.WARNING, "PP127", "logical", message="cut off")
    swapped = Finding(Verdict.WARNING, "PP120", "logical", message="swapped")
    run = run_report("check", [checked("a", cut), checked("b", cut, swapped)], datetime.now(timezone.utc))
    for form in ("text", "markdown", "github"):
        text = render(run, form, Form())
        assert 0 <= text.index("swapped") < text.index("cut off"), form
    page = render(run, "html", Form())
    assert page.index("PP120", page.index(">b<")) < page.index("PP127", page.index(">b<"))
    assert "PP120" in list_remarks(run.reports[1])[0]


def test_a_list_is_cut() -> None:
    assert list_names(["a", "b", "c"], 2) == "a, b and 1 more"


def test_an_open_term_is_no_news_beside_the_violation_or_the_failure_that_explains_it() -> None:
    violated = Finding(Verdict.VIOLATED, "PP504", "analyzed", "orders", "bigint", "string")
    same = Finding(Verdict.UNPROVED, "PP506", "analyzed", "orders", "NOT NULL")
    other = Finding(Verdict.UNPROVED, "PP506", "analyzed", "name", "NOT NULL")
    assert Parts.of(checked("m", violated, same, other, outcome="rejected")).beside == (other,)
    rejected = Finding(Verdict.VIOLATED, "PP110", "logical")
    assert Parts.of(checked("m", rejected, same, other, outcome="rejected")).beside == ()
    failure = Finding(Verdict.UNPROVED, "PP302", "executed", message="the disk is full")
    report = Report("m", "failed", (same, failure), error="the disk is full", details=Details(contract=True))
    assert Parts.of(report).findings == (failure,)
    assert Parts.of(checked("m", same, outcome="rejected")).findings == (same,), "it is what stopped the model"
