"""What may stand in a message of others that was told to them in confidence: passwords in URLs, keys, tokens."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(://[^/@\s:]*:)[^@/\s]+(?=@)")
_SETTING = re.compile(
    r"(?i)\b([\w.-]*(?:secret|password|passwd|pwd|token|access[._-]?key|credential)[\w.-]*\s*[=:]\s*)[^&;,\s'\")}\]]+"
)


def without_secrets(message: str) -> str:
    """What a file system, a metastore or a database said of a failure, without what it was told in confidence.

    >>> without_secrets("no answer of jdbc:mysql://ada:pw@db/m?user=ada&password=pw; fs.s3a.secret.key = abc")
    'no answer of jdbc:mysql://ada:***@db/m?user=ada&password=***; fs.s3a.secret.key = ***'
    """
    return _SETTING.sub(r"\1***", _PASSWORD.sub(r"\1***", message))
