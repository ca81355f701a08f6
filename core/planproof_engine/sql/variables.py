"""`${name}` in a text: Spark puts the session's setting there before it reads the text, within strings too.

Source: `VariableSubstitution` and the reader of settings that it calls (`internal.config` of Spark core).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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
