"""What dbt's macros call, and which of them read tables of the warehouse while dbt compiles: told from their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

_READS = re.compile(
    r"\b(run_query|statement|load_(?:cached_)?relation|list_relations\w*|get_(?:missing_columns|relation"
    r"|columns_in_(?:relation|query)|column_schema_from_query))\s*\("
)
"""Calls by which a template reads tables of the warehouse while dbt compiles."""

ASKING = frozenset(("is_incremental", "should_full_refresh", "load_relation", "load_cached_relation"))
"""Names by which a template asks whether the run is a later one."""

_FROM = re.compile(r"\bfrom\b", re.I)
_OPENED = re.compile(r"\{[{%]")
_CLOSING = {"{{": "}}", "{%": "%}"}
_BUILT_IN = ("dbt", "dbt_spark", "dbt_databricks")


def list_macros(macros: Mapping[str, Any], is_wanted: Callable[[str], bool]) -> frozenset[str]:
    """The macros whose text is wanted, and those that call them, but for dbt's own."""
    callers, waiting, found = dict[str, list[str]](), list[str](), set[str]()
    for key, macro in macros.items():
        if isinstance(macro, Mapping) and not is_built_in(key):
            for called in list_called(macro):
                callers.setdefault(called, []).append(key)
            if is_wanted(str(macro.get("macro_sql") or "")):
                waiting.append(key)
    while waiting:
        key = waiting.pop()
        found.add(key)
        waiting += callers.pop(key, ())
    return frozenset(found)


@lru_cache(maxsize=4096)
def find_call(text: str) -> str | None:
    """The call by which a text reads tables of the warehouse; None where there is none."""
    tags = list(find_tags(text))
    found = [str(call[1]) for tag in tags if (call := _READS.search(text[tag])) is not None]
    # A statement without FROM asks the warehouse to reckon, as dbt_utils.date_spine has it count days.
    starts, stops = [0, *(tag.stop for tag in tags)], [*(tag.start for tag in tags), len(text)]
    outside = " ".join(text[start:stop] for start, stop in zip(starts, stops))
    reads = found and (found != ["statement"] or _FROM.search(outside) is not None)
    return found[0] if reads else None


def find_tags(text: str) -> Iterator[slice]:
    """Where Jinja's expressions and statements stand. What is not closed is none."""
    at, unclosed = 0, set[str]()
    while (opened := _OPENED.search(text, at)) is not None:
        kind, at = opened[0], opened.start() + 1
        stop = text.find(_CLOSING[kind], opened.end()) if kind not in unclosed else -1
        if stop < 0:
            unclosed.add(kind)
        else:
            at = stop + 2
            yield slice(opened.start(), at)


def list_called(form: Mapping[str, Any]) -> list[str]:
    """The ids of the macros that a node or a macro calls itself."""
    depends_on = form.get("depends_on")
    called = depends_on.get("macros") if isinstance(depends_on, Mapping) else None
    return [key for key in called if isinstance(key, str)] if isinstance(called, list) else []


def is_built_in(key: str) -> bool:
    """Whether a macro is dbt's own, or its adapter's."""
    return key.split(".", 2)[1:2] in [[package] for package in _BUILT_IN]
