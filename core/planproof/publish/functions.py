"""The Python functions that a guard was given: known to Spark and to the logical plane, in lambdas too."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, Catalog, Conf, Finding, LogicalPlan, Unknown, Verdict, deeply, plan
from planproof_engine.functions.nested import BROKEN, ListCall
from planproof_engine.python_functions import (
    ALWAYS,
    ANY,
    Call,
    CannotLower,
    Coerce,
    Function,
    Lambda,
    Lowered,
    Many,
    RegistrationError,
    Registry,
    Signature,
    Variable,
    builtin,
    calls_declared,
    lower,
)

_BY_ROWS = {"spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false"}


def feed_rows(session: Session, found: Lowered | None) -> AbstractContextManager[None]:
    """Has Spark hand rows to the workers, while a query runs whose lambdas call Python functions.

    Spark 4.2 and later hand over columnar batches. Batches that are not Arrow's own, such as Parquet's, are copied
    value by value, which takes half as long again.
    """
    return nullcontext() if found is None else session.change_settings(_BY_ROWS)


class Functions:
    """Registers each function once. The calls that one query's lambdas need are registered for that query, and released
    after it.

    Several threads may use one object: it keeps nothing of a query.
    """

    def __init__(self, session: Session, given: Mapping[str, Any]) -> None:
        self._session = session
        self._declared: dict[str, Function] = {}
        self.registry: Registry = builtin().extended() if given else builtin()
        for name, function in given.items():
            declared = session.register(name, function)
            if declared is None:
                continue
            try:
                self.registry.register(name, declared.signature(name), declared.call)
            except RegistrationError as error:
                raise SparkFailure(f"a function of Spark is called {name} already; give yours another name") from error
            self._declared[name] = declared

    def lower(self, logical: LogicalPlan, catalog: Catalog) -> tuple[LogicalPlan, Lowered] | None:
        """The query as Spark accepts it, with its plan; None where no Python function stands in a lambda.

        Raises `CannotLower`. The calls that the text needs are registered until they are released.
        """
        if not self._declared:
            return None
        prefix = f"planproof_{uuid.uuid4().hex[:8]}_"
        found = deeply(lambda: lower(logical.root, logical.text, logical.conf, prefix))
        if found is None:
            return None
        registry = self.registry.extended()
        for call in found.calls:
            registry.register(call.name, _signature(call), call.level.all_applications)
        again = plan(found.sql, catalog, conf=logical.conf, registry=registry)
        if again.physical_schema != logical.physical_schema:
            said = f"its schema would be {again.physical_schema}, not {logical.physical_schema}"
            raise CannotLower(
                "PP220", f"planproof cannot keep the model's schema around a Python function: {said}", None
            )
        if logical.conf.before("4.3"):
            _refuse_captured(again, found)
        self._register(found)
        return again, found

    def columns(self, sql: str, catalog: Catalog, conf: Conf) -> Sequence[str]:
        """The names of a query's columns, by our own plan; none where there is no such plan."""
        try:
            return plan(sql, catalog, conf=conf, registry=self.registry).physical_schema.names
        except (AnalysisError, Unknown):
            return ()

    def has_functions_in_lambdas(self, logical: LogicalPlan) -> bool:
        """Whether a lambda of the query calls one of the functions."""
        bodies = (e for e in logical.root.all_expressions() if isinstance(e, Lambda))
        return bool(self._declared) and any(calls_declared(body) for body in bodies)

    def _register(self, found: Lowered) -> None:
        try:
            for call in found.calls:
                self._session.register_lists(call, self._declared)
        except SparkFailure as failure:
            self.release(found)
            raise CannotLower("PP223", str(failure), None) from failure

    def release(self, found: Lowered | None) -> None:
        """Forgets the calls that were registered for a query."""
        for call in found.calls if found is not None else ():
            with suppress(SparkFailure, AnalysisError):  # Their names are not used again.
                self._session.unregister(call.name)


def _signature(call: ListCall) -> Signature:
    returns = call.level.type
    python = call.level.all_applications
    return Signature(call.name, (Many(ANY),), returns, ALWAYS, coerce=Coerce.NONE, foldable=False, spark=python)


def _refuse_captured(lowered: LogicalPlan, found: Lowered) -> None:
    """Refuses an argument of a call in which a lambda reads the variable of a lambda around it: before 4.3 Spark does
    not take the function out of such a projection (`ExtractPythonUDFs`), and fails when it comes to evaluate it."""
    names = {call.name for call in found.calls}
    calls = (e for e in lowered.root.all_expressions() if isinstance(e, Call) and e.function.name in names)
    outer = (e for call in calls for e in call.walk() if isinstance(e, Lambda))
    if any(_reads(inner, e.parameters) for e in outer for inner in e.body.walk() if isinstance(inner, Lambda)):
        said = (
            "before 4.3 Spark runs no Python function in an inner lambda, if one of its arguments reads the outer "
            "lambda's variable"
        )
        raise CannotLower("PP223", said, None)


def _reads(body: Lambda, variables: Sequence[Variable]) -> bool:
    return any(e in variables for e in body.walk() if isinstance(e, Variable))


def find_broken_declaration(failure: SparkFailure) -> Finding | None:
    """The worker's message about a function that broke its declaration; None for any other failure."""
    found = re.search(rf"{BROKEN} (\w+): ([^\n]+)", str(failure))
    if found is None:
        return None
    name, said = found.groups()
    return Finding(Verdict.VIOLATED, "PP224", "batches", message=f"the Python function {name} {said}")
