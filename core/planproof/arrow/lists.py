"""Functions over the elements of lists, without a loop over rows: flatten the lists, repeat captured values, call once,
make lists of the results.

Everything takes and gives pyarrow arrays and changes none of them. A list is any spelling of one (list, large_list,
fixed_size_list, views), sliced or not; what lies under a null list, or beyond a slice, is no element of it.

A deterministic plain Python function is called once for each different row of its arguments. It gets Python values of
Arrow's, and its results become arrays of the declared type; a function of pandas Series becomes one of arrays.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from planproof_engine.functions.nested import BROKEN, Application, Given, Level, Made, Source

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def is_plain(t: pa.DataType) -> bool:
    """Whether `to_pylist` gives the values that Spark hands to a function."""
    return _is_number(t) or _is_text_type(t) or bool(pa.types.is_date32(t) or pa.types.is_decimal128(t))


def values_of(array: pa.Array) -> list[Any]:
    """The values of a plain type, as `to_pylist` gives them; dates and decimals are made in a fraction of its time."""
    if pa.types.is_date32(array.type):
        return _convert_values(datetime.date.fromordinal, pc.add(array.cast(pa.int32()).cast(pa.int64()), _EPOCH))
    if pa.types.is_decimal128(array.type):
        return _convert_values(Decimal, array.cast(pa.string()))
    return list(array.to_pylist())


def _convert_values(make: Callable[[Any], Any], array: pa.Array) -> list[Any]:
    given = array.to_pylist()
    return [None if v is None else make(v) for v in given] if array.null_count else list(map(make, given))


def array_of(values: Sequence[Any], declared: pa.DataType) -> Any | None:
    """The values as an array of the declared type; None where they are of other classes than it has, which Spark may
    convert or refuse. Raises `pyarrow.ArrowInvalid` for a number that the type does not hold."""
    wanted = _class_of(declared)
    if wanted is None or not set(map(type, values)) <= {wanted, type(None)}:
        return None
    return pa.array(values, declared)


def _class_of(t: pa.DataType) -> type | None:
    if pa.types.is_boolean(t):
        return bool
    if pa.types.is_integer(t):
        return int
    if pa.types.is_floating(t):
        return float
    if _is_text_type(t):
        return str
    return datetime.date if pa.types.is_date32(t) else None


def _is_number(t: pa.DataType) -> bool:
    return bool(pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_boolean(t))


def _is_text_type(t: pa.DataType) -> bool:
    return bool(pa.types.is_string(t) or pa.types.is_large_string(t))


PythonFunction = Callable[..., Any]
Fault = tuple[tuple[str, ...], int]


class BrokenDeclaration(Exception):
    """A Python function gave something else than it declares. `BROKEN` and the function's name begin the message."""

    def __init__(self, function: str, said: str) -> None:
        super().__init__(f"{BROKEN} {function}: {said}")


def lengths(lists: Any) -> Any:
    """How many elements each list has; 0 for a null list."""
    return pc.fill_null(pc.list_value_length(lists), 0)


def compact(lists: Any, values: Any | None = None, element: Any | None = None) -> Any:
    """The lists with only the elements that they hold: offsets begin at 0, and nothing lies under a null list.

    `values`, one per element, take the place of the elements; `element` is the field that describes them.
    """
    large = pa.types.is_large_list(lists.type) or pa.types.is_large_list_view(lists.type)
    counted = lengths(lists).cast(pa.int64() if large else pa.int32())
    offsets = pa.concat_arrays([pa.array([0], counted.type), pc.cumulative_sum(counted)])
    inside = lists.flatten() if values is None else values
    of = lists.type.value_field if element is None else element
    made = pa.LargeListArray if large else pa.ListArray
    kind = pa.large_list(of) if large else pa.list_(of)
    return made.from_arrays(offsets, inside, type=kind, mask=pc.is_null(lists) if lists.null_count else None)


def positions(lists: Any) -> Any:
    """For each element, its place in its list, from 0 (int32, as Spark's index parameter)."""
    tidy = compact(lists)
    count = len(tidy.values)
    within = pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count)), 1)
    starts = tidy.offsets.cast(pa.int64()).take(pc.list_parent_indices(tidy))
    return pc.subtract(within, starts).cast(pa.int32())


def flatten(lists: Any, depth: int) -> Any:
    """The elements of lists that are nested `depth` deep, in order; the array itself for depth 0."""
    for _ in range(depth):
        lists = lists.flatten()
    return lists


