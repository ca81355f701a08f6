"""The demo project in a copy of its own, so that tests write nothing into the tree."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "dags_examples"


def load(name: str) -> ModuleType:
    """A module of dags_examples, by its path."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def demo_data() -> ModuleType:
    return load("demo_data")


@pytest.fixture(scope="session")
def demo(demo_data: ModuleType) -> ModuleType:
    return load("demo")


@pytest.fixture
def project(example_project: Path) -> Path:
    """A copy of the demo's dbt project."""
    return example_project


@pytest.fixture
def schema(spark: SparkSession, database: str, demo_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A fresh schema for the project's models, named in the environment as the profile reads it."""
    monkeypatch.setenv("PLANPROOF_DEMO_SCHEMA", database)
    monkeypatch.setenv("DBT_PROFILES_DIR", str(project))
    monkeypatch.setenv("DBT_LOG_PATH", str(project / "logs"))
    return database
