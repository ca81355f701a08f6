"""No pattern of ours takes long over a text that somebody wrote for it: a text of so many characters costs half a
second at most, wherever the pattern repeats something."""

from __future__ import annotations

import ast
import re
import signal
import string
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10.
    import sre_constants as sre
    import sre_parse as parser

ROOT = Path(__file__).parents[2]
FOLDERS = ("core/planproof", "core/planproof_engine", "operators/airflow_planproof", "dbt_plugin/dbt_planproof")
LENGTH = 12_000
SECONDS = 0.5
METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
FILL = "word"
"""What stands in the place of a value that a pattern is made of."""


def pattern_of(node: ast.expr) -> str | None:
    """The pattern that is written there; None where it is made elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else FILL for v in node.values)
    return None


def flags_of(node: ast.Call, method: str) -> int:
    given = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "flags")]
    names = {n.attr for g in given for n in ast.walk(g) if isinstance(n, ast.Attribute)}
    return sum(int(getattr(re, name)) for name in names if isinstance(getattr(re, name, None), re.RegexFlag))


def patterns() -> Iterator[tuple[str, str, int, frozenset[str]]]:
    """Where a pattern stands, the pattern, its flags, and how it is used."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            written = file.read_text()
            if not re.search(r"^\s*import re$", written, re.MULTILINE):
                continue  # Most files: this happens while tests are collected, in each process.
            tree = ast.parse(written)
            used: dict[str, set[str]] = {}
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in METHODS:
                    used.setdefault(node.value.id, set()).add(node.attr)
            module = ".".join(file.relative_to((ROOT / folder).parent).with_suffix("").parts)
            named = {
                id(node.value): node.targets[0].id
                for node in ast.walk(tree)
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            }
            for node in ast.walk(tree):
                call = node.func if isinstance(node, ast.Call) else None
                if not isinstance(call, ast.Attribute) or not isinstance(call.value, ast.Name) or call.value.id != "re":
                    continue
                if call.attr not in (*METHODS, "compile"):
                    continue
                name = named.get(id(node), "")
                how = frozenset(used.get(name, METHODS[:3])) if call.attr == "compile" else frozenset({call.attr})
                found = compiled(module, name) or pattern_of(node.args[0])
                flags = 0 if isinstance(found, re.Pattern) else flags_of(node, call.attr)
                text = found.pattern if isinstance(found, re.Pattern) else found
                if isinstance(found, re.Pattern):
                    flags = found.flags & ~re.UNICODE
                if text is not None:
                    yield f"{module}:{node.lineno}", text, flags, how


def compiled(module: str, name: str) -> re.Pattern[str] | None:
    """The pattern that a module has under a name. The operators' modules are not imported: Airflow makes its home then,
    and this happens while the tests are collected."""
    if module.startswith("airflow_planproof"):
        return None
    try:
        found = getattr(__import__(module, fromlist=["_"]), name, None) if name else None
    except ImportError:
        return None
    return found if isinstance(found, re.Pattern) else None


def letter(options: Any) -> str:
    """A character that the set takes."""
    text = "[" + "".join(options) + "]"
    return next((c for c in string.printable if re.match(text, c)), "x")


def sample(tree: Any, repeat: int = 1) -> str:
    """A text that matches a parsed pattern; what may stand often stands `repeat` times."""
    return "".join(_sample(op, given, repeat) for op, given in tree)


def _sample(op: Any, given: Any, repeat: int) -> str:
    if op is sre.LITERAL:
        return chr(given)
    if op is sre.NOT_LITERAL:
        return "a" if given != ord("a") else "b"
    if op is sre.ANY:
        return "a"
    if op is sre.IN:
        return _of_set(given)
    if op is sre.BRANCH:
        return sample(given[1][0], repeat)
    if op is sre.SUBPATTERN:
        return sample(given[-1], repeat)
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT) or str(op) == "POSSESSIVE_REPEAT":
        low, high, inner = given
        return sample(inner, repeat) * max(low, min(repeat, int(high)))
    return ""


CLASSES = {
    sre.CATEGORY_DIGIT: "1",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_NOT_WORD: "-",
    sre.CATEGORY_NOT_DIGIT: "a",
}


def _of_set(members: Any) -> str:
    if members[0][0] is sre.NEGATE:
        refused = {chr(v) for op, v in members if op is sre.LITERAL}
        spaces = any(op is sre.CATEGORY and v is sre.CATEGORY_SPACE for op, v in members)
        return next(c for c in "a1- .b" if c not in refused and not (spaces and c == " "))
    op, value = members[-1]
    return chr(value) if op is sre.LITERAL else chr(value[0]) if op is sre.RANGE else CLASSES.get(value, "a")


def attacks(tree: Any, before: str = "") -> Iterator[str]:
    """Texts in which one repeated part stands very often, and what must follow it does not."""
    for op, given in tree:
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT) and int(given[1]) > 3:
            for body in {sample(given[2]), sample(given[2], 2), *branches(given[2])} - {""}:
                pumped = body * (LENGTH // len(body))
                yield from (before + pumped + end for end in ("\0", "", "!", " "))
            yield from attacks(given[2], before)
        elif op is sre.SUBPATTERN:
            yield from attacks(given[-1], before)
        elif op is sre.BRANCH:
            for branch in given[1]:
                yield from attacks(branch, before)
        before += _sample(op, given, 1)
    start = before
    if start:
        yield start * (LENGTH // len(start)) + "\0"
        yield start[:-1] * (LENGTH // max(1, len(start) - 1)) + "\0"


def branches(tree: Any) -> set[str]:
    """What each alternative of a repeated part matches."""
    found = set()
    for op, given in tree:
        if op is sre.BRANCH:
            found |= {sample(branch) for branch in given[1]}
        if op is sre.SUBPATTERN:
            found |= branches(given[-1])
        if op is sre.IN:
            found |= {_of_set([member]) for member in given if member[0] is not sre.NEGATE}
    return found


def plain() -> Iterator[str]:
    """Texts that trouble many patterns."""
    for part in (" ", "\n", "a", "1", "'", '"', "`", "(", "{{", "{%", "/*", "/**/", "--\n", "a.", "a,", "=", ";", "-"):
        yield part * (LENGTH // len(part)) + "\0"
        yield "set" + part * (LENGTH // len(part)) + "\0"


class _Late(Exception):
    pass


def seconds(pattern: re.Pattern[str], method: str, text: str) -> float:
    def late(number: int, frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 10 * SECONDS)
    began = time.thread_time()
    try:
        if method in ("sub", "subn"):
            pattern.sub("", text)
        elif method == "finditer":
            sum(1 for _ in pattern.finditer(text))
        else:
            getattr(pattern, method)(text)
    except _Late:
        return 10 * SECONDS
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return time.thread_time() - began


FOUND = {f"{at} {method}": (text, flags, method) for at, text, flags, how in patterns() for method in sorted(how)}


@pytest.mark.parametrize("at", FOUND)
def test_no_text_takes_long(at: str) -> None:
    text, flags, method = FOUND[at]
    pattern = re.compile(text, flags)
    tree = parser.parse(text, flags)
    for attack in dict.fromkeys((*attacks(tree), *plain())):
        took = seconds(pattern, method, attack)
        assert took < SECONDS, (round(took, 2), text, attack[:60], attack[-20:])
