"""Splicing: what is not replaced stays, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planproof_engine.sql import nodes as q
from planproof_engine.sql import parse, splice


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]]]:
    text = draw(st.text(max_size=60))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=10)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    return text, draw(st.permutations([(a, b, draw(st.text(max_size=5))) for a, b in pairs]))


@given(edited())
def test_the_rest_stays_as_it_is(case: tuple[str, list[tuple[int, int, str]]]) -> None:
    text, edits = case
    expected, at = "", 0
    for start, stop, replacement in sorted(edits):
        expected, at = expected + text[at:start] + replacement, stop
    assert splice(text, edits) == expected + text[at:]


@given(st.text(max_size=40))
def test_no_edit_is_no_change(text: str) -> None:
    assert splice(text, []) == text


@given(st.data())
def test_edits_that_overlap_are_refused(data: st.DataObject) -> None:
    text = data.draw(st.text(min_size=3, max_size=30))
    start = data.draw(st.integers(0, len(text) - 2))
    stop = data.draw(st.integers(start + 2, len(text)))
    inside = data.draw(st.integers(start + 1, stop - 1))
    with pytest.raises(ValueError, match="overlaps"):
        splice(text, [(start, stop, "x"), (inside, stop, "y")])


@pytest.mark.parametrize(
    "edits", [[(0, 9, "x")], [(-1, 1, "x")], [(2, 1, "x")], [(1, 1, "a"), (1, 1, "b")], [(1, 1, "a"), (1, 2, "b")]]
)
def test_edits_outside_the_text_or_at_one_place_are_refused(edits: list[tuple[int, int, str]]) -> None:
    with pytest.raises(ValueError, match="cannot splice"):
        splice("abc", edits)


def test_a_call_is_replaced_in_its_place() -> None:
    text = "SELECT f( a ),\n  'f(a)' /* f(a) */, g(f(b)) FROM t"
    calls = [node for node in parse(text).find_all(q.Call) if node.name == "f"]
    assert splice(text, [(*node.span, "h()") for node in calls]) == "SELECT h(),\n  'f(a)' /* f(a) */, g(h()) FROM t"
