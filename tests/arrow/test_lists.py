"""Functions over the elements of lists: against a plain Python model, over every spelling of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planproof.arrow.lists import Batch, BrokenDeclaration, check_result, compact, evaluate, flatten, positions
from planproof_engine.functions.nested import Application, Carried, Given, Level, Made, Position
from planproof_engine.types import DOUBLE, INT

Rows = list[list[int | None] | None]
ELEMENTS = st.one_of(st.none(), st.integers(-9, 9))
LISTS: st.SearchStrategy[Rows] = st.lists(st.one_of(st.none(), st.lists(ELEMENTS, max_size=4)), max_size=6)
NESTED = st.lists(
    st.one_of(st.none(), st.lists(st.one_of(st.none(), st.lists(ELEMENTS, max_size=3)), max_size=3)), max_size=5
)
ONE, HUNDRED, THOUSAND = (pa.scalar(n, pa.int32()) for n in (1, 100, 1000))
SPELLINGS: dict[str, Callable[[Any], Any]] = {
    "list": lambda of: pa.list_(of),
    "large_list": lambda of: pa.large_list(of),
    "list_view": lambda of: pa.list_view(of),
}


def spelled(rows: list[Any], spelling: str, depth: int = 1) -> Any:
    """The rows as a slice of a longer array, with elements under the null lists."""
    t: Any = pa.int32()
    for _ in range(depth):
        t = SPELLINGS[spelling](t)
    padding = [[7] if depth == 1 else [[7]]]
    array = pa.array([*padding, *rows, *padding], t)
    if spelling != "list_view":
        hidden = pa.array([*padding, *(padding[0] if r is None else r for r in rows), *padding], t)
        mask = pa.array([False, *(r is None for r in rows), False])
        array = type(hidden).from_arrays(hidden.offsets, hidden.values, type=t, mask=mask)
    return array.slice(1, len(rows))


def application(sources: tuple[Any, ...], number: int = 0, nullable: bool = True, returned: bool = True) -> Application:
    return Application(number, f"f{number}", sources, (), INT, nullable, returned)


def run(level: Level, arguments: list[Any], *functions: Callable[..., Any]) -> Any:
    batch = Batch(arguments, {at: (function, pa.int32()) for at, function in enumerate(functions)})
    return evaluate(level, batch, len(arguments[0]))


def plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


@given(LISTS, st.sampled_from(sorted(SPELLINGS)))
def test_flattening_knows_whose_element_each_one_is(rows: Rows, spelling: str) -> None:
    array = spelled(rows, spelling)
    held = [(row, at, e) for row, elements in enumerate(rows) for at, e in enumerate(elements or [])]
    assert positions(array).to_pylist() == [at for _, at, _ in held]
    assert flatten(array, 1).to_pylist() == [e for _, _, e in held]
    tidy = compact(array)
    assert tidy.to_pylist() == rows
    assert len(tidy.values) == len(held)
    tidy.validate(full=True)


@given(LISTS, st.data(), st.sampled_from(sorted(SPELLINGS)))
def test_a_function_of_elements_and_captured_columns(rows: Rows, data: Any, spelling: str) -> None:
    captured = data.draw(st.lists(ELEMENTS, min_size=len(rows), max_size=len(rows)))
    level = Level(Given(0, 1), (), (application((Given(0, 1), Given(1, 0))),), (), True)
    calls = []

    def add(xs: Any, ys: Any) -> Any:
        calls.append(len(xs))
        return pc.add(xs, ys)

    found = run(level, [spelled(rows, spelling), pa.array(captured, pa.int32())], add)
    assert found.to_pylist() == [None if r is None else [plus(e, c) for e in r] for r, c in zip(rows, captured)]
    count = sum(len(r or []) for r in rows)
    assert calls == ([count] if count else [])
    found.validate(full=True)


@given(NESTED, st.data(), st.sampled_from(sorted(SPELLINGS)))
def test_nested_lambdas_with_captures_at_each_level(rows: list[Any], data: Any, spelling: str) -> None:
    """`transform(xss, (xs, n) -> transform(xs, (x, m) -> f(x, n, m, c)))`."""
    captured = data.draw(st.lists(st.integers(-9, 9), min_size=len(rows), max_size=len(rows)))
    sources = (Given(0, 2), Position(1), Position(2), Given(1, 0))
    inner = Level(Given(0, 2), (), (application(sources),), (), True)
    level = Level(Given(0, 1), (), (), (inner,), True)

    def weigh(x: Any, n: Any, m: Any, c: Any) -> Any:
        return pc.add(x, pc.add(pc.multiply(n, THOUSAND), pc.add(pc.multiply(m, HUNDRED), c)))

    found = run(level, [spelled(rows, spelling, 2), pa.array(captured, pa.int32())], weigh)
    assert found.to_pylist() == [
        row and [xs and [plus(x, n * 1000 + m * 100 + c) for m, x in enumerate(xs)] for n, xs in enumerate(row)]
        for row, c in zip(rows, captured)
    ]


@given(LISTS)
def test_elements_come_back_beside_the_results_of_functions_of_functions(rows: Rows) -> None:
    calls = (
        application((Given(0, 1),), 0, returned=False),
        application((Made(0, 1), Given(0, 1)), 1),
    )
    level = Level(Given(0, 1), (Carried(Given(0, 1), INT, True),), calls, (), True)
    found = run(level, [spelled(rows, "list")], lambda x: pc.add(x, ONE), pc.add)
    assert found.to_pylist() == [r and [{"c0": x, "r0": None if x is None else 2 * x + 1} for x in r] for r in rows]
    assert not found.type.value_field.nullable


def test_the_specifications_example() -> None:
    """Lists of 1, 2 and 0 elements and a null list repeat `a` once, `b` twice, `c` and `d` never."""
    seen = []

    def function(x: Any, word: Any) -> Any:
        seen.append(word.to_pylist())
        return x

    level = Level(Given(0, 1), (), (application((Given(0, 1), Given(1, 0))),), (), True)
    lists = pa.array([[1], [2, 3], [], None], pa.list_(pa.int32()))
    assert run(level, [lists, pa.array(["a", "b", "c", "d"])], function).to_pylist() == [[1], [2, 3], [], None]
    assert seen == [["a", "b", "b"]]


def test_fixed_size_lists() -> None:
    array = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)).slice(1)
    assert positions(array).to_pylist() == [0, 1]
    assert compact(array).to_pylist() == [None, [3, 4]]


def test_a_body_over_no_element_does_not_run() -> None:
    def fails(*_: Any) -> Any:
        raise AssertionError

    level = Level(Given(0, 1), (), (application((Given(0, 1),)),), (), True)
    empty = pa.array([[], None], pa.list_(pa.int32()))
    assert run(level, [empty], fails).to_pylist() == [[], None]


STRUCT = pa.struct([pa.field("a", pa.int32(), False), pa.field("b", pa.string())])
BROKEN_ARRAYS: dict[str, tuple[Any, Any, str]] = {
    "no array": (pa.int32(), [1, 2], "gave list"),
    "too short": (pa.int32(), pa.array([1], pa.int32()), "1 values for 2 elements"),
    "another type": (pa.int32(), pa.array([1, 2], pa.int64()), "gave int64"),
    "a null": (pa.int32(), pa.array([1, None], pa.int32()), "gave 1 null"),
    "another unit": (pa.timestamp("us", "UTC"), pa.array([1, 2], pa.timestamp("ms", "UTC")), "gave timestamp[ms"),
    "naive time": (pa.timestamp("us", "UTC"), pa.array([1, 2], pa.timestamp("us")), "gave timestamp[us]"),
    "another field": (STRUCT, pa.array([{"a": 1, "c": "x"}] * 2), "gave struct"),
    "a null field": (
        STRUCT,
        pa.array([{"a": 1, "b": None}, {"a": None, "b": "x"}], pa.struct([("a", pa.int32()), ("b", pa.string())])),
        "NOT NULL at a",
    ),
    "a null element": (
        pa.list_(pa.field("element", pa.int32(), False)),
        pa.array([[1], [None]], pa.list_(pa.int32())),
        "NOT NULL at element",
    ),
    "a broken array": (
        pa.string(),
        pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\x09\0\0\0\x01\0\0\0"), pa.py_buffer(b"ab")),
        "not valid",
    ),
}


@pytest.mark.parametrize("name", BROKEN_ARRAYS)
def test_an_array_that_breaks_its_declaration(name: str) -> None:
    declared, given_back, said = BROKEN_ARRAYS[name]
    with pytest.raises(BrokenDeclaration, match="PLANPROOF-DECLARATION f0: ") as raised:
        check_result(application((), nullable=False), given_back, declared, 2)
    assert said in str(raised.value)


KEPT: dict[str, tuple[Any, Any]] = {
    "another spelling of text": (pa.string(), pa.array(["a", "b"], pa.large_string())),
    "another zone": (pa.timestamp("us", "UTC"), pa.array([1, 2], pa.timestamp("us", "Europe/Berlin"))),
    "chunks": (pa.int32(), pa.chunked_array([[1], [2]], pa.int32())),
    "a null field under a null": (
        STRUCT,
        pa.array([None, {"a": 1, "b": None}], pa.struct([("a", pa.int32()), ("b", pa.large_string())])),
    ),
    "lists": (
        pa.list_(pa.field("element", STRUCT, False)),
        pa.array([[{"a": 1, "b": "x"}], None]).cast(pa.large_list(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_spark_takes_for_the_same_type(name: str) -> None:
    declared, given_back = KEPT[name]
    found = check_result(application(()), given_back, declared, 2)
    assert found.type == declared
    assert (
        found.to_pylist() == given_back.cast(found.type).to_pylist()
        if name == "another zone"
        else given_back.to_pylist()
    )
    found.validate(full=True)


def test_the_type_of_what_comes_back() -> None:
    level = Level(Given(0, 1), (), (Application(0, "f", (), (), DOUBLE, False),), (), True)
    assert level.type.json == {"type": "array", "elementType": "double", "containsNull": False}
