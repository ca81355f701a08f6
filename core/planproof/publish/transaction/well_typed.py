"""What a journal entry or a note holds, compared with what its fields may hold: anybody may have written it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def refuse_ill_typed(record: Any) -> None:
    """Raises TypeError for a field of a dataclass, or of one in it, that holds no value of its type."""
    hints = get_type_hints(type(record))
    for one in fields(record):
        value = getattr(record, one.name)
        if not _is(value, hints[one.name]):
            raise TypeError(f"{one.name} is {str(value)[:200]!r}")


def _is(value: Any, hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_is(value, part) for part in parts)
    if origin is tuple:
        each = parts[:1] * len(value) if parts[-1] is Ellipsis and isinstance(value, tuple) else parts
        return isinstance(value, tuple) and len(value) == len(each) and all(map(_is, value, each))
    if is_dataclass(hint) and isinstance(value, hint):  # type: ignore[arg-type]
        refuse_ill_typed(value)
        return True
    return type(value) is int if hint is int else isinstance(value, hint)
