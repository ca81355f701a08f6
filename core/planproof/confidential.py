"""What may stand in a message of others that was told to them in confidence: passwords in URLs, keys, tokens."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(://[^/@\s:]*:)[^@/\s]+(?=@)")
_SECRET = re.compile(r"(?i)secret|password|passwd|pwd|token|(?:access|account|api|private)[._-]?key|credential")
_NAMED = re.compile(r"(?<![\w.-])([\w.-]+)\s*[=:]\s*")
_VALUE = re.compile(r"[^&;,\s'\")}\]]+")


def is_confidential(name: str, value: str) -> bool:
    """Whether a setting is a secret by its name, or holds one in its value. What a JVM must know as it starts
    (`spark.driver.*`) counts as none.

    >>> is_confidential("fs.s3a.secret.key", "abc"), is_confidential("spark.sql.ansi.enabled", "true")
    (True, False)
    """
    if name.startswith("spark.driver."):
        return False
    setting = f"{name}={value}"
    return without_secrets(setting) != setting


def without_secrets(message: str) -> str:
    """What a file system, a metastore or a database said of a failure, without what it was told in confidence.

    >>> without_secrets("no answer of jdbc:mysql://ada:pw@db/m?user=ada&password=pw; fs.s3a.secret.key = abc")
    'no answer of jdbc:mysql://ada:***@db/m?user=ada&password=***; fs.s3a.secret.key = ***'
    """
    message = _PASSWORD.sub(r"\1***", message)
    parts, at = [], 0
    for name in _NAMED.finditer(message):
        value = _VALUE.match(message, name.end()) if _SECRET.search(name[1]) else None
        if value is not None and value.start() >= at:
            parts += [message[at : value.start()], "***"]
            at = value.end()
    return "".join([*parts, message[at:]])
