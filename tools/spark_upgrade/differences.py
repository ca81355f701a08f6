"""What changed from one version of Spark to another, by the facts of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from spark_upgrade.facts import Condition, Described, Facts

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Changes:
    """Of a table of facts: the keys that are new, gone, and in both with another value."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.new) + len(self.gone) + len(self.changed)


def find_changes(old: Mapping[str, _Value], new: Mapping[str, _Value]) -> Changes:
    return Changes(
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(old.keys() - new.keys())),
        tuple(sorted(key for key in old.keys() & new.keys() if old[key] != new[key])),
    )


@dataclass(frozen=True, slots=True)
class Alternatives:
    """What a rule of the grammar reads in one version and not in the other."""

    dropped: tuple[str, ...]
    added: tuple[str, ...]


def find_alternatives(rule: str, old: Facts, new: Facts) -> Alternatives:
    """The alternatives in which a rule differs; a rule that is absent from one version has none there."""
    before, after = (_number_long_lists(f.grammar.get(rule, ())) for f in (old, new))
    return Alternatives(tuple(a for a in before if a not in after), tuple(a for a in after if a not in before))


def _number_long_lists(found: Iterable[str]) -> list[str]:
    """Long lists of words, one by one, so that a new keyword does not show the whole list anew."""
    words = [part for text in found for part in (text.split(" ") if re.fullmatch(r"[A-Z_0-9 ]+", text) else [text])]
    return list(dict.fromkeys(words))


def compare_rules(old: Facts, new: Facts) -> Changes:
    """The rules of the grammar that are new, gone or read something else.

    A rule that merely lost or got an inner block of precedence numbers reads the same.
    """
    return find_changes(
        {k: _drop_numbers(v) for k, v in old.grammar.items()}, {k: _drop_numbers(v) for k, v in new.grammar.items()}
    )


def _drop_numbers(found: Iterable[str]) -> frozenset[str]:
    return frozenset(re.sub(r"(?<=\{from )\d+(?=\}\?)|(?<=\w)\[\d+\]", "", text) for text in found)


@dataclass(frozen=True, slots=True)
class Renamed:
    """Error conditions that went, each with the one that now says the same message."""

    pairs: tuple[tuple[str, str], ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for pair in self.pairs for name in pair)


def find_renamed(old: Mapping[str, Condition], new: Mapping[str, Condition]) -> Renamed:
    """A condition that is gone counts as renamed where exactly one new condition has its message."""
    found = find_changes(old, new)
    by_text: dict[str, list[str]] = {}
    for name in found.new:
        by_text.setdefault(new[name].text, []).append(name)
    pairs = ((name, by_text.get(old[name].text, [])) for name in found.gone)
    return Renamed(tuple((name, others[0]) for name, others in pairs if len(others) == 1))


def find_aliases(functions: Mapping[str, Described]) -> dict[str, tuple[str, ...]]:
    """Of each function the other names of its class, which Spark documents as the same."""
    by_class: dict[str, list[str]] = {}
    for found in functions.values():
        by_class.setdefault(found.cls, []).append(found.name)
    # What only the grammar calls has no class.
    others = {cls: sorted(names) if cls else [] for cls, names in by_class.items()}
    return {f.name: tuple(n for n in others[f.cls] if n != f.name) for f in functions.values()}
