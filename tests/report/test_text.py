"""Reports in a terminal: golden texts, and names that try to be more than text."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from planproof.report import markdown
from planproof.report.details import Details, QuarantinedRows, TableChange, TableVersion, Values
from planproof.report.model import Report
from planproof.report.parts import describe_table, neutralize
from planproof.report.text import quote, render_plain, render_summary, show
from planproof_engine.finding import Finding, Rewrite, Verdict
from planproof_engine.origin import Origin

PLACE = Origin(24, 5, "models/marts/customer_activity.sql")
LINES = {"models/marts/customer_activity.sql:24": "    o.order_count,"}

STOPPED = Report(
    "shop.customer_activity",
    "rejected",
    (
        Finding(
            Verdict.VIOLATED,
            "PP505",
            "files",
            "order_count",
            "bigint NOT NULL",
            "501 nulls in 1,500 rows",
            "order_count holds 501 nulls in 1,500 rows",
            PLACE,
        ),
        Finding(Verdict.VIOLATED, "PP504", "analyzed", "amount", "decimal(10,2)", "double", "amount is a double"),
    ),
    seconds=1.24,
    details=Details(materialized="table", previous_rows=1000, lines=LINES),
)
HEALTHY = Report(
    "shop.orders",
    "published",
    (
        Finding(Verdict.PROVED, "PP506", "logical", "id", evidence="the filter id IS NOT NULL"),
        Finding(Verdict.PROVED, "PP506", "files", "total", evidence="0 nulls in 1,500 rows"),
        Finding(Verdict.WARNING, "PP101", "logical", "id", message="two fields are called id"),
    ),
    rewrites=(Rewrite("hoist_invariants", "a", "b", True),),
    rows=1500,
    seconds=2.06,
    details=Details(materialized="table", contract=True),
)
RUN = (
    Report("shop.stg", "published", seconds=0.41, details=Details(materialized="view", contract=False)),
    HEALTHY,
    STOPPED,
    Report("shop.child", "skipped", error="its parent shop.customer_activity was not published"),
    Report(
        "shop.gone", "failed", error="the cluster is gone\nand more", seconds=0.1, details=Details(materialized="table")
    ),
)
CHECK = (
    Report("shop.stg", "checked", seconds=0.0, details=Details(contract=True)),
    Report(
        "shop.mart",
        "checked",
        (Finding(Verdict.UNPROVED, "PP111", "logical", message="planproof does not know from_xml", origin=PLACE),),
    ),
)


@pytest.mark.parametrize(("name", "reports"), [("run", RUN), ("check", CHECK), ("nothing", ())])
def test_golden(name, reports):
    golden = Path(__file__).parent / "golden" / f"{name}.txt"
    assert render_plain(reports) == golden.read_text(encoding="utf-8")


def test_a_terminal_gets_colour_and_the_same_words():
    out = io.StringIO()
    show(RUN, Console(file=out, force_terminal=True, width=110, color_system="standard", legacy_windows=False))
    assert "\x1b[" in out.getvalue()
    assert "The table published before is still there, with its 1,000 rows." in out.getvalue()


def test_lines_are_left_out_where_they_were_shown():
    out = io.StringIO()
    show(RUN, Console(file=out, width=110), lines=False, seconds=12.34)
    assert "published, no contract" not in out.getvalue()
    assert out.getvalue().strip().endswith("1 skipped · 12.3 s")


def test_hostile_names_are_text():
    hostile = "[bold]x[/] \x1b]0;owned\x07 \u202e"
    report = Report(
        hostile,
        "rejected",
        (Finding(Verdict.VIOLATED, "PP504", "files", hostile, hostile, hostile, hostile, Origin(1, 1, hostile)),),
        error=hostile,
        details=Details(lines={f"{hostile}:1": hostile}, materialized=hostile),
    )
    text = render_plain([report])
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]x[/]" in text


def test_the_caret_stands_below_the_column():
    excerpt = quote(STOPPED, PLACE).plain.splitlines()
    assert excerpt[0].index("o.order_count") == excerpt[1].index("^")


def test_a_long_line_is_cut_around_its_column():
    line = f"select {'a, ' * 60}culprit{', b' * 60}"
    place = Origin(3, line.index("culprit") + 1, "m.sql")
    excerpt = quote(Report("m", "checked", details=Details(lines={"m.sql:3": line})), place).plain.splitlines()
    assert excerpt[0].index("culprit") == excerpt[1].index("^")
    assert len(excerpt[0]) < 110


def test_an_approximate_place_has_no_caret():
    report = Report("m", "checked", details=Details(lines={"m.sql:3": "{{ macro() }}"}))
    assert "^" not in quote(report, Origin(3, 1, "m.sql", approximate=True)).plain


def test_bare_sql_is_quoted_from_the_report():
    assert "select x" in quote(Report("m", "checked", sql="\nselect x"), Origin(2, 8)).plain
    assert quote(Report("m", "checked", sql="select x"), Origin(7, 1)) is None
    assert quote(Report("m", "checked", sql="select x"), Origin(1, 1, "unknown.sql")) is None
    assert quote(STOPPED, None) is None


@pytest.mark.parametrize(
    ("outcome", "details", "said"),
    [
        ("rejected", {"previous_rows": 1}, "still there, with its 1 row."),
        ("rejected", {"previous": False}, "no table of this name existed before"),
        ("rejected", {}, "the target is as it was"),
        ("failed", {}, "the target is as it was"),
        ("rejected", {"hooked": "delete from t", "previous_rows": 1}, "as a hook left it before (delete from t)"),
        ("published", {}, "as fail_on allows"),
        ("checked", {"previous_rows": 5}, "Nothing was written."),
    ],
)
def test_what_became_of_the_table(outcome, details, said):
    assert said in describe_table(Report("m", outcome, details=Details(**details)))


def test_the_summary_counts_every_model_once():
    assert render_summary(RUN).plain == "5 models · 2 published · 1 stopped · 1 could not run · 1 skipped"
    assert render_summary(CHECK).plain == "2 models · 1 proved · 1 unproved"


def test_clean_keeps_letters_of_all_languages():
    assert neutralize("größe 表 😀\n\t") == "größe 表 😀\n "


def test_markdown_says_the_same_and_holds_no_markup_of_others() -> None:
    """What stopped a model, the next step and the table's fate; a name cannot become a link, a tag or a mention."""
    from planproof.report.markdown import render

    sly = Finding(Verdict.VIOLATED, "PP505", "files", "<img src=x> | [a](b)", message="@everyone\n# look `here`")
    text = render([*RUN, Report("shop.sly", "rejected", (sly,))])
    assert text.startswith("**planproof:** 6 models · 2 published · 2 stopped · 1 could not run · 1 skipped")
    assert "### shop.customer\\_activity was not published: 2 violations" in text
    assert "| PP505 | order\\_count | bigint NOT NULL | 501 nulls in 1,500 rows | files | models/" in text
    assert "**The table published before is still there, with its 1,000 rows.**" in text
    assert "Skipped, because its parent shop.customer\\_activity was not published: shop.child" in text
    assert "- PP101 shop.orders: two fields are called id" in text
    assert "\\<img src=x\\> \\| \\[a\\]\\(b\\)" in text
    assert "@\u200beveryone \\# look \\`here\\`" in text


