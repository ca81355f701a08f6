from __future__ import annotations

import json

import pytest
from edited_project import MART, NOT_NULL, STG, render


@pytest.fixture
def project(tmp_path, dbt_manifest):
    """A folder with two models, of which one promises what it does not hold, and its manifest."""
    models = {
        "stg": {
            "raw_code": STG.strip(),
            "sql": render(STG),
            "parents": ["raw.orders"],
            "config": {"materialized": "view"},
        },
        "mart": {
            "raw_code": MART.strip(),
            "sql": render(MART),
            "parents": ["stg"],
            "contract": True,
            "columns": {"order_id": {"data_type": "bigint"}, "twice": {"data_type": "decimal(14,2)", **NOT_NULL}},
        },
    }
    (tmp_path / "models").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "models" / "stg.sql").write_text(STG)
    (tmp_path / "models" / "mart.sql").write_text(MART)
    sources = "sources:\n- name: raw\n  tables:\n  - name: orders\n    columns:\n    - name: id\n    - name: amount\n"
    (tmp_path / "models" / "sources.yml").write_text(sources)
    orders = {"raw.orders": {"id": "bigint", "amount": "double", "tags": "array<string>"}}
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(models, orders)))
    return tmp_path
