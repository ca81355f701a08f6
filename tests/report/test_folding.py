"""One cause is said once: repeated over models, or seen again by those that read a model."""

from __future__ import annotations

from planproof.report.details import Details
from planproof.report.folding import consequences, groups, listed
from planproof.report.model import Finding, Report, Verdict
from planproof.report.parts import Parts
from planproof.report.text import plain


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
    assert [len(group) for group in groups([*reports, other])] == [40, 1]
    text = plain([*reports, other])
    assert text.count("breaks its promise") == 2
    assert "the same in 39 other models: shop.q1, shop.q2, shop.q3" in text
    assert "and 33 more" in text


def test_what_a_run_stopped_is_told_table_by_table() -> None:
    reports = [broken(f"shop.q{i}", "the same", outcome="rejected") for i in range(3)]
    assert plain(reports).count("was not published") == 3


def test_consequences_stand_under_their_cause() -> None:
    cause = Finding(Verdict.UNPROVED, "PP111", "logical", message="planproof does not know raw.people: freeze")
    reports = [checked("shop.stg", cause), unread("shop.mid", "shop.stg"), unread("shop.mart", "shop.mid")]
    below, folded = consequences(reports)
    assert below == {"shop.stg": ["shop.mid", "shop.mart"]}
    assert len(folded) == 2
    text = plain(reports)
    assert text.count("PP111") == 1
    assert "so 2 models that read it cannot be judged: shop.mid, shop.mart" in text
    assert "3 unproved" in text, "each is counted"


def test_a_consequence_whose_cause_is_not_shown_is_said_itself() -> None:
    assert consequences([unread("shop.mid", "shop.stg")]) == ({}, set())
    around = [unread("shop.a", "shop.b"), unread("shop.b", "shop.a")]
    assert consequences(around) == ({}, set())


def test_style_is_one_line_with_a_count() -> None:
    star = Finding(Verdict.WARNING, "PP129", "logical", message="a star")
    swapped = Finding(Verdict.WARNING, "PP120", "logical", message="a and b are swapped")
    text = plain([checked("a", star), checked("b", star, swapped)])
    assert "style: 2 of PP129 (open star)" in text
    assert "a star" not in text
    assert "PP120 b: a and b are swapped" in text


def test_a_list_is_cut() -> None:
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"


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
