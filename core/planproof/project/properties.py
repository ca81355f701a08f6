"""Contracts in dbt's property files: comments, order and quotes of what stands there already are kept.

To write a file anew normalizes its indentation and its blanks, so it is written twice, without and with the change.
What differs between these two is all that the file gets.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark, YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.tokens import CommentToken
from yaml import YAMLError as PlainYAMLError

from planproof.project.infer import Inferred, InferredColumn
from planproof.project.reads import ProjectError, read_content
from planproof.project.yaml_text import is_plain, refuse_large
from planproof_engine import ByColumn, OverBudget, bounded, fold_name


def keep_own_lines(own: str, unchanged: str, changed: str) -> str:
    """The text `own` with what `changed` has beside `unchanged`, which is `own` as the writer writes it.

    >>> plain, more = "a:\\n  - b: 1\\n  - c: 2\\n", "a:\\n  - b: 1\\n    d: 3\\n  - c: 2\\n"
    >>> print(keep_own_lines("a:\\n- b:   1\\n- c: 2\\n", plain, more))
    a:
    - b:   1
      d: 3
    - c: 2
    <BLANKLINE>
    """
    base, new = unchanged.splitlines(), changed.splitlines()
    owned, rest = _assign_lines(own.splitlines(), base)
    found: list[str] = []
    placed: list[tuple[str, str]] = []
    for tag, first, last, start, stop in _match_lines(base, new):
        if tag == "equal":
            found += [line for lines in owned[first:last] for line in lines]
            placed += [(line, lines[-1]) for line, lines in zip(base[first:last], owned[first:last]) if lines]
            continue
        for line in new[start:stop]:
            placed.append((line, _indent_line(line, placed)))
            found.append(placed[-1][1])
    found += rest
    ends = "\n" if own.endswith("\n") or not found or found[-1:] != own.splitlines()[-1:] else ""
    return "\n".join(found) + ends


def _match_lines(before: list[str], after: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def _assign_lines(own: list[str], base: list[str]) -> tuple[list[list[str]], list[str]]:
    """For each line of `base` the lines that stand for it in the file, and those at its end that the writer drops."""
    owned: list[list[str]] = [[] for _ in base]
    waiting: list[str] = []
    for _, first, last, start, stop in _match_lines(
        [_strip_line(line) for line in own], [_strip_line(line) for line in base]
    ):
        pairs = last - first == stop - start
        if start == stop:
            waiting += own[first:last]
            continue
        for at in range(start, stop):
            owned[at] = own[first + at - start : first + at - start + 1] if pairs else []
        if not pairs:
            owned[start] = own[first:last]
        owned[start], waiting = [*waiting, *owned[start]], []
    return owned, waiting


def _strip_line(line: str) -> str:
    return " ".join(line.split())


def _indent_line(line: str, placed: Sequence[tuple[str, str]]) -> str:
    """A new line as far to the right as the one before it of its depth, else of its holder, stands in the file."""
    text, (depth, *_) = line.lstrip(), _depths(line)
    if not text:
        return line
    for normal, stands in reversed(placed):
        if not normal.strip() or normal.lstrip().startswith("#"):
            continue
        above = [(at, there) for at, there in zip(_depths(normal), _depths(stands)) if at <= depth]
        if above:
            at, there = above[-1]
            return " " * (there + depth - at) + text
    return line


def _depths(line: str) -> list[int]:
    """Where the line begins, and where what a dash makes an item of does."""
    found = [len(line) - len(line.lstrip())]
    while line[found[-1] :].startswith("- "):
        rest = line[found[-1] + 1 :]
        found.append(len(line) - len(rest.lstrip()))
    return found


_AT = {CommentedMap: 2, CommentedSeq: 0}
"""At which place of a leaf's comments the one behind it stands, by what holds the leaf."""


@contextmanager
def keep_tail(entry: Any) -> Iterator[None]:
    """Within the block something may be added to the entry's end; what stood behind it stands behind that.

    Blank lines and comments behind an entry ruamel.yaml keeps at the entry's last leaf: they go to the new last one.
    """
    tail = "".join(_take_tail(_find_leaves(entry)))
    yield
    leaves = _find_leaves(entry)
    if not tail or not leaves:
        return
    comments, place = _find_comments(*leaves[-1])
    token = comments[place]
    own = token.value.rstrip("\n") if isinstance(token, CommentToken) else ""
    comments[place] = CommentToken(f"{own}\n{tail}", getattr(token, "start_mark", None) or CommentMark(0), None)


