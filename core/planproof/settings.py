"""What a user may configure, per project, folder, model, operator argument or CLI option: one table for all doors."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

CHOICES: dict[str, tuple[str, ...]] = {
    "fail_on": ("violated", "unproved", "warning", "never"),
    "planning": ("warn", "strict"),
    "unproved": ("count", "allow"),
    "rewrite": ("off", "suggest", "on"),
    "batches": ("off", "sample", "all"),
    "on_internal_error": ("fail", "pass"),
}
ENFORCEABLE = ("types", "nullability", "order", "extra_columns")


class SettingsError(ValueError):
    """A key or a value that planproof does not know; the message suggests the nearest one that it does."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`fail_on`: the least verdict that fails; `enforce`: which terms of a contract count; `allow`: codes accepted."""

    fail_on: str = "violated"
    enforce: tuple[str, ...] = ENFORCEABLE
    allow: tuple[str, ...] = ()
    planning: str = "warn"
    unproved: str = "count"
    rewrite: str = "on"
    batches: str = "sample"
    keep_rejected: bool = False
    on_internal_error: str = "fail"

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str = "planproof") -> Settings:
        """Settings from untrusted keys and values; `where` names their place in an error. Raises `SettingsError`."""
        known = [f.name for f in fields(cls)]
        checked: dict[str, Any] = {}
        for key, value in given.items():
            if key not in known:
                raise SettingsError(f"{where}: unknown key {key!r}{_nearest(key, known)}; known: {', '.join(known)}")
            checked[key] = _checked(key, value, f"{where}.{key}")
        return cls(**checked)


def _checked(key: str, value: Any, where: str) -> Any:
    if key == "keep_rejected":
        if not isinstance(value, bool):
            raise SettingsError(f"{where}: {value!r} is not true or false")
        return value
    if key in ("enforce", "allow"):
        return _names(key, value, where)
    # YAML 1.1 reads a bare `on` and `off` as booleans.
    text = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
    if text not in CHOICES[key]:
        raise SettingsError(
            f"{where}: {value!r} is not one of {', '.join(CHOICES[key])}{_nearest(str(value), CHOICES[key])}"
        )
    return text


def _names(key: str, value: Any, where: str) -> tuple[str, ...]:
    # `allow` may give a reason for each code: {PP101: "two ids on purpose"}.
    names = [value] if isinstance(value, str) else list(value or ())
    names = [next(iter(n)) if isinstance(n, Mapping) else n for n in names]
    for name in names:
        if key == "enforce" and name not in ENFORCEABLE:
            raise SettingsError(
                f"{where}: {name!r} is not one of {', '.join(ENFORCEABLE)}{_nearest(str(name), ENFORCEABLE)}"
            )
    return tuple(str(n) for n in names)


def _nearest(word: str, known: tuple[str, ...] | list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
