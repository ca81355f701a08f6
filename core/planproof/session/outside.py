"""How Spark's errors tell that their cause lies outside of a query: a file, a privilege, the metastore, the network."""

from __future__ import annotations

import re

OUTSIDE_CLASSES = (
    *("java.net.", "TTransportException", "TimeoutException", "OutOfMemoryError", "FetchFailed"),
    *("java.io.IOException", "FileNotFoundException", "java.io.EOFException", "java.io.InterruptedIOException"),
    *("java.nio.file.", "java.sql.SQL", "java.lang.SecurityException", "org.apache.thrift.", "AccessControlException"),
    *("org.apache.hadoop.fs.", "org.apache.hadoop.hive.metastore.", "org.apache.hadoop.hive.ql.metadata."),
    *("com.amazonaws.", "software.amazon.awssdk.", "com.azure.", "com.microsoft.azure.", "com.google.cloud."),
)
OUTSIDE_STATES = ("08", "40", "42501", "53", "57", "58", "HV", "KD001", "KD002", "KD003", "KD009", "KD010")
"""The beginnings of SQLSTATEs that speak of connections, privileges, resources, files and foreign data."""
OUTSIDE_CONDITIONS = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA", "CANNOT_LOAD_CATALOG", "PERMISSION_DENIED")
TRANSIENT_WORDS = re.compile(
    r"ExecutorLostFailure|Lost executor|SparkContext was shut down|Connection refused|Connection reset"
    r"|No space left on device|Could not connect to meta store"
)
FRAME = re.compile(r"\s+(at [\w.$]+|\.\.\. \d+ more)|Driver stacktrace:")
"""Lines of a Java stack trace; the lines that name a cause are kept."""
_STATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")


def speaks_of_outside(text: str) -> bool:
    """Whether an error of Spark's speaks of such a cause, where a text is all that is left of it.

    >>> speaks_of_outside("[FAILED_READ_FILE.FILE_NOT_EXIST] File does not exist. SQLSTATE: KD001")
    True
    >>> speaks_of_outside("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\n\\tat java.io.IOException.of(A.java:1)")
    False
    """
    said = "\n".join(line for line in text.splitlines() if not FRAME.match(line))
    states = _STATE.findall(said)
    named = any(word in said for word in OUTSIDE_CLASSES) or any(word in said for word in OUTSIDE_CONDITIONS)
    return named or any(state.startswith(OUTSIDE_STATES) for state in states) or bool(TRANSIENT_WORDS.search(said))
