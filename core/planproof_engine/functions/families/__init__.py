"""One table per family of Spark's functions."""

from planproof_engine.functions.families import (
    aggregates,
    bitwise,
    casts,
    collections,
    conditional,
    constructors,
    datefields,
    datetime,
    encoding,
    external,
    generators,
    geo,
    intervals,
    items,
    lambdas,
    maps,
    math,
    misc,
    moments,
    numbers,
    operators,
    patterns,
    reflection,
    semistructured,
    sketches,
    statistics,
    strings,
    syntax,
    times,
    timewindows,
    variants,
    vectors,
)
from planproof_engine.functions.families.line import Table

_MODULES = (
    operators, reflection, lambdas, constructors, collections, items, maps, semistructured, variants, aggregates, datetime, times,
    timewindows, vectors, moments, intervals, datefields, generators, geo, math, bitwise, casts, conditional, strings, sketches,
    statistics, patterns, encoding, numbers, misc, syntax, external,
)
FAMILIES: tuple[Table, ...] = tuple(module.TABLE for module in _MODULES)
