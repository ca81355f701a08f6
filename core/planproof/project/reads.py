"""Notes which of a project's files a check reads: the same check over the same files gives the same result again. Here
are also the errors of this room, and how its YAML is read.

YAML is what somebody else wrote: a few lines of aliases can stand for a billion values, and a line of brackets ends the
process in which libyaml reads it. A contract may be written outside of dbt: a YAML or JSON file with `columns: [{name,
type, nullable}]`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from planproof.contract import Contract, ContractError
from planproof.regular import read_regular
from planproof_engine import OverBudget, bounded


class ProjectError(ValueError):
    """A project, manifest, selection or contract file that cannot be read: the message says where, and what next."""


class UnreadableContract(ProjectError):
    """The contract of one model that cannot be read: it says nothing of the others."""


File = str | Path

_LARGE = 2**16
_SIZE = 16
MOST = 2**28
"""Bytes of a file that an artifact names, at most."""
LARGEST = 2**30
"""Bytes of any file of a project, at most: a manifest of ten thousand models has a fifth of that."""


@dataclass(slots=True)
class Reads:
    """`files`: the digest of each file that was read, b"" of one that was only seen to be there, None of one that was
    not. `later`: whether a file was written after a moment, in seconds since 1970. `folders`: the names of the YAML
    files in a folder. `is_whole` is False where something was read that stands in none of them."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    later: dict[str, tuple[float, bool]] = field(default_factory=dict)
    folders: dict[str, list[str]] = field(default_factory=dict)
    is_whole: bool = True

    def hold(self) -> bool:
        """Whether all of it would be read now as it was."""
        return (
            self.is_whole
            and not any(_has_another_length(path, known) for path, known in self.files.items())
            and all(_digest(path, known) == known for path, known in self.files.items())
            and all(_is_later(path, moment) == was for path, (moment, was) in self.later.items())
            and all(_list_yaml_files(folder) == known for folder, known in self.folders.items())
        )


_noted: ContextVar[Reads | None] = ContextVar("reads", default=None)


@contextmanager
def note_reads() -> Iterator[Reads]:
    """What this thread reads within the block."""
    found = Reads()
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def read_content(path: File, home: str | None = None) -> bytes:
    """The file's bytes; `home` as in `read_regular`. Raises OSError."""
    noted = _noted.get()
    try:
        found = read_regular(path, LARGEST, home)
    except OSError:
        if noted is not None:
            noted.files[os.fspath(path)] = None
        raise
    if noted is not None:
        digest, before = _digest_of(found), noted.files.get(os.fspath(path))
        # A file that was written between two looks belongs to neither.
        noted.is_whole = noted.is_whole and before in (None, b"", digest)
        noted.files[os.fspath(path)] = digest
    return found


def read_within(home: File, name: str) -> bytes:
    """The bytes of a file that an artifact names, such as a manifest that came with a pull request: a regular file
    inside of `home`, links followed, of at most `MOST` bytes. Raises OSError."""
    root = os.path.realpath(home)
    return read_content(_resolve_below(root, home, name), root)


def resolve_within(home: File, name: str) -> str:
    """The path of such a file, without links. Raises OSError."""
    return _resolve_below(os.path.realpath(home), home, name)


def _resolve_below(root: str, home: File, name: str) -> str:
    path = os.path.join(os.fspath(home), name)
    real = os.path.realpath(path)
    if not is_within(real, root):
        raise PermissionError(f"{name} lies outside of {root}")
    status = os.stat(real)
    if not stat.S_ISREG(status.st_mode):
        raise PermissionError(f"{name} is no regular file")
    if status.st_size > MOST:
        raise PermissionError(f"{name} has {status.st_size:,} bytes, more than {MOST:,}")
    if real != os.path.abspath(path):
        note_unrepeatable()  # A link that points elsewhere later is not noted.
        return real
    return path


def package_folder(package: str) -> str | None:
    """Where dbt installs a package, from the project's folder; a local package is a link there. None for a name that no
    package has: it may lead elsewhere."""
    return f"dbt_packages/{package}" if re.fullmatch(r"\w+", package) else None


def is_within(real: str, root: str) -> bool:
    """Whether a path without links is a folder, also without links, or lies in it."""
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)


def is_file(path: File) -> bool:
    """Whether there is such a file; a check that is noted is told again only while the answer stays."""
    found = os.path.isfile(path)
    noted = _noted.get()
    if noted is not None:
        noted.files.setdefault(os.fspath(path), b"" if found else None)
    return found


def is_later(path: File, moment: float) -> bool:
    """Whether the file was written after the moment, in seconds since 1970. Raises OSError."""
    found = os.stat(path).st_mtime > moment
    noted = _noted.get()
    if noted is not None:
        noted.later[os.fspath(path)] = moment, found
    return found


