"""The registry of functions: by name, without case. Two registries are two meanings, and are never compared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from planproof_engine.conf import SPARKS, Conf
from planproof_engine.expr import Category, Signature
from planproof_engine.functions.families import FAMILIES
from planproof_engine.functions.names import SINCE, SPARK_FUNCTIONS, release

_IDENTITIES = itertools.count(1)


class RegistrationError(ValueError):
    """A function that lacks its logical or its Spark half, or whose name is taken."""


@dataclass(slots=True)
class Registry:
    """Functions by lower-case name. `identity` tells registries apart; no query can call an `internal` name.

    `declared` are the names of Python functions that a user handed over; `known` those of all of Spark's functions,
    of the ones that are not registered, too.
    """

    functions: dict[str, Signature] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()
    known: frozenset[str] = SPARK_FUNCTIONS
    halves: dict[str, object] = field(default_factory=dict)
    identity: int = field(default_factory=lambda: next(_IDENTITIES))

    def register(self, name: str, logical: Signature | None, spark: object | None) -> Signature:
        """Adds a function. `logical` says its signature, `spark` is the builtin's name or the callable that runs.

        Raises `RegistrationError` where either half is missing: such a function could be planned but not run, or run
        but not planned.
        """
        if logical is None:
            raise RegistrationError(f"{name}: no logical half: say its inputs, type and nullability")
        if spark is None or not (isinstance(spark, str) or callable(spark)):
            raise RegistrationError(f"{name}: no Spark half: name the builtin, or hand over the function that runs")
        key = name.lower()
        if key in self.functions:
            raise RegistrationError(f"{name}: registered already")
        self.functions[key] = logical
        self.halves[key] = spark
        if callable(logical.spark):
            self.declared |= {key}
        return logical

    def physical(self, name: str) -> object | None:
        """The half that runs: the builtin's name in Spark, or the callable; None for a name that is not registered."""
        return self.halves.get(name.lower())

    def find(self, name: str) -> Signature | None:
        return self.functions.get(name.lower())

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def extended(self) -> Registry:
        """A registry of its own that starts with these functions."""
        return Registry(dict(self.functions), self.internal, self.declared, self.known, dict(self.halves))


def build_table(*families: Iterable[tuple[str, Signature]], version: str = SPARKS[-1]) -> Registry:
    """Builtin families as a version of Spark has them; the Spark half of a line is the builtin of its name."""
    registry = Registry(known=frozenset(n for n, since in SINCE.items() if release(since)[:2] <= release(version)))
    for family in families:
        for name, function in family:
            if is_of_version(name, function, version):
                registry.register(name, function, function.spark or name)
    uncalled = {n for n, f in registry.functions.items() if f.category is Category.OPERATOR}
    registry.internal = frozenset(registry.functions) - SPARK_FUNCTIONS | uncalled
    return registry


def is_of_version(name: str, function: Signature, version: str) -> bool:
    """Whether a line says what that version of Spark does (major and minor count)."""
    asked = release(version)[:2]
    firsts = [release(v)[:2] for v in (function.since, function.changed, SINCE.get(name)) if v is not None]
    return max(firsts) <= asked and (function.until is None or asked < release(function.until)[:2])


def list_names(test: Callable[[Signature], bool]) -> tuple[str, ...]:
    """The builtin functions that pass a test, in the tables' order, each by the name that it goes by in a plan."""
    return tuple(dict.fromkeys(f.name for family in FAMILIES for _, f in family if test(f)))


@cache
def builtin(version: str = SPARKS[-1]) -> Registry:
    """The functions of Spark that planproof knows, as that version has them."""
    return build_table(*FAMILIES, version=version)


_OF_DATABRICKS = {"charindex": "locate", "getdate": "now", "iff": "if"}
"""Names that Databricks has for functions of Spark's: "this function is a synonym for ..." on its page of each."""


def functions_of(conf: Conf) -> Registry:
    """The functions that a query may call, by its version of Spark; on Databricks by the names of its own, too."""
    return _build_databricks() if conf.databricks else builtin(conf.spark)


@cache
def _build_databricks() -> Registry:
    registry = builtin().extended()
    for name, spark in _OF_DATABRICKS.items():
        registry.register(name, registry.find(spark), spark)
    return registry
