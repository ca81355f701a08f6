"""Hooks in dbt's own runners, by which the gate learns which nodes run and when a data test is due."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from dbt_planproof.trials import add_ground


def swap() -> list[Callable[[], None]]:
    """Replaces three of dbt's methods by ones that ask the gate first. Returns the functions that put dbt's methods
    back.

    An adapter without a gate is served as by dbt itself.
    """
    from dbt.task.run import RunTask
    from dbt.task.test import TestRunner

    return [
        _swap(RunTask, "before_run", _announce_nodes),
        _swap(TestRunner, "execute_data_test", _answer_tests),
        _swap(TestRunner, "build_test_run_result", _add_grounds),
    ]


def _swap(owner: Any, name: str, wrapped: Callable[[Any], Any]) -> Callable[[], None]:
    plain = getattr(owner, name)
    own = name in vars(owner)
    setattr(owner, name, wraps(plain)(wrapped(plain)))
    return lambda: setattr(owner, name, plain) if own else delattr(owner, name)


def _gate(adapter: Any) -> Any:
    return getattr(adapter, "planproof", None)


def _announce_nodes(plain: Any) -> Any:
    def before_run(self: Any, adapter: Any, selected_uids: Any) -> Any:
        gate = _gate(adapter)
        if gate is not None:
            # A dbt without them fails nodes as before: the report then names those alone that the guard saw.
            gate.begin(self.manifest, selected_uids, getattr(self, "node_results", ()))
        return plain(self, adapter, selected_uids)

    return before_run


def _answer_tests(plain: Any) -> Any:
    def execute_data_test(self: Any, data_test: Any, manifest: Any) -> Any:
        gate = _gate(self.adapter)
        known = gate.answer(data_test) if gate is not None else None
        return plain(self, data_test, manifest) if known is None else known

    return execute_data_test


def _add_grounds(plain: Any) -> Any:
    def build_test_run_result(self: Any, test: Any, result: Any) -> Any:
        found, gate = plain(self, test, result), _gate(self.adapter)
        ground = gate.trials.grounds.get(test.unique_id) if gate is not None else None
        if ground is not None:
            found.message = add_ground(found.message, ground)
        return found

    return build_test_run_result