def _take_tail(leaves: list[tuple[Any, Any]]) -> Iterator[str]:
    """Takes away what follows the last leaf's own line. Behind what stands between brackets it is a holder's."""
    if leaves and leaves[-1][1] in leaves[-1][0].ca.items:
        comments, place = _find_comments(*leaves[-1])
        token = comments[place]
        if isinstance(token, CommentToken):
            own, _, rest = token.value.partition("\n")
            comments[place] = CommentToken(f"{own}\n", token.start_mark, None) if own.strip() else None
            yield rest
    for holder, _ in reversed(leaves):
        yield from (token.value for token in holder.ca.end or ())
        holder.ca.end = []


def _find_comments(holder: Any, key: Any) -> tuple[list[Any], int]:
    """A leaf's comments, and at which place of them the one behind it stands."""
    found: list[Any] = holder.ca.items.setdefault(key, [])
    found += [None] * (4 - len(found))
    return found, _AT[type(holder)]


def _find_leaves(node: Any) -> list[tuple[Any, Any]]:
    """The last entry of a node, that entry's last, and so on: each as what holds it and its key or number there. What
    stands between brackets is a leaf."""
    found: list[tuple[Any, Any]] = []
    while type(node) in _AT and node and not node.fa.flow_style():
        key = next(reversed(node)) if isinstance(node, CommentedMap) else len(node) - 1
        found.append((node, key))
        node = node[key]
    return found


def add_contracts(file: Path, inferred: Iterable[Inferred]) -> tuple[str, list[str]]:
    """The file's text with the contracts added, and what was added, a line each. Nothing is written.

    What the author declared stays: a column's own type and constraints are never changed. Raises `ProjectError` for a
    file that cannot be read, or in which an anchor shares between models what is to differ.
    """
    try:
        with bounded():
            return _add_contracts(file, inferred)
    except OverBudget as over:
        raise ProjectError(
            f"{file}: keeping its comments and order takes more {over} than planproof spends; split it"
        ) from None


def _add_contracts(file: Path, inferred: Iterable[Inferred]) -> tuple[str, list[str]]:
    yaml = _make_yaml()
    own = _read_text(file)
    form, inferred = _load(yaml, file, _end_line(own)), list(inferred)
    unchanged = _dump(yaml, form)
    meant = _copy_values(form)
    said = _add_promises(file, form, inferred)
    _add_promises(file, meant, inferred)
    text = _dump(yaml, form)
    written = _copy_values(yaml.load(text))
    if written != meant:
        shared = [m["name"] for m, found in zip(meant["models"], written["models"], strict=True) if m != found]
        raise ProjectError(
            f"{file}: {', '.join(shared)} would get what another model is promised, as a YAML anchor shares it; "
            "write it out for each, or leave these models out by --exclude"
        )
    kept = keep_own_lines(own.replace("\r\n", "\n"), unchanged, text) if own.strip() else text
    text = kept if _is_read_as(yaml, _end_line(kept), meant) else text
    return text.replace("\n", "\r\n") if "\r\n" in own else text, said


def _end_line(text: str) -> str:
    """The text with its last line ended, as it is where something stands behind it: a block scalar's value has the end
    of its last line."""
    return text if text.endswith("\n") or not text else f"{text}\n"


def _read_text(file: Path) -> str:
    if not file.exists():
        return ""
    try:
        text = read_content(file).decode("utf-8")
        refuse_large(text)
        return text
    except (OSError, UnicodeDecodeError, PlainYAMLError) as error:
        raise ProjectError(f"{file}: cannot be read: {error}") from error


def _dump(yaml: YAML, form: Any) -> str:
    text = io.StringIO()
    yaml.dump(form, text)
    return text.getvalue()


def _is_read_as(yaml: YAML, text: str, meant: Any) -> bool:
    try:
        return bool(_copy_values(yaml.load(text)) == meant)
    except YAMLError:
        return False