@dataclass
class Batch:
    """One batch in a worker: the call's arguments, what was computed so far, and per application its function (arrays
    in, an array out) with the type that it declares."""

    arguments: Sequence[Any]
    functions: Mapping[int, tuple[PythonFunction, pa.DataType]]
    results: dict[int, Any] = field(default_factory=dict)

    def value(self, source: Source, place: Nesting) -> Any:
        """The source's values, one per element of `place`."""
        if isinstance(source, Given):
            found = flatten(self.arguments[source.argument], source.depth)
        elif isinstance(source, Made):
            found = self.results[source.application]
        else:
            found = positions(place.lists[source.depth - 1])
        wanted = place.count(source.depth)
        if len(found) != wanted:
            raise ValueError(
                f"an argument has {len(found)} elements and its list {wanted}; planproof lowered it wrongly"
            )
        return found if source.depth == place.depth else found.take(place.parent_indices(source.depth))


@dataclass(frozen=True)
class Nesting:
    """Where a level stands: the row count, and the lists of each level from the outermost to its own."""

    rows: int
    lists: tuple[Any, ...]

    @property
    def depth(self) -> int:
        return len(self.lists)

    def count(self, depth: int) -> int:
        return self.rows if depth == 0 else len(self.lists[depth - 1].values)

    def parent_indices(self, depth: int) -> Any:
        """For each element here, the index of what holds it at a lesser depth."""
        found = pc.list_parent_indices(self.lists[-1])
        for lists in reversed(self.lists[depth:-1]):
            found = pc.list_parent_indices(lists).take(found)
        return found


def evaluate(level: Level, batch: Batch, rows: int) -> Any:
    """The level's list column: one list per row, with the offsets and validity of its shape."""
    place = Nesting(rows, ())
    return _evaluate_level(level, batch, place)


def _evaluate_level(level: Level, batch: Batch, outer: Nesting) -> Any:
    shape = compact(flatten(batch.arguments[level.shape.argument], outer.depth))
    place = Nesting(outer.rows, (*outer.lists, shape))
    inner = [_evaluate_level(child, batch, place) for child in level.inner]
    for application in level.applications:
        batch.results[application.number] = _apply_function(application, batch, place)
    columns = [batch.value(c.given, place) for c in level.carried]
    columns += [batch.results[a.number] for a in level.returned]
    columns += inner
    return compact(shape, *_pack_elements(level, columns))


def _pack_elements(level: Level, columns: list[Any]) -> tuple[Any, Any]:
    """The elements, and the field that describes them."""
    parts = level.parts
    if level.bare:
        return columns[0], pa.field("element", columns[0].type, parts[0].nullable)
    fields = [pa.field(p.name, c.type, p.nullable) for p, c in zip(parts, columns)]
    made = pa.StructArray.from_arrays(columns, fields=fields)
    return made, pa.field("element", made.type, False)


def _apply_function(application: Application, batch: Batch, place: Nesting) -> Any:
    """The function's values, one per element. Without elements it is not called, as a body over an empty list does not
    run."""
    function, declared = batch.functions[application.number]
    count = place.count(place.depth)
    if not count:
        return pa.array([], declared)
    given = function(*(batch.value(s, place) for s in application.sources))
    return check_result(application, given, declared, count)


def check_result(application: Application, given: Any, declared: pa.DataType, count: int) -> Any:
    """The function's array as it declares it (I2, I3). Raises `BrokenDeclaration`."""
    name = application.function
    if isinstance(given, pa.ChunkedArray):
        given = given.combine_chunks()
    if not isinstance(given, pa.Array):
        raise BrokenDeclaration(name, f"declared {declared} arrays, gave {type(given).__name__}")
    if len(given) != count:
        raise BrokenDeclaration(name, f"declared one value per element, gave {len(given)} values for {count} elements")
    if not _is_alike(given.type, declared):
        raise BrokenDeclaration(name, f"declared {declared}, gave {given.type}")
    try:
        given.validate(full=True)
    except pa.ArrowInvalid as error:
        raise BrokenDeclaration(name, f"gave an array that is not valid: {error}") from error
    for path, nulls in find_null_faults(given, declared, application.nullable, ()):
        at = f" at {'.'.join(path)}" if path else ""
        raise BrokenDeclaration(name, f"declared NOT NULL{at}, gave {nulls} null in a batch of {count} elements")
    return convert_to_declared(given, declared)


