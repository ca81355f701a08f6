"""One table per family of Spark's functions."""

from planproof_engine.functions.families import (
    aggregates,
    collections,
    constructors,
    datetime,
    generators,
    geo,
    lambdas,
    math,
    misc,
    moments,
    operators,
    semistructured,
    sketches,
    strings,
)
from planproof_engine.functions.families.line import Table

_MODULES = (
    operators, lambdas, constructors, collections, semistructured, aggregates, datetime, moments, generators, geo, math, strings,
    sketches, misc,
)
FAMILIES: tuple[Table, ...] = tuple(module.TABLE for module in _MODULES)