def _add_promises(file: Path, form: Any, inferred: Iterable[Inferred]) -> list[str]:
    models = form.setdefault("models", CommentedSeq())
    if not isinstance(models, list):
        raise ProjectError(f"{file}: `models` is {type(models).__name__}, not a list")
    said: list[str] = []
    for one in inferred:
        found = [m for m in models if isinstance(m, MutableMapping) and m.get("name") == one.node.name]
        if not found:
            with keep_tail(models):
                models.append(CommentedMap(name=_quote_name(one.node.name)))
        entry = found[0] if found else models[-1]
        with keep_tail(entry):
            said += [f"{one.node.name}: {line}" for line in _add_promise(file, entry, one.columns)]
    return said


def _copy_values(form: Any) -> Any:
    """The values alone, each in its own place: what an anchor shares is repeated."""
    if isinstance(form, MutableMapping):
        return {key: _copy_values(value) for key, value in form.items()}
    return [_copy_values(value) for value in form] if isinstance(form, list) else form


def _make_yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _load(yaml: YAML, file: Path, text: str) -> Any:
    try:
        form = yaml.load(text)
    except (YAMLError, ValueError, AttributeError, TypeError, RecursionError) as error:  # Of `a: &a {<<: *a}`, say.
        raise ProjectError(f"{file}: cannot be read: {error}") from error
    if form is None:
        return CommentedMap(version=2)
    if not isinstance(form, MutableMapping):
        raise ProjectError(f"{file}: is a YAML {type(form).__name__}, not a mapping with `models`")
    return form


def _add_promise(file: Path, entry: Any, columns: Iterable[InferredColumn]) -> list[str]:
    said, columns = [], list(columns)
    contract = _find_mapping(file, _find_mapping(file, entry, "config"), "contract")
    if contract.get("enforced") is not True:
        contract["enforced"] = True
        said.append("contract enforced")
    given = entry.setdefault("columns", CommentedSeq())
    if not isinstance(given, list):
        raise ProjectError(f"{file}: `columns` of {entry.get('name')} is {type(given).__name__}, not a list")
    known = ByColumn((str(c.get("name")), c) for c in given if isinstance(c, MutableMapping))
    for column in columns:
        form = known.get(column.name)
        if form is None:
            form = CommentedMap(name=_quote_name(column.name))
            with keep_tail(given):
                given.append(form)
        with keep_tail(form):
            said += _add_column(file, form, column)
    if said:
        said += _compare_order(given, columns)
    return said


def _compare_order(given: Iterable[Any], columns: Iterable[InferredColumn]) -> list[str]:
    """Said where the YAML's columns stand in another order than the query's: dbt stores a table in the contract's."""
    wanted = [fold_name(column.name) for column in columns]
    stand = [fold_name(str(c.get("name"))) for c in given if isinstance(c, MutableMapping)]
    known = set(wanted)
    stand = [name for name in stand if name in known]
    if stand == wanted:
        return []
    return [
        f"the YAML lists its columns in another order than the query, and the next build stores them in that order: "
        f"{', '.join(stand)}; to keep the table's order, list them as {', '.join(wanted)}"
    ]


def _add_column(file: Path, form: Any, column: InferredColumn) -> list[str]:
    said = []
    if not form.get("data_type"):
        form["data_type"] = column.data_type
        said.append(f"{column.name} {column.data_type}")
    if column.quote and form.get("quote") is None:
        form["quote"] = True
        said.append(f"{column.name} quoted")
    constraints = form.get("constraints") or []
    if column.not_null and not any(c.get("type") in ("not_null", "primary_key") for c in constraints):
        listed = form.setdefault("constraints", CommentedSeq())
        listed.append(CommentedMap(type="not_null"))
        said.append(f"{column.name} NOT NULL ({column.not_null})")
    return said


def _quote_name(name: str) -> str:
    """A name that dbt reads back as one: its YAML is 1.1, where a plain `no` is false."""
    quoted: str = DoubleQuotedScalarString(name)
    return name if is_plain(name) else quoted


def _find_mapping(file: Path, form: Any, key: str) -> Any:
    if form.get(key) is None:
        form[key] = CommentedMap()
    if not isinstance(form[key], MutableMapping):
        raise ProjectError(f"{file}: `{key}` is {type(form[key]).__name__}, not a mapping")
    return form[key]
