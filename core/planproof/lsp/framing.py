"""The bytes that an editor sends, before pygls reads them: no header and no message may be larger than memory."""

from __future__ import annotations

import sys
from typing import BinaryIO, cast

_HEADER = 2**12
_MESSAGE = 2**28
"""Bytes, at most: an editor sends whole files."""
_LENGTH = b"Content-Length: "


class BoundedInput:
    """Standard input that ends, and says why, where a header or the message that it tells of is too large. pygls would
    ask for as much memory, and wait."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin

    def readline(self) -> bytes:
        line = self._stdin.readline(_HEADER)
        length = line.removeprefix(_LENGTH).strip()
        if len(line) == _HEADER or (line.startswith(_LENGTH) and length.isdigit() and int(length) > _MESSAGE):
            said = f"a header of {_HEADER:,} bytes, or a message of {_MESSAGE:,} bytes, is more than an editor sends"
            print(f"planproof lsp ends: {said}", file=sys.stderr)
            return b""
        return line

    def read(self, size: int) -> bytes:
        return self._stdin.read(size)


def bound_input(stdin: BinaryIO) -> BinaryIO:
    """The same as pygls takes it: of a stream it calls these two methods alone."""
    return cast(BinaryIO, BoundedInput(stdin))