def _is_alike(given: Any, declared: Any) -> bool:
    """Whether two types are one for Spark: spellings of lists and texts, flags and time zones apart."""
    if given == declared:
        return True
    for kind in (_is_text, _is_bytes, _is_zoned):
        if kind(declared):
            return kind(given)
    if _is_list(given) and _is_list(declared):
        return _is_alike(given.value_type, declared.value_type)
    if pa.types.is_map(given) and pa.types.is_map(declared):
        return _is_alike(given.key_type, declared.key_type) and _is_alike(given.item_type, declared.item_type)
    if pa.types.is_struct(given) and pa.types.is_struct(declared):
        pairs = list(zip(given, declared))
        same = given.num_fields == declared.num_fields and all(a.name == b.name for a, b in pairs)
        return same and all(_is_alike(a.type, b.type) for a, b in pairs)
    return False


def _is_text(t: Any) -> bool:
    return bool(pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t))


def _is_bytes(t: Any) -> bool:
    return bool(pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_binary_view(t))


def _is_zoned(t: Any) -> bool:
    return bool(pa.types.is_timestamp(t) and t.tz and t.unit == "us")


def _is_list(t: Any) -> bool:
    return bool(pa.types.is_list(t) or pa.types.is_large_list(t))


def find_null_faults(array: Any, declared: Any, nullable: bool, path: tuple[str, ...]) -> Iterator[Fault]:
    """Where nulls stand under the declared NOT NULL flags; `array` holds only places whose parents are there."""
    if not nullable and array.null_count:
        yield path, array.null_count
    if _is_list(declared):
        yield from find_null_faults(
            array.flatten(), declared.value_type, declared.value_field.nullable, (*path, "element")
        )
    elif pa.types.is_map(declared):
        entries = array.drop_null()
        first, last = (entries.offsets[0].as_py(), entries.offsets[-1].as_py()) if len(entries) else (0, 0)
        values = entries.items.slice(first, last - first)
        yield from find_null_faults(values, declared.item_type, declared.item_field.nullable, (*path, "value"))
    elif pa.types.is_struct(declared):
        present = array.drop_null()
        for i, f in enumerate(declared):
            yield from find_null_faults(present.field(i), f.type, f.nullable, (*path, f.name))


def convert_to_declared(array: Any, declared: Any) -> Any:
    """The array under the declared type, whose flags it keeps (`find_null_faults` has seen to that)."""
    if array.type == declared:
        return array
    if _is_list(declared):
        inside = convert_to_declared(array.flatten(), declared.value_type)
        return compact(array, inside, declared.value_field).cast(declared)
    if pa.types.is_struct(declared):
        # `flatten` gives the fields the nulls of their parents; `field` leaves what lies below a null.
        parts = [convert_to_declared(array.field(i), f.type) for i, f in enumerate(declared)]
        return pa.StructArray.from_arrays(parts, fields=list(declared), mask=pc.is_null(array))
    return array.cast(declared)


_PART, _LEAST, _NEW = 16, 64, 0.9
"""One row in `_PART` is tried first, `_LEAST` at least: looking for repeats costs as much as a short function. Where
nine in ten of these are new, about a third of all rows is."""


def find_distinct(arrays: Sequence[Any]) -> tuple[list[Any], Any] | None:
    """The arrays without the rows that repeat, and for each row its place in them; None where most rows do not.

    Values are equal here where their bits are: -0.0 and 0.0 differ, and no NaN equals another one.
    """
    rows = len(arrays[0]) if arrays else 0
    if not rows or not all(is_plain(a.type) for a in arrays):
        return None
    tried = max(rows // _PART, min(rows, _LEAST))
    if _encode_rows([a.slice(0, tried) for a in arrays])[1] > _NEW * tried:
        return None
    codes, count = _encode_rows(arrays)
    seen = pc.cumulative_max(codes)
    later = pc.add(pc.indices_nonzero(pc.not_equal(seen.slice(1), seen.slice(0, rows - 1))), pa.scalar(1, pa.uint64()))
    firsts = pa.concat_arrays([pa.array([0], later.type), later])
    # A code is the number of rows that came before with another one, so that the first of each is the greatest so far.
    return ([a.take(firsts) for a in arrays], codes) if len(firsts) == count else None


def _encode_rows(arrays: Sequence[Any]) -> tuple[Any, int]:
    """A number per row, equal for equal rows and counted up as they appear, and how many there are."""
    codes, count = _encode_column(arrays[0])
    for array in arrays[1:]:
        other, width = _encode_column(array)
        both = pc.add(pc.multiply(codes.cast(pa.int64()), pa.scalar(width, pa.int64())), other.cast(pa.int64()))
        codes, count = _encode_column(both)
    return codes, count


def _encode_column(array: Any) -> tuple[Any, int]:
    if pa.types.is_floating(array.type):
        array = array.view(pa.int64() if array.type == pa.float64() else pa.int32())
    found = array.dictionary_encode(null_encoding="encode")
    return found.indices, len(found.dictionary)


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
