"""`${name}` in a text: Spark puts the session's setting there before it reads the text, within strings too.

Source: `VariableSubstitution` and the reader of settings that it calls (`internal.config` of Spark core).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_OF_A_SESSION = (None, "spark", "sparkconf", "hivevar", "hiveconf")
_DEPTH = 20


def substitute(text: str, settings: Mapping[str, str] | None, depth: int = _DEPTH) -> str:
    """The text that Spark reads. Nothing stands for a name that was not set.

    What is not known stays: any name where `settings` are not all that the session has, Spark's own settings, which a
    session may be started with, and the machine's (`${env:..}`, `${system:..}`).

    >>> substitute("select '${x}', '${hivevar:y}', '${env:z}'", {"y": "1"})
    "select '', '1', '${env:z}'"
    """
    if settings is None or "${" not in text or not depth:
        return text

    def read(found: re.Match[str]) -> str:
        prefix, name = found.groups()
        if prefix not in _OF_A_SESSION or (name not in settings and name.startswith("spark.")):
            return found.group()
        return substitute(settings.get(name, ""), settings, depth - 1)

    return _REFERENCE.sub(read, text)
