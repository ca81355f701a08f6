"""Random expressions with variables in scope, whatever the grammar that says them.

A scope is the (name, kind) of each lambda variable that is visible, the outermost first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from vocabulary import CONSTANTS, FIELDS

if TYPE_CHECKING:
    from typing_extensions import Self

Scope = tuple[tuple[str, str], ...]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@dataclass
class Phrases:
    """What all rules of the grammar say with. `risky`: whether the last expression holds what may raise under ANSI.

    A rule is a method `_<kind>(depth)`, which a subclass has for every kind of value.
    """

    chance: Random
    scope: Scope = ()
    said: list[tuple[Scope, str, str]] = field(default_factory=list)
    risky: bool = False

    def value(self, kind: str, depth: int = 3) -> str:
        """An expression of the kind; smaller ones as `depth` falls."""
        known, again = self._known(kind), self._again(kind)
        if again and self.chance.random() < 0.15:
            return self.chance.choice(again)
        if depth <= 0 or (known and self.chance.random() < 0.25):
            return self.chance.choice([*known, *self._leaves(kind)])
        scope = self.scope
        if scope and self.chance.random() < 0.12:
            # What the innermost lambda does not change.
            scope = scope[:-1]
        inner = type(self)(self.chance, scope, self.said)
        made: Callable[[int], str] = getattr(inner, f"_{kind}")
        text = made(depth - 1)
        self.risky |= inner.risky
        if scope is not self.scope and self.scope[-1][0] in words(text):
            return self.chance.choice([*known, *self._leaves(kind)])
        self.said.append((scope, kind, text))
        return text

    def _again(self, kind: str) -> list[str]:
        """What was said of the kind, and would mean the same here."""
        return [
            text
            for scope, of, text in self.said
            if of == kind
            and scope == self.scope[: len(scope)]
            and not {n for n, _ in self.scope[len(scope) :]} & words(text)
        ]

    def _known(self, kind: str) -> list[str]:
        """Lambda variables of the kind, and fields of those that are structs; the inner ones likelier."""
        found = []
        for name, of in dict(self.scope).items():
            found += [name] if of == kind else [f"{name}.{f}" for f in FIELDS.get(of, {}).get(kind, ())]
        return found + found[-2:]

    def _leaves(self, kind: str) -> list[str]:
        """Columns and constants; a column that a variable hides is none here."""
        hidden = {name for name, _ in self.scope}
        found = [leaf for leaf in CONSTANTS[kind] if not hidden & words(leaf)]
        return found or [f"slice({CONSTANTS[kind][0]}, 1, 0)"]

    def _leaf(self, text: str, other: str = "1") -> str:
        """The text, where no variable hides one of its columns."""
        return text if not {n for n, _ in self.scope} & words(text) else other

    def within(self, *bound: tuple[str, str]) -> Self:
        return type(self)(self.chance, (*self.scope, *bound), self.said)

    def _fresh(self) -> str:
        return self.chance.choice(("x", "y", "k", "w", "v1", "name"))

    def _body(self, kind: str, depth: int, *params: tuple[str, str]) -> str:
        inner = self.within(*params)
        text = inner.value(kind, depth)
        self.risky |= inner.risky
        return text

    def _pick(self, *options: Callable[[], str]) -> str:
        return self.chance.choice(options)()

    def _raising(self, text: str) -> str:
        self.risky = True
        return text
