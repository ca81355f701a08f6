from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from typing import Any

import pytest
from attacked_database import Scene

from planproof.publish.transaction.lock import acquire


@pytest.fixture
def soon() -> Iterator[None]:
    """A test takes few seconds of the processor, and little memory."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * 2**20


@pytest.fixture(scope="module")
def scenes(spark: Any) -> Iterator[list[Scene]]:
    made: list[Scene] = []
    yield made
    _drop(made[-1:])


def _drop(scenes: list[Scene]) -> None:
    for scene in scenes:
        for name in (scene.database, scene.other):
            scene.spark.sql(f"drop database if exists {name} cascade")


@pytest.fixture
def scene(spark: Any, scenes: list[Scene], tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """One for all tests that leave it as it was. Recovery and leaving look at every table of the catalog: those of the
    scene before are gone."""
    if not scenes or not scenes[-1].is_as_it_was():
        _drop(scenes[-1:])
        scenes.append(Scene(spark, f"journals{len(scenes)}_{os.getpid()}", tmp_path_factory.mktemp("scene")))
    return scenes[-1]


@pytest.fixture
def leaving(scene: Scene) -> Iterator[Scene]:
    """The same, whose one table that could leave is being published: it stays as it is."""
    held = acquire(scene.store, scene.theirs, "t", "other_1", f"{scene.other}.t")
    yield scene
    held.release()
