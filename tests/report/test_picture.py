"""The picture of a plan: every node once, what is broken in red down to its source, all text escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import planproof
from planproof import Catalog
from planproof.report.details import Details
from planproof.report.html import render
from planproof.report.model import Report
from planproof.report.picture import draw_plan
from planproof_engine.finding import Finding, Verdict
from planproof_engine.logical.outline import MOST_NODES, outline, plan_details

CATALOG = Catalog(
    {
        "shop.orders": [("id", "bigint", False), ("customer", "int", True), ("unused", "string", True)],
        "shop.customers": [("id", "int", False), ("name", "string", True)],
    }
)
SQL = """
with o as (select id, customer from shop.orders)
select a.id, c.name as who from o a join o b on a.id = b.id left join shop.customers c on c.id = a.customer
"""


def report(sql=SQL, field="who"):
    found = Finding(Verdict.VIOLATED, "PP505", "files", field, "NOT NULL", "1 null")
    return Report("shop.m", "rejected", (found,), details=Details(**plan_details(planproof.plan(sql, CATALOG))))


def texts(drawn, style):
    svg = ET.fromstring(str(drawn))
    return [e.text or "".join(e.itertext()) for e in svg.iter() if e.get("class") == style]


def test_every_node_is_drawn_once_and_the_broken_column_is_red_down_to_its_source():
    drawn = draw_plan(report())
    kinds = texts(drawn, "kind")
    assert sorted(kinds) == ["Join", "Join", "Project", "Project", "Scan", "Scan"]
    assert str(drawn).count('<g class="broken">') == 3  # result, outer join, the table of customers
    assert "and 1 more" in str(drawn)


def test_a_column_of_a_nested_field_marks_its_column():
    assert '<g class="broken">' in str(draw_plan(report(field="who.element.x")))
    assert '<g class="broken">' not in str(draw_plan(report(field="elsewhere")))


def test_hostile_names_stay_text():
    sql = "select id as `<script>alert(1)</script>`, '</svg><img src=x>' as b from shop.orders"
    page = render([report(sql, "<script>alert(1)</script>")], script=False)
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in str(draw_plan(report(sql)))


def test_no_plan_no_picture():
    assert draw_plan(Report("m", "checked")) is None
    assert draw_plan(Report("m", "checked", details=Details(plan={"nodes": []}))) is None
    assert '<figure class="plan">' not in render([Report("m", "checked")])


def test_a_huge_plan_is_cut_and_says_so():
    sql = " union all ".join(f"select id + {i} as n from shop.orders" for i in range(MOST_NODES))
    form = outline(planproof.plan(sql, CATALOG).root)
    assert len(form["nodes"]) == MOST_NODES
    assert form["left_out"] > 0
    drawn = draw_plan(Report("m", "checked", details=Details(plan=form)))
    assert f"{form['left_out']} deeper nodes are not drawn" in str(drawn)
    ET.fromstring(str(drawn))


def test_a_huge_lineage_is_left_out():
    columns = [f"c{i}" for i in range(150)]
    catalog = Catalog({"shop.wide": [(name, "int", True) for name in columns]})
    made = [f"{' + '.join(columns)} as s{i}" for i in range(80)]
    details = plan_details(planproof.plan(f"select {', '.join(made)} from shop.wide", catalog))
    assert "lineage" not in details
    assert details["plan"]["nodes"]
