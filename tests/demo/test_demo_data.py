"""The generator of the demo's sources."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import ModuleType

import pytest

SMALL = 0.001


def test_every_source_of_the_project_is_generated(demo_data: ModuleType, demo_home: Path) -> None:
    import pyarrow.parquet
    import yaml

    declared = yaml.safe_load((Path(demo_data.__file__).parent / "project/models/staging/_sources.yml").read_text())
    tables = {table["name"]: table for table in declared["sources"][0]["tables"]}
    assert set(tables) == set(demo_data.TABLES)
    for name, table in tables.items():
        file = pyarrow.parquet.ParquetFile(demo_home / "tpch" / f"{name}.parquet")
        assert file.schema_arrow.names == [column["name"] for column in table["columns"]]
        # What is declared NOT NULL, the files hold as required columns.
        for column, stored in zip(table["columns"], file.schema_arrow):
            assert not (column.get("constraints") and stored.nullable), (name, column["name"])


def test_data_are_kept_until_the_scale_changes(demo_data: ModuleType, tmp_path: Path) -> None:
    made = demo_data.generate(tmp_path, SMALL) / "orders.parquet"
    first = made.stat().st_mtime_ns, made.stat().st_size
    assert demo_data.generate(tmp_path, SMALL) == made.parent
    assert (made.stat().st_mtime_ns, made.stat().st_size) == first
    demo_data.generate(tmp_path, SMALL * 2)
    assert made.stat().st_size > first[1]


def test_a_failed_generation_leaves_nothing_behind(
    demo_data: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_data, "_tpchgen", lambda: "false")
    with pytest.raises(subprocess.CalledProcessError):
        demo_data.generate(tmp_path, SMALL)
    assert list(tmp_path.iterdir()) == []
