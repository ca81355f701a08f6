"""A service checks many projects: each is freed when its check ends, and waits for no collector of cycles."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
from manifests import dbt_manifest

from planproof.project.check import check_project
from planproof.project.diff import compare_projects
from planproof.project.explained import explain_model
from planproof.project.infer import infer_project
from planproof.project.manifest import Project, read_project

SQL = "select a.id, coalesce(a.x, 1) as x, transform(array(a.x), e -> e + 1) as t from s.t a join s.t b on a.id = b.id"
PROJECT = dbt_manifest(
    {
        "m": {"sql": SQL, "raw_code": SQL, "parents": ["s.t"], "contract": True, "columns": {"id": "bigint"}},
        "n": {"sql": "select nowhere from shop.m", "raw_code": "select nowhere from shop.m", "parents": ["m"]},
    },
    {"s.t": {"id": "bigint", "x": "bigint"}},
)


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "work",
    [
        check_project,
        lambda project: explain_model(project, project.find_by_relation("m")),
        lambda project: compare_projects(project, read_project(PROJECT)),
        infer_project,
    ],
    ids=["check", "explain", "diff", "infer"],
)
def test_a_project_is_freed_with_its_last_name(work: Callable[[Project], object], uncollected: None) -> None:
    project = read_project(PROJECT)
    there = weakref.ref(project)
    work(project)
    del project
    assert there() is None
