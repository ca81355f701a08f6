"""Results of Python functions as arrays of the declared type, and functions of pandas Series as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from planproof.arrow.lists import BrokenDeclaration


@contextmanager
def check_declared(function: str, declared: str, *more: type[Exception]) -> Iterator[None]:
    """Raises `BrokenDeclaration` where what the function gave does not become an array of the declared type."""
    try:
        yield
    except (pa.ArrowException, AttributeError, KeyError, TypeError, ValueError, *more) as error:
        raise BrokenDeclaration(function, f"declared {declared}, gave another value: {error}") from error


def make_table(arrays: Sequence[Any], names: Sequence[str]) -> Any:
    """A pyarrow Table of columns of equal length."""
    return pa.table(list(arrays), names=list(names))


def wrap_series_function(name: str, call: Callable[..., Any], declared: Any, zone: str) -> Callable[..., Any]:
    """A function of pandas Series (a DataFrame for a struct), over arrays, as in pyspark's pandas_udf.

    `declared` is the Arrow type of what it gives; timestamps are naive and local to `zone` on the way in and out.
    """

    def over_arrays(*arrays: Any) -> Any:
        found = call(*(_convert_to_series(a, zone) for a in arrays))
        with check_declared(name, str(declared)):
            return _convert_to_array(found, declared, zone)

    return over_arrays


def _convert_to_series(array: Any, zone: str) -> Any:
    if pa.types.is_struct(array.type):
        import pandas

        return pandas.DataFrame(
            {f.name: _convert_to_series(part, zone) for f, part in zip(array.type, array.flatten())}
        )
    found = array.to_pandas(date_as_object=True)
    if pa.types.is_timestamp(array.type) and array.type.tz:
        return found.dt.tz_convert(zone).dt.tz_localize(None)
    return found


def _convert_to_array(found: Any, wanted: Any, zone: str) -> Any:
    if pa.types.is_struct(wanted) and hasattr(found, "columns"):
        return pa.StructArray.from_arrays(
            [_convert_to_array(found[f.name], f.type, zone) for f in wanted], fields=list(wanted)
        )
    if pa.types.is_timestamp(wanted) and wanted.tz and getattr(found.dtype, "tz", None) is None:
        found = found.dt.tz_localize(zone, ambiguous=False, nonexistent="shift_forward")
    return pa.Array.from_pandas(found, type=wanted)
