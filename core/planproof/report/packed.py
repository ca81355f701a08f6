"""A report as bytes: what lists and messages need, and beside it the plan, which is unpacked when it is asked for."""

from __future__ import annotations

import json
import marshal
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from planproof.report.details import Details
from planproof.report.model import FIELDS, Enforcement, PlaneReading, Report, flatten
from planproof_engine import Finding, Rewrite

_LARGE = ("plan", "lineage")


class Packed(Mapping[str, Any]):
    """A mapping of JSON's types that is held compressed, and read anew each time that it is asked."""

    __slots__ = ("_content", "_name")

    def __init__(self, content: bytes, name: str) -> None:
        self._content, self._name = content, name

    def _read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(zlib.decompress(self._content))[self._name]
        return found

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def items(self) -> Any:
        return self._read().items()


def pack(report: Report, sql: str | None, *, is_brief: bool = False) -> tuple[bytes, bytes | None]:
    """The report without its plan, and the plan, None for a brief report. `sql` is the text that whoever unpacks it
    knows already."""
    large = {name: dict(held) for name in _LARGE if (held := getattr(report.details, name)) is not None}
    form = {**form_of(report), "large": list(large), "sql": True if report.sql == sql else report.sql}
    return marshal.dumps(form), None if is_brief else zlib.compress(json.dumps(large).encode(), 1)


def unpack(small: bytes, large: bytes | None, sql: str | None) -> Report:
    """What `pack` packed, without its plan where `large` is None. Raises ValueError, KeyError, TypeError and EOFError
    for what it did not."""
    form = marshal.loads(small)
    named = form.pop("large")
    held = {name: Packed(large, name) for name in named} if large is not None else {}
    if form["sql"] is True:
        form["sql"] = sql
    return report_of(form, held)


def form_of(report: Report, texts: dict[int, str] | None = None) -> dict[str, Any]:
    """The report without its plan, in JSON's types.

    Most models' invariants and unread planes are told in the same words: kept as texts, they are read once. `texts`
    are those of objects that several reports share, by identity, and live as long as these.
    """
    texts = {} if texts is None else texts
    form: dict[str, Any] = {name: getattr(report, name) for name in FIELDS}
    form["findings"] = [{**flatten(f), "verdict": f.verdict.value} for f in report.findings]
    form["rewrites"] = list(map(flatten, report.rewrites))
    if id(report.invariants) not in texts:
        texts[id(report.invariants)] = _render_invariants(report.invariants)
    for plane in report.planes:
        if id(plane) not in texts:
            texts[id(plane)] = _render_unread(plane) if plane.schema is None else json.dumps(flatten(plane))
    form["invariants"] = texts[id(report.invariants)]
    form["planes"] = [texts[id(plane)] for plane in report.planes]
    return {**form, "details": report.details.to_dict(without=_LARGE)}


@lru_cache(maxsize=256)
def _render_invariants(invariants: tuple[Enforcement, ...]) -> str:
    return json.dumps(list(map(flatten, invariants)))


@lru_cache(maxsize=256)
def _render_unread(plane: PlaneReading) -> str:
    return json.dumps(flatten(plane))


def report_of(form: Mapping[str, Any], held: Mapping[str, Any] | None = None) -> Report:
    """The report of a `form_of`, with the details `held` beside it. Raises ValueError, KeyError and TypeError."""
    details = form["details"]
    known = {
        **form,
        "findings": tuple(map(Finding.from_dict, form["findings"])),
        "planes": tuple(map(_parse_plane, form["planes"])),
        "invariants": _parse_invariants(form["invariants"]),
        "rewrites": tuple(map(Rewrite.from_dict, form["rewrites"])),
        "details": Details.from_dict({**details, **held} if held else details),
    }
    return Report(**known)


@lru_cache(maxsize=4096)
def _parse_plane(text: str) -> PlaneReading:
    return PlaneReading.from_dict(json.loads(text))


@lru_cache(maxsize=4096)
def _parse_invariants(text: str) -> tuple[Enforcement, ...]:
    return tuple(Enforcement(**form) for form in json.loads(text))
