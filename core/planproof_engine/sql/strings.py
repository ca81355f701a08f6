"""What a string token says. Source: Spark's SparkParserUtils.unescapeSQLString."""

from __future__ import annotations

import re

_CONTROLS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7][0-7])|(.))|''|\"\"", re.S)


def unescape(token: str) -> str:
    r"""The value of a string token, quotes and an `r` prefix included in `token`.

    >>> unescape(r"'a\tb''c'") == "a\tb'c"
    True
    >>> unescape(r"r'\d'")
    '\\d'
    """
    if token[0] in "rR":
        return token[2:-1]
    quote, content = token[0], token[1:-1]
    if "\\" not in content and quote * 2 not in content:
        return content

    def value(found: re.Match[str]) -> str:
        if found.group()[0] != "\\":
            return quote if found.group()[0] == quote else found.group()
        short, long, octal, other = found.groups()
        if short or long:
            return _code_point(int(short or long, 16))
        return chr(int(octal, 8)) if octal else _CONTROLS.get(other, other)

    return _ESCAPE.sub(value, content)


def _code_point(code: int) -> str:
    """Spark keeps what lies beyond Unicode as two odd UTF-16 units; Python has no such string, so it is replaced."""
    return chr(code) if code <= 0x10FFFF else "\ufffd"


def unquote(token: str) -> str:
    """The value of a string token while `spark.sql.parser.escapedStringLiterals` is on: nothing is unescaped.

    Spark then takes the `r` of a raw string for its opening quote, and the quote for text.
    """
    return token[1:-1]
