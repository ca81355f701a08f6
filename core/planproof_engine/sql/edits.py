"""What is changed in a text that no tree is made of: spans, parameter markers, settings, closing semicolons.

Spark substitutes parameter markers and settings before it parses a text, settings within strings, too. Source:
`ParameterHandler`; `VariableSubstitution` and the reader of settings that it calls (`internal.config` of Spark core).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from planproof_engine.ground import AnalysisError, Conf, Unknown
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.tokens import Tokens, tokenize, tokens_of


def splice(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """`text` with each span `start:stop` replaced; spans are in characters of the original text, in any order.

    An edit with `start == stop` inserts. Edits that overlap, two at one place, or a span outside the text, raise
    `ValueError`: nothing says which of them should win.

    >>> splice("a + b", [(4, 5, "c"), (0, 1, "(a)")])
    '(a) + c'
    """
    pieces: list[str] = []
    at = 0
    last: tuple[int, int] | None = None
    for start, stop, replacement in sorted(edits, key=lambda edit: edit[:2]):
        if not 0 <= start <= stop <= len(text):
            raise ValueError(f"cannot splice {start}:{stop} into a text of {len(text)} characters")
        if start < at or (start, stop) == last or (last is not None and start == last[0]):
            raise ValueError(f"cannot splice {start}:{stop}: it overlaps the edit {last}")
        pieces.append(text[at:start])
        pieces.append(replacement)
        at, last = stop, (start, stop)
    pieces.append(text[at:])
    return "".join(pieces)


def replace_markers(text: str, values: Mapping[str, str | None], conf: Conf) -> str:
    """The text with each `:name` replaced by the SQL of its value, where that is given; names are in lower case.

    >>> replace_markers("SELECT :a, v:a", {"a": "'x'"}, Conf())
    "SELECT 'x', v:a"
    """
    tokens = tokens_of(text, conf)
    changes = []
    for at, kind in enumerate(tokens.kinds):
        if kind != ":" or tokens.kinds[at + 1] not in WORDS or _is_path(tokens, at):
            continue
        start, stop = tokens.starts[at], tokens.stops[at + 1]
        value = values.get(text[tokens.starts[at + 1] : stop].lower())
        if value is not None:
            changes.append((start, stop, value))
    return splice(text, changes)


def _is_path(tokens: Tokens, at: int) -> bool:
    """Whether the colon reads a variant's field: it then touches what it reads."""
    before = tokens.kinds[at - 1] if at else ""
    return tokens.stops[at - 1] == tokens.starts[at] and (before in WORDS or before in (")", "]"))


def drop_terminators(text: str) -> str:
    """A query's text as it can stand inside another one: without its closing semicolons, and what follows them (only
    comments can).

    >>> drop_terminators("select ';' as a ; -- the end")
    "select ';' as a"
    """
    text = text.strip()
    try:
        tokens = tokenize(text)
    except (AnalysisError, Unknown):  # Spark says what is wrong with it.
        return text.removesuffix(";").rstrip()
    last = tokens.kinds.index("EOF")
    end = last
    while end and tokens.kinds[end - 1] == ";":
        end -= 1
    return text[: tokens.starts[end]].rstrip() if end < last else text


_REFERENCE = re.compile(r"\$\{(?:(\w{1,255}):)?(\S[^\s}]{0,255})\}")
_OF_A_SESSION = (None, "spark", "sparkconf", "hivevar", "hiveconf")
_IS_ON = "spark.sql.variable.substitute"
_LONGEST = 2**20
"""Characters that stand for names, in all; further names stay as they are written."""


def substitute(text: str, settings: Mapping[str, str] | None) -> str:
    """The text that Spark reads. Nothing stands for a name that was not set.

    What is not known stays: any name where `settings` are not all that the session has, Spark's own settings, which a
    session may be started with, and the machine's (`${env:..}`, `${system:..}`). So does a name that stands for itself.

    >>> substitute("select '${x}', '${hivevar:y}', '${env:z}'", {"y": "1"})
    "select '', '1', '${env:z}'"
    """
    if settings is None or settings.get(_IS_ON, "true").lower() == "false":
        return text
    return _Reading(settings).read(text)


class _Reading:
    """One text's variables. Each is read once, however often it stands there."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._known: dict[str, str | None] = {}
        self._size = 0

    def read(self, text: str) -> str:
        return _REFERENCE.sub(self._read_reference, text) if "${" in text else text

    def _read_reference(self, found: re.Match[str]) -> str:
        prefix, name = found.groups()
        if prefix not in _OF_A_SESSION or (name not in self._settings and name.startswith("spark.")):
            return found.group()
        if name not in self._known:
            self._known[name] = None
            self._known[name] = self.read(self._settings.get(name, ""))
        value = self._known[name]
        if value is None or self._size + len(value) > _LONGEST:
            return found.group()
        self._size += len(value)
        return value
