"""Examples in the documentation: a model, its contract, and what `planproof check` says of them.

An example is a block of `sql`, one of `yaml` with the contract's columns, and one of `text`, which this tool writes:

    python tools/docs_examples.py    # writes what is said now; look at the diff
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from planproof.cli.code_examples import SOURCES
from planproof.project.request import Request
from planproof.report.model import Report

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("unproved.md",)
_EXAMPLE = re.compile(
    r"```sql\n(?P<sql>.*?)```\n\n```yaml\n(?P<yaml>.*?)```\n\n(?P<head>```text\n)(?P<said>.*?)```", re.S
)


class Example(NamedTuple):
    """`start` and `end` are where the text stands in the page that says what was found."""

    sql: str
    columns: list[dict[str, Any]]
    said: str
    start: int
    end: int


def find_examples(page: str) -> Iterator[Example]:
    for found in _EXAMPLE.finditer(page):
        columns = yaml.safe_load(found["yaml"])["columns"]
        yield Example(found["sql"].strip(), columns, found["said"], found.start("said"), found.end("said"))


def list_answers(page: str) -> list[str]:
    """What `planproof check` says of each example of the page now."""
    models = {f"example_{number}": example for number, example in enumerate(find_examples(page))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest.json"
        path.write_text(json.dumps(_manifest(models)), "utf-8")
        reports = Request("check", manifest=str(path), cache=False, jobs=1).reports(None)
    said = {report.model.split(".")[-1]: _describe(report) for report in reports}
    return [said[name] for name in models]


def _describe(report: Report) -> str:
    """The findings as the text report has them: those that prove nothing, or else what proves the contract."""
    found = [f for f in report.findings if f.verdict.value != "proved"] or report.findings
    return "".join(f"{f.code} {f.verdict}: {f.message}\n" for f in found)


def _manifest(models: dict[str, Example]) -> dict[str, Any]:
    nodes = {f"model.docs.{name}": _node(name, example) for name, example in models.items()}
    sources = {f"source.docs.{name}": _source(name, types) for name, types in SOURCES.items()}
    metadata = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "adapter_type": "spark"}
    return {"metadata": metadata, "nodes": nodes, "sources": sources}


def _node(name: str, example: Example) -> dict[str, Any]:
    return {
        "resource_type": "model",
        "unique_id": f"model.docs.{name}",
        "name": name,
        "alias": name,
        "schema": "docs",
        "package_name": "docs",
        "relation_name": f"docs.{name}",
        "fqn": ["docs", name],
        "original_file_path": f"models/{name}.sql",
        "language": "sql",
        "raw_code": example.sql,
        "compiled_code": example.sql,
        "config": {"materialized": "table", "contract": {"enforced": True}},
        "columns": {column["name"]: {"constraints": [], **column} for column in example.columns},
        "depends_on": {"nodes": [f"source.docs.{source}" for source in SOURCES]},
        "tags": [],
    }


def _source(name: str, types: dict[str, str]) -> dict[str, Any]:
    schema, table = name.split(".")
    return {
        "resource_type": "source",
        "unique_id": f"source.docs.{name}",
        "name": table,
        "source_name": schema,
        "identifier": table,
        "schema": schema,
        "package_name": "docs",
        "relation_name": name,
        "fqn": ["docs", schema, table],
        "original_file_path": "models/sources.yml",
        "columns": {c: {"name": c, "data_type": t, "constraints": []} for c, t in types.items()},
    }


def rewrite(page: str) -> str:
    """The page with what is said now."""
    said = list_answers(page)
    for example, now in reversed(list(zip(find_examples(page), said))):
        page = page[: example.start] + now + page[example.end :]
    return page


def main() -> int:
    for name in PAGES:
        path = DOCS / name
        path.write_text(rewrite(path.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