def test_one_line_says_what_a_publish_changed():
    def change(*columns, rows=12034):
        return TableChange(
            TableVersion(rows, columns), TableVersion(11871, (Values("day", "date", 0, "2026-11-01", "2026-11-21"),))
        )

    same = Values("day", "date", 0, "2026-11-01", "2026-11-21")
    for before, said in (
        (
            Values("day", "date", 0, "2026-11-01", "2026-11-20"),
            "12,034 -> 11,871 rows; day: max 2026-11-20 -> 2026-11-21",
        ),
        (Values("day", "string", 3, unknown="why"), "12,034 -> 11,871 rows; day: type string -> date, nulls 3 -> 0"),
        (Values("gone", "int"), "12,034 -> 11,871 rows; day: new, date; gone: gone, int"),
        (same, "12,034 -> 11,871 rows\n"),
    ):
        report = Report("m", "published", rows=11871, details=Details(change=change(before)))
        assert said in report.to_text()
        assert said.strip().partition(";")[0] in markdown.render([report]).replace("\\", "")
    assert "->" not in Report("m", "published", details=Details(change=change(same, rows=11871))).to_text()
    unread = TableChange(TableVersion(None, unread="9,000 files"), TableVersion(5))
    assert (
        "unknown -> 5 rows; before not read: 9,000 files"
        in Report("m", "published", details=Details(change=unread)).to_text()
    )
    many = TableChange(TableVersion(1, ()), TableVersion(1, tuple(Values(f"c{i}", "int") for i in range(9))))
    assert many.line().endswith("c4: new, int; 4 more columns change")


def test_a_quarantine_is_three_lines_and_its_query_can_be_copied() -> None:
    terms = {"not_null(id)": 2, "check(n > 0)": 1}
    rows = QuarantinedRows("shop.my-orders__quarantine", "c0ffee_1", 2, 1000, terms)
    finding = Finding(Verdict.WARNING, "PP514", "files", "id", "not_null(id)", "2 rows", "a long line " * 12, PLACE)
    report = Report("shop.my-orders", "published", (finding,), details=Details(quarantine=rows))
    lines = render_plain([report]).splitlines()
    at = lines.index("Quarantined")
    assert lines[at + 1 : at + 4] == [
        "  PP514 shop.my-orders: 2 of 1,000 rows quarantined",
        "  not_null(id): 2; check(n > 0): 1",
        "  select * from shop.`my-orders__quarantine` where quarantine_run = 'c0ffee_1'",
    ]
    assert "a long line" not in render_plain([report])