def list_yaml_files(folder: File) -> list[str]:
    """The names of the YAML files in the folder, in order; none where it cannot be read."""
    found = _list_yaml_files(folder)
    noted = _noted.get()
    if noted is not None:
        noted.folders[os.fspath(folder)] = found
    return found


def note_unrepeatable() -> None:
    """Something else is read, which nobody could read again for less: the check cannot be told again."""
    noted = _noted.get()
    if noted is not None:
        noted.is_whole = False


def _digest(path: str, known: bytes | None) -> bytes | None:
    if not known:
        return b"" if os.path.isfile(path) else None
    try:
        return _digest_of(read_regular(path, LARGEST))
    except OSError:
        return None


def _is_later(path: str, moment: float) -> bool | None:
    try:
        return os.stat(path).st_mtime > moment
    except OSError:
        return None


def _list_yaml_files(folder: File) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith((".yml", ".yaml")))
    except OSError:
        return []


def _digest_of(found: bytes) -> bytes:
    """A digest, and of a large file, a manifest, its length: most changes show in it."""
    length = len(found).to_bytes(8, "big") if len(found) >= _LARGE else b""
    return length + hashlib.blake2b(found, digest_size=_SIZE).digest()


def _has_another_length(path: str, known: bytes | None) -> bool:
    if not known or len(known) == _SIZE:
        return False
    try:
        return os.stat(path).st_size != int.from_bytes(known[:8], "big")
    except OSError:
        return True


MOST_BYTES = 2**24
MOST_SECONDS = 3.0
"""Of the processor, for one text: whole numbers can be made such that each is compared with all others as a key."""
MOST_VALUES = 300_000
"""Values of one text, what an alias stands for counted wherever it stands."""
MOST_LEVELS = 100
MOST_DIGITS = 3500
"""Characters of a number: what it stands for, in hexadecimal too, can be printed, and `1:1:1:...` is soon computed."""
_DAY = "tag:yaml.org,2002:timestamp"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Values(_LOADER):  # type: ignore[misc,valid-type]
    """The same, with numbers that are not endless, and days as they are written, which JSON can tell dbt."""


def _make_day(loader: Any, node: Any) -> Any:
    _LOADER.yaml_constructors[_DAY](loader, node)  # Raises ValueError for one that no month has.
    return node.value


def _make_number(kind: str) -> Any:
    plain = _LOADER.yaml_constructors[f"tag:yaml.org,2002:{kind}"]

    def construct(loader: Any, node: Any) -> Any:
        if len(loader.construct_scalar(node)) > MOST_DIGITS:
            raise yaml.YAMLError(f"holds a number of more than {MOST_DIGITS:,} characters")
        return plain(loader, node)

    return construct


_Values.add_constructor(_DAY, _make_day)
for _kind in ("int", "float"):
    _Values.add_constructor(f"tag:yaml.org,2002:{_kind}", _make_number(_kind))


def load_yaml(text: str) -> Any:
    """What the text holds. Raises `yaml.YAMLError`."""
    refuse_large(text)
    try:
        with bounded(MOST_SECONDS):
            return yaml.load(text, Loader=_Values)
    except yaml.YAMLError:
        raise
    except OverBudget as error:
        raise yaml.YAMLError(f"it uses up all {error} that it may") from error
    except Exception as error:  # A day that no month has, `!!int ''`, `!!bool x`: PyYAML raises what it comes across.
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from error


def is_plain(text: str) -> bool:
    """Whether YAML without quotes reads the text as itself: no number, no day, no `no`."""
    try:
        found = load_yaml_nodes(text)
    except yaml.YAMLError:
        return False
    return isinstance(found, yaml.ScalarNode) and (found.tag, found.value) == ("tag:yaml.org,2002:str", text)


def load_yaml_nodes(text: str) -> Any:
    """Its nodes, with their places; None where it has none. Raises `yaml.YAMLError`."""
    refuse_large(text)
    return yaml.compose(text, Loader=_LOADER)


def refuse_large(text: str) -> None:
    """Raises `yaml.YAMLError` for more than the limits above: told from the events of the text, of which nothing is
    made."""
    _refuse_characters(text)
    known: dict[str, int] = {}
    # The values within each place that is open, and the anchor of that place.
    opened: list[tuple[int, str | None]] = [(0, None)]
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((1, event.anchor))
            known.pop(str(event.anchor), None)
            if len(opened) > MOST_LEVELS:
                raise yaml.YAMLError(f"has more than {MOST_LEVELS} levels")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            size, anchor = opened.pop()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in known:
                raise yaml.YAMLError(f"the alias *{event.anchor} refers to itself, or to nothing")
            size, anchor = known[event.anchor], None
        elif isinstance(event, yaml.ScalarEvent):
            size, anchor = 1, event.anchor
        else:
            continue
        if anchor is not None:
            known[anchor] = size
        within, name = opened[-1]
        opened[-1] = within + size, name
        if within + size > MOST_VALUES:
            raise yaml.YAMLError(f"has more than {MOST_VALUES:,} values, those of an alias counted wherever it stands")


