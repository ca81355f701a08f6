"""What may stand in a message of others that was told to them in confidence: passwords in URLs, keys, tokens."""

from __future__ import annotations

import re

_PASSWORD = (
    r"""(://[^/@\s:'"]*:|:thin:[^/@\s'"]{0,100}/)(?:[^/\s'"]{1,500}(?=@)|(?!\d+/)[^@\s'"]{1,500}(?=@))"""
    r"""|(https?://)[^/@\s:'"]+(?=@)"""
)
"""In a URL, also where it holds a slash or an @; and who is named alone to a web server, which is a token."""
_SECRET = (
    r"(?i)secret|password|passwd|passphrase|pwd|token|(?:access|account|api|encryption|private)[._-]?key|credential"
    r"|authorization|cookie|(?-i:^Signature=)|(?:amz-|sharedaccess)signature|(?<![a-z0-9])(?:jwt|pw|sas|sig)(?![a-z0-9])"
    r"|(?:(?<![a-z0-9])|db)pass(?![a-z0-9])"
)
_NAMED = (
    r"""(?<![\w.-])(?:--[\w.-]+\s+|[\w.-]+(?:\\?["'`]\s*(?::\s*(?=(?:[bu]|\\)?["'])|=)|\s*(?:=>|->|[=:]|%3[Dd]))\s*"""
    r"""|(?<=[(\[])[\w-]+\.[\w.-]+,)(?:[bu](?=["']))?(\\?["'`]?)"""
)
"""A name before its value: `a=b`, `a: b`, `--a b`, `"a": "b"`, `a=\\"b\\"`, and `(a.b,c)` or `[a.b,c]` of Scala."""
_TYPED = r"(?!(?:string|binary|boolean|\w*int|decimal|double|float|date|timestamp\w*|array|map|struct)\b)"
_BARE = (
    r"((?<![A-Za-z0-9])(?i:bearer|basic)\s+)(?=[A-Za-z_-]*[0-9+/=])[\w.~+/=-]{12,}"
    r"|(?<![\w.-])(?:eyJ[\w-]{8,}\.[\w.-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{16}\b|dapi[0-9a-f]{32}"
    r"|(?:gh[oprsu]_|github_pat_|glpat-|xox[abprs]-|ya29\.)[\w.-]{16,})"
    r"|-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----(?s:.*?)(?:-----END|\Z)"
)
"""What is a secret by its own form: a header's credentials, a web token, the keys of clouds and of services, a PEM."""
_ELEMENT = r"<(?:name>\s*([\w.-]+)\s*</name>\s*<value|([\w.-]+))>\s*([^<\s][^<]*)</"
"""An XML element with a text: a property of Hadoop's files, or one with the name itself."""
_VALUES = {
    "": rf"(?i){_TYPED}(?:(?:bearer|basic|digest|token|shared\w+)\s+)?[^&;,\s'\")}}\]]+",
    "'": r"(?:[^'\\]|\\.)+",
    '"': r'(?:[^"\\]|\\.)+',
    "`": r"[^`]+",
    "\\'": r"[^']+",
    '\\"': r'[^"]+',
    "\\`": r"[^`]+",
}
_VALUES["\\"] = _VALUES[""]


def is_confidential(name: str, value: str) -> bool:
    """Whether a setting is a secret by its name, or holds one in its value.

    >>> is_confidential("fs.s3a.secret.key", "abc"), is_confidential("spark.sql.ansi.enabled", "true")
    (True, False)
    """
    setting = f"{name}={value}"
    return hide_secrets(setting) != setting


def secrets_of(name: str, value: str) -> list[str]:
    """The value of a setting that is a secret by its name, else what is one in it.

    >>> secrets_of("fs.s3a.secret.key", "a,b"), secrets_of("spark.url", "jdbc:mysql://ada:abc@db"), secrets_of("a", "b")
    (['a,b'], ['abc'], [])
    """
    if re.search(_SECRET, name):
        return [value]
    return [value[start:stop] for start, stop in _find_spans(value)]


def hide_secrets(message: str) -> str:
    """What a file system, a metastore or a database said of a failure, without what it was told in confidence.

    >>> hide_secrets("no answer of jdbc:mysql://ada:pw@db/m?user=ada&password=pw; fs.s3a.secret.key = abc")
    'no answer of jdbc:mysql://ada:***@db/m?user=ada&password=***; fs.s3a.secret.key = ***'
    """
    parts, at = [], 0
    for start, stop in _find_spans(message):
        parts += [message[at:start], "***"]
        at = stop
    return "".join([*parts, message[at:]])


def _find_spans(message: str) -> list[tuple[int, int]]:
    """Where secrets stand in it, from the first to the last, apart from each other."""
    found = [(max(url.end(1), url.end(2)), url.end()) for url in re.finditer(_PASSWORD, message)]
    found += [(max(bare.start(), bare.end(1)), bare.end()) for bare in re.finditer(_BARE, message)]
    elements = re.finditer(_ELEMENT, message)
    found += [element.span(3) for element in elements if re.search(_SECRET, element[1] or element[2])]
    at = 0
    for name in re.finditer(_NAMED, message):
        if name.end() < at or not re.search(_SECRET, name[0]):
            continue
        value = re.compile(_VALUES[name[1]]).match(message, name.end())
        if value is not None:
            found.append(value.span())
            at = value.end()
    apart: list[tuple[int, int]] = []
    for start, stop in sorted(found):
        if apart and start < apart[-1][1]:
            apart[-1] = apart[-1][0], max(stop, apart[-1][1])
        else:
            apart.append((start, stop))
    return apart
