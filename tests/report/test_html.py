"""The page: one file, escaped, without script and without data."""

from __future__ import annotations

from datetime import datetime, timezone
from html.parser import HTMLParser

from planproof.origin import Origin
from planproof.report.details import Details
from planproof.report.html import plane_boxes, render, render_run
from planproof.report.model import PLANES, Enforcement, Finding, PlaneReading, Report, Rewrite, Verdict
from planproof.report.run import run_report

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
    Details(lines={f"{HOSTILE}:1": HOSTILE}),
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


def test_hostile_names_stay_text():
    page = seen(render_run(run_report(HOSTILE, [BAD], datetime.now(timezone.utc), project=HOSTILE)))
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
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
