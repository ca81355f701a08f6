"""What is printed where the terminal's encoding lacks a character: a sign of ASCII for planproof's own marks, and an
escape for what models and tables are called."""

from __future__ import annotations

import codecs
import io
import sys

_ASCII = {"✓": "+", "✗": "x", "│": "|", "·": "-", "…": "...", "→": "->"}
"""planproof's own marks. rich draws its frames in ASCII by itself. No mark becomes `?`, which means unproved."""

_ERRORS = "planproof-printable"


def replace_unprintable() -> None:
    """Lets standard output and standard error print any text, in any encoding."""
    codecs.register_error(_ERRORS, _replace_error)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


def _replace_error(error: UnicodeError) -> tuple[str, int]:
    """A handler as `codecs.register_error` takes it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = (
        _ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in error.object[error.start : error.end]
    )
    return "".join(found), error.end
