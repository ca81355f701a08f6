"""Files that say how far a publish is: JSON in, values of their dataclasses out, or an error. Anybody may have written
them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

T = TypeVar("T")


def read_form(cls: type[T], text: str, form: int | None = None) -> T:
    """The value that a text holds in JSON; of `form`, where the text says its own. Raises ValueError."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from error
    if not isinstance(told, Mapping):
        raise ValueError("it is no JSON object")
    if form is not None and told.get("form") != form:
        raise ValueError(f"its form is {told.get('form', 1)!r}, and this planproof reads form {form}")
    return _object(cls, told, "")


def _object(cls: type[T], told: Any, at: str) -> T:
    if not isinstance(told, Mapping):
        raise ValueError(f"{at.rstrip('.')} is {told!r}")
    kinds = get_type_hints(cls)
    known = {}
    for one in fields(cls):  # type: ignore[arg-type]
        if one.name in told:
            known[one.name] = _value(kinds[one.name], told[one.name], f"{at}{one.name}")
        elif one.default is MISSING:
            raise ValueError(f"{at}{one.name} is not there")
    return cls(**known)


def _value(kind: Any, told: Any, at: str) -> Any:
    options = get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _object(kind, told, f"{at}.")
    if NoneType in options:
        return None if told is None else _value(options[0], told, at)
    if options and isinstance(told, list):
        kinds = options[:1] * len(told) if options[-1] is ... else options
        if len(kinds) == len(told):
            return tuple(_value(each, value, f"{at}[]") for each, value in zip(kinds, told))
    elif not options and isinstance(told, kind) and isinstance(told, bool) == (kind is bool):
        return told
    raise ValueError(f"{at} is {told!r}")
