"""The data tests of a manifest, for the models that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from planproof.project import Project, ProjectNode
from planproof.publish.data_tests.trial import DataTest, StagedRows, Tests, run_tests
from planproof.report import DataTestResult

NOT_COMPILED = "the manifest holds no compiled SQL for it; compile it with its model"


class DataTests:
    """The tests of a project of which the models `chosen` are run; `built` says which of them stand by now."""

    def __init__(self, project: Project, chosen: Iterable[str], built: Callable[[], Collection[str]]) -> None:
        self.project, self.chosen, self.built = project, frozenset(chosen), built
        self._by_node: dict[str, list[Mapping[str, Any]]] = {}
        for node in (project.manifest.get("nodes") or {}).values():
            if isinstance(node, Mapping) and node.get("resource_type") == "test":
                for parent in self._find_stored(_parents(node)):
                    self._by_node.setdefault(parent, []).append(node)

    def tests_of(self, node: ProjectNode) -> Tests:
        """The trial that runs a model's tests over its staged rows. Tests that need other rows are named with the
        reason."""
        return lambda staged: self._run_all(node, staged)

    def _run_all(self, node: ProjectNode, staged: StagedRows) -> list[DataTestResult]:
        found: list[DataTestResult] = []
        for form in self._by_node.get(node.unique_id, ()):
            test = read_data_test(form)
            why = self._find_obstacle(form, node) if test.sql else NOT_COMPILED
            found += run_tests([test])(staged) if why is None else [test.report_not_run(why)]
        return found

    def _find_obstacle(self, form: Mapping[str, Any], own: ProjectNode) -> str | None:
        """Why a test needs more than this model's rows, None where it does not."""
        others = sorted(self._find_stored(_parents(form)) - {own.unique_id})
        for parent in (self.project.nodes[key] for key in others):
            if own.unique_id in self.project.ancestors([parent.unique_id]):
                return f"it reads {parent.name}, which is built from this model"
            if parent.unique_id in self.chosen and parent.unique_id not in self.built():
                return f"it reads {parent.name}, which is not built yet"
        return None

    def _find_stored(self, keys: Iterable[str]) -> set[str]:
        """The nodes that are relations; an ephemeral one is part of who reads it, and so are its parents."""
        found: set[str] = set()
        for key in keys:
            node = self.project.nodes.get(key)
            if node is not None:
                found |= self._find_stored(node.parents) if node.materialized == "ephemeral" else {key}
        return found


def read_data_test(form: Mapping[str, Any]) -> DataTest:
    """The test of a manifest's node, with dbt's own defaults; without SQL where it was not compiled."""
    config = form.get("config") or {}
    limit = config.get("limit")
    column, place, sql = form.get("column_name"), form.get("original_file_path"), form.get("compiled_code")
    return DataTest(
        str(form.get("name") or form.get("unique_id")),
        sql if isinstance(sql, str) else "",
        severity=str(config.get("severity") or "ERROR"),
        fail_calc=str(config.get("fail_calc") or "count(*)"),
        warn_if=str(config.get("warn_if") or "!= 0"),
        error_if=str(config.get("error_if") or "!= 0"),
        limit=limit if isinstance(limit, int) else None,
        column=column if isinstance(column, str) else None,
        place=place if isinstance(place, str) else None,
    )


def _parents(form: Mapping[str, Any]) -> list[str]:
    given = (form.get("depends_on") or {}).get("nodes") or ()
    return [str(key) for key in given]
