"""The names that `SHOW FUNCTIONS` lists in Spark 4.3 (`names.txt`), by the version that Spark says they are of.

They tell a function that is not known yet from one that is none, and which functions an older Spark has.
`tests/engine/functions/sweep.py --names` asks Spark for them again.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path


def read_versions(file: Path) -> dict[str, str]:
    """The words of a file, each with the version in brackets above it."""
    found, version = dict[str, str](), ""
    for word in file.read_text("utf-8").split():
        if word.startswith("["):
            version = word.strip("[]")
        else:
            found[word] = version
    return found


DOCUMENTED = read_versions(Path(__file__).with_name("names.txt"))
"""Each function's version, as Spark's documentation says it; operators, of which it does not, count as of the first."""

_REGISTERED = {
    "3.0.0": "max_by min_by",
    "3.3.0": "percentile_cont percentile_disc",
    "4.0.0": "<< >> >>>",
    "4.1.0": "time try_to_date",
}
"""Functions that Spark 3.5 to 4.2 have earlier or later than the documentation says; percentiles first as grammar."""

SINCE = DOCUMENTED | {name: version for version, names in _REGISTERED.items() for name in names.split()}
"""Each function's first version."""

SPARK_FUNCTIONS = frozenset(SINCE)


@lru_cache(maxsize=64)
def release(version: str) -> tuple[int, ...]:
    """A version as numbers that compare: `4.0` comes before `4.0.1`."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


OF_GRAMMAR = frozenset({"overlay", "struct", "substring", "trim"})
"""Functions of which Spark's parser makes expressions at once, where they are written in a form of their own."""
OF_PARSER = ("any_value", "first", "last")
"""Functions that are grammar in any form, so that the parser makes their expressions, too."""
LEFT_BY_PIVOT = ("approx_percentile", "percentile_approx")
"""Aggregate functions whose constants PIVOT leaves as they are."""
OF_BOOLEANS = ("and", "or", "not", "<=>", "isunknown", "isnotunknown")
"""The operators that the parser itself makes of booleans: no rule has to resolve them."""

OF_PARAMETERS = ("array", "struct", "named_struct", "map", "map_from_arrays", "map_from_entries")
"""Functions of which a parameter's value may be made before Spark 4.1. Source: `BindParameters.checkArgs`."""
