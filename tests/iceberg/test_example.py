"""The project that docs/iceberg.md shows, built as it stands there; a reader's machine has other folders and a runtime
of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from projects import Dbt

PAGE = Path(__file__).parents[2] / "docs" / "iceberg.md"
_FILE = re.compile(r"```(?:yaml|sql) (\S+)\n(.*?)```", re.S)


class Example(Dbt):
    """The page's files, in the database that the test has made."""

    def __init__(self, root: Path, spark: Any, database: str) -> None:
        self.root, self.spark, self.database = root, spark, database
        self.schema = database.split(".")[1]
        text = PAGE.read_text("utf-8")
        self.write({name: self._here(body) for name, body in _FILE.findall(text)})

    def _here(self, text: str) -> str:
        """Spark runs already, with another warehouse: dbt takes the session that is there."""
        kept = [line for line in text.splitlines() if "spark.jars.packages" not in line and ".warehouse:" not in line]
        return "\n".join(kept).replace("lake", "lake_hadoop").replace("schema: shop", f"schema: {self.schema}") + "\n"

    @property
    def place(self) -> str:
        return self.database


@pytest.fixture
def example(iceberg: Any, lake: str, tmp_path: Path) -> Iterator[Example]:
    current = iceberg.catalog.currentCatalog()
    iceberg.catalog.setCurrentCatalog("lake_hadoop")
    yield Example(tmp_path, iceberg, lake)
    iceberg.conf.unset("spark.sql.defaultCatalog")
    iceberg.catalog.setCurrentCatalog(current)


def test_the_example_does_what_the_page_says(example: Example, capfd: pytest.CaptureFixture[str]) -> None:
    assert {"profiles.yml", "dbt_project.yml", "models/orders.sql", "models/orders.yml"} <= {
        str(path.relative_to(example.root)) for path in example.root.rglob("*.*")
    }
    for strategy in ("replace", "change"):
        assert example.run("build").success, example.log[-3000:]
        assert "planproof: 1 published" in capfd.readouterr().out
        assert example.reports["orders"]["strategy"] == strategy
        assert len(example.rows("orders")) == 100
    before, model = example.state("orders"), (example.root / "models/orders.sql").read_text("utf-8")
    for bad in ("if(id > 98, null, id) as id", "id div 2 as id"):
        example.write({"models/orders.sql": model.replace("select id", f"select {bad}")})
        assert not example.run("build").success
        assert example.state("orders") == before
