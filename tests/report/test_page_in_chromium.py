"""The page as a browser shows it: at two widths, light and dark, and with thousands of models.

The pictures lie in pytest's temporary folder, to be looked at.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest
from browser import EXECUTABLE, Browser

from planproof.project import read_project
from planproof.project.check import check_project
from planproof.report.html import render_run
from planproof.report.model import Report
from planproof.report.run import run_report
from planproof_engine.finding import Verdict

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not installed")

LONG = "a_column_with_a_name_that_is_longer_than_any_screen_of_a_telephone_is_wide"
STAGING = """\
with renamed as (
    select id as order_id, customer_id, cast(amount as decimal(12, 2)) as amount, items
    from raw.orders
    where id is not null
)
select order_id, customer_id, amount, transform(items, i -> i.price * i.quantity) as totals from renamed"""
MODELS = {
    "stg": {
        "sql": STAGING,
        "parents": ["raw.orders"],
        "contract": True,
        "columns": {
            "order_id": "bigint",
            "customer_id": "bigint",
            "amount": "decimal(12,2)",
            "totals": "array<double>",
        },
    },
    "sales": {
        "sql": "select customer_id, sum(amount) as revenue from shop.stg group by customer_id",
        "parents": ["stg"],
        "contract": True,
        "columns": {"customer_id": "bigint", "revenue": "double", LONG: "string"},
    },
    "plain": {"sql": "select 1 as one"},
}
SOURCES = {
    "raw.orders": {
        "id": "bigint",
        "customer_id": "bigint",
        "amount": "double",
        "items": "array<struct<price:double,quantity:int>>",
    }
}


@pytest.fixture
def reports(dbt_manifest) -> list[Report]:
    return check_project(read_project(dbt_manifest(MODELS, SOURCES)))


def page(reports, folder) -> str:
    file = folder / "page.html"
    file.write_text(render_run(run_report("check", reports, datetime.now(timezone.utc), project="shop")))
    return file.as_uri()


@pytest.mark.parametrize("width", [1280, 400])
def test_all_of_it_can_be_read_at_this_width(reports, tmp_path, width: int) -> None:
    address = page(reports, tmp_path)
    with Browser() as browser:
        browser.resize(width, 900)
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            browser.open(address)
            # The browser leaves out of `innerText` what it has not drawn yet.
            text = browser.value("document.body.textContent")
            browser.picture(tmp_path / f"{width}-{scheme}.png")
            assert browser.value("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
            # What a finding says, and what to do, is not to be scrolled to sideways.
            cut = "[...document.querySelectorAll('.findings td[colspan]')].filter(c => c.getBoundingClientRect().right"
            assert browser.value(f"{cut} > innerWidth || !c.checkVisibility()).length") == 0
            assert "revenue: promised double, found decimal(22,2)" in text
            assert "Cast the column to the promised type" in text
        marked = browser.value("[...document.querySelectorAll('.matrix .first')].map(c => c.textContent).join()")
        assert "decimal(22,2)" in marked, "the first cell that differs is marked"
        colours = "getComputedStyle(document.body).backgroundColor"
        dark = browser.value(colours)
        browser.prefer("light")
        assert browser.value(colours) != dark
        browser.value("document.querySelector('#f-proved').click()")
        shown = "[...document.querySelectorAll('details.model')].filter(m => m.checkVisibility()).length"
        assert browser.value(shown) == 1, "the filter works without the script"
        browser.value("document.querySelector('#f-all').click()")
        browser.value("q = document.querySelector('#q'); q.value = 'sales'; q.dispatchEvent(new Event('input'))")
        assert browser.value(shown) == 1, "and the search with it"


def test_it_is_printed_driven_by_keys_and_read_aloud(reports, tmp_path) -> None:
    address = page(reports, tmp_path)
    with Browser() as browser:
        browser.resize(1280, 900)
        browser.open(address)
        browser.press("/", "/")
        assert browser.value("document.activeElement.id") == "q", "a key leads to the search"
        closed = "document.activeElement.matches('details.model:not([open]) > summary')"
        for _ in range(40):
            browser.press("Tab")
            if browser.value(closed):
                break
        else:
            raise AssertionError("no closed model can be reached with the keyboard")
        assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid", (
            "one sees where one is"
        )
        browser.press("Enter", "\r")
        assert browser.value("document.activeElement.parentElement.open")
        spoken = browser.list_spoken()
        assert ("searchbox", "search in the models") in spoken
        assert ("heading", "shop.sales") in spoken
        assert ("list", "the way of the column through the models") in spoken
        assert {"columnheader", "rowheader", "main", "status"} <= {role for role, _ in spoken}
        images = [name for role, name in spoken if role == "image"]
        assert all(images), "each picture has a name"
        browser.medium("print")
        assert browser.value("getComputedStyle(document.querySelector('.filter')).display") == "none"
        assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
        assert "revenue: promised double, found decimal(22,2)" in browser.value("document.body.innerText")


def test_thousands_of_models_open_at_once(reports, tmp_path) -> None:
    healthy = [report for report in reports if report.verdict is Verdict.PROVED]
    many = [
        reports[1] if i % 50 == 0 else replace(healthy[i % len(healthy)], model=f"shop.model_{i}") for i in range(5000)
    ]
    with Browser() as browser:
        browser.resize(1280, 900)
        browser.open(page(many, tmp_path), 60)
        seconds = browser.value("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd / 1000")
    # It takes 0.6 s on two idle cores; tests share theirs with others.
    assert seconds < 4
