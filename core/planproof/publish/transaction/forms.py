"""Files that say how far a publish is: JSON in, values of their dataclasses out, or an error. Anybody may have written
them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from types import NoneType
from typing import Any, TypeVar, cast, get_args, get_type_hints

T = TypeVar("T")


def read_form(cls: type[T], text: str, form: int | None = None) -> T:
    """The value that a text holds in JSON; of `form`, where the text says its own. Raises ValueError."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise ValueError("it is no JSON object")
    if form is not None and value.get("form") != form:
        raise ValueError(f"its form is {value.get('form', 1)!r}, and this planproof reads form {form}")
    return _read_object(cls, value, "")


def _read_object(cls: type[T], value: Any, at: str) -> T:
    if not isinstance(value, Mapping):
        raise ValueError(f"{at.rstrip('.')} is {value!r}")
    kinds = _get_kinds(cast("Any", cls))
    known = {}
    for one in fields(cls):  # type: ignore[arg-type]
        if one.name in value:
            known[one.name] = _read_value(kinds[one.name], value[one.name], f"{at}{one.name}")
        elif one.default is MISSING:
            raise ValueError(f"{at}{one.name} is not there")
    return cls(**known)


@lru_cache
def _get_kinds(cls: type[Any]) -> dict[str, Any]:
    """An entry may hold a hundred thousand moves."""
    return get_type_hints(cls)


def _read_value(kind: Any, value: Any, at: str) -> Any:
    options = get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _read_object(kind, value, f"{at}.")
    if NoneType in options:
        return None if value is None else _read_value(options[0], value, at)
    if options and isinstance(value, list):
        kinds = options[:1] * len(value) if options[-1] is ... else options
        if len(kinds) == len(value):
            return tuple(_read_value(each, item, f"{at}[]") for each, item in zip(kinds, value))
    elif not options and isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
        return value
    raise ValueError(f"{at} is {value!r}")
