"""A process that lives long reads many projects: each is freed as soon as nobody holds it, without a collection."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from planproof.project.check import check_project
from planproof.project.diff import compare_projects
from planproof.project.explained import explain_model
from planproof.project.manifest import Project, read_project
from planproof.project.reads import ProjectError
from planproof_engine.origin import Unknown

CONTRACT = {"columns": {"a": "string"}, "contract": True}
MODELS: dict[str, dict[str, Any]] = {
    "proved": {"sql": "select transform(array(a), x -> x + 1) as a from r.t", "parents": ["r.t"]},
    "violated": {"sql": "select 1 as a", **CONTRACT},
    "unknown source": {"sql": "select a from r.other", "parents": ["r.other"]},
    "no relation": {"sql": "select a from nowhere.t"},
    "no column": {"sql": "select b from (select 1 as a)"},
    "no query": {"sql": "select 1 as a where having )"},
    "unread": {"sql": "select '${x}' as a"},
    "nested deep": {"sql": "select " + "(" * 300 + "1" + ")" * 300 + " as a"},
    "beyond a budget": {"sql": "select a from (select 1 as a) group by cube(" + ", ".join(["a"] * 40) + ")"},
    "unreadable contract": {"sql": "select 1 as a", "columns": {"a": "array<"}, "contract": True},
    "bad settings": {"sql": "select 1 as a", "config": {"meta": {"planproof": {"limits": 5}}}},
    "incremental": {"sql": "select a from shop.m where )", "config": {"materialized": "incremental"}},
    "ephemeral": {"sql": "select b from (select 1 as a)", "config": {"materialized": "ephemeral"}},
    "python": {"sql": "def model(dbt, spark): pass", "language": "python"},
}


def _explain_all(project: Project) -> None:
    for node in project.models:
        explain_model(project, node)


DOORS: dict[str, Callable[[Project], Any]] = {
    "read": lambda project: None,
    "check": check_project,
    "diff": lambda project: compare_projects(project, project),
    "explain": _explain_all,
}


@pytest.fixture(scope="module", autouse=True)
def _uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("model", MODELS)
def test_a_project_that_nobody_holds_is_freed(door: str, model: str, dbt_manifest: Any) -> None:
    sources = {"r.t": {"a": "int"}, "r.other": {}}
    project = read_project(dbt_manifest({"m": MODELS[model], "n": {"sql": "select 1 as a"}}, sources))
    with suppress(ProjectError, Unknown):
        DOORS[door](project)
    held = weakref.ref(project)
    del project
    assert held() is None
