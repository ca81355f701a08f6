"""The page: one file, escaped, with no script but its own and without data."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime, timezone
from html.parser import HTMLParser

from planproof.report import markdown
from planproof.report.details import DataTestResult, Details
from planproof.report.html import plane_boxes, render, render_run
from planproof.report.model import PLANES, Enforcement, PlaneReading, Report
from planproof.report.picture import Ways, build_matrix
from planproof.report.run import run_report
from planproof_engine.finding import Finding, Rewrite, Verdict
from planproof_engine.origin import Origin

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7919*7919 }}"
BAD = Report(
    HOSTILE,
    "rejected",
    (Finding(Verdict.VIOLATED, "PP504", "files", HOSTILE, HOSTILE, HOSTILE, HOSTILE, Origin(1, 1, HOSTILE)),),
    (
        PlaneReading("contract", "read", HOSTILE, ((HOSTILE, HOSTILE, False),)),
        PlaneReading("logical", HOSTILE, HOSTILE),
    ),
    (Enforcement(HOSTILE, True, HOSTILE),),
    (Rewrite(HOSTILE, HOSTILE, HOSTILE, False),),
    HOSTILE,
    HOSTILE,
    3,
    1.0,
    HOSTILE,
    HOSTILE,
    Details(lines={f"{HOSTILE}:1": HOSTILE}, tests=(DataTestResult(HOSTILE, "not run", HOSTILE),)),
)


class Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)


def seen(page):
    parser = Seen()
    parser.feed(page)
    return parser


def test_tests_that_did_not_run_before_the_publish_are_listed():
    tests = (DataTestResult("unique_id", "pass", "counted"), DataTestResult("related", "not run", "it reads <later>"))
    report = Report("shop.orders", "published", details=Details(tests=tests))
    page, text = render([report]), markdown.render([report])
    assert "data tests that did not run before the publish: 1" in page
    assert "<li>related: it reads &lt;later&gt;</li>" in page
    assert "unique_id" not in page
    assert "- shop.orders: related: it reads \\<later\\>" in text
    assert "unique" not in text


def test_hostile_names_stay_text():
    page = seen(render_run(run_report(HOSTILE, [BAD], datetime.now(timezone.utc), project=HOSTILE)))
    assert not {"img", "link", "iframe"} & set(page.tags)
    assert page.tags.count("script") == 1
    assert "script" not in seen(render([BAD], script=False)).tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert HOSTILE in "".join(page.words)
    assert "62710561" not in "".join(page.words)


def test_nothing_is_loaded_from_elsewhere():
    page = render([BAD])
    assert "default-src 'none'" in page
    assert all(value.startswith("#") for name, value in seen(page).attributes if name in ("href", "src"))


def test_the_picture_has_all_planes_and_marks_the_broken_one():
    boxes = list(plane_boxes(BAD))
    assert [box.name for box in boxes] == list(PLANES)
    styles = {box.name: box.style for box in boxes}
    assert (styles["contract"], styles["logical"], styles["files"], styles["catalog"]) == (
        "read",
        "absent",
        "broken",
        "absent",
    )


def test_a_report_renders_itself_and_an_empty_run_is_a_page():
    healthy = Report("shop.a", "checked", (Finding(Verdict.PROVED, "PP506", "logical", "id", evidence="a filter"),))
    assert "evidence: a filter" in healthy.to_html()
    assert "0 models" in render([])


def test_only_the_pages_own_script_may_run():
    page = render([BAD])
    text = page.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    assert "script-src" not in render([BAD], script=False)


def model(name, *findings, outcome="checked", contract=True, **more):
    return Report(name, outcome, findings, details=Details(contract=contract, **more))


def test_what_was_stopped_is_first_and_open_and_no_contract_is_not_proved():
    proved = Finding(Verdict.PROVED, "PP504", "logical", "id")
    reports = [
        model("a.proved", proved),
        model("b.nothing", contract=False),
        model("c.open", Finding(Verdict.UNPROVED, "PP111", "logical")),
        model("d.broken", proved, Finding(Verdict.VIOLATED, "PP504", "logical", "id", message="other type")),
    ]
    page = render(reports)
    order = [page.index(f"<h2>{name}</h2>") for name in ("d.broken", "c.open", "b.nothing", "a.proved")]
    assert order == sorted(order)
    assert re.findall(r'class="model s-(\w+)[^>]*?( open)?(?: data|>)', page) == [
        ("violated", " open"),
        ("unproved", ""),
        ("none", ""),
        ("proved", ""),
    ]
    assert page.index("other type") < page.index('class="proved">proved')
    assert '<strong class="violated">Stopped.</strong> 1 model broke' in page
    assert 'class="none">Nothing was promised.' in render([reports[1]])
    assert "1 model keeps its contract; 1 model without a contract, of which nothing is proved" in render(reports[:2])


def test_the_matrix_marks_the_first_plane_that_breaks_a_column():
    planes = (
        PlaneReading("contract", "read", None, (("id", "bigint", False), ("n", "int", True), ("gone", "int", True))),
        PlaneReading("logical", "read", None, (("id", "bigint", True), ("n", "string", True))),
        PlaneReading("analyzed", "read", None, (("id", "bigint", True), ("n", "string", True))),
        PlaneReading("catalog", "not present"),
    )
    broken = (
        Finding(Verdict.VIOLATED, "PP504", "analyzed", "n", "int", "string"),
        Finding(Verdict.VIOLATED, "PP504", "logical", "n", "int", "string"),
        Finding(Verdict.VIOLATED, "PP501", "logical", "gone", "int"),
        Finding(Verdict.VIOLATED, "PP505", "files", "id", "NOT NULL", "3 nulls"),
    )
    found = build_matrix(Report("m", "rejected", broken, planes))
    assert found.planes == ["contract", "logical", "analyzed", "files"]
    marked = {
        row.name: [(p, c.text) for p, c in zip(found.planes, row.cells) if c.style == "first"] for row in found.rows
    }
    assert marked == {"id": [("files", "3 nulls")], "n": [("logical", "string")], "gone": [("logical", "missing")]}
    healthy = build_matrix(Report("m", "checked", (), planes))
    assert not [cell for row in healthy.rows for cell in row.cells if cell.style == "first"]
    assert build_matrix(Report("m", "checked")) is None


def test_a_broken_columns_way_leads_through_the_models():
    def made(name, column, source):
        return Details(lineage={"columns": [[column, [[*source, "as it is"]]]]}), name

    details = [made("shop.stg", "n", ("raw.t", "n")), made("shop.mart", "total", ("shop.stg", "n"))]
    broken = Finding(Verdict.VIOLATED, "PP505", "files", "total")
    reports = [Report(name, "rejected", (broken,) if name == "shop.mart" else (), details=d) for d, name in details]
    (way,) = Ways(reports).find_ways(reports[1])
    assert [(stop.name, stop.broken) for stop in way] == [
        ("raw.t.n", False),
        ("shop.stg.n", False),
        ("shop.mart.total", True),
    ]
    assert Ways(reports).find_ways(reports[0]) == []
    assert '<li class="broken">shop.mart.total</li>' in render(reports)


def test_findings_stand_in_the_sql_that_they_are_about():
    found = Finding(Verdict.VIOLATED, "PP110", "logical", message="no such column", origin=Origin(2, 1))
    page = render([Report("m", "checked", (found,), sql="select\nx")])
    assert re.search(r"   2</span> x\n<span class=\"at\">     \^ PP110 no such column", page)


def test_a_page_of_many_models_tells_the_healthy_ones_in_a_line():
    proved = Finding(Verdict.PROVED, "PP504", "logical", "id", evidence="a filter")
    broken = Finding(Verdict.VIOLATED, "PP504", "logical", "id", message="other type")
    page = render([model(f"m{i}", proved, *([broken] if i == 250 else [])) for i in range(400)])
    assert page.count('<table class="findings">') == 1, "of the broken one alone"
    assert page.count("1 proved; the whole report of this model is in the JSON form") == 399
    assert len(page) < 400 * 800 + 20_000
