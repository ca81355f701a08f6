"""The facts of one version of Spark, as they are checked in: small JSON, one entry a line, for a diff to be read."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "facts"

_OF_THE_MACHINE = ("spark.sql.warehouse.dir", "spark.sql.session.timeZone")
"""Settings whose default is no fact of Spark, but of where it runs."""

_USAGE = re.compile(r"^\s*(\S.*?) +- ", re.MULTILINE)
_NOTES = re.compile(r"^ *Note:\n(.*?)(?=^ *[A-Z]\w+:|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Described:
    """A function as Spark documents it. `text` is a hash of its usage and notes, without arguments and examples."""

    name: str
    cls: str
    since: str
    usages: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Condition:
    """An error condition, `NAME` or `NAME.SUBCLASS`. `text` is a hash of its message, parameters by name."""

    name: str
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What one Spark says of itself.

    `grammar` has of each rule its alternatives, `tokens` the lexer's tokens (words and signs), `settings` of each key
    its default and the version it is of, `types` the classes of data types, `type_names` of each word that DDL takes
    for a type the type that it means.
    """

    version: str
    functions: dict[str, Described]
    grammar: dict[str, tuple[str, ...]]
    tokens: tuple[str, ...]
    settings: dict[str, tuple[str, str]]
    conditions: dict[str, Condition]
    types: tuple[str, ...]
    type_names: dict[str, str]

    @property
    def release(self) -> tuple[int, ...]:
        """The version as numbers that compare."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version))

    @property
    def minor(self) -> str:
        """The version as `Conf` takes it: `4.3`."""
        return ".".join(self.version.split(".")[:2])


def read_known() -> dict[str, Facts]:
    """The facts that are checked in, by version, the oldest first."""
    found = [load(json.loads(path.read_text())) for path in FOLDER.glob("*.json")]
    return {facts.version: facts for facts in sorted(found, key=lambda f: f.release)}


def load(form: dict[str, Any]) -> Facts:
    """Facts from the form that `compact` makes and the files have."""
    conditions = {}
    for name, (state, text, parts) in form["conditions"].items():
        conditions[name] = Condition(name, state, text)
        for part, its_text in parts.items():
            conditions[f"{name}.{part}"] = Condition(f"{name}.{part}", state, its_text)
    return Facts(
        form["version"],
        {n: Described(n, cls, since, tuple(u), text) for n, (cls, since, u, text) in form["functions"].items()},
        {rule: tuple(alternatives) for rule, alternatives in form["grammar"].items()},
        tuple(form["tokens"]),
        {key: (default, since) for key, (default, since) in form["settings"].items()},
        conditions,
        tuple(form["types"]),
        form["type_names"],
    )


def compact(raw: dict[str, Any]) -> dict[str, Any]:
    """What asking.py wrote, without what no comparison needs."""
    return {
        "version": raw["version"],
        "functions": {name: _parse_description(lines) for name, lines in raw["functions"].items()},
        "grammar": {rule: split_alternatives(text) for rule, text in raw["grammar"].items()},
        "tokens": raw["tokens"],
        "settings": {key: _default(key, *found) for key, found in raw["settings"].items()},
        "conditions": {name: _condition(found) for name, found in raw["conditions"].items()},
        "types": raw["types"]["classes"],
        "type_names": raw["types"]["names"],
    }


def format_facts(form: dict[str, Any]) -> str:
    """The file's text: JSON, with one line for each entry of each part."""
    parts = []
    for name, part in form.items():
        if isinstance(part, dict):
            lines = ",\n".join(f"{json.dumps(k)}: {_line(part[k])}" for k in sorted(part))
            parts.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
        else:
            parts.append(f"{json.dumps(name)}: {_line(part)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def split_alternatives(text: str) -> list[str]:
    """A rule's alternatives: those of its one block, or the text itself.

    A rule that begins with itself has become a loop over what may follow; its alternatives are told as `... AND e`.
    """
    first, loop = _find_loop(text)
    return [*_split_block(first), *(f"... {found}" for found in (_split_block(loop) if loop else []))]


def _mask_quoted(text: str) -> str:
    """The text with signs in quotes made unreadable, so that brackets are those of the grammar."""
    return re.sub(r"'[^']*'", lambda found: "_" * len(found[0]), text)


def _find_loop(text: str) -> tuple[str, str]:
    """What a rule that begins with itself starts with, and what its loop reads; nothing for any other rule."""
    if not text.endswith(")*") or "{from " not in text:
        return text, ""
    shape, at, depth = _mask_quoted(text), len(text) - 2, 1
    while depth:
        at -= 1
        depth += {")": 1, "(": -1}.get(shape[at], 0)
    return text[:at].strip(), text[at + 1 : -2]


def _split_block(text: str) -> list[str]:
    parts, depth, start = [], 0, 1
    for at, sign in enumerate(_mask_quoted(text)):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0 and at < len(text) - 1:
            return [text]
        if depth == 1 and sign == "|":
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:-1].strip()] if parts else [text]


def _parse_description(lines: list[str]) -> list[Any]:
    said = {key: value for key, _, value in (line.partition(": ") for line in lines)}
    usage, extended = said.get("Usage", ""), "\n".join(lines[-1:])
    since = re.search(r"Since: *([\d.]+)", extended)
    notes = "".join(found[0] for found in _NOTES.finditer(extended))
    usages = _USAGE.findall(usage) or usage.strip().split("\n")[:1]
    return [said.get("Class", "").split(".")[-1], since[1] if since else "", usages, _hash(usage + notes)]


def _default(key: str, default: str, since: str | None) -> list[str]:
    return ["" if key in _OF_THE_MACHINE else default, since or ""]


def _condition(form: dict[str, Any]) -> list[Any]:
    parts = form.get("subClass", {})
    return [form.get("sqlState", ""), _message(form), {name: _message(part) for name, part in parts.items()}]


def _message(form: dict[str, Any]) -> str:
    return _hash(" ".join(form.get("message", [])))


def _hash(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:6]
