from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from attacked_database import Scene


@pytest.fixture(scope="module")
def scenes(spark: Any) -> Iterator[list[Scene]]:
    made: list[Scene] = []
    yield made
    for scene in made:
        for name in (scene.database, scene.other):
            spark.sql(f"drop database if exists {name} cascade")


@pytest.fixture
def scene(spark: Any, scenes: list[Scene], tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """One for all tests that leave it as it was."""
    if not scenes or not scenes[-1].is_as_it_was():
        scenes.append(Scene(spark, f"journals{len(scenes)}_{os.getpid()}", tmp_path_factory.mktemp("scene")))
    return scenes[-1]
