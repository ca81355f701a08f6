"""Spark's lexer: a text to parallel lists of token kinds, starts and stops; and what a string token says.

A kind is the keyword in upper case (`SELECT`), the operator itself (`<=>`), or one of IDENTIFIER_TOKEN, BACKQUOTED,
STRING_LITERAL, HINT (`/*+`), HINT_END, EOF and Spark's number tokens (INTEGER_VALUE, BIGINT_LITERAL, ...). Source:
SqlBaseLexer.g4, and SparkParserUtils.unescapeSQLString.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from planproof_engine.conf import SPARKS, Conf
from planproof_engine.ground import AnalysisError, Unknown, place
from planproof_engine.quoting import find_end_of_quoted
from planproof_engine.sql.keywords import keywords
from planproof_engine.sql.versions import list_lacking

_TOKEN = r"""
  [\s\u00a0]*(?:
    (?P<word>(?![rR]['"])[^\W\d]\w*(?!\w|://))
  | (?P<mark>[,()])
  | (?P<STRING_LITERAL>[rR]'[^']*'|'[^'\\]*'(?!'))
  | (?P<DOUBLE>[rR]"[^"]*"|"[^"\\]*"(?!"))
  | (?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[bB][dD]|[dDfF])?(?!\w)
              |[0-9]+[eE][+-]?[0-9]+(?:[bB][dD]|[dDfF])?(?!\w)
              |[0-9]+(?:[bB][dD]|[dDfFlLsSyY])?(?!\w))
  | (?P<uri>[^\W\d_]+://[\w/\-.?=&\#%]+)
  | (?P<odd>\w+)
  | (?P<BACKQUOTED>`[^`]*`(?!`))
  | (?P<quote>['"`])
  | (?P<comment>--|/\*(?!\+))
  | (?P<dollar>\$[A-Za-z_]*\$)
  | (?P<HINT>/\*\+)
  | (?P<HINT_END>\*/)
  | (?P<op><=>|>>>|==|<>|!=|<=|>=|!>|!<|<<|>>|->|=>|\|>|\|\||::|[-+*/%~&|^:;(),.\[\]!<>=?@])
  | (?P<end>\Z)
  )
"""

# Choices are tried in order, and most tokens are words, commas and parentheses. `odd` are words that begin as something
# else does: `1st`, `a://`. A repetition of choices would keep a hundred bytes for each round: a quoted text that holds
# quotes or backslashes is read apart (`quote`).

_YOUNGER = {
    "shifts": ((">>>|", ""), ("<<|>>|", "")),
    "double colon": (("::|", ""),),
    "pipe": ((r"\|>|", ""),),
    "doubled quotes": (("(?!')", ""), ('(?!")', "")),
}
"""By construct: what stands in the pattern for it, and what stands there in a version without it."""


@lru_cache(maxsize=16)
def _build_lexer(spark: str, doubled_quotes: bool) -> tuple[re.Pattern[str], bool]:
    """The pattern of a token, and whether a text may hold its own quote twice."""
    pattern = _TOKEN
    unread = list_lacking(spark) if doubled_quotes else {*list_lacking(spark), "doubled quotes"}
    for construct in _YOUNGER.keys() & unread:
        for text, older in _YOUNGER[construct]:
            pattern = pattern.replace(text, older)
    return re.compile(pattern, re.X | re.S), "doubled quotes" not in unread


_SPELLINGS = {"==": "=", "!>": "<=", "!<": ">="}

_OF_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})
"""For each such word, wherever it stands, the lexer takes one `>` of those that follow as a token: `array(1)` leaves no
`>>` behind it (`incComplexTypeLevelCounter` and `isShiftRightOperator` of SqlBaseLexer.g4)."""

AHEAD = 8
"""How many EOF tokens stand at the end: a look ahead goes no further than this."""

_SUFFIXES = {
    "L": "BIGINT_LITERAL",
    "S": "SMALLINT_LITERAL",
    "Y": "TINYINT_LITERAL",
    "F": "FLOAT_LITERAL",
    "D": "DOUBLE_LITERAL",
}

NUMBERS = frozenset({*_SUFFIXES.values(), "INTEGER_VALUE", "DECIMAL_VALUE", "EXPONENT_VALUE", "BIGDECIMAL_LITERAL"})
"""The kinds of number tokens."""


@dataclass(slots=True)
class Tokens:
    """Parallel lists, one entry per token, `AHEAD` EOFs at the end; `starts` and `stops` are character offsets."""

    kinds: list[str]
    starts: list[int]
    stops: list[int]


def tokenize(
    text: str,
    *,
    double_quoted_identifiers: bool = False,
    doubled_quotes: bool = True,
    spark: str = SPARKS[-1],
    as_far: bool = False,
) -> Tokens:
    """The tokens of `text` in a version of Spark. Raises `AnalysisError` or `Unknown` for what its lexer cannot read.
    `doubled_quotes`: `'it''s'` is one text with a quote, where the version has that; else two texts, one after the
    other.

    With `as_far` the tokens end there instead: the EOFs then stand where the text cannot be read on.
    """
    tokens = Tokens([], [], [])
    end = len(text)
    try:
        _read(text, tokens, double_quoted_identifiers, spark, *_build_lexer(spark, doubled_quotes))
    except (AnalysisError, Unknown):
        if not as_far:
            raise
        end = tokens.stops[-1] if tokens.stops else 0
    # More than one, so that a look ahead needs no bounds.
    tokens.kinds.extend(("EOF",) * AHEAD)
    tokens.starts.extend((end,) * AHEAD)
    tokens.stops.extend((end,) * AHEAD)
    return tokens


def tokens_of(text: str, conf: Conf, as_far: bool = False) -> Tokens:
    """The tokens of a text as a session reads it; what `tokenize` raises."""
    # Spark reads double quotes as identifiers only while ANSI mode is on too.
    quoted = conf.double_quoted_identifiers and conf.ansi
    doubled = not conf.consecutive_literals
    return tokenize(text, double_quoted_identifiers=quoted, doubled_quotes=doubled, spark=conf.grammar, as_far=as_far)


def _read(
    text: str, tokens: Tokens, double_quoted_identifiers: bool, spark: str, lexer: re.Pattern[str], doubled: bool
) -> None:
    add_kind, add_start, add_stop = tokens.kinds.append, tokens.starts.append, tokens.stops.append
    match, at, size = lexer.match, 0, len(text)
    known, types_open = keywords(spark), 0
    while at < size:
        found = match(text, at)
        if found is None:
            raise _make_error(text, at)
        group = found.lastgroup or ""
        at, stop = found.span(group)
        if group in ("word", "odd"):
            kind = known.get(text[at:stop].upper(), "IDENTIFIER_TOKEN")
            types_open += kind in _OF_TYPES
        elif group in ("op", "mark"):
            kind = text[at:stop]
            kind = _SPELLINGS.get(kind, kind)
            if types_open and not kind.strip(">"):
                kind, stop, types_open = ">", at + 1, types_open - 1
        elif group == "comment":
            at = _skip_block_comment(text, at) if text[at] == "/" else _skip_line(text, stop)
            continue
        elif group == "end":
            break
        elif group == "quote":
            stop = find_end_of_quoted(text, at, doubled) or 0
            if not stop:
                raise _make_error(text, at)
            kind = _kind_of_other(_QUOTES[text[at]], text, at, stop, double_quoted_identifiers)
        else:
            if group == "dollar" and "dollar quotes" in list_lacking(spark):
                raise _make_error(text, at)
            kind = _kind_of_other(group, text, at, stop, double_quoted_identifiers)
        add_kind(kind)
        add_start(at)
        add_stop(stop)
        at = stop


def _kind_of_other(group: str, text: str, at: int, stop: int, double_quoted_identifiers: bool) -> str:
    if group == "number":
        return _kind_of_number(text[at:stop].upper())
    if group == "DOUBLE":
        return "BACKQUOTED" if double_quoted_identifiers and text[at] == '"' else "STRING_LITERAL"
    if group == "uri":
        return "IDENTIFIER_TOKEN"
    if group == "dollar":
        if text.lstrip()[:6].upper() == "CREATE":
            raise Unknown("dollar-quoted text", place(text, at, stop))
        # Only the body of a function is written so.
        quote = text[at : text.index("$", at + 1) + 1]
        raise AnalysisError("PARSE_SYNTAX_ERROR", f"Syntax error at or near '{quote}'.", place(text, at, stop))
    return group


def _kind_of_number(text: str) -> str:
    if text.endswith("BD"):
        return "BIGDECIMAL_LITERAL"
    if (kind := _SUFFIXES.get(text[-1])) is not None:
        return kind
    if "E" in text:
        return "EXPONENT_VALUE"
    return "DECIMAL_VALUE" if "." in text else "INTEGER_VALUE"


_QUOTES = {"'": "STRING_LITERAL", '"': "DOUBLE", "`": "BACKQUOTED"}


_LINE_END = re.compile(r"\r|(?<!\\)\n")


def _skip_line(text: str, at: int) -> int:
    """The offset of the end of a comment; it goes on after a line that ends with a backslash."""
    found = _LINE_END.search(text, at)
    return len(text) if found is None else found.start()


_BLOCK = re.compile(r"/\*|\*/")


def _skip_block_comment(text: str, at: int) -> int:
    """The offset after the bracketed comment that starts at `at`; such comments nest."""
    depth = 0
    for found in _BLOCK.finditer(text, at):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    said = "Found an unclosed bracketed comment. Please, append */ at the end of the comment."
    raise AnalysisError("UNCLOSED_BRACKETED_COMMENT", said, place(text, at))


def _make_error(text: str, at: int) -> Exception:
    at = len(text) - len(text[at:].lstrip())
    if text.startswith("${", at):
        return Unknown("a ${...} variable", place(text, at))
    shown = text[at]
    return AnalysisError("PARSE_SYNTAX_ERROR", f"Syntax error at or near '{shown}'.", place(text, at, at + 1))


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
