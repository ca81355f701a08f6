"""The registry of functions: by name, without case. Two registries are two meanings, and are never compared."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from planproof.functions.names import SPARK_FUNCTIONS
from planproof.functions.signature import Function

_IDENTITIES = itertools.count(1)


class RegistrationError(ValueError):
    """A function that lacks its logical or its Spark half, or whose name is taken."""


@dataclass(slots=True)
class Registry:
    """Functions by lower-case name. `identity` tells registries apart; no query can call an `internal` name.

    `declared` are the names of Python functions that a user handed over.
    """

    functions: dict[str, Function] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()
    identity: int = field(default_factory=lambda: next(_IDENTITIES))

    def register(self, name: str, logical: Function | None, spark: object | None) -> Function:
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
        if callable(logical.spark):
            self.declared |= {key}
        return logical

    def find(self, name: str) -> Function | None:
        return self.functions.get(name.lower())

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def extended(self) -> Registry:
        """A registry of its own that starts with these functions."""
        return Registry(dict(self.functions), self.internal, self.declared)


def table(*families: Iterable[tuple[str, Function]]) -> Registry:
    """A registry of builtin families; each line's Spark half is the builtin of its name."""
    registry = Registry()
    for family in families:
        for name, function in family:
            registry.register(name, function, function.spark or name)
    registry.internal = frozenset(registry.functions) - SPARK_FUNCTIONS
    return registry


@cache
def builtin() -> Registry:
    """The functions of Spark 4.3 that planproof knows."""
    from planproof.functions.families import FAMILIES

    return table(*FAMILIES)
