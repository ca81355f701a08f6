"""Where something stands in a text, and the two ways in which a text cannot be understood."""

from __future__ import annotations

import re

from planproof_engine.records import evolve, record


@record(frozen=True, slots=True)
class Origin:
    """A place: file (None for a bare text), line and column from 1, and the character span `start:stop` in the text.

    `approximate`: the exact place is somewhere inside this one, which may be the call of a macro.
    """

    line: int
    column: int
    file: str | None = None
    start: int | None = None
    stop: int | None = None
    approximate: bool = False

    def __str__(self) -> str:
        place = f"{self.file or 'line'}{':' if self.file else ' '}{self.line}:{self.column}"
        return f"{place} (in what is rendered here)" if self.approximate else place

    def within(self, file: str) -> Origin:
        return evolve(self, file=file)


def place(text: str, start: int, stop: int | None = None, file: str | None = None) -> Origin:
    """The origin of the character offset `start` in `text`."""
    line = text.count("\n", 0, start) + 1
    return Origin(line, start - text.rfind("\n", 0, start), file, start, stop)


_SHOWN = 300
_MOST = 5_000
"""Characters of a name or construct that a message shows, and of a message: a type may have a million."""
_LONG_NAME = re.compile(rf"([^\s<>,:]{{{_SHOWN}}})[^\s<>,:]+")


def shorten_names(message: str) -> str:
    """The message with its long names cut. A type is long by its many names, and stays.

    >>> shorten_names("x" * 400) == "x" * 300 + "..."
    True
    """
    if len(message) <= _SHOWN:
        return message
    message = _LONG_NAME.sub(r"\1...", message[: 10 * _MOST])
    return message if len(message) <= _MOST else f"{message[:_MOST]}..."


class AnalysisError(Exception):
    """Spark would reject this query. `condition` is Spark's, such as `UNRESOLVED_COLUMN.WITH_SUGGESTION`.

    `by_rule`: whether a rule of Spark's analyzer raises it, or else `CheckAnalysis`; None where the condition tells.
    `waited`: the rules come to it in a second round, when the tables below are known; None where that is not known.
    `settled`: the condition is what this very Spark calls it.
    """

    by_rule: bool | None = None
    waited: bool | None = None
    settled: bool = False

    def __init__(self, condition: str, message: str, origin: Origin | None = None) -> None:
        message = shorten_names(message)
        super().__init__(f"[{condition}] {message}" + (f" ({origin})" if origin else ""))
        self.condition, self.message, self.origin = condition, message, origin

    def at(self, origin: Origin | None) -> AnalysisError:
        """The same error at a place."""
        return AnalysisError(self.condition, self.message, origin)


class Unknown(Exception):
    """planproof does not know this construct and does not guess; Spark may well accept it."""

    def __init__(self, construct: str, origin: Origin | None = None) -> None:
        construct = construct if len(construct) <= _SHOWN else f"{construct[:_SHOWN]}..."
        super().__init__(f"planproof does not know {construct}" + (f" ({origin})" if origin else ""))
        self.construct, self.origin = construct, origin

    def at(self, origin: Origin | None) -> Unknown:
        """The same construct at a place."""
        return Unknown(self.construct, origin)
