"""The demo goes as it is told, and would say so if it did not."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pictures
import pytest
from rich.console import Console

EXAMPLES = Path(__file__).parents[2] / "dags_examples"

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def words(text: str) -> list[str]:
    """A text word by word: frames, breaks of lines and numbers aside, for the scale is another one."""
    return re.sub(r"\d[\d,.]*", "#", re.sub(r"[─│╭╮╰╯]+", " ", text)).split()


@pytest.fixture
def told(demo: ModuleType, demo_home: Path, project: Path, schema: str) -> tuple[Any, io.StringIO]:
    """The story, told once at a hundredth of scale, and what the terminal showed."""
    shown = io.StringIO()
    story = demo.Demo(demo_home, Console(file=shown, width=120), project, 0.01, schema)
    return story, shown


@pytest.mark.conformance
def test_the_story_goes_as_told(
    told: tuple[Any, io.StringIO], demo: ModuleType, demo_home: Path, spark: SparkSession, schema: str
) -> None:
    """Published, broken, stopped: the rows published before are still there, and a healthy run publishes again."""
    story, shown = told
    with contextlib.redirect_stdout(shown):  # dbt prints to it.
        story.tell()
    table = f"{schema}.customer_activity"
    rows = sorted(spark.table(table).collect())
    assert len(rows) == 1000
    assert spark.table(table).where("order_count is null").count() == 0

    healthy, broken = story.reports
    assert {r.outcome for r in healthy.reports} == {"published"}
    assert len(healthy.reports) == 7
    (stopped,) = broken.reports
    assert (stopped.model, stopped.outcome, stopped.verdict.value) == (table, "rejected", "violated")
    (violation,) = (f for f in stopped.findings if f.verdict.value == "violated")
    assert violation.field == "order_count"
    assert violation.origin is not None
    model = (story.project / "models/marts/customer_activity.sql").read_text().splitlines()
    assert violation.origin.file == "models/marts/customer_activity.sql"
    assert "order_count" in model[violation.origin.line - 1]

    said = shown.getvalue()
    assert "planproof: 0 published, 1 stopped; report " in said
    framed = io.StringIO()
    with contextlib.redirect_stdout(framed):
        selected = ["--project-dir", str(story.project), "--select", "customer_activity"]
        assert demo.planproof("run", *selected, "--vars", "{customer_join: left}") == 1
    box = framed.getvalue().replace(schema, "shop")
    box = box[box.rindex("╭─") : box.rindex("╰─")]
    drawn = list_words((pictures.FOLDER / "stopped.svg").read_text("utf-8"))
    assert words(box) == [*words(" ".join(drawn[drawn.index("✗") :]))][: len(words(box))], "run `make pictures`"
    assert "published before      1,000 rows        0 nulls" in said
    assert "now                   1,000 rows        0 nulls" in said

    # The break is taken back: the model is published again, with the same rows.
    assert demo.planproof("run", *selected) == 0
    assert sorted(spark.table(table).collect()) == rows


def test_a_story_that_goes_wrong_is_not_called_a_success(
    demo: ModuleType, demo_home: Path, project: Path, schema: str
) -> None:
    """Without the promise there is nothing to stop: the demo must notice."""
    contract = project / "models/marts/_marts.yml"
    promised = """
      - name: order_count
        description: Never null, as customers without an order are left out.
        data_type: bigint
"""
    text = contract.read_text()
    assert f"{promised}        constraints: [{{type: not_null}}]\n" in text
    contract.write_text(text.replace(f"{promised}        constraints: [{{type: not_null}}]\n", promised))
    story = demo.Demo(demo_home, Console(file=io.StringIO()), project, 0.01, schema)
    with pytest.raises(demo.WentWrong):
        story.expect_found_offline(story.check())


def test_two_demos_do_not_share_a_home(demo: ModuleType, tmp_path: Path) -> None:
    with demo.alone(tmp_path), pytest.raises(demo.CannotTell, match="another demo"), demo.alone(tmp_path):
        pass
    with demo.alone(tmp_path):
        pass


def list_words(svg: str) -> list[str]:
    """The words that a terminal's picture shows, line by line from the top."""
    found: dict[float, list[str]] = {}
    for at, text in _read_texts(svg):
        found.setdefault(at, []).append(text)
    return [word for at in sorted(found) for word in " ".join(found[at]).split() if word.strip("│╭╮╰╯─")]


def _read_texts(svg: str) -> Iterator[tuple[float, str]]:
    for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        if text.get("clip-path"):
            yield float(text.get("y", "0")), (text.text or "").replace("\xa0", " ")