def _refuse_characters(text: str) -> None:
    if len(text) > MOST_BYTES:
        raise yaml.YAMLError(f"has more than {MOST_BYTES:,} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:  # An argument, or a name of JSON's, may hold half of one.
        raise yaml.YAMLError(f"holds half a character: {error}") from error


_COLUMN_KEYS = {"name", "type", "data_type", "nullable", "constraints", "description"}


def read_contract(path: str | Path) -> Contract:
    """The contract in a YAML or JSON file. Raises `ProjectError` with the file and the column.

    A column has `name`, `type` (DDL with nested `NOT NULL`, or Spark's type JSON) and `nullable` (true unless stated).
    Beside `columns` stand `constraints: [{type, columns, expression, name}]`.
    """
    file = Path(path)
    form = load_file(file)
    if not isinstance(form, Mapping):
        raise ProjectError(f"{file}: is no mapping; write `columns: [{{name: id, type: bigint, nullable: false}}]`")
    return parse_contract(form, str(file))


def parse_contract(form: Mapping[str, Any], where: str) -> Contract:
    """The contract that a decoded file describes. Raises `ProjectError`."""
    unknown = sorted(set(form) - {"columns", "constraints"})
    if unknown:
        raise ProjectError(f"{where}: unknown key {unknown[0]!r}; known: columns, constraints")
    columns = form.get("columns")
    if not isinstance(columns, list) or not columns:
        raise ProjectError(f"{where}: `columns` is not a list of columns")
    try:
        return Contract(
            [parse_column(column, f"{where}: columns[{i}]") for i, column in enumerate(columns)],
            _parse_constraints(form.get("constraints"), where),
            {str(column["name"]): where for column in columns},
        )
    except ContractError as error:
        raise ProjectError(f"{where}: {error}") from error


def contract_form(contract: Contract) -> dict[str, Any]:
    """What `parse_contract` reads back, in JSON's types."""
    return {
        "columns": [{"name": f.name, "type": f.type.json, "nullable": f.nullable} for f in contract.schema],
        "constraints": [
            {"type": c.kind, "columns": list(c.columns), "expression": c.expression, "name": c.name}
            for c in contract.constraints
        ],
    }


def parse_column(form: Any, where: str) -> tuple[str, Any, bool]:
    """(name, type, nullable) of one column. Raises `ProjectError`."""
    if not isinstance(form, Mapping):
        raise ProjectError(f"{where}: is {form!r}, not a mapping with `name` and `type`")
    unknown = sorted(set(map(str, form)) - _COLUMN_KEYS)
    if unknown:
        raise ProjectError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(sorted(_COLUMN_KEYS))}")
    name, data_type, nullable = form.get("name"), form.get("type", form.get("data_type")), form.get("nullable", True)
    if not isinstance(name, str) or not name:
        raise ProjectError(f"{where}: has no name")
    if data_type is None:
        raise ProjectError(f"{where} ({name!r}): has no type")
    if not isinstance(nullable, bool):
        raise ProjectError(f"{where} ({name!r}): nullable is {nullable!r}, not true or false")
    return name, data_type, nullable


def load_file(file: Path, home: Path | None = None) -> Any:
    """What a YAML or JSON file holds; `home` is the folder that it must lie in, links followed, where an artifact names
    it. Raises `ProjectError`."""
    try:
        content = read_content(file) if home is None else read_within(home, os.path.relpath(file, home))
        text = content.decode("utf-8")
        return _parse_json(text) if file.suffix == ".json" else load_yaml(text)
    except FileNotFoundError:
        raise ProjectError(f"{file}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError(f"{file}: cannot be read: {error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ProjectError(f"{file}: is neither YAML nor JSON: {error}") from error


def _parse_json(text: str) -> Any:
    """Read a hundred times faster than as YAML, which a file of this name may be nevertheless."""
    try:
        return json.loads(text)
    except ValueError:
        return load_yaml(text)


def _parse_constraints(given: Any, where: str) -> list[Mapping[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(form, Mapping) for form in given):
        raise ProjectError(f"{where}: `constraints` is not a list of mappings")
    return given
